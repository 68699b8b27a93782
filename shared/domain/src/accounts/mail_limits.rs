//! Limits for transactional emails. Anybody can enter any address, so without limits the service could be used to send
//! spam.

use data_encoding::HEXLOWER;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use uuid::Builder;

use crate::accounts::email::normalized;
use crate::id::UserId;
use crate::rate_limit::RateLimit;
use crate::shared_limit::SharedLimit;

/// How long a batch of transactional emails may take: all are sent at the same time, each once and within 30 seconds.
pub const WRITING_TIMEOUT: SignedDuration = SignedDuration::from_secs(60);

/// A number of times within a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// How often.
    pub times: u32,
    /// The length of the window; windows begin at whole multiples of it.
    pub window: SignedDuration,
}

impl Limit {
    /// How long until the next window begins.
    pub fn until_next(self, now: Timestamp) -> SignedDuration {
        let seconds = self.window.as_secs().max(1);
        SignedDuration::from_secs(seconds - now.as_second().rem_euclid(seconds))
    }
}

/// Sign-in links to one address, from all sources together.
pub const SIGN_INS: RateLimit = RateLimit { burst: 4, every: SignedDuration::from_mins(2) };

/// Sign-in links to one address from one source: half of [`SIGN_INS`], so that no stranger alone can use up the limit
/// of the address's owner.
pub const SIGN_INS_BY_SOURCE: RateLimit =
    RateLimit { burst: 2, every: SignedDuration::from_mins(4) };

/// Sign-in links that one source requests, for all addresses together.
pub const SIGN_INS_OF_SOURCE: RateLimit =
    RateLimit { burst: 20, every: SignedDuration::from_secs(30) };

/// A placeholder for the user of an address without an account. It is the same each time, and never a real user.
pub fn nobody(email: &str) -> UserId {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&Sha256::digest(format!("nobody#{}", normalized(email)))[..16]);
    UserId(Builder::from_random_bytes(bytes).into_uuid())
}

/// The key under which transactional emails to an address are counted. It does not reveal the address.
pub fn counted_as(email: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(normalized(email)))
}

/// Transactional emails in which a team asks to confirm addresses.
pub const CONFIRMATIONS_OF_TEAM: Limit =
    Limit { times: 100, window: SignedDuration::from_hours(24) };

/// Transactional emails in which a team invites people. This limit is separate, so that using up the other one does not
/// keep people out of the team.
pub const INVITATIONS_OF_TEAM: Limit = Limit { times: 50, window: SignedDuration::from_hours(24) };

/// Transactional emails in which teams ask a mailbox for something: to confirm an address, or to join. All teams
/// together send 12.
pub const REQUESTS_TO_MAILBOX: SharedLimit =
    SharedLimit { of_team: 3, divided: 7, window: SignedDuration::from_hours(24) };

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn a_stranger_from_one_source_leaves_half_of_the_links_to_others() {
        let start: Timestamp = "2026-11-20T09:54:00Z".parse().expect("a timestamp");
        let (mut of_address, mut by_stranger, mut by_owner) = (None, None, None);
        let mut ask = |by_source: &mut Option<Timestamp>, now| {
            let taken = SIGN_INS_BY_SOURCE
                .take(*by_source, now)
                .ok()
                .zip(SIGN_INS.take(of_address, now).ok());
            let Some((of_source, of_all)) = taken else { return false };
            (*by_source, of_address) = (Some(of_source), Some(of_all));
            true
        };
        // The stranger asks every second for a day, and the owner twice now and then.
        for second in 0..24 * 60 * 60 {
            let now = start + SignedDuration::from_secs(second);
            ask(&mut by_stranger, now);
            if second % 500 == 499 {
                assert!(
                    ask(&mut by_owner, now) && ask(&mut by_owner, now),
                    "after {second} seconds"
                );
            }
        }
    }

    #[test]
    fn an_address_is_counted_without_its_case_and_does_not_show() {
        assert_eq!(counted_as("Kate@example.com"), counted_as("kate@EXAMPLE.com"));
        assert_ne!(counted_as("\u{212a}ate@example.com"), counted_as("kate@example.com"));
        assert_eq!(counted_as("kate@example.com").len(), 64);
        let nobody = nobody("kate@example.com");
        assert_eq!(nobody.as_uuid().get_version_num(), 4, "as all users have");
        assert!(
            !counted_as("kate@example.com")
                .starts_with(&nobody.as_uuid().simple().to_string()[..8])
        );
    }
}
