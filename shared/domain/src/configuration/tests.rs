//! Plans for generated teams and documents, made in memory.

use std::collections::BTreeMap;

use jiff::Timestamp;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::*;
use crate::accounts::plan::Plan as TeamPlan;
use crate::accounts::team::Team;
use crate::alerts::channel::{Channel, LinkKey, Target};
use crate::heartbeats::heartbeat::Heartbeat;
use crate::id::{ChannelId, TeamId};
use crate::sites::group::SiteGroups;
use crate::sites::settings::Settings;
use crate::sites::site::Site;
use crate::status_pages::StatusPage;

fn now() -> Timestamp {
    "2026-11-30T12:00:00Z".parse().expect("an instant")
}

/// A team with its objects, in memory.
#[derive(Debug, Clone)]
struct Objects {
    team: Team,
    plan: TeamPlan,
    settings: Settings,
    sites: Vec<Site>,
    heartbeats: Vec<Heartbeat>,
    channels: Vec<Channel>,
    groups: SiteGroups,
    pages: Vec<StatusPage>,
    applied: u8,
}

impl Objects {
    fn new() -> Self {
        let team = Team::new(TeamId(Uuid::from_u128(1)), "Shop & Co", TeamPlan::Agency, now());
        Self {
            team,
            plan: TeamPlan::Agency,
            settings: Settings::defaults(TeamPlan::Agency),
            sites: Vec::new(),
            heartbeats: Vec::new(),
            channels: Vec::new(),
            groups: SiteGroups::default(),
            pages: Vec::new(),
            applied: 0,
        }
    }

    fn current(&self) -> Current<'_> {
        Current {
            team: &self.team,
            plan: self.plan,
            settings: &self.settings,
            sites: &self.sites,
            heartbeats: &self.heartbeats,
            channels: &self.channels,
            groups: &self.groups,
            pages: &self.pages,
        }
    }

    fn plan(&self, document: &Value, prune: Prune) -> Result<ChangePlan, Value> {
        let choices = Choices {
            prune,
            is_dry_run: false,
            random: [self.applied; 32],
            knows_no_team: false,
            now: now(),
        };
        plan(&self.current(), document.as_object().expect("an object"), &choices)
            .map_err(|error| serde_json::to_value(error).expect("JSON")["errors"].take())
    }

    /// Applies a document, change by change.
    fn apply(&mut self, document: &Value, prune: Prune) {
        let plan = self.plan(document, prune).expect("a valid document");
        self.applied += 1;
        for change in plan.changes {
            self.make(change.step);
        }
        let again = self.plan(document, prune).expect("a valid document");
        assert_eq!(again.changes, [], "a second apply changes something");
    }

    fn make(&mut self, step: ChangeStep) {
        match step {
            ChangeStep::Settings(settings) => self.settings = *settings,
            ChangeStep::TimeZone(zone) => self.team.zone = zone,
            ChangeStep::AddChannel { channel, managed_by } => {
                let (name, target, filter) = *channel;
                let id = ChannelId(Uuid::from_u128(
                    self.channels.len() as u128 + u128::from(self.applied) * 100,
                ));
                let key = LinkKey::from_random([7; LinkKey::BYTES]);
                let new = Channel::new(id, self.team.id, &name, target, filter, key, now());
                assert!(self.channels.iter().all(|other| other.name != name), "the name is taken");
                self.channels.push(Channel { managed_by: Some(managed_by), ..new });
            }
            ChangeStep::EditChannel { before, after, to, managed_by } => {
                let to = to.beyond(before.target.masked());
                let edited = before.edited(&after.0, after.1, to.as_ref(), Some(managed_by), now());
                replace(&mut self.channels, |one| one.id == before.id, edited.expect("a change"));
            }
            ChangeStep::DeleteChannel(channel) => self.channels.retain(|one| one.id != channel.id),
            ChangeStep::CreateSite(site) => {
                assert!(self.sites.iter().all(|other| other.url != site.url), "the URL is taken");
                self.sites.push(*site);
            }
            ChangeStep::SaveSite(site) => {
                let mut others = self.sites.iter().filter(|other| other.id != site.id);
                assert!(others.all(|other| other.url != site.url), "the URL is taken");
                let id = site.id;
                replace(&mut self.sites, |one| one.id == id, *site);
            }
            ChangeStep::DeleteSite(id) => self.sites.retain(|site| site.id != id),
            ChangeStep::CreateHeartbeat(heartbeat) => {
                let mut others = self.heartbeats.iter();
                let is_taken = others.any(|other| other.slug == heartbeat.slug);
                assert!(heartbeat.slug.is_empty() || !is_taken, "the slug is taken");
                self.heartbeats.push(*heartbeat);
            }
            ChangeStep::SaveHeartbeat(heartbeat) => {
                let mut others = self.heartbeats.iter().filter(|other| other.id != heartbeat.id);
                let is_taken = others.any(|other| other.slug == heartbeat.slug);
                assert!(heartbeat.slug.is_empty() || !is_taken, "the slug is taken");
                let id = heartbeat.id;
                replace(&mut self.heartbeats, |one| one.id == id, *heartbeat);
            }
            ChangeStep::DeleteHeartbeat(id) => self.heartbeats.retain(|one| one.id != id),
            ChangeStep::SaveGroups { rev, groups } => {
                self.groups = SiteGroups { rev: rev + 1, groups };
            }
            ChangeStep::SaveWindow(window) => {
                self.team.windows = self.team.windows.with(*window, now()).expect("a window");
            }
            ChangeStep::DeleteWindow(id) => {
                self.team.windows = self.team.windows.without(id, now());
            }
            ChangeStep::CreatePage(page) => {
                self.team.status_pages.push(page.id);
                self.pages.push(*page);
            }
            ChangeStep::SavePage { before, after } => {
                replace(&mut self.pages, |one| one.id == before.id, *after);
            }
            ChangeStep::DeletePage(page) => {
                self.team.status_pages.retain(|one| *one != page.id);
                self.pages.retain(|one| one.id != page.id);
            }
        }
    }

    /// Everything that a document can say about the team, by key, with the true secrets.
    fn content(&self) -> Value {
        let mut document = Value::from(export(&self.current(), None, now()));
        for kind in ObjectKind::LISTS {
            if let Value::Array(list) = &mut document[kind.field()] {
                list.sort_by_key(|object| object["key"].to_string());
            }
        }
        let urls = self.channels.iter().map(|channel| {
            let url = channel.secret.as_ref().and_then(Target::url).map(|url| url.masked().digest);
            (channel.name.clone(), url.or_else(|| Some(channel.target.masked()?.digest.clone())))
        });
        let overrides = self.sites.iter().map(|site| (site.url.as_str(), &site.overrides));
        let posts = self.sites.iter().map(|site| (site.url.as_str(), &site.expectations.post));
        json!({
            "document": document,
            "urls": urls.collect::<BTreeMap<_, _>>(),
            "overrides": overrides.collect::<BTreeMap<_, _>>(),
            "posts": posts.collect::<BTreeMap<_, _>>(),
        })
    }
}

