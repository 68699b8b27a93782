//! `template.yaml` must match the code: it has a function for each route with its path, timeouts that follow the limits
//! of the tools, and exactly the permissions that the handlers need.

mod document;
mod permissions;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use vedette_api::{BELOW_PING, FALLBACK, PING_FUNCTION, ROUTES};
use vedette_checker::{BROWSER, OUTPOST};
use vedette_dashboard::{Audience, BELOW_STATUS, Function, PAGES, PUBLIC_PAGES};
use vedette_domain::accounts::mail_limits::WRITING_TIMEOUT;
use vedette_domain::alerts::channel_state::SENDING_TIMEOUT;
use vedette_domain::checks::limits::{BROWSER_TIMEOUT, RECONCILE_GRACE, TIMEOUTS_PER_VISIBILITY};
use vedette_domain::checks::load::Load;
use vedette_domain::checks::tool::Tool;
use vedette_domain::locations::QUESTION_TIMEOUT;
use vedette_runtime::Destination;
use vedette_runtime::config::Service;
use vedette_runtime::metrics::Metric;

use document::Template;

/// Variables that the template does not set: those of the browser and Lighthouse, which the image sets; the key and the
/// client's secret, which a function reads from the secrets in `VEDETTE_PAGESPEED_SECRET` and `VEDETTE_OIDC_SECRET`;
/// and the mail server.
const NOT_SET: [&str; 5] = [
    "VEDETTE_CHROME",
    "VEDETTE_LIGHTHOUSE",
    "VEDETTE_OIDC_CLIENT_SECRET",
    "VEDETTE_PAGESPEED_KEY",
    "VEDETTE_SMTP",
];

/// The gateway's name for all methods of a route.
const ANY_METHOD: &str = "x-amazon-apigateway-any-method";

/// Where the gateway has its integrations.
const INTEGRATIONS: &str = "#/components/x-amazon-apigateway-integrations/";

#[test]
fn the_template_has_a_function_for_each_route_and_those_for_pages() {
    let template = Template::read();
    let mut found = BTreeSet::new();
    for (path, methods) in template.gateway()["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let is_default = operation.get("isDefaultRoute").is_some();
            // The gateway does not import paths without a slash.
            let path = if is_default { path.trim_start_matches('/') } else { path };
            let method =
                if method == ANY_METHOD { "ANY".to_owned() } else { method.to_uppercase() };
            let function = called(operation);
            found.insert((template.handler(function).to_owned(), method, path.to_owned()));
        }
    }
    let routes = ROUTES.iter().chain([&FALLBACK]);
    let routes = routes.map(|route| (route.name, route.method, route.path));
    let pages = PAGES.iter().map(|page| (page.function.name(), page.method, page.path));
    // Unknown paths below the API's never lead to a page. One route is for HEAD of every page; it does not match the path of
    // the home page.
    let read = Function::Read.name();
    let unknown = [
        (FALLBACK.name, "ANY", "/api/{proxy+}"),
        (read, "GET", "/{proxy+}"),
        (read, "HEAD", "/{proxy+}"),
        (read, "HEAD", "/"),
    ];
    // Everything below the path of status pages.
    let below_status = format!("{BELOW_STATUS}{{proxy+}}");
    let public = PUBLIC_PAGES.iter().inspect(|page| assert!(page.path.starts_with(BELOW_STATUS)));
    let public = public.flat_map(|page| match page.method {
        "GET" => vec![(page.function.name(), "GET"), (page.function.name(), "HEAD")],
        method => vec![(page.function.name(), method)],
    });
    let public = public.map(|(function, method)| (function, method, below_status.as_str()));
    let below_ping = format!("{BELOW_PING}{{proxy+}}");
    let pings = [(PING_FUNCTION, "ANY", below_ping.as_str())];
    let expected: BTreeSet<_> = routes
        .chain(pages)
        .chain(unknown)
        .chain(pings)
        .chain(public)
        .map(|(a, b, c)| (a.into(), b.into(), c.into()))
        .collect();
    assert_eq!(found, expected);
}

/// If the origins depend on a condition, SAM's own configuration of CORS would contain only the origins.
#[test]
fn pages_elsewhere_may_ask_where_origins_are_given() {
    let template = Template::read();
    let cors = &template.gateway()["x-amazon-apigateway-cors"]["Fn::If"];
    assert_eq!((&cors[0], &cors[2]), (&json!("HasCors"), &json!({ "Ref": "AWS::NoValue" })));
    assert_eq!(cors[1]["allowOrigins"], json!({ "Ref": "CorsOrigins" }));
    let allowed = cors[1]["allowMethods"].as_array().expect("methods");
    let needed: BTreeSet<_> = ROUTES.iter().map(|route| route.method).collect();
    assert_eq!(allowed.iter().filter_map(Value::as_str).collect::<BTreeSet<_>>(), needed);
}

