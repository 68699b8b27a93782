//! A team's monitoring settings, with forms.

use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::message::{AlertMessage, Message, ReconcileMessage};
use vedette_domain::sites::settings::Settings;
use vedette_runtime::Destination;
use vedette_testkit::{Member, TestApp, member_of, new_team};

use crate::support::{Browser, main_part, said, sent_to};
use vedette_store::Audit;

pub(crate) const STATUS: &str = "enabled=yes&cadence_minutes=15&settings.incident_status_codes=500\
                      &settings.incident_status_codes=503&settings.failures_to_open=3\
                      &settings.successes_to_resolve=1&settings.confirmation_retry_minutes=2\
                      &settings.incident_follow_up_minutes=5";

async fn settings(test: &TestApp, owner: &Member) -> Settings {
    let team = test.app.store.team(owner.team, test.now()).await.expect("read");
    team.expect("a team").settings
}

fn path(owner: &Member, section: &str) -> String {
    format!("/teams/{}/settings/{section}", owner.team)
}

/// The address of a section's settings.
fn place(section: &str) -> String {
    match section {
        "request-header" | "quiet-time" | "escalation" => section.replace('-', "_"),
        tool => format!("tools.{tool}"),
    }
}

/// A section's form with these fields.
pub(crate) fn form(section: &str, fields: &str) -> String {
    let place = place(section);
    let fields = fields.split('&').filter(|field| !field.is_empty());
    fields.map(|field| format!("monitoring_settings.{place}.{field}&")).collect()
}

#[tokio::test]
async fn a_section_is_saved_alone_and_what_follows_from_it_is_asked_for() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let before = settings(&test, &owner).await;
    let saved = browser.post(&path(&owner, "status"), &form("status", STATUS)).await;
    let shown = format!("/teams/{}/settings/status?notice=saved", owner.team);
    assert_eq!(sent_to(&saved), shown);
    let mut expected = before.clone();
    expected.tools.status.cadence_minutes = 15;
    expected.tools.status.settings.incident_status_codes = [500, 503].into();
    expected.tools.status.settings.failures_to_open = 3.try_into().expect("a number");
    assert_eq!(settings(&test, &owner).await, expected);
    let sent: Vec<_> = test.queue.drain(Destination::Reconcile);
    let sync = Message::Reconcile(ReconcileMessage::SyncTeam(owner.team));
    assert_eq!(sent.into_iter().map(|(message, _)| message).collect::<Vec<_>>(), [sync]);
    assert!(test.queue.drain(Destination::Alerts).is_empty(), "alerts do not depend on it");
    let page = browser.get(&shown).await;
    for text in [
        "<p>Saved.</p>",
        "<option value=\"15\" selected>Every 15 minutes</option>",
        "value=\"500\" checked>",
        "name=\"monitoring_settings.tools.status.settings.failures_to_open\" value=\"3\"",
        "<option value=\"1\">Instant: 1</option><option value=\"2\">Aggressive: 2</option>\
         <option value=\"3\" selected>Conservative: 3</option>",
    ] {
        assert!(said(&page).contains(text), "{text}: {}", said(&page));
    }

    for (section, fields) in [
        ("quiet-time", "enabled=yes&starts_at=21:00&ends_at=06:30"),
        ("escalation", "enabled=yes&intervals=60&intervals=1440"),
    ] {
        sent_to(&browser.post(&path(&owner, section), &form(section, fields)).await);
        let notified = test.queue.drain(Destination::Alerts);
        let sync = Message::Alert(AlertMessage::Team(owner.team));
        assert_eq!(notified.into_iter().map(|(message, _)| message).collect::<Vec<_>>(), [sync]);
        let request = test.app.store.channel_sync(owner.team).await.expect("read");
        assert!(request.is_some(), "{section}: it stands in the table, too");
    }
    let now = settings(&test, &owner).await;
    assert_eq!(now.quiet_time.starts_at.to_string(), "21:00");
    assert_eq!(now.escalation.intervals, [60, 1440].into());
    sent_to(&browser.post(&path(&owner, "escalation"), "").await);
    let now = settings(&test, &owner).await;
    assert!(!now.escalation.enabled && now.escalation.intervals.is_empty(), "boxes not ticked");
    assert_eq!(now.tools, expected.tools);
    let off = STATUS.replace("enabled=yes&", "");
    sent_to(&browser.post(&path(&owner, "status"), &form("status", &off)).await);
    assert!(!settings(&test, &owner).await.tools.status.enabled);
}

#[tokio::test]
async fn a_preset_is_chosen_in_place_of_a_number() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let shown = format!("/teams/{}/settings", owner.team);
    for (from, typed, expected, option) in [
        ("1", "9", 1, "<option value=\"1\" selected>Instant: 1</option>"),
        ("own", "9", 9, "<option value=\"own\" selected>Another number</option>"),
        ("own", "2", 2, "<option value=\"2\" selected>Aggressive: 2</option>"),
    ] {
        let typed =
            format!("settings.failures_to_open={typed}&settings.failures_to_open.from={from}");
        let sent = STATUS.replace("settings.failures_to_open=3", &typed);
        sent_to(&browser.post(&path(&owner, "status"), &form("status", &sent)).await);
        let saved = settings(&test, &owner).await.tools.status.settings.failures_to_open;
        assert_eq!(saved.get(), expected, "{typed}");
        assert!(said(&browser.get(&shown).await).contains(option), "{option}");
    }
}