fn replace<T>(list: &mut [T], is_it: impl Fn(&T) -> bool, by: T) {
    *list.iter_mut().find(|one| is_it(one)).expect("an object to replace") = by;
}

/// Some of the fields of an object, with these ones always.
fn object(always: Value, others: Vec<(&'static str, Vec<Value>)>) -> impl Strategy<Value = Value> {
    let names: Vec<usize> = (0..others.len()).collect();
    (subsequence(names, 0..=others.len()), any::<usize>()).prop_map(move |(chosen, which)| {
        let mut object = always.clone();
        for place in chosen {
            let (name, values) = &others[place];
            object[*name] = values[which % values.len()].clone();
        }
        object
    })
}

fn site(key: &'static str) -> impl Strategy<Value = Value> {
    let urls = [format!("https://{key}.example"), format!("https://{key}.example/new")];
    let others = vec![
        ("name", vec![json!("Shop"), json!("Café")]),
        ("notes", vec![json!("Call Ada."), json!("two\nlines")]),
        ("tags", vec![json!(["env:prod"]), json!(["env:prod", "legacy"]), json!([])]),
        ("js_rendered", vec![json!(true), json!(false)]),
        ("pinned", vec![json!(true)]),
        objective(),
        ("dns_expected_records", vec![json!({ "A": ["192.0.2.1"] }), json!(null)]),
        (
            "monitoring_settings",
            vec![
                json!({ "tools": { "status": { "cadence_minutes": 5 } } }),
                json!({ "tools": { "ssl": { "enabled": false, "settings": { "port": 8443 } } } }),
                json!({ "request_header": { "name": "x-monitor", "value": "s3cret" } }),
            ],
        ),
        (
            "expectations",
            vec![
                json!({ "expectations": [{ "kind": "body_contains", "text": "Welcome" }] }),
                json!({ "method": "HEAD", "expectations": [] }),
                json!({
                    "method": "POST",
                    "post": { "body": "{\"token\": 1}" },
                    "expectations": [{ "kind": "response_time", "max_ms": 900 }],
                    "issues": { "slow": { "failures_to_open": 5 } },
                }),
            ],
        ),
    ];
    select(urls.to_vec())
        .prop_flat_map(move |url| object(json!({ "key": key, "url": url }), others.clone()))
}

fn heartbeat(key: &'static str) -> impl Strategy<Value = Value> {
    let others = vec![
        ("slug", vec![json!(format!("job-{key}")), json!("")]),
        ("notes", vec![json!("Call Ada.")]),
        ("tags", vec![json!(["env:prod"]), json!(["legacy"])]),
        ("grace_minutes", vec![json!(5), json!(60)]),
        ("longest_run_minutes", vec![json!(30)]),
        ("failure_keywords", vec![json!("ERROR, failed"), json!(null)]),
    ];
    let schedules = [
        json!({}),
        json!({ "period_minutes": 30 }),
        json!({ "cron": "30 2 * * *" }),
        json!({ "cron": "@hourly", "time_zone": "Asia/Tokyo" }),
    ];
    select(schedules.to_vec()).prop_flat_map(move |mut schedule| {
        schedule["key"] = key.into();
        schedule["name"] = format!("Heartbeat {key}").into();
        object(schedule, others.clone())
    })
}

fn channel(key: &'static str) -> impl Strategy<Value = Value> {
    let rule = vec![
        ("events", vec![json!(["opened"]), json!(["opened", "resolved"])]),
        ("severities", vec![json!(["critical"])]),
        ("tools", vec![json!(["status", "ssl"])]),
        ("selector", vec![json!("env:prod"), json!("!legacy")]),
    ];
    // A kind cannot change, so it follows from the key.
    let target = match key {
        "mail" => json!({ "kind": "email", "address": "ada@example.com" }),
        "push" => json!({ "kind": "ntfy", "url": "https://ntfy.sh/alerts", "token": "tk_1" }),
        _ => json!({ "kind": "webhook", "url": "https://ops.example.com/hook" }),
    };
    object(target, rule).prop_map(move |mut channel| {
        channel["key"] = key.into();
        channel["name"] = format!("Channel {key}").into();
        channel
    })
}

fn objective() -> (&'static str, Vec<Value>) {
    let month = json!({ "percentage": 99.95, "period": "month" });
    let days = json!({ "percentage": 99, "period": "30_days", "counts_maintenance": true });
    ("objective", vec![month, days])
}

fn group(key: &'static str) -> impl Strategy<Value = Value> {
    select(vec!["env:prod", "legacy, !env"]).prop_flat_map(move |selector| {
        let name = format!("Group {key}");
        object(json!({ "key": key, "name": name, "selector": selector }), vec![objective()])
    })
}

fn window(key: &'static str, site: &'static str) -> impl Strategy<Value = Value> {
    let others = vec![
        ("time_zone", vec![json!("Europe/Berlin"), json!("UTC")]),
        ("recurrence", vec![json!("FREQ=DAILY"), json!("FREQ=WEEKLY")]),
        ("sites", vec![json!([site])]),
    ];
    select(vec![30, 60]).prop_flat_map(move |minutes| {
        let always = json!({
            "key": key,
            "name": format!("Window {key}"),
            "starts_at": "2026-12-01T02:00:00",
            "duration_minutes": minutes,
        });
        object(always, others.clone())
    })
}

fn page(
    key: &'static str,
    site: &'static str,
    heartbeat: Option<Value>,
) -> impl Strategy<Value = Value> {
    let component = json!({ "name": "Shop", "site": site, "response_time": true });
    let job = heartbeat.map(|heartbeat| json!({ "name": "Backups", "heartbeat": heartbeat }));
    let components: Vec<_> = [component].into_iter().chain(job).collect();
    let others = vec![
        ("message", vec![json!("Hello.")]),
        ("subscriptions", vec![json!(true)]),
        ("selector", vec![json!("env:prod")]),
        ("groups", vec![json!([{ "components": components }]), json!([])]),
    ];
    object(json!({ "key": key, "name": "Status", "slug": format!("page-{key}") }), others)
}

fn settings() -> impl Strategy<Value = Value> {
    let others = vec![(
        "monitoring_settings",
        vec![
            json!({ "tools": { "dns": { "enabled": false, "cadence_minutes": 60 } } }),
            json!({ "quiet_time": { "enabled": true, "starts_at": "20:00", "ends_at": "06:00" } }),
            json!({ "request_header": { "name": "x-team", "value": "secret" } }),
        ],
    )];
    select(vec!["UTC", "Asia/Tokyo"]).prop_flat_map(move |zone| {
        object(json!({ "time_zone": zone, "monitoring_settings": {} }), others.clone())
    })
}

prop_compose! {
    /// Objects whose keys are among a few, so that documents have some in common.
    fn document()(
        settings in settings(),
        sites in (subsequence(vec!["home", "api", "blog"], 1..=3)).prop_flat_map(|keys| keys.into_iter().map(site).collect::<Vec<_>>()),
        heartbeats in subsequence(vec!["h1", "h2"], 0..=2).prop_flat_map(|keys| keys.into_iter().map(heartbeat).collect::<Vec<_>>()),
        channels in subsequence(vec!["mail", "push", "hook"], 0..=3).prop_flat_map(|keys| keys.into_iter().map(channel).collect::<Vec<_>>()),
        groups in subsequence(vec!["g1", "g2"], 0..=2).prop_flat_map(|keys| keys.into_iter().map(group).collect::<Vec<_>>()),
        with_window in any::<bool>(),
        with_page in any::<bool>(),
    )(
        windows in vec(window("w1", leak(&sites[0]["key"])), usize::from(with_window)),
        pages in vec(
            page("p1", leak(&sites[0]["key"]), heartbeats.first().map(|of: &Value| of["key"].clone())),
            usize::from(with_page),
        ),
        settings in Just(settings),
        sites in Just(sites),
        heartbeats in Just(heartbeats),
        channels in Just(channels),
        groups in Just(groups),
    ) -> Value {
        json!({
            "name": "shop",
            "settings": settings,
            "sites": sites,
            "heartbeats": heartbeats,
            "channels": channels,
            "groups": groups,
            "maintenance_windows": windows,
            "status_pages": pages,
        })
    }
}

/// One of the keys of sites, which are constants.
fn leak(key: &Value) -> &'static str {
    ["home", "api", "blog"].into_iter().find(|one| key == one).expect("a key")
}

