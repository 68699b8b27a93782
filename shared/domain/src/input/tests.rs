//! Reading declared inputs from JSON and from what was typed.

use serde_json::json;

use super::*;
use crate::maintenance::{NewWindow, WindowEdit};
use crate::status_pages::{IncidentEdit, NewIncident, NewPage, PageEdit};
use crate::validation::YES;

fn texts<T: Input>(fields: &Value) -> Result<T, ValidationError> {
    T::from_texts(fields.as_object().expect("an object"))
}

fn json<T: Input>(body: &Value) -> Result<T, ValidationError> {
    T::from_json(body.to_string().as_bytes())
}

/// The errors by their fields.
fn errors<T: std::fmt::Debug>(read: Result<T, ValidationError>) -> Value {
    let error = serde_json::to_value(read.expect_err("refused")).expect("serialize");
    error["errors"].clone()
}

#[test]
fn what_is_typed_is_read_like_json() {
    let mut window = json!({
        "name": "",
        "duration_minutes": 90,
        "starts_at": "2026-11-29T02:00",
        "time_zone": "europe/berlin",
        "recurrence": "FREQ=DAILY",
        "sites": ["00000000-0000-4000-8000-000000000004"],
    });
    let sent: NewWindow = json(&window).expect("a window");
    assert_eq!((sent.name.as_str(), sent.duration_minutes), ("Maintenance", 90));
    window["duration_minutes"] = json!(" 90 ");
    assert_eq!(texts(&window), Ok(sent));
    let mut page = json!({ "slug": "meridian", "name": "Meridian", "unlisted": true });
    let sent: NewPage = json(&page).expect("a page");
    assert_eq!((sent.unlisted, sent.subscriptions), (true, false));
    page["unlisted"] = YES.into();
    page["subscriptions"] = "".into();
    assert_eq!(texts(&page), Ok(sent));
}

#[test]
fn a_change_tells_what_is_omitted_from_null() {
    let omitted: WindowEdit = json(&json!({})).expect("nothing");
    assert_eq!(omitted, WindowEdit::default());
    let null = json(&json!({ "name": null, "sites": null, "recurrence": " " }));
    let cleared = WindowEdit { sites: Some(None), recurrence: Some(None), ..omitted };
    assert_eq!(null, Ok(cleared));
    let off: PageEdit = texts(&json!({ "unlisted": "", "message": "" })).expect("a change");
    assert_eq!((off.unlisted, off.message), (Some(false), Some(None)));
}

#[test]
fn all_errors_are_found_at_once() {
    let wrong = json!({ "name": "a\nb", "sites": ["x", null], "duration_minutes": 0, "x": 1 });
    assert_eq!(
        errors(json::<WindowEdit>(&wrong)),
        json!({
            "x": ["The x field is not known."],
            "name": ["The name field must not contain control characters or characters that change the direction of text."],
            "duration_minutes": ["The duration_minutes field must be at least 1."],
            "sites.0": ["The sites.0 field must be a uuid."],
            "sites.1": ["The sites.1 field must not be empty."],
        })
    );
    let message = "The duration_minutes field must be an integer.";
    let hours = texts::<NewWindow>(&json!({ "duration_minutes": "1 h" }));
    assert_eq!(errors(hours), json!({ "duration_minutes": [message] }));
    assert_eq!(
        errors(json::<NewIncident>(&json!({ "status": null }))),
        json!({
            "title": ["The title field is required."],
            "status": ["The status field must not be empty."],
            "text": ["The text field is required."],
        })
    );
    assert_eq!(
        errors(json::<IncidentEdit>(&json!({ "status": "resolved" }))),
        json!({ "text": ["The text field is required with a status."] })
    );
}

#[test]
fn fields_say_their_limits_and_defaults() {
    let [name, minutes, _, zone, ..] = NewWindow::FIELDS else { panic!("fields") };
    assert_eq!(minutes.description(true), "How long the window lasts. At most 7 days.");
    let about = "Display name: one line of visible text.";
    assert_eq!(name.description(false), about);
    assert_eq!(name.description(true), format!("{about} The default is `Maintenance`."));
    assert_eq!(zone.label(), "Time zone");
}