/// The function of a route, which has the same name as its integration.
fn called(operation: &Value) -> &str {
    let integration = operation["x-amazon-apigateway-integration"]["$ref"].as_str();
    let name = integration.and_then(|path| path.strip_prefix(INTEGRATIONS));
    name.unwrap_or_else(|| panic!("{operation} names no integration"))
}

/// A permission for each function would be one more resource for each.
#[test]
fn the_gateway_calls_each_function_with_its_role() {
    let template = Template::read();
    let gateway = template.gateway();
    let paths = gateway["paths"].as_object().expect("paths").values();
    let operations = paths.filter_map(Value::as_object).flat_map(|methods| methods.values());
    let called: BTreeSet<_> = operations.map(called).collect();
    let integrations = gateway["components"]["x-amazon-apigateway-integrations"].as_object();
    let integrations = integrations.expect("integrations");
    assert!(integrations.keys().eq(&called), "{:?}", integrations.keys());
    let of_gradual = |value: &str| json!({ "Fn::FindInMap": ["Gradual", { "Ref": "GradualDeployment" }, value] });
    let path = "arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/";
    let arn = "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:";
    for (function, integration) in integrations {
        assert_eq!(integration["credentials"], json!({ "Fn::GetAtt": ["GatewayRole", "Arn"] }));
        assert_eq!(integration["payloadFormatVersion"], "2.0", "{function}");
        // The function, or its alias if versions are deployed gradually. That of a nested stack is named by text.
        let uri = &integration["uri"]["Fn::Sub"];
        if template.nested_in(function).is_some() {
            let name = template.name_of(function);
            assert_eq!(uri[0], format!("{path}{arn}{name}${{Qualifier}}/invocations"));
            assert_eq!(uri[1], json!({ "Qualifier": of_gradual("Qualifier") }), "{function}");
        } else {
            let suffix = json!({ "Called": of_gradual("Called") });
            let qualified =
                json!({ "Ref": { "Fn::Sub": [format!("{function}${{Called}}"), suffix] } });
            let target =
                json!({ "Fn::If": ["IsGradual", qualified, { "Fn::GetAtt": [function, "Arn"] }] });
            assert_eq!(uri[0], format!("{path}${{Called}}/invocations"));
            assert_eq!(uri[1], json!({ "Called": target }), "{function}");
        }
        // SAM would create a permission for each of these.
        let events = template.events(function).map(|event| &event["Type"]);
        assert_eq!(events.collect::<Vec<_>>(), Vec::<&Value>::new(), "{function}");
    }
    assert_eq!(template.resources_of("AWS::Lambda::Permission").next(), None);
    let policies = template.properties("GatewayRole")["Policies"].as_array().expect("policies");
    let [policy] = &policies[..] else { panic!("{policies:?}") };
    let allowed = ["api-*", "fallback*", "pages-*", "pings*", "public-*"]
        .map(|names| json!({ "Fn::Sub": format!("{arn}${{AWS::StackName}}-{names}") }));
    assert_eq!(
        policy["PolicyDocument"]["Statement"],
        json!([{ "Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": allowed }])
    );
}

/// The templates of nested stacks repeat what all functions share.
#[test]
fn functions_of_routes_are_like_all_others() {
    let template = Template::read();
    let empty = json!({ "Ref": "AWS::NoValue" });
    let mut of_all = template.of_all().clone();
    // A nested stack gets an empty parameter instead of no value.
    let preference = &mut of_all["DeploymentPreference"];
    preference["Role"]["Fn::If"][2] = json!("");
    for alarm in preference["Alarms"].as_array_mut().expect("alarms") {
        assert_eq!(alarm["Fn::If"][2], empty);
        alarm["Fn::If"][2] = json!("");
    }
    let nested = template.functions().filter(|function| template.nested_in(function).is_some());
    let mut routes = BTreeSet::new();
    for function in nested {
        for (name, value) in of_all.as_object().expect("properties") {
            assert_eq!(template.properties(function)[name], *value, "{function}: {name}");
        }
        let alias =
            json!({ "Fn::FindInMap": ["Gradual", { "Ref": "GradualDeployment" }, "Alias"] });
        assert_eq!(template.properties(function)["AutoPublishAlias"], alias, "{function}");
        routes.insert(template.handler(function));
    }
    assert_eq!(routes, ROUTES.iter().map(|route| route.name).collect());
    let [reads, writes] = ["ReadRoutes", "WriteRoutes"]
        .map(|stack| template.properties(stack)["Parameters"].as_object().expect("parameters"));
    for (name, value) in reads.iter().filter(|(name, _)| !name.starts_with("LogGroup")) {
        assert_eq!(writes[name], *value, "{name}");
    }
}