#[tokio::test]
async fn what_is_wrong_stands_beside_its_field_in_the_words_of_the_api() {
    let test = TestApp::start().await;
    let owner = new_team(&test, Plan::Starter).await;
    let mut browser = Browser::of(&test, owner.user).await;
    let before = settings(&test, &owner).await;
    let list = "enabled=yes&cadence_minutes=10080&settings.min_broken_count=5\
                &settings.consecutive_breaches_to_open=1&settings.ignore_paths=";
    for (section, fields, field, said, kept) in [
        (
            "status",
            STATUS.to_owned(),
            "tools.status.cadence_minutes",
            "Must be at least 30 on the starter plan.",
            "<option value=\"15\" selected disabled>",
        ),
        (
            "status",
            STATUS
                .replace("cadence_minutes=15", "cadence_minutes=30")
                .replace("failures_to_open=3", "failures_to_open=%3Cb%3E"),
            "tools.status.settings.failures_to_open",
            "Must be an integer.",
            "settings.failures_to_open\" value=\"&lt;b&gt;\"",
        ),
        (
            "broken-links",
            format!("{list}%2Fa%0D%0A%0D%0A{}", "x".repeat(256)),
            "tools.broken-links.settings.ignore_paths",
            "Line 2: must not be longer than 255 characters.",
            "/a\r\n",
        ),
        (
            "quiet-time",
            "enabled=yes&starts_at=22:00&ends_at=22:00".to_owned(),
            "quiet_time.ends_at",
            "Must differ from starts_at.",
            "quiet_time.ends_at\" value=\"22:00\"",
        ),
        (
            "escalation",
            "enabled=yes&intervals=7".to_owned(),
            "escalation.intervals",
            "Line 1: must be one of 0, 15, 30, 60, 360, 1440.",
            "name=\"monitoring_settings.escalation.intervals\"",
        ),
        (
            "request-header",
            "name=x-probe&value=".to_owned(),
            "request_header.value",
            "Is required with name.",
            "request_header.name\" value=\"x-probe\"",
        ),
    ] {
        let refused = browser.post(&path(&owner, section), &form(section, &fields)).await;
        assert_eq!(refused.status(), 422, "{section}");
        let page = main_part(&refused);
        let field = format!("monitoring_settings.{field}");
        let problem = format!("id=\"{field}-problem\" role=\"alert\">");
        let (_, beside) = page.split_once(&problem).unwrap_or_else(|| panic!("{problem}: {page}"));
        assert!(beside.starts_with(said), "{said}: {beside}");
        assert!(page.contains(&format!("aria-describedby=\"{field}-problem\"")), "{field}");
        assert!(page.contains(kept), "{kept}: {page}");
        assert_eq!(page.matches("-problem\" role").count(), 1, "{page}");
    }
    assert_eq!(settings(&test, &owner).await, before);
    assert_eq!(browser.post(&path(&owner, "other"), "").await.status(), 404);
}

#[tokio::test]
async fn the_value_of_a_request_header_is_never_shown_and_stays_with_its_name() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let header = path(&owner, "request-header");
    let shown = format!("/teams/{}/settings", owner.team);
    for (fields, expected) in [
        ("name=x-probe&value=let-me-in", Some(("x-probe", "let-me-in"))),
        ("name=x-probe&value=", Some(("x-probe", "let-me-in"))),
        ("name=&value=", None),
    ] {
        sent_to(&browser.post(&header, &form("request-header", fields)).await);
        assert_eq!(settings(&test, &owner).await.request_header.pair(), expected, "{fields}");
        assert!(!said(&browser.get(&shown).await).contains("let-me-in"), "{fields}");
    }
    let refused = browser.post(&header, &form("request-header", "name=%40&value=let-me-in")).await;
    assert_eq!(refused.status(), 422);
    assert!(!main_part(&refused).contains("let-me-in"));
}

#[tokio::test]
async fn only_who_may_change_settings_is_offered_a_form() {
    let (test, owner) = TestApp::with_team().await;
    let shown = format!("/teams/{}/settings", owner.team);
    let before = settings(&test, &owner).await;
    let sent = form("status", STATUS);
    for role in [Role::Viewer, Role::Member] {
        let member = member_of(&test, owner.team, role, &Scope::ALL).await;
        let mut browser = Browser::of(&test, member.user).await;
        let page = browser.get(&shown).await;
        assert!(!said(&page).contains("<form") && !said(&page).contains("<input"), "{role:?}");
        assert!(said(&page).contains("<dd><bdi>Every 5 minutes</bdi></dd>"), "{}", said(&page));
        assert_eq!(browser.post(&path(&owner, "status"), &sent).await.status(), 403);
        test.app
            .store
            .remove_member(owner.team, member.user, role, Audit::None)
            .await
            .expect("removed");
        assert_eq!(browser.get(&shown).await.status(), 404, "at the next click");
        assert_eq!(browser.post(&path(&owner, "status"), &sent).await.status(), 404);
    }
    let stranger = new_team(&test, Plan::Agency).await;
    let mut browser = Browser::of(&test, stranger.user).await;
    assert_eq!(browser.get(&shown).await.status(), 404);
    assert_eq!(browser.post(&path(&owner, "status"), &sent).await.status(), 404);
    assert_eq!(settings(&test, &owner).await, before);
}
