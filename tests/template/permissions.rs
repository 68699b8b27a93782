//! The roles of the functions, held to what their code says that it does.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};
use vedette_api::{FALLBACK, PING, PING_FUNCTION, ROUTES, grants_of};
use vedette_dashboard::{Function, PAGES, PUBLIC_PAGES};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::team::Team;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::TeamId;
use vedette_mailer::LETTERS;
use vedette_notifier::NOTIFIER;
use vedette_reconciler::{DISPATCH, RECONCILE, REDELIVERY};
use vedette_runtime::Destination;
use vedette_store::keys::{PK, Prefix, SK};
use vedette_store::{Action, Grant};

use super::document::Template;

/// The partitions that each action may be done with.
type Granted = BTreeMap<Action, BTreeSet<Prefix>>;

/// What the code of each function says that it does with the table, by handler.
fn from_code() -> BTreeMap<String, Granted> {
    let routes = ROUTES.iter().chain([&FALLBACK]).map(|route| (route.name, grants_of(route)));
    let tools = Tool::ALL.map(|tool| (tool.as_str(), vedette_checker::grants(tool)));
    let reconciler = [
        ("redelivery", [&REDELIVERY, &Grant::NONE]),
        ("dispatch", [&DISPATCH, &Grant::NONE]),
        ("reconcile", [&RECONCILE, &Grant::NONE]),
    ];
    let notifier = [("alerts", [&NOTIFIER, &Grant::NONE]), ("letters", [&LETTERS, &Grant::NONE])];
    let pages =
        PAGES.iter().map(|page| (page.function.name(), [page.function.grant(), &Grant::NONE]));
    let public = PUBLIC_PAGES.iter();
    let public = public.map(|page| (page.function.name(), [page.function.grant(), &Grant::NONE]));
    let pings = [(PING_FUNCTION, [&PING, &Grant::NONE])];
    let all = routes
        .chain(pings)
        .chain(tools)
        .chain(reconciler)
        .chain(notifier)
        .chain(pages)
        .chain(public);
    all.map(|(handler, grants)| (handler.to_owned(), together(grants))).collect()
}

fn together(grants: [&Grant; 2]) -> Granted {
    let prefixes =
        |action| grants.iter().flat_map(|grant| grant.prefixes(action)).copied().collect();
    let granted = Action::ALL.map(|action| (action, prefixes(action)));
    granted.into_iter().filter(|(_, prefixes): &(_, BTreeSet<_>)| !prefixes.is_empty()).collect()
}

impl Template {
    fn role(&self, function: &str) -> &str {
        let role = &self.properties(function)["Role"]["Fn::GetAtt"][0];
        role.as_str().unwrap_or_else(|| panic!("{function} has a role that SAM makes"))
    }

    /// All statements that a function's role has.
    fn statements(&self, function: &str) -> Vec<&Value> {
        let role = self.role(function);
        let properties = self.properties(role);
        let inline = list(&properties["Policies"]).map(|policy| &policy["PolicyDocument"]);
        let managed = list(&properties["ManagedPolicyArns"]).map(|policy| {
            let name = policy["Ref"].as_str().unwrap_or_else(|| panic!("{role} has {policy}"));
            &self.properties(name)["PolicyDocument"]
        });
        let attached = self.resources_of("AWS::IAM::Policy").map(|name| self.properties(name));
        let attached = attached
            .filter(|policy| list(&policy["Roles"]).any(|of| *of == json!({ "Ref": role })));
        let attached = attached.map(|policy| &policy["PolicyDocument"]);
        let documents = inline.chain(managed).chain(attached);
        let statements = documents.flat_map(|document| list(&document["Statement"]));
        // One that stands under a condition counts as if it was met.
        statements.map(|one| one.pointer("/Fn::If/1").unwrap_or(one)).collect()
    }

    /// What a function's role allows.
    fn allowed(&self, function: &str) -> Vec<&Value> {
        let statements = self.statements(function).into_iter();
        statements.filter(|statement| statement["Effect"] == "Allow").collect()
    }