#[test]
fn sam_builds_every_function_with_cargo_lambda() {
    let template = Template::read();
    for function in template.functions() {
        assert_eq!(template.metadata(function)["BuildMethod"], "rust-cargolambda", "{function}");
        let folder = template.code(function);
        assert!(folder.starts_with("functions/"), "{function}: {folder}");
    }
}

#[test]
fn the_browser_is_one_function_of_an_image_that_checkers_know_by_its_name() {
    let template = Template::read();
    let images: Vec<_> = template.resources_of("AWS::Lambda::Function").collect();
    assert_eq!(images, ["Browser"]);
    let browser = template.properties("Browser");
    assert_eq!(browser["ImageConfig"]["Command"], json!([BROWSER]));
    let timeout = browser["Timeout"].as_u64().expect("seconds");
    assert_eq!(Duration::from_secs(timeout), BROWSER_TIMEOUT);
    for name in ["Browser", "BrowserRole", "BrowserCalls"] {
        assert_eq!(*template.condition(name), json!("HasBrowser"), "{name}");
    }
    assert_eq!(browser["TracingConfig"]["Mode"], template.of_all()["Tracing"]);
    // What it may reach, and its log: nothing of the deployment.
    let environment = template.environment("Browser");
    let told: Vec<_> = environment.keys().copied().collect();
    let needed = [
        "VEDETTE_ALLOW_TARGETS",
        "VEDETTE_CONNECT_TO",
        Service::RESOLVERS,
        "VEDETTE_EXTRA_ROOTS",
        "VEDETTE_LOG",
    ];
    assert_eq!(told, needed);
    for tool in Tool::ALL {
        let function = template.function_of(tool.as_str());
        // In deployments whose browser replaced a checker, this event source was disabled.
        let source = template.events(function).next().expect("one");
        assert_eq!(source["Properties"]["Enabled"], true, "{tool}");
        let checker = template.environment(function);
        let named = json!({ "Fn::If": ["HasBrowser", { "Ref": "Browser" }, ""] });
        assert_eq!(*checker["VEDETTE_BROWSER_FUNCTION"], named, "{tool}");
        for (name, value) in &environment {
            assert_eq!(checker.get(name), Some(value), "{tool}: {name}");
        }
    }
}

#[test]
fn an_outpost_is_the_checkers_binary_under_the_name_that_home_calls() {
    let home = Template::read();
    let outpost = Template::of_file("outpost.yaml");
    assert_eq!(outpost.functions().collect::<Vec<_>>(), ["Outpost"]);
    assert_eq!(outpost.handler("Outpost"), OUTPOST);
    let checker = home.function_of(Tool::Status.as_str());
    assert_eq!(outpost.code("Outpost"), home.code(checker));
    assert_eq!(outpost.metadata("Outpost"), home.metadata(checker));
    let properties = outpost.properties("Outpost");
    let all = home.of_all();
    for shared in ["Runtime", "Architectures"] {
        assert_eq!(properties[shared], all[shared], "{shared}");
    }
    // Its stack has the same name.
    assert_eq!(properties["FunctionName"], json!({ "Ref": "AWS::StackName" }));
    let called = &home.environment(checker)["VEDETTE_OUTPOST_FUNCTION"];
    assert_eq!(**called, json!({ "Fn::Sub": "${AWS::StackName}-outpost" }));
    // It ends after the home deployment has given up, and not while that is waiting.
    let timeout = properties["Timeout"].as_u64().expect("seconds");
    assert!(Duration::from_secs(timeout) > QUESTION_TIMEOUT);
    // What it may reach, and its log: nothing of the deployment.
    let told: Vec<_> = outpost.environment("Outpost").into_keys().collect();
    let needed = ["VEDETTE_CONNECT_TO", Service::RESOLVERS, "VEDETTE_EXTRA_ROOTS", "VEDETTE_LOG"];
    assert_eq!(told, needed);
    for parameter in outpost.parameters() {
        let (here, there) = (outpost.parameter(parameter), home.parameter(parameter));
        assert_eq!(here["Default"], there["Default"], "{parameter}");
    }
}

