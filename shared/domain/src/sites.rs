//! Sites: what is monitored, and with which settings.

pub(crate) mod host_name;
pub mod settings;
pub mod site;
pub mod site_state;
pub mod site_url;
