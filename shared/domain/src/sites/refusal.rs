//! Why a site is not saved.

use std::fmt;

use crate::accounts::access::AccessRefusal;
use crate::checks::tool::Tool;
use crate::expectations::NotProven;
use crate::objectives::Unresolvable;
use crate::sites::settings::Settings;
use crate::sites::site::{LISTED_TEXTS_MAX, Site};
use crate::sites::tag_dictionary::TooManyTags;

/// Why a site is not created or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SiteRefusal {
    /// The caller may no longer manage the team's sites.
    #[error(transparent)]
    Access(#[from] AccessRefusal),
    /// Another site of the team has this URL.
    #[error("This URL is already monitored by the team.")]
    DuplicateUrl,
    /// The team has as many sites as its plan allows.
    #[error("Your current plan has reached its site limit.")]
    SiteLimit,
    /// Its new tags would be too many for the team.
    #[error(transparent)]
    TooManyTags(#[from] TooManyTags),
    /// The site's texts are too long together, although each is within its limit.
    #[error(
        "The {longest} field must be shorter: the texts of this site take {taken} bytes in lists, \
         and at most {LISTED_TEXTS_MAX} are allowed."
    )]
    TextsTooLong {
        /// The longest of them, which should be shortened.
        longest: LongText,
        /// How many bytes they take together.
        taken: usize,
    },
    /// The checks cannot tell its objective.
    #[error("The objective.percentage field {0}.")]
    Objective(#[from] Unresolvable),
    /// The owner of the host has not agreed to POSTs.
    #[error("The method field must not be POST: {0}.")]
    PostNotProven(NotProven),
}

/// A long text of a site, by the name of its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongText {
    /// The notes.
    Notes,
    /// The expected DNS records.
    ExpectedRecords,
}

impl LongText {
    /// The name of the field.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Notes => "notes",
            Self::ExpectedRecords => "dns_expected_records",
        }
    }
}

impl fmt::Display for LongText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Site {
    /// Refuses a site whose texts are too long together, and names the longest.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn check_texts(&self) -> Result<(), SiteRefusal> {
        let taken = self.listed_texts();
        if taken <= LISTED_TEXTS_MAX {
            return Ok(());
        }
        let notes = self.notes.as_ref().map_or(0, String::len);
        let records: usize = self.expected_records.values().flatten().map(String::len).sum();
        let longest = if notes < records { LongText::ExpectedRecords } else { LongText::Notes };
        Err(SiteRefusal::TextsTooLong { longest, taken })
    }

    /// Refuses an objective that the checks under these settings of the site cannot tell.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn check_objective(&self, settings: &Settings) -> Result<(), Unresolvable> {
        let cadence = settings.tools.cadence_minutes(Tool::Status);
        self.objective.map_or(Ok(()), |objective| objective.check_cadence(cadence))
    }
}
