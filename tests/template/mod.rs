//! What `template.yaml` must have of the code: a function for each route with its path, timeouts that
//! follow the tools' limits, and permissions that are just what the handlers do.

mod document;
mod permissions;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use vedette_api::{FALLBACK, ROUTES};
use vedette_domain::limits::{MAINTENANCE_GRACE, TIMEOUTS_PER_VISIBILITY};
use vedette_domain::tool::Tool;
use vedette_runtime::BATCH;

use document::Template;

/// What a function is not told: its browser and Lighthouse, which it has not; and the key that it reads
/// from where `VEDETTE_PAGESPEED_SECRET` says.
const NOT_SET: [&str; 3] = ["VEDETTE_CHROME", "VEDETTE_LIGHTHOUSE", "VEDETTE_PAGESPEED_KEY"];

#[test]
fn the_template_has_a_function_for_each_route() {
    let template = Template::read();
    let mut found = BTreeSet::new();
    for function in template.functions() {
        for event in template.events(function).filter(|event| event["Type"] == "HttpApi") {
            let text = |value: &Value| value.as_str().unwrap_or("$default").to_owned();
            let Value::Object(event) = &event["Properties"] else { panic!("{function}: {event}") };
            let part = |name: &str| event.get(name).map_or("ANY".to_owned(), text);
            let path = event.get("Path").map_or(FALLBACK.path.to_owned(), text);
            found.insert((template.handler(function).to_owned(), part("Method"), path));
        }
    }
    let routes = ROUTES.iter().chain([&FALLBACK]);
    let routes = routes.map(|route| (route.name, route.method, route.path));
    let expected: BTreeSet<_> = routes.map(|(a, b, c)| (a.into(), b.into(), c.into())).collect();
    assert_eq!(found, expected);
}

#[test]
fn the_template_follows_the_limits_of_the_tools() {
    let template = Template::read();
    let tools = Tool::ALL.map(|tool| (tool.as_str(), tool.limits().function_timeout));
    let maintenance = ("maintenance", MAINTENANCE_GRACE.unsigned_abs());
    let seconds = |value: &Value| Duration::from_secs(value.as_u64().expect("seconds"));
    for (name, timeout) in tools.into_iter().chain([maintenance]) {
        let function = template.function_of(name);
        let function = template.properties(function);
        assert_eq!(seconds(&function["Timeout"]), timeout, "{name}");
        let is_long = Tool::parse(name).is_some_and(Tool::is_long);
        let batch = &function["Events"]["Messages"]["Properties"]["BatchSize"];
        assert_eq!(batch, if is_long { 1 } else { BATCH }, "{name}");
        let queue = template.resources_of("AWS::SQS::Queue").find(|queue| {
            template.properties(queue)["QueueName"]["Fn::Join"][1]
                == json!([{ "Ref": "AWS::StackName" }, name])
        });
        let queue = template.properties(queue.unwrap_or_else(|| panic!("no queue for {name}")));
        assert_eq!(
            seconds(&queue["VisibilityTimeout"]),
            timeout * TIMEOUTS_PER_VISIBILITY,
            "{name}"
        );
    }
}

/// The variables that sources read.
fn variables(folder: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in crate::files(folder, ".rs") {
        let text = std::fs::read_to_string(&path).expect("a source");
        names.extend(text.split("\"VEDETTE_").skip(1).map(|rest| {
            let end =
                rest.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(rest.len());
            format!("VEDETTE_{}", &rest[..end])
        }));
    }
    names
}

#[test]
fn what_functions_read_can_be_set() {
    let template = Template::read();
    let of_all = variables("shared/runtime/src");
    for function in template.functions() {
        let is_checker = Tool::parse(template.handler(function)).is_some();
        let mut read = of_all.clone();
        if is_checker {
            read.extend(variables("functions/checker/src"));
        } else {
            // Who runs what at once is asked by those alone that run it.
            read.remove("VEDETTE_CONCURRENCY");
        }
        read.retain(|name| !NOT_SET.contains(&name.as_str()));
        let set = template.environment(function).into_keys().map(str::to_owned).collect();
        assert_eq!(read, set, "{function}");
    }
}

#[test]
fn alarms_are_few_and_cost_what_their_parameter_says() {
    let template = Template::read();
    let alarms: Vec<_> = template.resources_of("AWS::CloudWatch::Alarm").collect();
    assert!(alarms.len() < 20, "{alarms:?}");
    let mut all = 0;
    for alarm in alarms {
        let metrics = template.properties(alarm)["Metrics"].as_array();
        let asked = |metrics: &Vec<Value>| {
            metrics.iter().filter(|one| one.get("MetricStat").is_some()).count()
        };
        let metrics = metrics.map_or(1, asked);
        assert!((1..=10).contains(&metrics), "{alarm} has {metrics} metrics");
        // That one is there for the time of a deployment alone.
        all += if alarm == "FunctionsAlarm" { 0 } else { metrics };
    }
    let said = format!("about ${}.{}0 a month", all / 10, all % 10);
    let description = template.parameter("Alarms")["Description"].as_str().expect("a description");
    assert!(description.contains(&said), "{description}: {said}");
}

#[test]
fn the_dashboard_is_json() {
    let template = Template::read();
    let parts = &template.properties("Board")["DashboardBody"]["Fn::Join"][1];
    let text = |part: &Value| part["Fn::Sub"].as_str().unwrap_or("the table").to_owned();
    let body: String = parts.as_array().expect("parts").iter().map(text).collect();
    let body: Value = serde_json::from_str(&body).expect("JSON");
    assert!(body["widgets"].as_array().is_some_and(|widgets| widgets.len() > 10));
}