#[test]
fn the_template_follows_the_limits_of_the_tools() {
    let template = Template::read();
    let tools = Tool::ALL.map(|tool| (tool.as_str(), tool.limits().function_timeout));
    let others = [
        ("reconcile", RECONCILE_GRACE.unsigned_abs()),
        ("alerts", SENDING_TIMEOUT.unsigned_abs()),
        ("letters", WRITING_TIMEOUT.unsigned_abs()),
    ];
    let seconds = |value: &Value| Duration::from_secs(value.as_u64().expect("seconds"));
    for (name, timeout) in tools.into_iter().chain(others) {
        let function = template.function_of(name);
        let function = template.properties(function);
        assert_eq!(seconds(&function["Timeout"]), timeout, "{name}");
        let is_long = Tool::parse(name).is_some_and(Tool::is_long);
        let destination = Destination::ALL.into_iter().find(|queue| queue.name() == name);
        let batch = destination.expect("a queue").batch();
        let event_source = &function["Events"]["Messages"]["Properties"];
        assert_eq!(event_source["BatchSize"], batch, "{name}");
        // Checks may wait until there are enough for a batch, but nothing that people wait for may.
        let window = event_source
            .get("MaximumBatchingWindowInSeconds")
            .map_or(0, |window| window.as_u64().expect("seconds"));
        let is_check = Tool::parse(name).is_some();
        assert_eq!(window, if is_check && !is_long { 5 } else { 0 }, "{name}");
        let queue = template.properties(queue_of(&template, name));
        assert_eq!(
            seconds(&queue["VisibilityTimeout"]),
            timeout * TIMEOUTS_PER_VISIBILITY + Duration::from_secs(window),
            "{name}"
        );
    }
}

/// `vedette doctor` names these parameters.
#[test]
fn the_default_concurrency_is_enough_for_a_thousand_sites_that_are_checked_every_minute() {
    let template = Template::read();
    let mut load = Load::default();
    for tool in Tool::ALL {
        let definition = tool.definition();
        let cadence = if tool == Tool::Status { 1 } else { definition.default_cadence_minutes };
        (0..1_000).for_each(|_| load.add(tool, cadence));
        let places = template.parameter(&format!("{tool:?}Concurrency"))["Default"].as_u64();
        assert!(places.expect("a number") >= load.places(tool), "{tool}: {}", load.places(tool));
    }
}

/// Below the minimum, the checks of a schedule would be throttled after a pause. The index is hardly used, and would keep
/// what it starts with.
#[test]
fn provisioned_capacity_scales_between_the_two_parameters() {
    let template = Template::read();
    for (kind, least) in [("Table", json!({ "Ref": "TableMinimum" })), ("Index", json!(5))] {
        for capacity in ["Read", "Write"] {
            let target = template.properties(&format!("{kind}{capacity}Capacity"));
            let range = (&target["MinCapacity"], &target["MaxCapacity"]);
            assert_eq!(range, (&least, &json!({ "Ref": "TableCapacity" })), "{kind}{capacity}");
            // The table in use: that of the stack, or the one in `TableArn`.
            let named = &target["ResourceId"]["Fn::Sub"][1]["Name"];
            let variables = &template.of_all()["Environment"]["Variables"];
            assert_eq!(*named, variables["VEDETTE_TABLE"], "{kind}{capacity}");
        }
    }
    let table = template.properties("Table");
    let first = |billed: &Value| {
        let units = &billed["ProvisionedThroughput"]["Fn::If"][1];
        [units["ReadCapacityUnits"].clone(), units["WriteCapacityUnits"].clone()]
    };
    assert_eq!(
        first(table),
        [json!({ "Ref": "TableCapacity" }), json!({ "Ref": "TableCapacity" })]
    );
    assert_eq!(first(&table["GlobalSecondaryIndexes"][0]), [json!(5), json!(5)]);
}

/// The variables that sources read.
fn variables(folder: &str) -> BTreeSet<String> {
    crate::files(folder, ".rs").iter().flat_map(|path| variables_of(path)).collect()
}

/// The variables that a source reads.
fn variables_of(path: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(path).expect("a source");
    let names = text.split("\"VEDETTE_").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(rest.len());
        format!("VEDETTE_{}", &rest[..end])
    });
    names.collect()
}