/// The same document with every list in the opposite order.
fn reversed(document: &Value) -> Value {
    let mut reversed = document.clone();
    for kind in ObjectKind::LISTS {
        if let Value::Array(list) = &mut reversed[kind.field()] {
            list.reverse();
        }
    }
    reversed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn an_export_changes_nothing(document in document()) {
        let mut team = Objects::new();
        team.apply(&document, Prune::Never);
        let exported = Value::from(export(&team.current(), None, now()));
        // The client does not know the secrets, so it sends the references.
        let mut known = exported;
        prop_assert_eq!(team.plan(&known, Prune::AtMost(0)).expect("a plan").changes, []);
        // Under another name, it would take the objects from the document that manages them.
        known["name"] = "other".into();
        prop_assert!(team.plan(&known, Prune::Never).is_err());
        for site in &mut team.sites {
            site.managed_by = None;
        }
        known["name"] = "shop".into();
        let adopted = team.plan(&known, Prune::Never).expect("a plan").changes;
        prop_assert!(adopted.iter().all(|change| change.action == ChangeAction::Adopt && change.fields.is_empty()));
        prop_assert_eq!(adopted.len(), team.sites.len());
    }

    #[test]
    fn a_document_replaces_the_one_before_it(before in document(), after in document()) {
        let mut both = Objects::new();
        both.apply(&before, Prune::Never);
        both.apply(&after, Prune::AtMost(usize::MAX));
        let mut alone = Objects::new();
        alone.apply(&after, Prune::Never);
        prop_assert_eq!(both.content(), alone.content());
    }

    #[test]
    fn the_order_of_objects_does_not_matter(before in document(), after in document()) {
        let contents = [after.clone(), reversed(&after)].map(|after| {
            let mut team = Objects::new();
            team.apply(&before, Prune::Never);
            team.apply(&after, Prune::AtMost(usize::MAX));
            team.content()
        });
        prop_assert_eq!(&contents[0], &contents[1]);
    }
}

