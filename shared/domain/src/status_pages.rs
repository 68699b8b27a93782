//! Public status pages: what a team publishes about its sites, under names of its own.
//!
//! A [`StatusPage`] is what a team has chosen: its groups of components, and which site stands behind each. People write
//! [`PageIncident`]s. From these and from what checks have found, [`publish`] composes a [`PublishedPage`]. It is stored, and
//! readers are served nothing else: neither tables of checks nor issues are read for them.

mod address;
mod incident;
mod input;
mod page;
mod publication;
mod publish;
mod published;
mod resource;
mod subscription;
#[cfg(test)]
mod tests;

pub use address::{PageAddress, Slug, SlugError};
pub use incident::{
    INCIDENTS_MAX, Impact, IncidentRefusal, IncidentStatus, IncidentUpdate, PageIncident,
    UPDATES_MAX,
};
pub use input::{
    ComponentInput, GroupInput, IncidentEdit, NewIncident, NewPage, PageEdit, PageRefusal,
};
pub use page::{
    COMPONENTS_MAX, Component, ComponentChange, Following, Group, PAGES_MAX, StatusPage,
};
pub use publication::{PUBLICATION_GRACE, Publication, Selected, next_publication};
pub use publish::{MonitorFacts, affects, component_state, publish};
pub use published::{
    ComponentState, PageSummary, PublishedComponent, PublishedGroup, PublishedIncident,
    PublishedPage, PublishedUpdate, PublishedWindow, VERSION,
};
pub use resource::{IncidentResource, StatusPageResource};
pub use subscription::{
    IncidentNews, MAILING_LEASE, Mailing, MailingTopic, SUBSCRIPTIONS_MAX, SUBSCRIPTIONS_OF_LIST,
    SUBSCRIPTIONS_OF_MAILBOX, SUBSCRIPTIONS_OF_SOURCE, Subscription, SubscriptionRefusal,
};