#[test]
fn what_functions_read_can_be_set() {
    let template = Template::read();
    let of_all = variables("shared/runtime/src");
    let outbound = variables_of(&crate::root().join("shared/probe/src/ssrf_guard/outbound.rs"));
    for function in template.functions() {
        let is_checker = Tool::parse(template.handler(function)).is_some();
        let is_notifier = template.handler(function) == Destination::Alerts.name();
        let is_letters = template.handler(function) == Destination::Mailer.name();
        let mut read = of_all.clone();
        if !is_checker {
            // Only the functions that run checks need the concurrency.
            read.remove("VEDETTE_CONCURRENCY");
            // Every function can read blocks, but only checkers write them.
            read.remove("VEDETTE_BLOCKS");
        }
        if template.handler(function) != Function::Accounts.name() {
            // Only functions that sign people in need the source of a request.
            read.remove(Service::TRUSTED_PROXIES);
        }
        let own = match (is_checker, is_notifier) {
            (true, _) => Some("functions/checker/src"),
            (_, true) => Some("functions/notifier/src"),
            // This function asks the OpenID provider.
            _ if template.handler(function) == Function::Accounts.name() => {
                Some("functions/dashboard/src")
            }
            // These functions connect to no other hosts.
            _ => None,
        };
        if let Some(own) = own {
            read.extend(variables(own).into_iter().chain(outbound.clone()));
        }
        if is_letters {
            // This function sends email as the notifier does, and connects to no other hosts.
            let mail = crate::root().join("functions/notifier/src/send/mail.rs");
            read.extend(variables_of(&mail));
        }
        read.retain(|name| !NOT_SET.contains(&name.as_str()));
        let set = template.environment(function).into_keys().map(str::to_owned).collect();
        assert_eq!(read, set, "{function}");
    }
}

/// If an organization requires permissions boundaries, no role can be created without one.
#[test]
fn every_role_can_be_bounded() {
    let template = Template::read();
    let boundary = json!({ "Fn::If": ["HasPermissionsBoundary", { "Ref": "PermissionsBoundary" }, { "Ref": "AWS::NoValue" }] });
    let roles: Vec<_> = template.resources_of("AWS::IAM::Role").collect();
    assert!(roles.len() > 15, "{roles:?}");
    for role in roles {
        assert_eq!(template.properties(role)["PermissionsBoundary"], boundary, "{role}");
    }
    // SAM creates a role for each schedule of a function, for each function that names none, and for gradual
    // deployments.
    for function in template.functions() {
        for event in template.events(function).filter(|event| event["Type"] == "ScheduleV2") {
            assert_eq!(event["Properties"]["PermissionsBoundary"], boundary, "{function}");
        }
        assert!(template.properties(function)["Role"].is_object(), "{function}");
    }
    let gradual = &template.of_all()["DeploymentPreference"];
    let role = json!({ "Fn::GetAtt": ["DeploymentRole", "Arn"] });
    assert_eq!(
        gradual["Role"],
        json!({ "Fn::If": ["IsGradual", role, { "Ref": "AWS::NoValue" }] })
    );
    assert_eq!(*template.condition("DeploymentRole"), json!("IsGradual"));
}

/// A single stranger must not be able to use up what everybody shares.
#[test]
fn routes_for_strangers_have_their_own_throttle() {
    let template = Template::read();
    let api = template.resources_of("AWS::Serverless::HttpApi").next().expect("a gateway");
    let limits = template.properties(api)["RouteSettings"].as_object().expect("limits");
    let shared = template.parameter("StageRate")["Default"].as_u64().expect("a rate");
    // Many people read a status page at the same time. They and the users of other routes do not share a limit.
    let of_readers = format!("GET {BELOW_STATUS}{{proxy+}}");
    let of_jobs = format!("ANY {BELOW_PING}{{proxy+}}");
    let of_many = [of_readers.as_str(), "GET /assets/{asset}", &of_jobs];
    for (route, limits) in limits {
        let rate = limits["ThrottlingRateLimit"].as_u64().expect("a rate");
        let burst = limits["ThrottlingBurstLimit"].as_u64().expect("a burst");
        let most = match route.split_once(' ') {
            _ if of_many.contains(&route.as_str()) => shared,
            Some(("POST", _)) => shared / 40,
            _ => shared / 10,
        };
        assert!(rate <= most && (rate..=4 * rate).contains(&burst), "{route}: {limits}");
    }
    let limited: BTreeSet<_> = limits.keys().cloned().collect();
    let of_strangers = PAGES
        .iter()
        .filter(|page| matches!(page.audience, Audience::Anybody | Audience::Linked))
        .map(|page| format!("{} {}", page.method, page.path));
    let unknown =
        [FALLBACK.path, "ANY /api/{proxy+}", "GET /{proxy+}", "HEAD /{proxy+}"].map(str::to_owned);
    let others = [of_readers.clone(), format!("HEAD {BELOW_STATUS}{{proxy+}}"), of_jobs.clone()];
    assert_eq!(limited, of_strangers.chain(unknown).chain(others).collect());
}

