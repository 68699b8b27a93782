//! Sites: what is monitored, and with which settings.
//!
//! Start with [`site::Site`], the stored record, and [`settings::Settings::resolve`], which combines the settings of
//! the team, the site's own overrides and the plan's limits into the settings of a site.
//!
//! - [`site_url`] parses a URL and gives it the canonical form that makes it unique in a team.
//! - A setting is declared once, in [`settings`]: its name, its limits and its default. The code that reads requests,
//!   the form on a page and openapi.json follow from that.
//! - A [`tag::Tag`] says what sites have in common, and a [`selector::Selector`] which sites are meant. A
//!   [`group::SiteGroup`] is a selector with a name.
//! - [`site_state`] describes a site in one word, for lists.

pub mod group;
pub(crate) mod host_name;
pub mod input;
pub mod list_order;
pub mod refusal;
pub mod selector;
pub mod settings;
pub mod site;
pub mod site_state;
pub mod site_url;
pub mod tag;
pub mod tag_dictionary;