/// A document with these sites.
fn of_sites(sites: &Value) -> Value {
    json!({ "name": "shop", "sites": sites })
}

fn changes(plan: &ChangePlan) -> Vec<String> {
    let line = |change: &Change| {
        let fields: Vec<_> = change.fields.iter().map(|field| field.field.as_str()).collect();
        format!(
            "{:?} {} {} [{}]",
            change.action,
            change.kind,
            change.key.as_deref().unwrap_or_default(),
            fields.join(" ")
        )
    };
    plan.changes.iter().map(line).collect()
}

#[test]
fn urls_move_from_one_site_to_another() {
    let mut team = Objects::new();
    team.apply(
        &of_sites(&json!([
            { "key": "a", "url": "https://one.example" },
            { "key": "b", "url": "https://two.example" },
        ])),
        Prune::Never,
    );
    let moved = of_sites(&json!([
        { "key": "a", "url": "https://two.example" },
        { "key": "b", "url": "https://three.example" },
    ]));
    let plan = team.plan(&moved, Prune::Never).expect("a plan");
    assert_eq!(
        changes(&plan),
        ["Update site b [name url]", "Update site a [name url]"]
            .map(|line| line.replace("name ", ""))
    );
    team.apply(&moved, Prune::Never);
    let swapped = of_sites(&json!([
        { "key": "a", "url": "https://three.example" },
        { "key": "b", "url": "https://two.example" },
    ]));
    let why = "belongs to another site of the team";
    assert_eq!(
        team.plan(&swapped, Prune::Never).expect_err("a circle"),
        json!({
            "sites.0.url": [format!("The sites.0.url field {why}.")],
            "sites.1.url": [format!("The sites.1.url field {why}.")],
        })
    );
}

