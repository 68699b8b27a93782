pub(crate) mod bulk;
pub(crate) mod create;
mod creation;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
mod listing;
pub(crate) mod update;

pub use listing::site_sorts;
