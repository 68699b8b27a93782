//! Changing, pausing and deleting a site.

use serde_json::json;
use url::form_urlencoded;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::expectations::OwnershipRecord;
use vedette_domain::id::SiteId;
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_domain::sites::settings::DnsRecordType;
use vedette_domain::sites::site::Site;
use vedette_domain::validation::YES;
use vedette_testkit::{Member, NameServices, member_of, new_team};
use vedette_tests::Service;

use crate::results::{end, status};
use crate::support::{Browser, fields_of, main_part, said, sent_to, text};

/// A site in the API, with the fields that an update sends.
async fn site(service: &Service, owner: &Member, body: &serde_json::Value) -> SiteId {
    let created = service.client(owner).post(&format!("/teams/{}/sites", owner.team), body).await;
    SiteId::parse(&created.data("uuid")).expect("an id")
}

async fn stored(service: &Service, id: SiteId) -> Site {
    let found = service.test.app.store.site(id.partition()).await.expect("read");
    found.expect("a site").site
}

/// The form as the page fills it in, with some fields changed. Empty fields are left out.
pub(crate) fn filled(page: &str, changes: &[(&str, &str)]) -> String {
    let mut fields = fields_of(page);
    fields.retain(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
    let changes = changes.iter().filter(|(_, text)| !text.is_empty());
    fields.extend(changes.map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

const STATUS: &str = "monitoring_settings.tools.status";

#[tokio::test]
async fn what_is_saved_as_it_is_shown_changes_nothing() {
    let (service, owner) = Service::with_team().await;
    let body = json!({
        "url": "https://a.test/", "name": "A & \"b\" <c>", "notes": "\nfirst\r\nsecond",
        "js_rendered": true,
        "dns_expected_records": { "A": ["192.0.2.1", "192.0.2.2"], "MX": ["10 mail.a.test"] },
        "monitoring_settings": {
            "request_header": { "name": "X-Key", "value": "secret" },
            "tools": {
                "status": { "enabled": true, "cadence_minutes": 30, "settings": {
                    "incident_status_codes": [], "failures_to_open": 7 } },
                "dns": { "settings": { "monitored_record_types": ["A", "MX"], "hard_failures_only": false } },
                "broken-links": { "settings": { "ignore_paths": ["/a b", "*/c"] } },
                "performance": { "settings": { "url": "https://a.test/page", "max_ttfb_ms": null } },
            },
        },
    });
    let id = site(&service, &owner, &body).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{id}/edit");
    let before = stored(&service, id).await;
    let page = browser.get(&path).await;
    assert!(!said(&page).contains("secret"), "a header's value is not shown: {}", said(&page));
    let sent = filled(said(&page), &[]);
    assert_eq!(sent_to(&browser.post(&path, &sent).await), format!("/sites/{id}?notice=saved"));
    assert_eq!(stored(&service, id).await, before);
}

#[tokio::test]
async fn expectations_are_lines_of_the_form() {
    let (service, owner) = Service::with_team().await;
    let id = site(&service, &owner, &json!({ "url": "https://a.test/" })).await;
    let expected = json!({
        "method": "GET",
        "expectations": [
            { "kind": "body_contains", "text": "Welcome" },
            { "kind": "body_contains", "text": "two\nlines" },
            { "kind": "body_lacks", "text": "\"quoted" },
            { "kind": "header_equals", "name": "x-cache", "value": "HIT: 1" },
            { "kind": "header_contains", "name": "server", "value": "a" },
            { "kind": "json_equals", "pointer": "/a=b", "value": "c = d" },
            { "kind": "json_equals", "pointer": "/n", "value": null },
            { "kind": "response_time", "max_ms": 900 },
        ],
        "issues": {
            "expectation": { "severity": "warning", "failures_to_open": 3, "successes_to_resolve": 4 },
            "slow": { "severity": "critical", "failures_to_open": 5, "successes_to_resolve": 6 },
        },
    });
    let path = format!("/sites/{id}/expectations");
    let put = service.client(&owner).put(&path, &expected).await;
    assert_eq!(put.status, 200, "{put:?}");
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{id}/edit");
    let before = stored(&service, id).await;
    let page = browser.get(&path).await;
    assert!(said(&page).contains("8 of 10"));
    let saved = browser.post(&path, &filled(said(&page), &[])).await;
    assert_eq!(sent_to(&saved), format!("/sites/{id}?notice=saved"));
    assert_eq!(stored(&service, id).await, before, "what is saved as it is shown changes nothing");

    let changes = [("expectations.body_contains", "Hello"), ("expectations.response_time", "2000")];
    browser.post(&path, &filled(said(&page), &changes)).await;
    let after = stored(&service, id).await.expectations;
    let read = serde_json::to_value(&after.expectations).expect("json");
    assert_eq!(read[0], json!({ "kind": "body_contains", "text": "Hello" }));
    assert_eq!(read[6], json!({ "kind": "response_time", "max_ms": 2000 }));

    for (changes, message) in [
        (
            &[("expectations.json_equals", "/fine = 1\nstatus = ok")][..],
            "Line 2: must be a JSON pointer, such as /status or /checks/0/state.",
        ),
        (
            &[("expectations.header_equals", "x-cache")],
            "Line 1: must be a name and a value, such as x-cache: HIT.",
        ),
        (
            &[("expectations.response_time", "0")],
            "Must be a number of milliseconds from 1 to 30000.",
        ),
        (&[("expectations.issues.slow.failures_to_open", "101")], "Must not be greater than 100."),
    ] {
        let page = browser.get(&path).await;
        let refused = browser.post(&path, &filled(said(&page), changes)).await;
        assert_eq!(refused.status(), 422);
        assert!(main_part(&refused).contains(message), "{message}: {}", main_part(&refused));
    }
    assert_eq!(stored(&service, id).await.expectations, after);
}

#[tokio::test]
async fn a_post_is_part_of_the_form_and_its_body_is_not_shown() {
    let (mut service, owner) = Service::with_team().await;
    let names = NameServices::start().await;
    service.test.app.txt_records = names.txt_records();
    let id = site(&service, &owner, &json!({ "url": "https://a.test/" })).await;
    let record = OwnershipRecord::of(&stored(&service, id).await).expect("a record");
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{id}/edit");
    let page = browser.get(&path).await;
    assert!(said(&page).contains(&record.name) && said(&page).contains(&record.value));

    let post = |body| [("expectations.method", "POST"), ("expectations.post.body", body)];
    let secret = "user=ada\r\npassword=correct horse";
    let refused = browser.post(&path, &filled(said(&page), &post(secret))).await;
    assert_eq!(refused.status(), 422);
    let OwnershipRecord { name, value } = &record;
    let why =
        format!("Must not be POST: the DNS TXT record {name} with the value {value} is missing.");
    assert!(main_part(&refused).contains(&why), "{}", main_part(&refused));
    names.publish(&record);
    let empty = browser.post(&path, &filled(said(&page), &post(""))).await;
    assert!(main_part(&empty).contains("Is required."), "{}", main_part(&empty));

    let saved = browser.post(&path, &filled(said(&page), &post(secret))).await;
    assert_eq!(sent_to(&saved), format!("/sites/{id}?notice=saved"));
    let before = stored(&service, id).await;
    let kept = before.expectations.post.clone().expect("a POST");
    let (content_type, body) = (kept.content_type.as_str(), kept.body.as_str());
    assert_eq!((content_type, body), ("application/json", "user=ada\npassword=correct horse"));
    let page = browser.get(&path).await;
    assert!(!said(&page).contains("horse"), "{}", said(&page));
    browser.post(&path, &filled(said(&page), &[])).await;
    assert_eq!(stored(&service, id).await, before, "what is saved as it is shown changes nothing");

    let other_type = [("expectations.post.content_type", "text/csv")];
    browser.post(&path, &filled(said(&page), &other_type)).await;
    let changed = stored(&service, id).await.expectations.post.expect("a POST");
    assert_eq!((changed.content_type.as_str(), changed.body), ("text/csv", kept.body));
    browser.post(&path, &filled(said(&page), &[("expectations.method", "GET")])).await;
    assert_eq!(stored(&service, id).await.expectations.post, None);
    let log = browser.get(&format!("/teams/{}/audit-log", owner.team)).await;
    assert!(said(&log).contains("Body of a POST"), "{}", said(&log));
    assert!(!said(&log).contains("horse"), "{}", said(&log));
}

#[tokio::test]
async fn the_body_of_a_post_does_not_follow_a_site_to_another_server() {
    let (mut service, owner) = Service::with_team().await;
    let names = NameServices::start().await;
    service.test.app.txt_records = names.txt_records();
    let header = json!({ "request_header": { "name": "X-Key", "value": "secret" } });
    let body = json!({ "url": "https://a.test/", "monitoring_settings": header });
    let id = site(&service, &owner, &body).await;
    let plain = site(&service, &owner, &json!({ "url": "https://c.test/" })).await;
    let before = stored(&service, id).await;
    let other = Site { url: "https://b.test".parse().expect("a URL"), ..before.clone() };
    for site in [&before, &other] {
        names.publish(&OwnershipRecord::of(site).expect("a record"));
    }
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{id}/edit");
    let page = browser.get(&path).await;
    let post = [("expectations.method", "POST"), ("expectations.post.body", "horse")];
    sent_to(&browser.post(&path, &filled(said(&page), &post)).await);
    let before = stored(&service, id).await;

    let page = browser.get(&path).await;
    let warning = "If you change its host or port, or change https to http,";
    assert!(said(&page).contains(warning), "{}", said(&page));
    let other_page = browser.get(&format!("/sites/{plain}/edit")).await;
    assert!(!said(&other_page).contains(warning), "{}", said(&other_page));
    for url in ["https://b.test/", "https://a.test:8443/", "http://a.test/"] {
        let refused = browser.post(&path, &filled(said(&page), &[("url", url)])).await;
        assert_eq!(refused.status(), 422);
        assert!(main_part(&refused).contains("Is required."), "{}", main_part(&refused));
        assert_eq!(stored(&service, id).await, before);
    }
    let moved = [("url", "https://b.test/"), ("expectations.post.body", "cow")];
    sent_to(&browser.post(&path, &filled(said(&page), &moved)).await);
    let after = stored(&service, id).await;
    assert_eq!(after.overrides.request_header.expect("a header").value, "secret");
    assert_eq!(after.expectations.post.expect("a POST").body, "cow");
}

#[tokio::test]
async fn a_setting_is_the_teams_or_the_sites_own() {
    let (service, owner) = Service::with_team().await;
    let id = site(&service, &owner, &json!({ "url": "https://a.test/" })).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{id}/edit");
    let page = browser.get(&path).await;
    for text in [
        "<div class=\"theirs\">2</div>",
        "<div class=\"theirs\">Every 5 minutes</div>",
        "<div class=\"theirs\">Yes</div>",
        "<div class=\"theirs\">A, AAAA, CNAME, MX, NS, TXT</div>",
        "<div class=\"theirs\">17 selected</div>",
    ] {
        assert!(said(&page).contains(text), "{text}: {}", said(&page));
    }
    let failures = format!("{STATUS}.settings.failures_to_open");
    let (source, cadence) = (format!("{failures}.from"), format!("{STATUS}.cadence_minutes"));
    let ssl = "monitoring_settings.tools.ssl.enabled";
    let (cadence_source, ssl_source) = (format!("{cadence}.from"), format!("{ssl}.from"));
    service.waiting();
    let sent = filled(
        said(&page),
        &[
            ("name", "Shop"),
            ("notes", "Call Ada"),
            ("pinned", YES),
            (&source, "own"),
            // The same value as the team's, but it is the site's own.
            (&failures, "2"),
            (&cadence_source, "own"),
            (&cadence, "10"),
            (&ssl_source, "own"),
            (ssl, ""),
            ("dns_expected_records.A", "192.0.2.1\r\n\r\n 192.0.2.2 "),
        ],
    );
    sent_to(&browser.post(&path, &sent).await);
    let site = stored(&service, id).await;
    assert_eq!((site.name.as_str(), site.notes.as_deref()), ("Shop", Some("Call Ada")));
    assert!(site.pinned);
    assert_eq!(
        serde_json::to_value(&site.overrides).expect("JSON"),
        json!({ "tools": {
            "status": { "cadence_minutes": 10, "settings": { "failures_to_open": 2 } },
            "ssl": { "enabled": false },
        } })
    );
    assert_eq!(site.expected_records[&DnsRecordType::A], ["192.0.2.1", "192.0.2.2"]);
    let is_sync = |message: &Message| matches!(message, Message::Reconcile(ReconcileMessage::Sync { site, .. }) if *site == id);
    assert!(service.waiting().iter().any(|(message, _)| is_sync(message)), "schedules follow");

    // All values come from the team again.
    let page = browser.get(&path).await;
    let sent = filled(
        said(&page),
        &[
            (&source, ""),
            (&cadence_source, ""),
            (&ssl_source, ""),
            ("pinned", ""),
            ("dns_expected_records.A", ""),
        ],
    );
    sent_to(&browser.post(&path, &sent).await);
    let site = stored(&service, id).await;
    assert_eq!(serde_json::to_value(&site.overrides).expect("JSON"), json!({}));
    assert!(!site.pinned && site.expected_records.is_empty());
}

#[tokio::test]
async fn the_port_of_an_https_url_is_suggested() {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let port = "monitoring_settings.tools.ssl.settings.port";
    let source = format!("{port}.from");
    for (url, suggested) in
        [("https://a.test:8443/", "8443"), ("https://a.test/", ""), ("http://a.test:8080/", "")]
    {
        let id = site(&service, &owner, &json!({ "url": url })).await;
        let path = format!("/sites/{id}/edit");
        let page = browser.get(&path).await;
        assert!(said(&page).contains("<div class=\"theirs\">443</div>"), "{}", said(&page));
        // Nothing is set before somebody chooses it; then an empty field is the default.
        let chosen = suggested.parse().unwrap_or(443);
        for (from, expected) in [("", json!({})), ("own", json!({ "port": chosen }))] {
            sent_to(&browser.post(&path, &filled(said(&page), &[(&source, from)])).await);
            let overrides = stored(&service, id).await.overrides;
            let overrides = serde_json::to_value(&overrides.tools.ssl.settings).expect("JSON");
            assert_eq!(overrides, expected, "{url}");
        }
        let wrong = filled(said(&page), &[(&source, "own"), (port, "65536")]);
        let refused = browser.post(&path, &wrong).await;
        assert_eq!(refused.status(), 422);
        assert!(
            main_part(&refused).contains("must not be greater than 65535"),
            "{}",
            main_part(&refused)
        );
    }
    // Saving a team's settings leaves the port out.
    let path = format!("/teams/{}/settings/ssl", owner.team);
    let page = browser.get(&path).await;
    sent_to(&browser.post(&path, &filled(said(&page), &[])).await);
    let team = service.client(&owner).get(&format!("/teams/{}/monitoring", owner.team)).await;
    assert!(!team.body.to_string().contains("\"port\""), "{team:?}");
}

#[tokio::test]
async fn a_cadence_that_the_plan_slows_down_is_not_lost() {
    let (service, owner) = Service::with_team().await;
    let body = json!({
        "url": "https://a.test/",
        "monitoring_settings": { "tools": { "status": { "cadence_minutes": 1 } } },
    });
    let id = site(&service, &owner, &body).await;
    let store = &service.test.app.store;
    store.set_plan(owner.team, Plan::Starter, true, service.test.now()).await.expect("a plan");
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{id}/edit");
    let page = browser.get(&path).await;
    assert!(said(&page).contains("<option value=\"30\" selected>Every 30 minutes"));
    let sent = filled(said(&page), &[("name", "Shop")]);
    sent_to(&browser.post(&path, &sent).await);
    let site = stored(&service, id).await;
    assert_eq!(
        (site.name.as_str(), site.overrides.tools.status.cadence_minutes),
        ("Shop", Some(1))
    );
}

#[tokio::test]
async fn what_is_refused_stays_beside_its_field() {
    let (service, owner) = Service::with_team().await;
    site(&service, &owner, &json!({ "url": "https://b.test/" })).await;
    let id = site(&service, &owner, &json!({ "url": "https://a.test/" })).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{id}/edit");
    let page = browser.get(&path).await;
    let before = stored(&service, id).await;
    let own = |name: &str| {
        (format!("{STATUS}.settings.{name}.from"), format!("{STATUS}.settings.{name}"))
    };
    let (source, retry) = own("confirmation_retry_minutes");
    let sent = filled(
        said(&page),
        &[
            ("name", "<script>"),
            (&source, "own"),
            (&retry, "six"),
            ("monitoring_settings.request_header.name", "X-Key"),
            ("dns_expected_records.A", "192.0.2.1\nnonsense"),
        ],
    );
    let refused = browser.post(&path, &sent).await;
    assert_eq!(refused.status(), 422);
    let page = main_part(&refused);
    for text in [
        "value=\"&lt;script&gt;\"".to_owned(),
        format!("value=\"six\" aria-describedby=\"{retry}-problem\" aria-invalid=\"true\""),
        format!("<p class=\"err\" id=\"{retry}-problem\" role=\"alert\">Must be an integer."),
        "Is required with name.".to_owned(),
        "Line 2: must be".to_owned(),
        "192.0.2.1\nnonsense</textarea>".to_owned(),
    ] {
        assert!(page.contains(&text), "{text}: {page}");
    }
    let page = browser.get(&path).await;
    let taken = browser.post(&path, &filled(said(&page), &[("url", "https://B.test")])).await;
    assert_eq!(taken.status(), 422);
    assert!(main_part(&taken).contains("This URL is already monitored by the team."));
    assert_eq!(stored(&service, id).await, before);
}

#[tokio::test]
async fn a_site_is_paused_and_resumed() {
    let (service, owner) = Service::with_team().await;
    let id = site(&service, &owner, &json!({ "url": "https://a.test/" })).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{id}");
    assert!(said(&browser.get(&path).await).contains("Pause monitoring</button>"));
    let paused = browser.post(&format!("{path}/pause"), "").await;
    let page = browser.get(sent_to(&paused)).await;
    for text in ["Monitoring paused.", "<span>Paused</span>", "Resume monitoring</button>"] {
        assert!(said(&page).contains(text), "{text}: {}", said(&page));
    }
    assert!(!said(&page).contains("Pause monitoring</button>"));
    assert!(said(&browser.get("/").await).contains("<span>Paused</span></span><b>1</b>"));
    let resumed = browser.post(&format!("{path}/resume"), "").await;
    assert!(said(&browser.get(sent_to(&resumed)).await).contains("Pause monitoring</button>"));
    let overrides = stored(&service, id).await.overrides;
    assert_eq!(serde_json::to_value(&overrides).expect("JSON"), json!({}));
}

#[tokio::test]
async fn resuming_is_offered_where_the_team_enables_a_tool() {
    let (service, owner) = Service::with_team().await;
    let id = site(&service, &owner, &json!({ "url": "https://a.test/" })).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let page = format!("/sites/{id}");
    let off = json!({ "enabled": false, "cadence_minutes": 1440 });
    let tools = json!({
        "status": off, "ssl": off, "dns": off, "broken-links": off, "performance": off,
    });
    let team = format!("/teams/{}/monitoring", owner.team);
    let changed = json!({ "monitoring_settings": { "tools": tools } });
    assert_eq!(service.client(&owner).patch(&team, &changed).await.status, 200);
    let shown = browser.get(&page).await;
    assert!(said(&shown).contains("The team has turned off all checks."), "{}", said(&shown));
    assert!(
        !said(&shown).contains("Resume monitoring</button>")
            && !said(&shown).contains("Pause monitoring</button>")
    );
    // If the site itself enables a tool, it can be paused.
    let own = filled(
        said(&browser.get(&format!("{page}/edit")).await),
        &[(&format!("{STATUS}.enabled.from"), "own"), (&format!("{STATUS}.enabled"), YES)],
    );
    sent_to(&browser.post(&format!("{page}/edit"), &own).await);
    assert!(said(&browser.get(&page).await).contains("Pause monitoring</button>"));
}

#[tokio::test]
async fn a_site_is_deleted_once_somebody_says_so() {
    let (service, owner) = Service::with_team().await;
    let id = site(&service, &owner, &json!({ "url": "https://a.test/", "name": "<i>" })).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{id}/delete");
    let question = browser.get(&path).await;
    assert!(said(&question).contains("&lt;i&gt;") && said(&question).contains("can’t be undone"));
    assert_eq!(browser.get(&format!("/sites/{id}")).await.status(), 200);
    let deleted = browser.post(&path, "").await;
    assert!(said(&browser.get(sent_to(&deleted)).await).contains("Site deleted."));
    assert_eq!(browser.get(&format!("/sites/{id}")).await.status(), 404);
    assert_eq!(browser.post(&path, "").await.status(), 404);
    service.consume().await;
    assert!(service.test.app.store.deleted_site(id.partition()).await.expect("read").is_none());
}

#[tokio::test]
async fn only_who_manages_the_teams_sites_changes_them() {
    let (service, owner) = Service::with_team().await;
    let id = site(&service, &owner, &json!({ "url": "https://a.test/" })).await;
    let viewer = member_of(&service.test, owner.team, Role::Viewer, &Scope::ALL).await;
    let stranger = new_team(&service.test, Plan::Agency).await;
    let before = stored(&service, id).await;
    let page = format!("/sites/{id}");
    for (user, status) in [(viewer.user, 403), (stranger.user, 404)] {
        let mut browser = Browser::of(&service.test, user).await;
        for verb in ["edit", "delete"] {
            assert_eq!(browser.get(&format!("{page}/{verb}")).await.status(), status, "{verb}");
        }
        for verb in ["edit", "delete", "pause", "resume"] {
            let asked = browser.post(&format!("{page}/{verb}"), "url=https://c.test").await;
            assert_eq!(asked.status(), status, "{verb}");
        }
    }
    let viewing = Browser::of(&service.test, viewer.user).await;
    for offer in ["/edit", "/delete", "Pause"] {
        assert!(!said(&viewing.get(&page).await).contains(offer), "{offer}");
    }
    assert_eq!(stored(&service, id).await, before);
}

#[tokio::test]
async fn an_objective_is_chosen_in_the_form_and_its_budget_is_a_tile() {
    let (service, owner) = Service::with_team().await;
    let id = site(&service, &owner, &json!({ "url": "https://a.test/" })).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let (page, path) = (format!("/sites/{id}"), format!("/sites/{id}/edit"));
    assert!(!said(&browser.get(&page).await).contains("Error budget"));
    let form = browser.get(&path).await;
    let refused =
        browser.post(&path, &filled(said(&form), &[("objective.percentage", "99.99")])).await;
    assert_eq!(refused.status(), 422);
    let why = "Must be one that checks can tell: checks every 5 minutes cannot tell 99.99 % of a calendar month.";
    assert!(text(main_part(&refused)).contains(why), "{}", main_part(&refused));
    let chosen = [
        ("objective.percentage", "99.5"),
        ("objective.period", "7_days"),
        ("objective.counts_maintenance", "yes"),
    ];
    browser.post(&path, &filled(said(&form), &chosen)).await;
    let saved = stored(&service, id).await;
    let objective = json!({ "percentage": 99.5, "period": "7_days", "counts_maintenance": true });
    assert_eq!(json!(saved.objective), objective);
    let form = browser.get(&path).await;
    browser.post(&path, &filled(said(&form), &[])).await;
    assert_eq!(stored(&service, id).await, saved, "what is saved as it is shown changes nothing");

    let tile = async |browser: &Browser| {
        let shown = text(said(&browser.get(&page).await)).replace('\u{202f}', " ");
        let tile = shown.split_once("Error budget, ").unwrap_or_else(|| panic!("{shown}")).1;
        let words: Vec<_> = tile.split(' ').take(20).collect();
        words.join(" ")
    };
    let check = async |code, minutes_later| {
        end(&service, id, status(code, 30.0)).await;
        service.advance_minutes(minutes_later);
    };
    service.advance_minutes(24 * 60);
    assert!(tile(&browser).await.starts_with("99.5 % 7 min left Of 7 min since 20 Nov"));
    service.advance_minutes(9 * 24 * 60);
    assert!(tile(&browser).await.starts_with("99.5 % 50 min left Of 50 min in 7 days"));
    check(503, 5).await;
    check(503, 20).await;
    assert!(tile(&browser).await.starts_with("99.5 % 25 min left Of 50 min in 7 days"));
    service.advance_minutes(30);
    let shown = tile(&browser).await;
    assert!(shown.starts_with("99.5 % Used up 5 min over of 50 min in 7 days"), "{shown}");

    let rare = json!({ "monitoring_settings": { "tools": { "status": { "enabled": true, "cadence_minutes": 30 } } } });
    let monitoring = format!("/teams/{}/monitoring", owner.team);
    assert_eq!(service.client(&owner).patch(&monitoring, &rare).await.status, 200);
    let shown = tile(&browser).await;
    assert!(
        shown.starts_with("99.5 % Used up Checks every 30 minutes cannot tell 99.5 % of 7 days"),
        "{shown}"
    );
    let form = browser.get(&path).await;
    browser.post(&path, &filled(said(&form), &[("objective.percentage", "")])).await;
    assert_eq!(stored(&service, id).await.objective, None);
}
