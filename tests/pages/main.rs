//! The pages for browsers, by the real handlers, each with the rights that its function has on AWS.

mod channels;
mod issues;
mod links;
mod members;
mod settings;
mod sign_in;
mod sites;
mod support;
mod tokens;
