//! EventBridge Scheduler: schedules that send messages to queues.

use jiff::Timestamp;
use jiff::tz::Offset;
use serde_json::{Value, json};
use vedette_domain::message::CheckMessage;
use vedette_runtime::SLOT_PLACEHOLDER;

use super::{Answer, AwsAccount, Call};

/// Its name in signatures.
pub(super) const SERVICE: &str = "scheduler";
/// Schedules in a page of a list.
pub const PAGE: usize = 100;

impl AwsAccount {
    /// The runs that schedules send at an instant: those of all schedules whose expression includes the instant.
    pub fn fired(&self, at: Timestamp) -> Vec<CheckMessage> {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let due = self.schedules.values().filter(|schedule| {
            is_due(schedule["ScheduleExpression"].as_str().expect("an expression"), at)
        });
        let body = |schedule: &Value| {
            let input: Value =
                serde_json::from_str(&text(&schedule["Target"]["Input"])).expect("the parameters");
            text(&input["MessageBody"]).replace(SLOT_PLACEHOLDER, &at.to_string())
        };
        due.map(|schedule| serde_json::from_str(&body(schedule)).expect("a run")).collect()
    }

    pub(super) fn scheduler(&mut self, call: &Call) -> (&'static str, Answer) {
        let name = call.path.strip_prefix("schedules/").unwrap_or_default();
        let done = || Answer::json(&json!({ "ScheduleArn": format!("arn:{name}") }));
        let unknown =
            || Answer::refusal(404, "ResourceNotFoundException", "Schedule does not exist.");
        match call.method.as_str() {
            "POST" if self.schedules.contains_key(name) => {
                let answer = Answer::refusal(409, "ConflictException", "Schedule already exists.");
                ("CreateSchedule", answer)
            }
            "POST" => {
                self.schedules.insert(name.to_owned(), call.body.clone());
                ("CreateSchedule", done())
            }
            "PUT" => match self.schedules.get_mut(name) {
                Some(schedule) => {
                    *schedule = call.body.clone();
                    ("UpdateSchedule", done())
                }
                None => ("UpdateSchedule", unknown()),
            },
            "DELETE" if self.schedules.remove(name).is_some() => ("DeleteSchedule", done()),
            "DELETE" => ("DeleteSchedule", unknown()),
            _ => ("ListSchedules", self.list_schedules(call)),
        }
    }

    fn list_schedules(&self, call: &Call) -> Answer {
        let after = call.query.get("NextToken").map_or("", String::as_str);
        let mut rest = self.schedules.keys().filter(|name| name.as_str() > after);
        let page: Vec<_> = rest.by_ref().take(PAGE).collect();
        let next = rest.next().and(page.last());
        let page: Vec<_> = page.iter().map(|name| json!({ "Name": name })).collect();
        Answer::json(&json!({ "Schedules": page, "NextToken": next }))
    }
}

/// Whether a `cron()` expression, limited to the syntax that this service writes, includes an instant.
fn is_due(expression: &str, at: Timestamp) -> bool {
    let at = Offset::UTC.to_datetime(at);
    let fields = expression.strip_prefix("cron(").and_then(|rest| rest.strip_suffix(")"));
    let fields: Vec<&str> = fields.expect("a cron expression").split(' ').collect();
    let [minute, hour, "*" | "?", "*", weekday, "*"] = fields[..] else {
        panic!("{expression} is not understood")
    };
    let means = |field: &str, value: i8| match field.split_once('/') {
        _ if field == "*" => true,
        Some((first, step)) => {
            let [first, step]: [i8; 2] = [first, step].map(|part| part.parse().expect("a number"));
            value >= first && (value - first) % step == 0
        }
        None => value == field.parse::<i8>().expect("a number"),
    };
    let day = format!("{:?}", at.weekday()).to_uppercase();
    (at.second(), at.subsec_nanosecond()) == (0, 0)
        && means(minute, at.minute())
        && means(hour, at.hour())
        && (matches!(weekday, "*" | "?") || day.starts_with(weekday))
}