    fn granted(&self, function: &str) -> Granted {
        let mut granted = Granted::new();
        for statement in self.allowed(function) {
            let actions = texts(&statement["Action"]);
            for action in actions.iter().filter_map(|action| action.strip_prefix("dynamodb:")) {
                let action =
                    Action::parse(action).unwrap_or_else(|| panic!("{function}: {action}"));
                granted.entry(action).or_default().extend(partitions(statement));
            }
        }
        granted
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// One text, or several.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        text => text.as_str().into_iter().collect(),
    }
}

/// The partitions that a statement about the table lets be asked for.
fn partitions(statement: &Value) -> Vec<Prefix> {
    // The table that the stack makes, or the one that it takes over.
    let of_table = |end: &str| {
        let made = json!({ "Fn::Sub": format!("${{Table.Arn}}{end}") });
        json!({ "Fn::If": ["MakesTable", made, { "Fn::Sub": format!("${{TableArn}}{end}") }] })
    };
    let resource = &statement["Resource"];
    if *resource == of_table("/index/work") {
        return vec![Prefix::Work];
    }
    let table = json!({ "Fn::If": ["MakesTable", { "Fn::GetAtt": ["Table", "Arn"] }, { "Ref": "TableArn" }] });
    assert_eq!(*resource, table);
    let condition = &statement["Condition"];
    // Without it a request that names no partition would be let through.
    assert_eq!(condition["Null"]["dynamodb:LeadingKeys"], "false", "{statement}");
    let patterns = texts(&condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]);
    assert!(!patterns.is_empty(), "all partitions: {statement}");
    let prefix = |pattern: &str| {
        let known = |prefix: &Prefix| format!("{}*", prefix.as_str()) == pattern;
        Prefix::ALL.into_iter().find(known).unwrap_or_else(|| panic!("no prefix is {pattern}"))
    };
    patterns.into_iter().map(prefix).collect()
}

#[test]
fn each_function_may_do_with_the_table_what_its_code_says_and_no_more() {
    let template = Template::read();
    let functions = template.functions();
    let granted = functions
        .map(|function| (template.handler(function).to_owned(), template.granted(function)));
    let (granted, said): (BTreeMap<_, _>, _) = (granted.collect(), from_code());
    assert!(granted.keys().eq(said.keys()), "{:?} {:?}", granted.keys(), said.keys());
    for (handler, said) in said {
        assert_eq!(granted[&handler], said, "{handler}");
    }
}

#[test]
fn no_function_but_that_of_accounts_may_write_a_token_or_a_user() {
    let secret = [Prefix::Token, Prefix::User, Prefix::Email, Prefix::Invitation, Prefix::SignIn];
    // Transactional mails carry links. One to an invitation admits to what the team lists.
    let links = [Prefix::Invitation, Prefix::SignIn];
    let reads = [Action::GetItem, Action::BatchGetItem, Action::Query];
    let all = from_code().into_iter();
    for (handler, granted) in all.filter(|(handler, _)| handler != Function::Accounts.name()) {
        for (action, prefixes) in granted.iter().filter(|(action, _)| !reads.contains(action)) {
            let makes_links = handler == Destination::Mailer.name() && *action == Action::PutItem;
            // A user's own time zone is an attribute of the user, and of the address. It creates and deletes nothing.
            let changes_zone = handler == "user-time-zone.update" && *action == Action::UpdateItem;
            // Whoever creates a team is its first member, and the creation is counted.
            let creates_team = handler == "teams.create" && *action != Action::DeleteItem;
            // A token of a user is listed with the user.
            let of_tokens = match &*handler {
                "tokens.create" => *action == Action::PutItem,
                "tokens.revoke" => *action == Action::DeleteItem,
                _ => false,
            };
            // A member of a team is also listed with the user, and an invitation has an item of its own.
            let of_members = match &*handler {
                "members.update" if *action == Action::UpdateItem => Some(Prefix::User),
                "members.remove" if *action == Action::DeleteItem => Some(Prefix::User),
                "invitations.create" if *action == Action::PutItem => Some(Prefix::Invitation),
                "invitations.withdraw" if *action == Action::DeleteItem => Some(Prefix::Invitation),
                _ => None,
            };
            let may = |prefix: &Prefix| {
                !secret.contains(prefix)
                    || (creates_team && *prefix == Prefix::User)
                    || of_members == Some(*prefix)
                    || (of_tokens && [Prefix::Token, Prefix::User].contains(prefix))
                    || (makes_links && links.contains(prefix))
                    || (changes_zone && [Prefix::User, Prefix::Email].contains(prefix))
            };
            assert!(prefixes.iter().all(may), "{handler}: {action:?}");
        }
    }
}

