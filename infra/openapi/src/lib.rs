//! The API's OpenAPI document, and the pages of the reference that follow from it.
//!
//! Answers are described by the types that the handlers answer with, limits and enumerations come
//! from the constants by which requests are judged, and the examples are a story played through
//! the real handlers whenever the document is made. What is written here by hand is prose, and the
//! form of request bodies.

mod document;
mod operation;
mod parameters;
mod reference;
mod request;
mod responses;
mod routes;
mod schemas;
mod story;
mod webhooks;

pub use document::{document, render};
pub use reference::{PAGES, ReferencePage};
