//! How many letters people get: a service that writes to any address that somebody types must not
//! become one that pesters.

use jiff::SignedDuration;

/// How long a batch of letters may take: each is sent once, all at the same time, and within 30 seconds.
pub const WRITING_TIMEOUT: SignedDuration = SignedDuration::from_secs(60);

/// So many times of something in so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// How often.
    pub times: u32,
    /// In how long; windows begin at whole multiples of it.
    pub window: SignedDuration,
}

/// Links to sign in that a user is sent.
pub const SIGN_INS: Limit = Limit { times: 5, window: SignedDuration::from_hours(1) };

/// Letters by which a team asks for addresses to be confirmed.
pub const CONFIRMATIONS_OF_TEAM: Limit =
    Limit { times: 100, window: SignedDuration::from_hours(24) };

/// Letters by which a team invites people: an allowance of its own, so that somebody who uses up the other one does not
/// keep people out of the team.
pub const INVITATIONS_OF_TEAM: Limit = Limit { times: 50, window: SignedDuration::from_hours(24) };

/// Letters by which a team asks a mailbox for something: to confirm an address, or to join.
pub const REQUESTS: Limit = Limit { times: 3, window: SignedDuration::from_hours(24) };

/// Letters by which all teams together ask a mailbox for something.
pub const REQUESTS_TO_MAILBOX: Limit = Limit { times: 12, window: SignedDuration::from_hours(24) };
