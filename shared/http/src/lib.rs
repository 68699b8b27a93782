//! The HTTP side of the API: errors, authentication, validation, paging, resources.

pub mod access;
pub mod body;
pub mod error;
pub mod events;
pub mod forecast;
mod gzip;
mod header;
pub mod history;
pub mod isolation;
pub mod objectives;
pub mod outages;
pub mod paging;
pub mod path;
pub mod query;
pub mod request_id;
pub mod resource;
pub mod response;
pub mod source;

pub use vedette_domain::validation;
