//! Keys of subscriptions to status pages. They are apart from the pages: the process that sends emails to subscribers
//! cannot change what a team has chosen.

use vedette_domain::id::{IncidentId, StatusPageId, SubscriptionId};

use super::{Key, Prefix, SELF};

/// The part of a page's subscriptions with what subscribers still have to be sent.
pub(crate) const MAILING: &str = "M#";

pub(crate) fn subscription_partition(page: StatusPageId) -> String {
    Prefix::Subscription.key(page)
}

/// The part of a page's subscriptions with the subscriptions themselves.
pub(crate) const SUBSCRIPTION: &str = "S#";

/// The range of the subscriptions after one of them.
pub(crate) fn subscriptions_after(after: Option<SubscriptionId>) -> (String, String) {
    // The plus sign comes before every digit and letter, and the dollar sign after the number sign.
    let from = after.map_or_else(|| SUBSCRIPTION.to_owned(), |id| format!("{SUBSCRIPTION}{id}+"));
    (from, "S$".to_owned())
}

/// A subscription of a reader.
pub(crate) fn subscription(page: StatusPageId, subscription: SubscriptionId) -> Key {
    Key::new(subscription_partition(page), format!("{SUBSCRIPTION}{subscription}"))
}

/// How many readers have subscribed to a page.
pub(crate) fn subscription_count(page: StatusPageId) -> Key {
    Key::new(subscription_partition(page), SELF)
}

/// What subscribers still have to be sent about an incident.
pub(crate) fn mailing(page: StatusPageId, incident: IncidentId) -> Key {
    Key::new(subscription_partition(page), format!("{MAILING}{incident}"))
}