#[test]
fn a_user_changes_their_time_zone_and_nothing_else_of_a_user() {
    let template = Template::read();
    let statements = template.statements(template.function_of("user-time-zone.update"));
    let is_of_users = |one: &&Value| {
        one["Action"] == "dynamodb:UpdateItem" && partitions(one).contains(&Prefix::User)
    };
    let mut updates = statements.into_iter().filter(is_of_users);
    let condition = &updates.next().expect("an update")["Condition"];
    assert!(updates.next().is_none());
    let attributes = texts(&condition["ForAllValues:StringEquals"]["dynamodb:Attributes"]);
    assert_eq!(attributes, [PK, SK, "zone"]);
    let returned = texts(&condition["StringEqualsIfExists"]["dynamodb:ReturnValues"]);
    assert_eq!(returned, ["NONE", "UPDATED_OLD", "UPDATED_NEW"]);
}

#[test]
fn a_route_that_reads_sends_nothing_and_only_counts() {
    let template = Template::read();
    for route in ROUTES.iter().filter(|route| route.method == "GET") {
        let function = template.function_of(route.name);
        let managed = &template.properties(template.role(function))["ManagedPolicyArns"];
        assert_eq!(*managed, json!([{ "Ref": "FunctionPolicy" }, { "Ref": "ReaderPolicy" }]));
        let statements = template.allowed(function);
        let actions: BTreeSet<_> =
            statements.iter().flat_map(|one| texts(&one["Action"])).collect();
        assert!(!actions.iter().any(|action| action.starts_with("sqs:")), "{actions:?}");
    }
    let writes: Granted = BTreeMap::from([(
        Action::UpdateItem,
        BTreeSet::from([Prefix::Throttle, Prefix::TokenUse]),
    )]);
    let mut counted = template.granted(template.function_of("me.get"));
    counted.retain(|action, _| writes.contains_key(action));
    assert_eq!(counted, writes);
}

#[test]
fn the_function_of_pages_sends_nothing_and_only_writes_counters() {
    let template = Template::read();
    let function = template.function_of("pages.read");
    let statements = template.statements(function);
    let actions: BTreeSet<_> = statements.iter().flat_map(|one| texts(&one["Action"])).collect();
    assert!(!actions.iter().any(|action| action.starts_with("sqs:")), "{actions:?}");
    let reads = [Action::GetItem, Action::BatchGetItem, Action::Query];
    let mut written = template.granted(function);
    written.retain(|action, _| !reads.contains(action));
    let counted = BTreeMap::from([(Action::UpdateItem, BTreeSet::from([Prefix::Throttle]))]);
    assert_eq!(written, counted);
}

#[test]
fn readers_of_status_pages_get_what_is_published_and_nothing_else() {
    let template = Template::read();
    let function = template.function_of("public.read");
    let published = BTreeMap::from([(Action::GetItem, BTreeSet::from([Prefix::Published]))]);
    assert_eq!(template.granted(function), published);
    let of_others =
        |action: &&str| !action.starts_with("dynamodb:") && !action.starts_with("logs:");
    let statements = template.allowed(function);
    let mut actions = statements.iter().flat_map(|one| texts(&one["Action"]));
    let other = actions.find(of_others);
    assert!(other.is_none_or(|action| action.starts_with("xray:")), "{other:?}");
}

