//! Every route: one file each, named as in the API's source, and what all routes share in
//! `refusals` and `fallback`.

mod checks;
mod fallback;
mod headers;
mod issues;
mod limits;
mod me;
mod monitoring;
mod refusals;
mod reports;
mod sites;
mod support;
mod teams;
mod time_zone;
