//! How many letters people get: a service that writes to any address that somebody types must not
//! become one that pesters.

use jiff::SignedDuration;

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

/// Letters by which a team asks anybody for something.
pub const REQUESTS_OF_TEAM: Limit = Limit { times: 100, window: SignedDuration::from_hours(24) };

/// Letters by which a team asks an address for something: to confirm it, or to join.
pub const REQUESTS: Limit = Limit { times: 3, window: SignedDuration::from_hours(24) };