#[test]
fn a_checker_has_its_own_queue_and_sends_to_that_of_alerts() {
    let template = Template::read();
    let alerts = json!({ "Fn::GetAtt": ["AlertsQueue", "Arn"] });
    for tool in Tool::ALL {
        let function = template.function_of(tool.as_str());
        let queue = &template.events(function).next().expect("an event")["Properties"]["Queue"];
        for statement in template.statements(function) {
            let actions = texts(&statement["Action"]);
            if statement["Resource"] == alerts {
                assert_eq!(actions, ["sqs:SendMessage"], "{tool}");
            } else if actions.iter().any(|action| action.starts_with("sqs:")) {
                assert_eq!(statement["Resource"], *queue, "{tool}");
            }
        }
    }
}

#[test]
fn the_browser_function_may_only_write_its_log() {
    let template = Template::read();
    assert_eq!(template.role("Browser"), "BrowserRole");
    for statement in template.allowed("Browser") {
        let actions = texts(&statement["Action"]);
        let is_harmless =
            |action: &&str| action.starts_with("logs:") || action.starts_with("xray:");
        assert!(actions.iter().all(is_harmless), "{statement}");
    }
    assert_eq!(template.granted("Browser"), Granted::new());
}

#[test]
fn a_checker_calls_the_browser_or_outposts_and_no_other_function() {
    let template = Template::read();
    for function in template.functions() {
        let calls: Vec<_> = template
            .statements(function)
            .into_iter()
            .filter(|one| texts(&one["Action"]).iter().any(|action| action.starts_with("lambda:")))
            .collect();
        let browser = json!({ "Fn::GetAtt": ["Browser", "Arn"] });
        let expected = match Tool::parse(template.handler(function)) {
            Some(Tool::Status) => outposts(),
            Some(tool) if tool.is_long() => json!({
                "Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": browser,
            }),
            _ => Value::Null,
        };
        let expected: Vec<_> = Some(&expected).filter(|call| !call.is_null()).into_iter().collect();
        assert_eq!(calls, expected, "{function}");
    }
    // The operator asks the same outposts.
    let asked = &template.properties("Operator")["PolicyDocument"]["Statement"];
    let condition = |call| json!({ "Fn::If": ["HasOutposts", call, { "Ref": "AWS::NoValue" }] });
    assert!(list(asked).any(|statement| *statement == condition(outposts())), "{asked}");
}

/// The call of the outposts in the regions that the parameter names.
fn outposts() -> Value {
    let arn = "arn:${AWS::Partition}:lambda:*:${AWS::AccountId}:function:${AWS::StackName}-outpost";
    json!({
        "Effect": "Allow",
        "Action": "lambda:InvokeFunction",
        "Resource": { "Fn::Sub": arn },
        "Condition": { "StringEquals": { "aws:RequestedRegion": { "Ref": "Outposts" } } },
    })
}

#[test]
fn an_outpost_may_only_write_its_log() {
    let template = Template::of_file("outpost.yaml");
    assert_eq!(template.role("Outpost"), "OutpostRole");
    let may: Vec<_> = template.statements("Outpost");
    let log = json!({
        "Effect": "Allow",
        "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
        "Resource": { "Fn::GetAtt": ["OutpostLogs", "Arn"] },
    });
    assert_eq!(may, [&log]);
    let logging = &template.properties("Outpost")["LoggingConfig"];
    assert_eq!(*logging, json!({ "LogFormat": "JSON", "LogGroup": { "Ref": "OutpostLogs" } }));
}

