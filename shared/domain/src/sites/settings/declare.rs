//! How a tool's own settings are declared: each one once, with its name, its type, its default, the
//! rule for its values, and the prose that clients read.
//!
//! From a declaration come the whole settings, the partial ones, what lays the one over the other,
//! and the table [`OwnSettings::SETTINGS`], by which requests are read and schemas are made.

use serde::{Deserialize, Deserializer};

use super::setting::Setting;
use crate::checks::tool::Tool;

/// A tool's own settings, whole. Their defaults are what a new team starts from.
pub trait OwnSettings: Default {
    /// The same settings where each may be left out.
    type Overrides: Overrides<Self>;
    /// The tool.
    const TOOL: Tool;
    /// What can be set, in the order in which requests are judged.
    const SETTINGS: &'static [Setting];
}

/// Partial settings that can be laid over whole ones.
pub trait Overrides<S>: Default {
    /// Writes what was said over whole settings.
    fn apply(&self, to: &mut S);

    /// Takes back what was sent as it was `read`, so that what was `stored` stays.
    fn keep_as_read(&mut self, stored: &Self, read: &S);
}

/// Declares a tool's own settings. A field may have an older name, which is shown beside it and may
/// be sent in its place.
macro_rules! own_settings {
    (
        #[doc = $about:literal]
        $whole:ident as $schema_name:literal, $partial:ident, of $tool:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[formerly($former:literal, $former_doc:literal)])?
                $field:ident: $type:ty = $default:expr, $rule:expr;
            )+
        }
    ) => {
        #[doc = $about]
        #[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
        #[serde(default)]
        pub struct $whole {
            $($(#[doc = $doc])+ pub $field: $type,)+
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
                pub $field: Option<$type>,
            )+
        }

        impl Default for $whole {
            fn default() -> Self {
                Self { $($field: $default),+ }
            }
        }

        impl crate::sites::settings::OwnSettings for $whole {
            type Overrides = $partial;
            const TOOL: crate::checks::tool::Tool = crate::checks::tool::Tool::$tool;
            const SETTINGS: &'static [crate::sites::settings::Setting] = &[$(
                $(crate::sites::settings::Setting {
                    name: $former,
                    kept_as: stringify!($field),
                    description: $former_doc,
                    rule: $rule,
                },)?
                crate::sites::settings::Setting {
                    name: stringify!($field),
                    kept_as: stringify!($field),
                    description: concat!($($doc),+).trim_ascii_start(),
                    rule: $rule,
                },
            )+];
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
                use crate::sites::settings::OwnSettings as _;

                let mut map = serializer.serialize_map(Some(Self::SETTINGS.len()))?;
                $(
                    $(map.serialize_entry($former, &self.$field)?;)?
                    map.serialize_entry(stringify!($field), &self.$field)?;
                )+
                map.end()
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $whole {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $schema_name.into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let settings = <Self as crate::sites::settings::OwnSettings>::SETTINGS;
                crate::schema::own_settings($about.trim_ascii_start(), settings, generator)
            }
        }
    };
}
pub(super) use own_settings;

/// Writes a value that was said, and leaves the present one otherwise.
pub(super) fn set<T: Clone>(to: &mut T, said: Option<&T>) {
    if let Some(value) = said {
        to.clone_from(value);
    }
}

/// Puts what was stored in the place of what was sent as it was read.
pub(super) fn keep<T: Clone + PartialEq>(sent: &mut Option<T>, stored: &Option<T>, read: &T) {
    if sent.as_ref() == Some(read) {
        sent.clone_from(stored);
    }
}

/// Reads a field that is present, null included; an absent one is left to `default`.
pub(super) fn said<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
