//! The declaration of a tool's own settings. Each setting is declared once, like a field of an [input](crate::input).
//!
//! A declaration generates the complete settings, the partial settings, which are an [`Input`](crate::input::Input), and the code that applies
//! one to the other.

use serde::{Deserialize, Deserializer};

use crate::checks::tool::Tool;

/// A tool's own settings, complete. Their defaults are the settings of a new team.
pub trait OwnSettings: Default {
    /// The same settings, each of which may be left out.
    type Overrides: Overrides<Self>;
    /// The tool.
    const TOOL: Tool;
}

/// Partial settings that can be applied to complete ones.
pub trait Overrides<S>: Default {
    /// Applies the values that are present to complete settings.
    fn apply(&self, to: &mut S);

    /// Removes values that were sent as they were `read`, so that the `stored` ones stay.
    fn keep_as_read(&mut self, stored: &Self, read: &S);
}

/// Declares a tool's own settings. A field may have an older name, which answers also contain and requests may use
/// instead. Answers
/// omit a field if the given function says so, for clients that do not know it.
macro_rules! own_settings {
    (
        #[doc = $about:literal]
        $whole:ident as $schema_name:literal, $partial:ident, of $tool:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[form($label:literal $(, $help:literal)?)])?
                $(#[formerly($former:literal, $former_doc:literal)])?
                $(#[omitted_if($is_unset:path)])?
                $field:ident: $presence:ident<$type:ty> = $rule:expr $(, or $default:expr)?;
            )+
        }
    ) => {
        #[doc = $about]
        #[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
        #[serde(default)]
        pub struct $whole {
            $($(#[doc = $doc])+ pub $field: crate::input::new_type!($presence $type $(, $default)?),)+
        }

        #[doc = concat!("Partial [`", stringify!($whole), "`]; the fields mean the same.")]
        #[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $partial {
            $(
                $(#[doc = $doc])+
                #[serde(
                    skip_serializing_if = "Option::is_none",
                    deserialize_with = "crate::sites::settings::declare::said"
                )]
                pub $field: crate::input::change_type!($presence $type),
            )+
        }

        impl Default for $whole {
            fn default() -> Self {
                Self { $($field: crate::input::default_value!($($default)?)),+ }
            }
        }

        impl crate::sites::settings::OwnSettings for $whole {
            type Overrides = $partial;
            const TOOL: crate::checks::tool::Tool = crate::checks::tool::Tool::$tool;
        }

        impl crate::input::Input for $partial {
            const FIELDS: &'static [crate::input::InputField] = &[$(crate::input::field!(
                $(#[doc = $doc])+
                $(#[form($label $(, $help)?)])?
                $(#[formerly($former, $former_doc)])?
                $field: $presence<$type> = $rule
            ),)+];
            const IS_NEW: bool = false;

            fn read(
                fields: &crate::validation::Fields<'_>,
                errors: &mut crate::validation::Errors,
            ) -> Option<Self> {
                Some(Self { $(
                    // If a setting is sent under two names, the current name decides, even with null.
                    $field: [
                        $(crate::input::read_change!($presence, fields.field($former), errors, $rule),)?
                        crate::input::read_change!($presence, fields.field(stringify!($field)), errors, $rule),
                    ].into_iter().flatten().next_back(),
                )+ })
            }
        }

        impl crate::sites::settings::Overrides<$whole> for $partial {
            fn apply(&self, to: &mut $whole) {
                $(crate::sites::settings::declare::set(&mut to.$field, self.$field.as_ref());)+
            }

            fn keep_as_read(&mut self, stored: &Self, read: &$whole) {
                $(crate::sites::settings::declare::keep(&mut self.$field, &stored.$field, &read.$field);)+
            }
        }

        impl serde::Serialize for $whole {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;

                let mut map = serializer.serialize_map(None)?;
                $(
                    $(map.serialize_entry($former, &self.$field)?;)?
                    $(if !$is_unset(&self.$field))? {
                        map.serialize_entry(stringify!($field), &self.$field)?;
                    }
                )+
                map.end()
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $whole {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $schema_name.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let omitted = [$($({
                    let _ = stringify!($is_unset);
                    stringify!($field)
                },)?)+];
                let settings = <$partial as crate::input::Input>::FIELDS;
                crate::schema::own_settings($about.trim_ascii_start(), settings, &omitted)
            }
        }
    };
}
pub(super) use own_settings;

/// Sets a value that is present, and otherwise changes nothing.
pub(super) fn set<T: Clone>(to: &mut T, said: Option<&T>) {
    if let Some(value) = said {
        to.clone_from(value);
    }
}

/// Replaces a value that was sent as it was read with the stored one.
pub(super) fn keep<T: Clone + PartialEq>(sent: &mut Option<T>, stored: &Option<T>, read: &T) {
    if sent.as_ref() == Some(read) {
        sent.clone_from(stored);
    }
}

/// Reads a field that is present, including null. `default` handles a missing field.
pub(super) fn said<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
