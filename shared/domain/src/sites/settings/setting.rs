//! A setting of a tool, and what its value may be.

use std::ops::RangeInclusive;

use super::INTEGER_MAX;

/// One setting of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Its name in requests and answers.
    pub name: &'static str,
    /// The name under which partial settings keep it; another one for an older name.
    pub kept_as: &'static str,
    /// What it means.
    pub description: &'static str,
    /// What it may be.
    pub rule: Rule,
}

/// What the value of a setting may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// True or false.
    Boolean,
    /// An integer within bounds, both included.
    Integer(u32, u32),
    /// A positive integer, or null for no limit.
    Limit,
    /// Some of [`STATUS_INCIDENT_CODES`](super::STATUS_INCIDENT_CODES).
    StatusCodes,
    /// Some of [`DnsRecordType::ALL`](super::DnsRecordType::ALL).
    RecordTypes,
    /// Path patterns.
    Paths,
    /// The URL of a page on the site's own host, or null for its root. A team has only null.
    Page,
}

impl Rule {
    /// A positive integer.
    pub const POSITIVE: Self = Self::within(&(1..=INTEGER_MAX));

    /// An integer within bounds.
    pub const fn within(bounds: &RangeInclusive<u32>) -> Self {
        Self::Integer(*bounds.start(), *bounds.end())
    }
}
