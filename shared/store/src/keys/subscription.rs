//! Keys of subscriptions to status pages and reports. They are apart from the pages and the team: the process that
//! sends emails to subscribers cannot change what a team has chosen.

use vedette_domain::id::{ListId, SubscriptionId};
use vedette_domain::reports::ReportList;
use vedette_domain::status_pages::MailingTopic;

use super::{Key, Prefix, SELF};

/// The part of a list with what subscribers still have to be sent.
pub(crate) const MAILING: &str = "M#";

pub(crate) fn subscription_partition(list: ListId) -> String {
    Prefix::Subscription.key(list)
}

/// The part of a list with the subscriptions themselves.
pub(crate) const SUBSCRIPTION: &str = "S#";

/// The range of the subscriptions after one of them.
pub(crate) fn subscriptions_after(after: Option<SubscriptionId>) -> (String, String) {
    // The plus sign comes before every digit and letter, and the dollar sign after the number sign.
    let from = after.map_or_else(|| SUBSCRIPTION.to_owned(), |id| format!("{SUBSCRIPTION}{id}+"));
    (from, "S$".to_owned())
}

/// A subscription of a reader.
pub(crate) fn subscription(list: ListId, subscription: SubscriptionId) -> Key {
    Key::new(subscription_partition(list), format!("{SUBSCRIPTION}{subscription}"))
}

/// How many readers have subscribed to a page or to some reports.
pub(crate) fn subscription_count(list: ListId, reports: Option<&ReportList>) -> Key {
    let sort = reports.map_or_else(|| SELF.to_owned(), |of| format!("{SELF}#{}", of.key()));
    Key::new(subscription_partition(list), sort)
}

/// What subscribers still have to be sent about an incident or a period.
pub(crate) fn mailing(list: ListId, topic: MailingTopic) -> Key {
    Key::new(subscription_partition(list), format!("{MAILING}{topic}"))
}
