//! EventBridge Scheduler: the names of schedules.

use serde_json::json;

use super::{Account, Answer, Call};

/// Its name in signatures.
pub(super) const SERVICE: &str = "scheduler";
/// Schedules in a page of a list.
pub const PAGE: usize = 100;

impl Account {
    pub(super) fn scheduler(&mut self, call: &Call) -> (&'static str, Answer) {
        let name = call.path.strip_prefix("schedules/").unwrap_or_default();
        let done = || Answer::json(&json!({ "ScheduleArn": format!("arn:{name}") }));
        let unknown =
            || Answer::refusal(404, "ResourceNotFoundException", "Schedule does not exist.");
        match call.method.as_str() {
            "POST" if self.schedules.insert(name.to_owned()) => ("CreateSchedule", done()),
            "POST" => {
                let answer = Answer::refusal(409, "ConflictException", "Schedule already exists.");
                ("CreateSchedule", answer)
            }
            "PUT" if self.schedules.contains(name) => ("UpdateSchedule", done()),
            "PUT" => ("UpdateSchedule", unknown()),
            "DELETE" if self.schedules.remove(name) => ("DeleteSchedule", done()),
            "DELETE" => ("DeleteSchedule", unknown()),
            _ => ("ListSchedules", self.list_schedules(call)),
        }
    }

    fn list_schedules(&self, call: &Call) -> Answer {
        let after = call.query.get("NextToken").map_or("", String::as_str);
        let mut rest = self.schedules.iter().filter(|name| name.as_str() > after);
        let page: Vec<_> = rest.by_ref().take(PAGE).collect();
        let next = rest.next().and(page.last());
        let page: Vec<_> = page.iter().map(|name| json!({ "Name": name })).collect();
        Answer::json(&json!({ "Schedules": page, "NextToken": next }))
    }
}
