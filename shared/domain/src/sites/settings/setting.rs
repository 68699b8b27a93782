//! Rules for the values of settings.

use std::collections::BTreeSet;
use std::num::NonZeroU16;

use super::page::PAGE_URL_MAX;
use crate::input::{FieldRule, InputShape, IntegerRule, ListRule, TextKind, TextRule};
pub use crate::validation::INTEGER_MAX;
use crate::validation::{Errors, Field};

/// The most entries in a list of a few possible values, including repetitions. This is our own limit.
pub const CHOICES_MAX: usize = 100;
/// The longest item of `ignore_paths`, in characters.
const IGNORE_PATH_MAX: usize = 255;
/// The most items of `ignore_paths`. This is our own limit, which keeps a site within one stored item.
pub const IGNORE_PATHS_MAX: usize = 100;
/// The most bytes of all `ignore_paths` together. This is our own limit, for the same reason.
pub const IGNORE_PATHS_BYTES_MAX: usize = 8_192;

/// A positive integer.
pub(super) const POSITIVE: IntegerRule = IntegerRule { min: 1, max: INTEGER_MAX };
pub(super) const CONFIRMATION_RETRY_MINUTES: IntegerRule = IntegerRule { min: 1, max: 5 };
pub(super) const INCIDENT_FOLLOW_UP_MINUTES: IntegerRule = IntegerRule { min: 1, max: 60 };
/// In points of a performance score.
pub(super) const PERFORMANCE_SCORE: IntegerRule = IntegerRule { min: 1, max: 100 };

/// The URL of a page. Whoever knows the site [checks](super::check_page_url) that it is on the site's host.
pub(super) const PAGE: TextRule<String> =
    TextRule { min: 0, max: PAGE_URL_MAX, kind: TextKind::Url, parse: |text| Ok(text.to_owned()) };

/// A TCP port.
pub(super) struct PortRule;

impl FieldRule<NonZeroU16> for PortRule {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<NonZeroU16> {
        let port = field.integer(1..=u16::MAX.into(), errors)?;
        u16::try_from(port).ok().and_then(NonZeroU16::new)
    }

    fn shape(&self) -> InputShape {
        InputShape::Integer(1, u16::MAX.into())
    }
}

/// Path patterns, which have a limit together.
pub(super) struct PathsRule;

impl PathsRule {
    const LIST: ListRule<TextRule<String>, String> = ListRule::new(
        0,
        IGNORE_PATHS_MAX,
        TextRule {
            min: 0,
            max: IGNORE_PATH_MAX,
            kind: TextKind::NotBlank,
            parse: |text| Ok(text.to_owned()),
        },
    );
}

impl FieldRule<BTreeSet<String>> for PathsRule {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<BTreeSet<String>> {
        let paths: BTreeSet<String> = Self::LIST.read(field, errors)?;
        if paths.iter().map(String::len).sum::<usize>() > IGNORE_PATHS_BYTES_MAX {
            let message = format_args!("must not hold more than {IGNORE_PATHS_BYTES_MAX} bytes");
            field.refuse(errors, message);
            return None;
        }
        Some(paths)
    }

    fn shape(&self) -> InputShape {
        FieldRule::<BTreeSet<String>>::shape(&Self::LIST)
    }
}
