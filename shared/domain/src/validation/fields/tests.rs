//! Reading single fields: types, bounds and messages.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::checks::tool::Tool;

/// What a reader makes of a value at the path `f`: the value read, or the first error's field and
/// message.
fn read<'a, T>(
    value: &'a Value,
    reader: impl FnOnce(&Field<'a>, &mut Errors) -> Option<T>,
) -> Result<T, String> {
    let mut errors = Errors::new();
    let read = reader(&Field::at("f", value), &mut errors);
    assert_eq!(read.is_some(), errors.is_empty(), "either a value or an error");
    errors.finish(read).map_err(|error| error.message())
}

fn refusal<T>(message: &str) -> Result<T, String> {
    Err(format!("The f field {message}."))
}

#[test]
fn strings_are_trimmed_and_counted_in_characters() {
    for (value, expected) in [
        (json!("abc"), Ok("abc".to_owned())),
        (json!("  abc\n"), Ok("abc".to_owned())),
        (json!("äöü"), Ok("äöü".to_owned())),
        (json!("  abc  "), Ok("abc".to_owned())),
        (json!("abcd"), refusal("must not be longer than 3 characters")),
        (json!(""), refusal("must not be empty")),
        (json!(" \t"), refusal("must not be empty")),
        (json!(null), refusal("must not be empty")),
        (json!(5), refusal("must be a string")),
        (json!(["abc"]), refusal("must be a string")),
    ] {
        assert_eq!(read(&value, |f, e| f.string(3, e)), expected, "{value}");
    }
}

#[test]
fn booleans_are_strict() {
    for (value, expected) in [
        (json!(true), Ok(true)),
        (json!(false), Ok(false)),
        (json!(1), refusal("must be true or false")),
        (json!("true"), refusal("must be true or false")),
        (json!(null), refusal("must not be empty")),
    ] {
        assert_eq!(read(&value, Field::boolean), expected, "{value}");
    }
}

#[test]
fn integers_are_strict_about_type_and_bounds() {
    let number = |text: &str| -> Value { serde_json::from_str(text).expect("a number") };
    for (value, expected) in [
        (json!(1), Ok(1)),
        (json!(60), Ok(60)),
        (number("5.0"), Ok(5)),
        (number("5e0"), Ok(5)),
        (json!(0), refusal("must be at least 1")),
        (json!(-3), refusal("must be at least 1")),
        (number("-0.0"), refusal("must be at least 1")),
        (json!(61), refusal("must not be greater than 60")),
        (number("18446744073709551615"), refusal("must not be greater than 60")),
        (number("1e300"), refusal("must not be greater than 60")),
        (number("-1e300"), refusal("must be at least 1")),
        (json!(5.5), refusal("must be an integer")),
        (json!("5"), refusal("must be an integer")),
        (json!(true), refusal("must be an integer")),
        (json!([5]), refusal("must be an integer")),
        (json!(null), refusal("must not be empty")),
    ] {
        assert_eq!(read(&value, |f, e| f.integer(1..=60, e)), expected, "{value}");
    }
}

#[test]
fn choices_name_what_may_be_chosen() {
    for (value, expected) in [
        (json!(15), Ok(15)),
        (json!(45), refusal("must be one of 0, 15")),
        (json!("15"), refusal("must be an integer")),
    ] {
        assert_eq!(read(&value, |f, e| f.integer_of(&[0, 15], e)), expected, "{value}");
    }
    for (value, expected) in [
        (json!("ssl"), Ok(Tool::Ssl)),
        (json!(" ssl "), Ok(Tool::Ssl)),
        (json!("SSL"), refusal("must be one of ssl, dns")),
        (json!("status"), refusal("must be one of ssl, dns")),
        (json!(1), refusal("must be one of ssl, dns")),
        (json!(null), refusal("must not be empty")),
    ] {
        let found = read(&value, |f, e| f.one_of(&[Tool::Ssl, Tool::Dns], e));
        assert_eq!(found, expected, "{value}");
    }
}

#[test]
fn null_is_read_only_where_it_is_allowed() {
    let nullable = |value: &Value| read(value, |f, e| f.nullable(|f| f.string(3, e)));
    assert_eq!(nullable(&json!(null)), Ok(None));
    assert_eq!(nullable(&json!("  ")), Ok(None));
    assert_eq!(nullable(&json!("abc")), Ok(Some("abc".to_owned())));
    assert_eq!(nullable(&json!(1)), refusal("must be a string"));
}

