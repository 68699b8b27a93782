//! Every route, one file each, named as in the API's source. `access`, `refusals` and `fallback` contain
//! what all routes share.

mod access;
mod audit_log;
mod channels;
mod checks;
mod configuration;
mod events;
mod expectations;
mod fallback;
mod headers;
mod heartbeats;
mod incidents;
mod invitations;
mod issues;
mod maintenance_calendar;
mod maintenance_windows;
mod me;
mod members;
mod metrics;
mod monitoring;
mod outages;
mod ping_key;
mod pings;
mod refusals;
mod reports;
mod site_groups;
mod sites;
mod status_pages;
mod support;
mod team_reports;
mod teams;
mod time_zone;
mod tokens;
mod user_time_zone;