#[test]
fn what_only_one_object_may_have_is_freed_first() {
    let mut team = Objects::new();
    let mail = |key: &str, address: &str, name: &str| json!({ "key": key, "kind": "email", "address": address, "name": name });
    let page = |key: &str, slug: &str| json!({ "key": key, "name": "Page", "slug": slug });
    let document = |channels: Value, sites: Value, pages: Value| json!({ "name": "shop", "channels": channels, "sites": sites, "status_pages": pages });
    team.apply(
        &document(
            json!([mail("mail-a", "a@example.com", "A"), mail("mail-b", "b@example.com", "B")]),
            json!([{ "key": "a", "url": "https://a.example" }, { "key": "b", "url": "https://b.example" }]),
            json!([page("page-a", "page-a"), page("page-b", "page-b")]),
        ),
        Prune::Never,
    );
    let next = document(
        json!([
            mail("mail-a", "A@example.com", "B"),
            mail("mail-c", "c@example.com", "A"),
            mail("mail-d", "b@example.com", "C")
        ]),
        json!([{ "key": "a", "url": "https://b.example" }]),
        json!([page("page-a", "page-b"), page("page-c", "page-a")]),
    );
    let plan = team.plan(&next, Prune::AtMost(9)).expect("a plan");
    assert_eq!(
        changes(&plan),
        [
            "Update channel mail-d [name]",
            "Delete status page page-b []",
            "Delete site b []",
            "Update channel mail-a [name]",
            "Create channel mail-c [address kind name]",
            "Update site a [url]",
            "Update status page page-a [slug]",
            "Create status page page-c [name slug]",
        ]
    );
    team.apply(&next, Prune::AtMost(9));
}

#[test]
fn a_list_that_is_left_out_is_not_pruned() {
    let mut team = Objects::new();
    let document = json!({
        "name": "shop",
        "sites": [{ "key": "a", "url": "https://a.example" }],
        "groups": [{ "key": "g", "name": "G", "selector": "a" }],
    });
    team.apply(&document, Prune::Never);
    let without = json!({ "name": "shop", "sites": [] });
    let plan = team.plan(&without, Prune::Few).expect("a plan");
    assert_eq!(changes(&plan), ["Delete site a []"]);
    assert_eq!(plan.left_over, [(ObjectKind::Group, "G".to_owned())]);
}

#[test]
fn a_window_of_the_past_ends_the_one_that_was_planned() {
    let mut team = Objects::new();
    let document = |start: &str| {
        json!({ "name": "shop", "maintenance_windows": [
            { "key": "w", "name": "W", "starts_at": start, "duration_minutes": 30 },
        ] })
    };
    team.apply(&document("2026-12-24T02:00"), Prune::Never);
    let past = document("2025-12-24T02:00");
    let plan = team.plan(&past, Prune::Few).expect("a plan");
    assert_eq!(changes(&plan), ["Delete maintenance window w []"]);
    team.apply(&past, Prune::Few);
    assert!(team.team.windows.is_empty());
}

#[test]
fn sites_that_are_gone_are_left_out_of_an_export() {
    let mut team = Objects::new();
    let document = json!({
        "name": "shop",
        "sites": [{ "key": "a", "url": "https://a.example" }, { "key": "b", "url": "https://b.example" }],
        "maintenance_windows": [
            { "key": "v", "name": "V", "starts_at": "2026-12-24T02:00", "duration_minutes": 30, "sites": ["a"] },
            { "key": "w", "name": "W", "starts_at": "2026-12-24T02:00", "duration_minutes": 30, "sites": ["a", "b"] },
        ],
    });
    team.apply(&document, Prune::Never);
    team.sites.retain(|site| site.url.as_str().contains("b.example"));
    let exported = Value::from(export(&team.current(), None, now()));
    assert_eq!(exported["maintenance_windows"].as_array().map(Vec::len), Some(1));
    assert_eq!(exported["maintenance_windows"][0]["sites"], json!(["b"]));
    validate(exported.as_object().expect("an object"), now()).expect("a valid document");
}

