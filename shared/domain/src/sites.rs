//! Sites: what is monitored, and with which settings.
//!
//! Start with [`site::Site`], the stored record, and [`settings::Settings::resolve`], which makes the settings of a
//! site from those of its team, its own overrides and what the plan allows.
//!
//! - A URL is read by [`site_url`], which also gives the canonical form that makes it unique in a team.
//! - A setting is declared once, in [`settings`]: its name, its limits and its default. Reading a request, the form on
//!   a page and openapi.json follow from that.
//! - [`site_state`] says in one word how a site is, for lists.

pub(crate) mod host_name;
pub mod refusal;
pub mod settings;
pub mod site;
pub mod site_input;
pub mod site_state;
pub mod site_url;
