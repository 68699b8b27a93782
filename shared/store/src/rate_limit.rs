//! Counters and the buckets of rate limits.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use vedette_domain::id::{TeamId, UserId};
use vedette_domain::shared_limit::{SharedLimit, SharedUse};

use crate::Audit;
use crate::StoreError;
use crate::account::UserRef;
use crate::item::{Item, Stored, expiring, item, number, stored};
use crate::keys::{self, Key};
use crate::table::{Change, Condition, Store};

stored!(attributes: Window, Bucket);

/// The window in which requests are counted.
const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// Length of the part of a token's or session's hash that distinguishes it from the user's others.
const SUBJECT_LENGTH: usize = 16;

/// The attribute with the teams that have used a shared limit.
const TEAMS: &str = "teams";

/// How long a bucket is kept after it is full, because the clocks of processes differ.
const KEPT_FULL: SignedDuration = SignedDuration::from_mins(5);

#[derive(Deserialize)]
struct Window {
    n: u32,
}

/// A user's requests in a minute.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requests {
    /// Those with the token or in the session of this request.
    pub own: u32,
    /// Those with each of the user's tokens and in each session.
    of_all: Vec<u32>,
}

impl Requests {
    /// How many requests count against the user's limit, if each token may make `limit` requests. Requests that a
    /// token's own limit refuses do not count against the user's other tokens.
    pub fn of_user(&self, limit: u32) -> u32 {
        self.of_all.iter().fold(0, |sum, of_one| sum.saturating_add(limit.min(*of_one)))
    }
}

/// A bucket that requests have used.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Bucket {
    /// When it will be full, in milliseconds since the epoch.
    full_at: i64,
}

/// A bucket before and after a request uses it.
#[derive(Debug, Clone)]
pub struct Taken {
    /// Whose bucket it is.
    pub subject: String,
    /// When it was going to be full, as read.
    pub before: Option<Timestamp>,
    /// When it will be full now.
    pub after: Timestamp,
}

impl Store {
    /// Counts an event of a subject in the current window, and returns how many there were, including this one.
    pub async fn count(
        &self,
        subject: &str,
        window: SignedDuration,
        now: Timestamp,
    ) -> Result<u32, StoreError> {
        Ok(Window::read(self.add(subject, "n", window, now).await?)?.n)
    }

    /// Counts a request of a user with a token or session of this hash. One item holds all counters of the user, so one
    /// write is enough to check both limits.
    pub async fn count_request(
        &self,
        user: UserId,
        hash: &str,
        now: Timestamp,
    ) -> Result<Requests, StoreError> {
        let subject = format!("n{}", hash.get(..SUBJECT_LENGTH).unwrap_or(hash));
        let counted = self.add(&user.to_string(), &subject, MINUTE, now).await?;
        let counts: BTreeMap<&str, u32> = counted
            .iter()
            .filter(|(name, _)| name.starts_with('n'))
            .filter_map(|(name, value)| Some((name.as_str(), value.as_n().ok()?.parse().ok()?)))
            .collect();
        let own = counts.get(&*subject).copied().unwrap_or_default();
        Ok(Requests { own, of_all: counts.into_values().collect() })
    }

    /// Counts a team's use of a subject toward a limit that teams share.
    pub async fn count_shared(
        &self,
        subject: &str,
        team: TeamId,
        limit: SharedLimit,
        now: Timestamp,
    ) -> Result<SharedUse, StoreError> {
        self.add_shared(&keys::throttle(subject, limit.window_at(now)), team, limit, now).await
    }

    /// The same in this item. It remembers which teams there are, and no more than the limit allows.
    pub(crate) async fn add_shared(
        &self,
        key: &Key,
        team: TeamId,
        limit: SharedLimit,
        now: Timestamp,
    ) -> Result<SharedUse, StoreError> {
        let id = team.as_uuid().simple().to_string();
        let (counter, ids) = (format!("t{id}"), AttributeValue::Ss(vec![id]));
        let expires_at = (limit.window_at(now) + 2) * limit.window.as_secs();
        let change = Change {
            expression: "ADD #own :one, #teams :ids SET #ttl = :ttl".into(),
            names: vec![
                ("#own", counter.clone()),
                ("#teams", TEAMS.to_owned()),
                ("#ttl", keys::TTL.to_owned()),
            ],
            values: vec![(":one", number(1)), (":ids", ids), (":ttl", number(expires_at))],
        };
        let has_room = Condition::When(
            "attribute_exists(#own) OR attribute_not_exists(#teams) OR size(#teams) < :most",
            vec![(":most", number(limit.divided))],
        );
        match self.update(key, change, Some(has_room)).await {
            Ok(counted) => shared_use(&counted, &counter),
            Err(error) if error.is_conflict() => {
                Ok(SharedUse { own: 1, teams: limit.divided.saturating_add(1) })
            }
            Err(error) => Err(error),
        }
    }