#[test]
fn a_site_with_another_key_is_the_same_site() {
    let mut team = Objects::new();
    team.apply(&of_sites(&json!([{ "key": "a", "url": "https://one.example" }])), Prune::Never);
    let id = team.sites[0].id;
    let renamed = of_sites(&json!([{ "key": "b", "url": "https://one.example" }]));
    let plan = team.plan(&renamed, Prune::Few).expect("a plan");
    assert_eq!(changes(&plan), ["Adopt site b []"]);
    team.apply(&renamed, Prune::Few);
    assert_eq!(team.sites.iter().map(|site| site.id).collect::<Vec<_>>(), [id]);
}

#[test]
fn pruning_is_limited_to_a_few_objects_of_the_document() {
    let mut team = Objects::new();
    let site = |number: usize| json!({ "key": format!("s{number}"), "url": format!("https://s{number}.example") });
    let sites = |count: usize| of_sites(&(0..count).map(site).collect());
    team.apply(&sites(50), Prune::Never);
    let mut other = Site::clone(&team.sites[0]);
    (other.id, other.managed_by) = (crate::id::SiteId(Uuid::from_u128(9)), None);
    other.url = crate::sites::site_url::SiteUrl::parse("https://other.example").expect("a URL");
    team.sites.push(other);
    let left_over = team.plan(&sites(45), Prune::Never).expect("a plan");
    assert_eq!((left_over.changes.len(), left_over.left_over.len()), (0, 5));
    assert_eq!(team.plan(&sites(45), Prune::Few).expect("a plan").changes.len(), 5);
    let why = "The request would delete 6 objects, such as s44.example, s45.example, s46.example, s47.example, s48.example. \
               The limit is 5. To delete more, set prune_max (--prune-max).";
    assert_eq!(team.plan(&sites(44), Prune::Few).expect_err("too many"), json!({ "prune": [why] }));
    team.apply(&sites(0), Prune::AtMost(50));
    assert_eq!(team.sites.len(), 1, "the site that nobody manages stays");
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let team = Objects::new();
    let document = json!({
        "name": "my shop",
        "theme": 1,
        "settings": { "zone": "UTC" },
        "sites": [
            { "key": "a", "url": "https://one.example", "tag": [] },
            { "key": "a", "url": "https://two.example" },
            { "url": "https://three.example" },
            { "key": "d", "url": "ftp://four.example" },
            { "key": "e", "url": "https://one.example/", "add_tags": ["x"] },
            5,
        ],
        "heartbeats": [
            { "key": "h", "name": "H", "cron": "30 2 * * *", "period_minutes": 5 },
            { "key": "i", "name": "I", "ping_uuid": "5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278" },
            { "key": "j", "name": "J", "paused": true },
        ],
        "channels": [
            { "key": "c", "kind": "slack", "url": "https://ntfy.sh/x" },
            { "key": "f", "kind": "slack", "url": { "env": "SLACK" } },
        ],
        "maintenance_windows": [{ "key": "w", "duration_minutes": 5, "sites": ["nobody"] }],
        "status_pages": [
            { "key": "p", "name": "P", "slug": "pages", "groups": [{ "components": [
                { "name": "C", "site": "a" },
                { "name": "D", "heartbeat": "nobody" },
            ] }] },
        ],
    });
    let errors = team.plan(&document, Prune::Never).expect_err("errors");
    let fields: Vec<_> = errors.as_object().expect("fields").keys().cloned().collect();
    assert_eq!(
        fields,
        [
            "channels.0.url",
            "channels.1.url",
            "heartbeats.0.cron",
            "heartbeats.1.ping_uuid",
            "heartbeats.2.paused",
            "maintenance_windows.0.sites.0",
            "maintenance_windows.0.starts_at",
            "name",
            "settings.zone",
            "sites.0.tag",
            "sites.1.key",
            "sites.2.key",
            "sites.3.url",
            "sites.4.add_tags",
            "sites.5",
            "status_pages.0.groups.0.components.0.site",
            "status_pages.0.groups.0.components.1.heartbeat",
            "theme",
        ]
    );
}