#[test]
fn every_function_has_a_log_and_writes_to_no_other() {
    let template = Template::read();
    let functions: Vec<_> = template.functions().chain(["Browser"]).collect();
    for function in &functions {
        let statements = template.allowed(function).into_iter();
        let logs: Vec<_> = statements
            .filter(|one| texts(&one["Action"]).iter().any(|action| action.starts_with("logs:")))
            .collect();
        let [log] = &logs[..] else { panic!("{function}: {logs:?}") };
        let group = template.log_group(function);
        assert_eq!(log["Resource"], json!({ "Fn::GetAtt": [group, "Arn"] }), "{function}");
        let of_function = &template.properties(function)["LoggingConfig"];
        assert_eq!(of_function["LogFormat"], "JSON", "{function}");
        assert_eq!(of_function["LogGroup"], json!({ "Ref": group }), "{function}");
        let retention = &template.properties(&group)["RetentionInDays"];
        assert_eq!(*retention, json!({ "Ref": "LogRetentionDays" }), "{function}");
    }
    // What is looked for in the logs is looked for in all of them.
    let expected: BTreeSet<_> =
        functions.iter().map(|function| template.log_group(function)).collect();
    assert!(expected.len() <= 50, "CloudWatch searches no more at once");
    for query in ["ErrorsQuery", "StoryQuery", "FunctionsQuery"] {
        let named = list(&template.properties(query)["LogGroupNames"]);
        let named: BTreeSet<_> = named.filter_map(|one| one["Ref"].as_str()).collect();
        assert!(
            named.iter().copied().eq(expected.iter().map(String::as_str)),
            "{query}: {named:?}"
        );
    }
    let board = template.properties("Board").to_string();
    let missing = expected.iter().find(|group| !board.contains(&format!("SOURCE '${{{group}}}'")));
    assert_eq!(missing, None, "of the dashboard");
}

#[test]
fn no_function_may_write_a_plan() {
    let template = Template::read();
    for function in template.functions().chain(["Browser"]) {
        let statements = template.statements(function).into_iter();
        let denied: Vec<_> = statements.filter(|one| one["Effect"] != "Allow").collect();
        let [denied] = &denied[..] else { panic!("{function}: {denied:?}") };
        assert_eq!(denied["Effect"], "Deny", "{function}");
        let condition = &denied["Condition"];
        let partitions = format!("{}*", Prefix::Team.as_str());
        let attributes = &condition["ForAnyValue:StringEquals"]["dynamodb:Attributes"];
        assert_eq!(
            *condition,
            json!({
                "ForAnyValue:StringLike": { "dynamodb:LeadingKeys": [partitions] },
                "ForAnyValue:StringEquals": { "dynamodb:Attributes": attributes },
            })
        );
        let writes = ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:BatchWriteItem"];
        assert_eq!(texts(&denied["Action"]), writes, "{function}");
        // A team's plan is stored in them.
        let id = TeamId::parse("7e0c1d4a-3b52-4f86-9c1e-2a5d8f604b13").expect("an id");
        let now = Timestamp::UNIX_EPOCH;
        let [of_one, of_other] = [Plan::Starter, Plan::Agency].map(|plan| {
            let team = Team { plan_active: plan == Plan::Agency, ..Team::new(id, "", plan, now) };
            serde_json::to_value(team).expect("JSON")
        });
        let of_one = of_one.as_object().expect("fields").iter();
        let of_plan = of_one.filter(|(name, value)| **value != of_other[name.as_str()]);
        let of_plan: BTreeSet<_> = of_plan.map(|(name, _)| name.as_str()).collect();
        assert_eq!(texts(attributes).into_iter().collect::<BTreeSet<_>>(), of_plan);
    }
}

#[test]
fn no_permission_is_for_everything() {
    let template = Template::read();
    for function in template.functions() {
        for statement in template.statements(function) {
            // Traces have no resource.
            if texts(&statement["Action"]).iter().all(|action| action.starts_with("xray:")) {
                continue;
            }
            let all = [&statement["Action"], &statement["Resource"]];
            assert!(all.iter().all(|part| !texts(part).contains(&"*")), "{function}: {statement}");
        }
    }
}