#[test]
fn omitted_fields_are_missed_only_when_required() {
    let body = json!({"null": null, "blank": " ", "name": "n"});
    let body = body.as_object().expect("an object");
    let fields = Fields::body(body);
    let mut errors = Errors::new();

    assert_eq!(fields.field("gone").string(9, &mut errors), None);
    assert_eq!(fields.field("gone").nullable(|f| f.string(9, &mut errors)), None);
    assert!(!fields.field("gone").is_sent() && fields.field("gone").is_absent());
    assert!(fields.field("null").is_sent() && fields.field("null").is_absent());
    assert_eq!(fields.field("name").required(&mut errors).string(9, &mut errors), Some("n".into()));
    assert!(errors.is_empty());

    for name in ["gone", "null", "blank"] {
        // One message each, although the field is read after it was missed.
        assert_eq!(fields.field(name).required(&mut errors).string(9, &mut errors), None);
    }
    let error = errors.finish(Some(())).expect_err("three are required");
    assert_eq!(
        serde_json::to_value(&error).expect("serialize"),
        json!({
            "message": "The gone field is required. (and 2 more errors)",
            "errors": {
                "gone": ["The gone field is required."],
                "null": ["The null field is required."],
                "blank": ["The blank field is required."],
            },
        })
    );
}

#[test]
fn every_wrong_item_is_told_at_its_index() {
    let value = json!([9, "x", 3, null, 9]);
    let mut errors = Errors::new();
    let list: Option<BTreeSet<u32>> =
        Field::at("a.b", &value).list(0..=5, &mut errors, |item, e| item.integer(1..=9, e));
    assert_eq!(list, None);
    let error = errors.finish(Some(())).expect_err("two are wrong");
    assert_eq!(
        serde_json::to_value(&error).expect("serialize")["errors"],
        json!({
            "a.b.1": ["The a.b.1 field must be an integer."],
            "a.b.3": ["The a.b.3 field must not be empty."],
        })
    );
}

#[test]
fn lists_have_bounds_and_take_the_order_of_their_collection() {
    let set = |value: &Value| {
        read(value, |f, e| f.list::<_, BTreeSet<u32>>(0..=3, e, |i, e| i.integer(0..=9, e)))
    };
    assert_eq!(set(&json!([9, 3, 9])), Ok(BTreeSet::from([3, 9])));
    assert_eq!(set(&json!([])), Ok(BTreeSet::new()));
    assert_eq!(set(&json!([1, 2, 3, 4])), refusal("must not have more than 3 items"));
    assert_eq!(set(&json!({})), refusal("must be an array"));
    assert_eq!(set(&json!(null)), refusal("must not be empty"));
    let length = |value: &Value| read(value, |f, e| f.items(1..=1, e)).map(|items| items.len());
    assert_eq!(length(&json!([])), refusal("must have at least 1 item"));
    assert_eq!(length(&json!([1])), Ok(1));
    assert_eq!(length(&json!([1, 2])), refusal("must not have more than 1 item"));
}

#[test]
fn objects_know_their_fields_by_path() {
    let value = json!({"b": {"c": 1, "d": 2, "e": 3}});
    let mut errors = Errors::new();
    let inner = Field::at("a", &value)
        .object(&mut errors)
        .and_then(|a| a.field("b").object(&mut errors))
        .expect("an object");
    assert!(!inner.is_empty());
    assert_eq!(inner.field("c").path(), "a.b.c");
    assert_eq!(inner.field("c").value(), Some(&json!(1)));
    inner.only(&["d"], &mut errors);
    let error = errors.finish(Some(())).expect_err("two are unknown");
    assert_eq!(
        serde_json::to_value(&error).expect("serialize"),
        json!({
            "message": "The a.b.c field is not known. (and 1 more error)",
            "errors": {
                "a.b.c": ["The a.b.c field is not known."],
                "a.b.e": ["The a.b.e field is not known."],
            },
        })
    );
    for wrong in [json!([]), json!("x"), json!(1)] {
        let object = read(&wrong, Field::object).map(|_| ());
        assert_eq!(object, refusal("must be an object"), "{wrong}");
    }
    assert_eq!(read(&json!(null), Field::object).map(|_| ()), refusal("must not be empty"));
}
