//! The bodies with inputs.

use serde_json::Value;
use vedette_domain::input::Input;
use vedette_domain::schema;

use crate::operation::Body;
use crate::schemas::Schemas;

/// A body with an input. A change may be empty.
pub(crate) fn body<T: Input>(name: &str, schemas: &mut Schemas) -> Body {
    let schema = schema::object(T::FIELDS, T::IS_NEW);
    Body { is_required: T::IS_NEW, schema: schemas.named(name, schema) }
}

/// The schema of an input beside which fields that are not known are ignored.
pub(super) fn open<T: Input>() -> Value {
    let mut schema = schema::object(T::FIELDS, T::IS_NEW);
    schema["additionalProperties"] = true.into();
    schema
}