#[test]
fn a_secret_that_is_not_known_stays() {
    let mut team = Objects::new();
    let document = |url: Value, token: Value| {
        json!({ "name": "shop", "channels": [
            { "key": "push", "kind": "ntfy", "name": "Push", "url": url, "token": token },
        ] })
    };
    team.apply(&document(json!("https://ntfy.sh/alerts"), json!("tk_1")), Prune::Never);
    let unknown = document(json!({ "env": "URL" }), json!({ "file": "token" }));
    assert_eq!(team.plan(&unknown, Prune::Never).expect("a plan").changes, []);
    let changed = document(json!({ "env": "URL" }), json!("tk_2"));
    let plan = team.plan(&changed, Prune::Never).expect("a plan");
    assert_eq!(changes(&plan), ["Update channel push [token]"]);
    let shown = serde_json::to_string(&plan.changes).expect("JSON");
    assert!(!shown.contains("tk_") && !shown.contains("alerts"), "{shown}");
    assert_eq!(
        changes(
            &team
                .plan(&document(json!({ "env": "URL" }), json!(null)), Prune::Never)
                .expect("a plan")
        ),
        ["Update channel push [token]"]
    );
}

#[test]
fn channels_of_a_kind_may_have_urls_that_are_not_known() {
    let channels = ["A", "B"].map(|name| {
        let (key, url) = (name.to_lowercase(), json!({ "env": name }));
        json!({ "key": key, "kind": "telegram", "name": name, "url": url, "token": url })
    });
    let document = json!({ "name": "shop", "channels": channels });
    validate(document.as_object().expect("an object"), now()).expect("a valid document");
    let mut same = document;
    for place in [0, 1] {
        same["channels"][place]["url"] = "https://api.telegram.org/-1001234567890".into();
        same["channels"][place]["token"] = "secret".into();
    }
    assert!(validate(same.as_object().expect("an object"), now()).is_err(), "a URL of two");
}

#[test]
fn a_cadence_that_the_plan_slows_down_is_exported_as_it_is_read_and_not_lost() {
    let mut team = Objects::new();
    let tools = json!({ "status": { "cadence_minutes": 1 }, "ssl": { "cadence_minutes": 60 } });
    let fast = json!({ "key": "a", "url": "https://one.example", "monitoring_settings": { "tools": tools } });
    team.apply(&of_sites(&json!([fast])), Prune::Never);
    team.plan = TeamPlan::Starter;
    team.settings = Settings::defaults(TeamPlan::Starter);
    let mut exported = Value::from(export(&team.current(), None, now()));
    let tools = &exported["sites"][0]["monitoring_settings"]["tools"];
    assert_eq!(
        tools,
        &json!({ "status": { "cadence_minutes": 30 }, "ssl": { "cadence_minutes": 60 } })
    );
    assert_eq!(team.plan(&exported, Prune::Few).expect("a plan").changes, []);
    exported["sites"][0]["notes"] = "Fast".into();
    team.apply(&exported, Prune::Few);
    assert_eq!(team.sites[0].overrides.tools.status.cadence_minutes, Some(1));
}

#[test]
fn a_heartbeat_keeps_its_address() {
    let mut team = Objects::new();
    let document = |heartbeats: Value| json!({ "name": "shop", "heartbeats": heartbeats });
    let first = json!([{ "key": "dump", "name": "Dump" }, { "key": "sync", "name": "Sync" }]);
    team.apply(&document(first), Prune::Never);
    let addresses = |team: &Objects| {
        let keys = team.heartbeats.iter().map(|one| (one.id, one.ping_key));
        keys.collect::<BTreeMap<_, _>>()
    };
    let before = addresses(&team);
    assert_eq!(before.len(), 2);
    // The slugs of two heartbeats cannot be swapped, but one can move on.
    let next = document(json!([
        { "key": "dump", "name": "Sync", "cron": "@daily", "tags": ["db"] },
        { "key": "sync", "name": "Sync all" },
    ]));
    let plan = team.plan(&next, Prune::Few).expect("a plan");
    assert_eq!(
        changes(&plan),
        [
            "Update heartbeat sync [name]",
            "Update heartbeat dump [cron name period_minutes tags time_zone]",
        ]
    );
    team.apply(&next, Prune::Few);
    assert_eq!(addresses(&team), before);
    let without =
        json!([{ "key": "dump", "name": "Sync", "slug": "" }, { "key": "sync", "name": "Sync" }]);
    team.apply(&document(without), Prune::Few);
    assert_eq!(team.heartbeats[0].slug, "");
    let same = document(json!([{ "key": "a", "name": "A" }, { "key": "b", "name": "a" }]));
    let why = "The heartbeats.1.slug field belongs to another heartbeat of the team.";
    assert_eq!(
        team.plan(&same, Prune::Never).expect_err("a slug of two"),
        json!({ "heartbeats.1.slug": [why] })
    );
}