#[test]
fn the_guide_says_what_the_template_is() {
    let template = Template::read();
    let guide = crate::read("docs/guides/aws.md").replace('\n', " ");
    let parameters = template.parameters().map(|name| format!("`{name}`"));
    let missing: Vec<_> = parameters.filter(|name| !guide.contains(name)).collect();
    assert!(missing.is_empty(), "the guide names no {missing:?}");
    let versions = template.functions().count();
    let said = format!("some {versions} a deployment");
    assert!(guide.contains(&said), "{said}");
    let names = template.functions().map(|one| template.name_of(one));
    let longest =
        names.map(|name| name.len() - "${AWS::StackName}".len()).max().expect("functions");
    // The name of a function can have 64 characters.
    let said = format!("can have at most {} characters", 64 - longest);
    assert!(guide.contains(&said), "{said}");
    let binaries: BTreeSet<_> = template.functions().map(|one| template.code(one)).collect();
    let count = ["no", "one", "two", "three", "four", "five", "six", "seven"][binaries.len()];
    assert!(guide.contains(&format!("each of the {count} binaries")), "{count} binaries");
}

#[test]
fn alarms_are_few_and_cost_what_their_parameter_says() {
    let template = Template::read();
    let alarms: Vec<_> = template.resources_of("AWS::CloudWatch::Alarm").collect();
    assert!(alarms.len() < 20, "{alarms:?}");
    let (mut all, mut of_deployments) = (0, 0);
    for alarm in alarms {
        let metrics = template.properties(alarm)["Metrics"].as_array();
        let asked = |metrics: &Vec<Value>| {
            metrics.iter().filter(|one| one.get("MetricStat").is_some()).count()
        };
        let metrics = metrics.map_or(1, asked);
        assert!((1..=10).contains(&metrics), "{alarm} has {metrics} metrics");
        let is_gradual = *template.condition(alarm) == "IsGradual";
        *(if is_gradual { &mut of_deployments } else { &mut all }) += metrics;
    }
    // An alarm over alarms costs as much as five metrics.
    all += 5 * template.resources_of("AWS::CloudWatch::CompositeAlarm").count();
    let said = format!("about ${}.{}0 a month", all / 10, all % 10);
    let description = template.parameter("Alarms")["Description"].as_str().expect("a description");
    assert!(description.contains(&said), "{description}: {said}");
    // A metric costs as much as three metrics of alarms.
    of_deployments += 3 * template.resources_of("AWS::Logs::MetricFilter").count();
    let said = format!("another ${}.{}0 a month", of_deployments / 10, of_deployments % 10);
    assert!(crate::read("docs/guides/aws.md").contains(&said), "{said}");
}

/// Neither missing data from the beginning nor a single event sets off an alarm.
#[test]
fn no_alarm_goes_off_at_the_first_deployment_or_by_one_event() {
    let template = Template::read();
    for alarm in template.resources_of("AWS::CloudWatch::Alarm") {
        let properties = template.properties(alarm);
        let missing = properties["TreatMissingData"].as_str().expect("a word");
        assert!(["notBreaching", "missing"].contains(&missing), "{alarm}: {missing}");
        let periods =
            properties.get("DatapointsToAlarm").unwrap_or(&properties["EvaluationPeriods"]);
        let threshold = properties["Threshold"].as_u64().expect("a number");
        let is_one_event = *periods == 1 && threshold == 0;
        assert!(!is_one_event, "{alarm}");
        // If something falls silent, the alarm notices that data stops, but only after there was some.
        let tells_of_silence = properties.get("InsufficientDataActions").is_some();
        assert_eq!(tells_of_silence, missing == "missing", "{alarm}");
        assert_eq!(tells_of_silence, alarm.ends_with("SilentAlarm"), "{alarm}");
        // Each would say so after the first deployment.
        assert!(properties.get("OKActions").is_none(), "{alarm}");
    }
}

