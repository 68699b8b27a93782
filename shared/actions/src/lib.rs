//! What people do to sites, issues and settings, in one way for the API, the pages and the command line: load,
//! decide, save, send.

mod checks;
mod issues;
mod monitoring;
mod sites;

pub use checks::order_checks;
pub use issues::{Decision, DecisionError, decide};
pub use monitoring::change_monitoring;
pub use sites::{
    OneOfMany, SITES_MAX, SiteInput, SiteUpdate, TeamWithCooldowns, create_one_of_many,
    create_site, delete_site, duplicate_url, pause_site, resume_site, save_site,
};
