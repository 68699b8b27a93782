//! One model of routes and one dispatcher, for the API and for the pages.
//!
//! A [`Route`] is a row of a table. It says which requests it is for, whom it serves (its audience),
//! what it works on with the permission that this takes (its [`Endpoint`]), and which Lambda function
//! serves it, with what that may write. [`serve`] does the rest in the same order for every route:
//! authenticate, read the body, load the resource, authorize, call the handler, and call it again after
//! a conflict.
//!
//! A [`Surface`] is a set of routes with its own way to authenticate its clients and to show refusals:
//! the API (`vedette_api`), which has tokens and JSON, and the dashboard (`vedette_dashboard`), which has
//! sessions and HTML.

mod endpoint;
mod handler;
mod resource;
mod route;
mod serve;
mod surface;

pub use endpoint::Endpoint;
pub use handler::{AsyncFunction, Handler, Outcome};
pub use resource::{ChannelAccess, InvitationAccess, MemberAccess};
pub use route::{Route, find};
pub use serve::serve;
pub use surface::{Authenticated, Request, Surface};
