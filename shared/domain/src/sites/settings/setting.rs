//! A setting of a tool, and the values that it may have.

use std::ops::RangeInclusive;

/// The largest integer if the API names no bound of its own: the largest signed 32-bit integer, which every client
/// language has.
pub const INTEGER_MAX: u32 = 2_147_483_647;
/// Bounds of `confirmation_retry_minutes`.
pub(super) const CONFIRMATION_RETRY_MINUTES: RangeInclusive<u32> = 1..=5;
/// Bounds of `incident_follow_up_minutes`.
pub(super) const INCIDENT_FOLLOW_UP_MINUTES: RangeInclusive<u32> = 1..=60;
/// Bounds of `min_score`, in points of a performance score.
pub(super) const PERFORMANCE_SCORE: RangeInclusive<u32> = 1..=100;
/// The longest item of `ignore_paths`, in characters.
pub const IGNORE_PATH_MAX: usize = 255;
/// The most items of `ignore_paths`. This is our own limit, which keeps a site within one stored item.
pub const IGNORE_PATHS_MAX: usize = 100;
/// The most bytes of all `ignore_paths` together. This is our own limit, for the same reason.
pub const IGNORE_PATHS_BYTES_MAX: usize = 8_192;

/// One setting of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Its name in requests and answers.
    pub name: &'static str,
    /// The name under which partial settings store it; it differs for an older name.
    pub kept_as: &'static str,
    /// What it means.
    pub description: &'static str,
    /// The values that it may have.
    pub rule: Rule,
    /// Whether answers always contain it. Additions to the specification are omitted while they are unset.
    pub is_always_shown: bool,
}

/// The values that a setting may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// True or false.
    Boolean,
    /// An integer within bounds, both inclusive.
    Integer(u32, u32),
    /// A positive integer, or null for no limit.
    Limit,
    /// A TCP port, or null for the default.
    Port,
    /// Some of [`STATUS_INCIDENT_CODES`](super::STATUS_INCIDENT_CODES).
    StatusCodes,
    /// Some of [`DnsRecordType::ALL`](super::DnsRecordType::ALL).
    RecordTypes,
    /// Path patterns.
    Paths,
    /// The URL of a page on the site's own host, or null for its root. For a team, it is always null.
    Page,
}

impl Rule {
    /// A positive integer.
    pub(crate) const POSITIVE: Self = Self::within(&(1..=INTEGER_MAX));

    /// An integer within bounds.
    pub const fn within(bounds: &RangeInclusive<u32>) -> Self {
        Self::Integer(*bounds.start(), *bounds.end())
    }
}
