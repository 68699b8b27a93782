//! What operators set and read: configuration variables, errors with their causes, and the text format of metrics.

pub mod config;
mod error_chain;
pub mod exposition;

pub use error_chain::ErrorChain;