#[test]
fn channels_gain_and_lose_sites_and_heartbeats() {
    let mut team = Objects::new();
    let document = |tag: &str, selector: &str| {
        json!({
            "name": "shop",
            "sites": [
                { "key": "a", "url": "https://a.example", "tags": [tag] },
                { "key": "b", "url": "https://b.example", "tags": ["env:prod"] },
            ],
            "heartbeats": [{ "key": "c", "name": "Dump", "tags": [tag] }],
            "channels": [
                { "key": "ops", "kind": "email", "address": "ada@example.com", "selector": selector },
            ],
        })
    };
    let first = team.plan(&document("legacy", "env:prod"), Prune::Never).expect("a plan").effects;
    assert_eq!(
        first.channels,
        [ChannelSites {
            channel: "ada@example.com".to_owned(),
            gains: vec!["b.example".to_owned()],
            loses: vec![]
        }]
    );
    assert_eq!(first.checks_per_month.before, 0);
    assert!(first.checks_per_month.after > 2 * 43_200 / 60);
    team.apply(&document("legacy", "env:prod"), Prune::Never);
    let second = team.plan(&document("legacy", "legacy"), Prune::Never).expect("a plan").effects;
    assert_eq!(
        second.channels,
        [ChannelSites {
            channel: "ada@example.com".to_owned(),
            gains: vec!["Dump".to_owned(), "a.example".to_owned()],
            loses: vec!["b.example".to_owned()],
        }]
    );
    assert_eq!(second.checks_per_month.before, second.checks_per_month.after);
}

#[test]
fn a_plan_names_the_limit_that_does_not_allow_it() {
    let mut team = Objects::new();
    let sites: Vec<Value> = (0..6)
        .map(|number| json!({ "key": format!("s{number}"), "url": format!("https://s{number}.example") }))
        .collect();
    let choices = Choices {
        prune: Prune::Never,
        is_dry_run: true,
        random: [0; 32],
        knows_no_team: false,
        now: now(),
    };
    let document: Map<String, Value> =
        of_sites(&json!(sites)).as_object().expect("an object").clone();
    let current = Current { plan: TeamPlan::Starter, ..team.current() };
    let error = plan(&current, &document, &choices).expect_err("too many");
    let why =
        "The sites field would lead to 6 sites (deletions come last); the plan has at most 5.";
    assert_eq!(error.errors(), [("sites".to_owned(), why.to_owned())]);
    team.apply(&of_sites(&json!(sites)), Prune::Never);
    let current = Current { plan: TeamPlan::Starter, ..team.current() };
    assert_eq!(plan(&current, &document, &choices).expect("what is there may stay").changes, []);
}

/// The heartbeats that the components of the only page show, by their slugs.
fn shown_heartbeats(team: &Objects) -> Vec<&str> {
    let slug = |id| team.heartbeats.iter().find(|one| one.id == id).map(|one| one.slug.as_str());
    team.pages[0].components().filter_map(|component| slug(component.monitor)).collect()
}

#[test]
fn a_component_names_a_heartbeat_by_its_key_before_any_slug() {
    let mut team = Objects::new();
    let components = |names: &[&str]| {
        let component = |name| json!({ "name": "Job", "heartbeat": name });
        let components: Vec<Value> = names.iter().map(component).collect();
        json!([{ "key": "p", "name": "P", "slug": "pages", "groups": [{ "components": components }] }])
    };
    let first = json!({
        "name": "shop",
        "heartbeats": [
            { "key": "one", "name": "One", "slug": "first" },
            { "key": "two", "name": "Two", "slug": "one" },
        ],
        "status_pages": components(&["one", "two", "first"]),
    });
    team.apply(&first, Prune::Never);
    assert_eq!(shown_heartbeats(&team), ["first", "one", "first"]);
    // Another heartbeat of the team has a slug that is a key of the document, so its id is its name.
    let other = team.heartbeats.iter().find(|one| one.slug == "one").expect("one").id.to_string();
    let second = json!({
        "name": "other",
        "heartbeats": [{ "key": "one", "name": "Three", "slug": "third" }],
        "status_pages": [],
    });
    team.apply(&second, Prune::Never);
    team.pages.clear();
    let mut third = second;
    third["status_pages"] = components(&["one", &other]);
    team.apply(&third, Prune::Never);
    assert_eq!(shown_heartbeats(&team), ["third", "one"]);
    // The document is applied again after somebody has changed what a component shows, or deleted it.
    team.pages[0].groups[0].components.reverse();
    team.pages[0].groups[0].components[0].name = "Job".to_owned();
    assert_eq!(team.plan(&third, Prune::Never).expect("a plan").changes.len(), 1);
    let gone = team.pages[0].groups[0].components[1].monitor;
    team.heartbeats.retain(|one| one.id != gone);
    third["heartbeats"] = json!([]);
    third["status_pages"] = components(&[&other]);
    team.apply(&third, Prune::Never);
    assert_eq!(team.pages[0].components().count(), 1);
}