/// Those that go off when data stops, too, and those that exist only for gradual deployments.
#[test]
fn the_composite_alarm_covers_all_alarms() {
    let template = Template::read();
    let rule = &template.properties("SomeAlarm")["AlarmRule"]["Fn::Sub"];
    let of_deployments = &rule[1]["OfDeployments"]["Fn::If"];
    assert_eq!((&of_deployments[0], &of_deployments[2]), (&json!("IsGradual"), &json!("FALSE")));
    let lasting = rule[0].as_str().and_then(|rule| rule.strip_suffix(" OR ${OfDeployments}"));
    let rules = [
        ("HasAlarms", lasting.expect("a rule")),
        ("IsGradual", of_deployments[1]["Fn::Sub"].as_str().expect("a rule")),
    ];
    for (condition, rule) in rules {
        let mut expected = BTreeSet::new();
        for alarm in template.resources_of("AWS::CloudWatch::Alarm") {
            if *template.condition(alarm) == condition {
                expected.insert(format!(r#"ALARM("${{{alarm}}}")"#));
                if template.properties(alarm).get("InsufficientDataActions").is_some() {
                    expected.insert(format!(r#"INSUFFICIENT_DATA("${{{alarm}}}")"#));
                }
            }
        }
        let named: BTreeSet<_> = rule.split(" OR ").map(|one| one.trim().to_owned()).collect();
        assert_eq!(named, expected, "{condition}");
    }
}

#[test]
fn alarms_watch_metrics_that_functions_send() {
    let template = Template::read();
    let own = json!({ "Fn::Sub": "Vedette/${AWS::StackName}" });
    let filters = template.resources_of("AWS::Logs::MetricFilter");
    let filters = filters.map(|filter| &template.properties(filter)["MetricTransformations"][0]);
    let counted = filters.filter(|metric| metric["MetricNamespace"] == own);
    let counted = counted.filter_map(|metric| metric["MetricName"].as_str());
    let sent = Metric::ALL.map(Metric::name).into_iter().chain(["Checks", "Failures"]);
    let known: BTreeSet<_> = sent.chain(counted).collect();
    let mut watched = BTreeSet::new();
    for alarm in template.resources_of("AWS::CloudWatch::Alarm") {
        let properties = template.properties(alarm);
        let metrics = properties.get("Metrics").and_then(Value::as_array);
        let metrics = metrics.into_iter().flatten().map(|one| &one["MetricStat"]["Metric"]);
        let alone = [properties.get("Namespace"), properties.get("MetricName")];
        let alone = alone[0].zip(alone[1]);
        let all = metrics.map(|metric| (&metric["Namespace"], &metric["MetricName"])).chain(alone);
        for (_, name) in all.filter(|(namespace, _)| **namespace == own) {
            let name = name.as_str().expect("a name");
            assert!(known.contains(name), "{alarm}: {name}");
            watched.insert(name.to_owned());
        }
    }
    assert!(["RunsDue", "RunsDone", "AlertsGivenUp"].iter().all(|name| watched.contains(*name)));
}

/// The queue with this name, which follows the name of the deployment.
fn queue_of<'a>(template: &'a Template, name: &str) -> &'a str {
    let expected = json!([{ "Ref": "AWS::StackName" }, name]);
    let mut queues = template.resources_of("AWS::SQS::Queue");
    let found =
        queues.find(|queue| template.properties(queue)["QueueName"]["Fn::Join"][1] == expected);
    found.unwrap_or_else(|| panic!("no queue for {name}"))
}

/// The metric of an alarm for each resource, by its id in the alarm's expression.
fn watched_by<'a>(template: &'a Template, alarm: &str) -> Vec<(&'a str, &'a Value)> {
    let metrics = template.properties(alarm)["Metrics"].as_array().expect("metrics");
    let asked = metrics.iter().filter(|metric| metric.get("MetricStat").is_some());
    let of = |metric: &'a Value| &metric["MetricStat"]["Metric"]["Dimensions"][0]["Value"];
    asked.map(|metric| (metric["Id"].as_str().expect("an id"), of(metric))).collect()
}

/// If a queue were forgotten here, it would fill up without notifying anybody.
#[test]
fn every_queue_has_its_alarms_and_is_on_the_dashboard() {
    let template = Template::read();
    let late =
        template.properties("AgeAlarm")["Metrics"][0]["Expression"].as_str().expect("a text");
    let dashboard = dashboard_of(&template);
    for name in Destination::ALL.map(Destination::name) {
        let queue = queue_of(&template, name);
        let dead = &template.properties(queue)["RedrivePolicy"]["deadLetterTargetArn"];
        let dead =
            dead["Fn::GetAtt"][0].as_str().unwrap_or_else(|| panic!("{name} gives up nothing"));
        let dead_name = json!({ "Fn::Join": ["-", [{ "Ref": "AWS::StackName" }, name, "dlq"]] });
        assert_eq!(template.properties(dead)["QueueName"], dead_name);

        let of_queue = |queue: &str| json!({ "Fn::GetAtt": [queue, "QueueName"] });
        let given_up = watched_by(&template, "DlqAlarm");
        assert!(given_up.iter().any(|(_, of)| **of == of_queue(dead)), "DlqAlarm: {name}");
        let ages = watched_by(&template, "AgeAlarm");
        let age = ages.iter().find(|(_, of)| **of == of_queue(queue));
        let (id, _) = age.unwrap_or_else(|| panic!("AgeAlarm: {name}"));
        assert!(late.contains(&format!("{id} / ")), "the expression of AgeAlarm: {name}");
        let function = json!({ "Fn::Sub": template.name_of(template.function_of(name)) });
        let failing = watched_by(&template, "FunctionsAlarm");
        let is_watched = failing.iter().any(|(_, of)| **of == function);
        // The function for transactional email has a separate alarm.
        let has_own = name == Destination::Mailer.name();
        assert_eq!(is_watched, !has_own, "FunctionsAlarm: {name}");

        for metric in [
            format!(r#""ApproximateAgeOfOldestMessage","QueueName","${{AWS::StackName}}-{name}""#),
            format!(
                r#""ApproximateNumberOfMessagesVisible","QueueName","${{AWS::StackName}}-{name}-dlq""#
            ),
        ] {
            assert!(dashboard.contains(&metric), "the dashboard has no {metric}");
        }
    }
    for tool in Tool::ALL {
        let metric = format!(r#""Errors","FunctionName","${{AWS::StackName}}-checker-{tool}""#);
        assert!(dashboard.contains(&metric), "the dashboard has no {metric}");
    }
}

/// Functions that send checks may send those of every tool.
#[test]
fn functions_that_may_send_to_one_queue_of_checks_may_send_to_all() {
    let template = Template::read();
    let arn = |tool: Tool| json!({ "Fn::GetAtt": [queue_of(&template, tool.as_str()), "Arn"] });
    let queues = Tool::ALL.map(arn);
    // A checker that has no room for a crawl or an audit sends it back to its own queue.
    let checkers = Tool::ALL.map(|tool| {
        &template.properties(template.function_of(tool.as_str()))["Role"]["Fn::GetAtt"][0]
    });
    let mut senders = 0;
    let policies = template.resources_of("AWS::IAM::Role").flat_map(|role| {
        let inline = template.properties(role)["Policies"].as_array().into_iter().flatten();
        inline.map(move |policy| (role, &policy["PolicyDocument"]))
    });
    let attached = ["AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"].into_iter();
    let attached = attached.flat_map(|kind| template.resources_of(kind));
    let attached = attached.map(|name| (name, &template.properties(name)["PolicyDocument"]));
    for (name, document) in policies.chain(attached) {
        for statement in document["Statement"].as_array().into_iter().flatten() {
            let statement = statement.pointer("/Fn::If/1").unwrap_or(statement);
            let sends = statement["Action"].to_string().contains("sqs:SendMessage");
            if !sends || checkers.contains(&&json!(name)) {
                continue;
            }
            let resource = &statement["Resource"];
            let named =
                resource.as_array().map_or_else(|| vec![resource], |all| all.iter().collect());
            let missing: Vec<_> = queues.iter().filter(|queue| !named.contains(queue)).collect();
            assert!(missing.is_empty() || missing.len() == queues.len(), "{name}: {missing:?}");
            senders += usize::from(missing.is_empty());
        }
    }
    assert!(senders >= 6, "{senders}");
}

fn dashboard_of(template: &Template) -> String {
    let parts = &template.properties("Board")["DashboardBody"]["Fn::Join"][1];
    let text = |part: &Value| part["Fn::Sub"].as_str().unwrap_or("the table").to_owned();
    parts.as_array().expect("parts").iter().map(text).collect()
}

#[test]
fn the_dashboard_is_json() {
    let template = Template::read();
    let body: Value = serde_json::from_str(&dashboard_of(&template)).expect("JSON");
    assert!(body["widgets"].as_array().is_some_and(|widgets| widgets.len() > 10));
}
