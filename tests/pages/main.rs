//! The pages for browsers, by the real handlers, each with the rights that its function has on AWS.

mod assets;
mod audience;
mod audit_log;
mod channels;
mod checks;
mod degraded;
mod edit;
mod events;
mod failing;
mod invitations;
mod issues;
mod links;
mod mail;
mod members;
mod navigation;
mod oidc;
mod plan;
mod reports;
mod results;
mod settings;
mod setup;
mod sign_in;
mod site;
mod sites;
mod support;
mod tokens;