    async fn add(
        &self,
        subject: &str,
        counter: &str,
        window: SignedDuration,
        now: Timestamp,
    ) -> Result<Item, StoreError> {
        let seconds = window.as_secs().max(1);
        let number_of_window = now.as_second().div_euclid(seconds);
        let change = Change {
            expression: "ADD #n :one SET #ttl = :ttl".into(),
            names: vec![("#n", counter.to_owned()), ("#ttl", keys::TTL.to_owned())],
            values: vec![(":one", number(1)), (":ttl", number((number_of_window + 2) * seconds))],
        };
        self.update(&keys::throttle(subject, number_of_window), change, None).await
    }

    /// The user with an address, and when the buckets that are not full will be. This takes one batch, which costs the
    /// same whether or not anybody has the address.
    pub async fn user_and_buckets<const N: usize>(
        &self,
        email: &str,
        subjects: [&str; N],
    ) -> Result<(Option<UserId>, [Option<Timestamp>; N]), StoreError> {
        let (address, buckets) = (keys::email(email), subjects.map(keys::rate_limit));
        let wanted = buckets.iter().chain([&address]).cloned();
        let mut found = self.batch_get(wanted).await?;
        let user = found.remove(&address).map(UserRef::read).transpose()?;
        let mut full_at = [None; N];
        for (full_at, key) in full_at.iter_mut().zip(&buckets) {
            let Some(bucket) = found.remove(key) else { continue };
            let Bucket { full_at: millis } = Stored::read(bucket)?;
            *full_at = Timestamp::from_millisecond(millis).ok();
        }
        Ok((user.map(|found| found.user), full_at))
    }

    /// Uses all of the buckets, or none.
    ///
    /// # Errors
    ///
    /// A conflict when one of them has been used since it was read.
    pub async fn take(&self, taken: &[Taken]) -> Result<(), StoreError> {
        let mut transaction = self.transaction();
        for Taken { subject, before, after } in taken {
            let row = of_bucket(&keys::rate_limit(subject), *after)?;
            let condition = before.map_or(Condition::Absent, |before| {
                Condition::When("full_at = :full_at", vec![(":full_at", millis(before))])
            });
            transaction = transaction.put(row, condition);
        }
        transaction.commit(Audit::None).await
    }
}

/// How much of a shared limit an item says is used, with this counter of the team.
fn shared_use(counted: &Item, counter: &str) -> Result<SharedUse, StoreError> {
    let own = counted.get(counter).and_then(|own| own.as_n().ok()?.parse().ok());
    let teams = counted.get(TEAMS).and_then(|teams| u32::try_from(teams.as_ss().ok()?.len()).ok());
    let used = own.zip(teams).map(|(own, teams)| SharedUse { own, teams });
    used.ok_or_else(|| StoreError::corrupt("a shared limit without its counters"))
}

fn of_bucket(key: &Key, full_at: Timestamp) -> Result<Item, StoreError> {
    let row = item(key, &Bucket { full_at: full_at.as_millisecond() })?;
    Ok(expiring(row, full_at.saturating_add(KEPT_FULL).unwrap_or(full_at)))
}

fn millis(at: Timestamp) -> AttributeValue {
    number(at.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_a_tokens_own_limit_refuses_do_not_count_against_its_user() {
        let requests = Requests { own: 3, of_all: vec![3, 900, 60] };
        assert_eq!(requests.of_user(60), 123);
        assert_eq!(Requests { own: 0, of_all: vec![u32::MAX; 3] }.of_user(u32::MAX), u32::MAX);
    }
}
