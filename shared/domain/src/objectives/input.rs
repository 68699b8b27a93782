//! Objectives as people choose them.

use super::{Objective, ObjectivePercentage, ObjectivePeriod};
use crate::input::{FieldRule, FlagRule, InputShape, ObjectRule, input};
use crate::validation::{Errors, Field};

input! {
    /// An objective as people choose it.
    ObjectiveInput {
        /// How much of the period the site should be up, in percent.
        #[form("Objective in percent", "Such as 99.9. Leave it empty for no objective.")]
        percentage: Required<ObjectivePercentage> = PercentageRule;
        /// The period: a calendar month in the time zone of the team, or the last days.
        #[form("Period of the objective")]
        period: Required<ObjectivePeriod> = ObjectivePeriod::ALL;
        /// Whether downtime in maintenance windows counts.
        #[form("Downtime in maintenance counts")]
        counts_maintenance: Optional<bool> = FlagRule, or false;
    }
}

/// An objective.
#[derive(Debug, Clone, Copy)]
pub struct ObjectiveRule;

impl FieldRule<Objective> for ObjectiveRule {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<Objective> {
        let ObjectiveInput { percentage, period, counts_maintenance } =
            ObjectRule.read(field, errors)?;
        Some(Objective { percentage, period, counts_maintenance })
    }

    fn shape(&self) -> InputShape {
        InputShape::Object(<ObjectiveInput as crate::input::Input>::FIELDS)
    }
}

struct PercentageRule;

impl FieldRule<ObjectivePercentage> for PercentageRule {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<ObjectivePercentage> {
        let percent = field.number(errors)?;
        let read = ObjectivePercentage::of(percent);
        if read.is_none() {
            let (min, max) = (ObjectivePercentage::MIN, ObjectivePercentage::MAX);
            let why = format_args!("must be from {min} to {max}, with at most three decimals");
            field.refuse(errors, why);
        }
        read
    }

    fn shape(&self) -> InputShape {
        InputShape::Decimal(ObjectivePercentage::MIN.into(), ObjectivePercentage::MAX.into())
    }

    fn limit(&self) -> String {
        "At most three decimals.".to_owned()
    }
}
