//! The OpenAPI document of the API, the reference pages that are generated from it, and what the AWS templates have of
//! its routes.
//!
//! Schemas of responses come from the types that handlers respond with. Limits and enumerations come from the constants
//! that requests are checked against. Examples come from a story that runs through the real handlers whenever the
//! document is built. Only the prose and the shape of request bodies are written here by hand.

mod addition;
mod document;
mod editor;
mod operation;
mod parameters;
mod reference;
mod request;
mod responses;
mod routes;
mod schemas;
mod story;
mod templates;
mod webhooks;

pub use document::{document, render};
pub use editor::{EDITOR_SCHEMA, editor_schema};
pub use reference::{PAGES, ReferencePage};
pub use templates::{TEMPLATES, Template};
