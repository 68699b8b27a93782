//! `GET /sites/{site}/checks`: the history, its filters, totals and pages.

use std::mem::swap;

use jiff::SignedDuration;
use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::message::Message;
use vedette_testkit::{ApiResponse, Member, WebServer, new_team};
use vedette_tests::Service;

use crate::support::{
    assert_invalid, assert_page, assert_paged, guarded, new_site, rows, set_plan,
};

async fn list(service: &Service, caller: &Member, site: SiteId, query: &str) -> ApiResponse {
    service.client(caller).get(&format!("/sites/{site}/checks{query}")).await
}

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_default()
}

async fn queue(service: &Service, owner: &Member, site: SiteId, tools: &[&str]) {
    let body = json!({ "tools": tools });
    let queued = service.client(owner).post(&format!("/sites/{site}/checks"), &body).await;
    assert_eq!(queued.status, 202, "{queued:?}");
}

fn set_clock(service: &Service, time: &str) {
    service.test.set_clock(time.parse().expect("a time"));
}

/// A site whose history contains every kind of check, over three days: nine automatic checks, of which two failed, and
/// six on-demand checks, of which one is pending.
async fn eventful(service: &mut Service, owner: &Member) -> SiteId {
    let target = WebServer::start().await;
    let site = new_site(service, owner, &target.url).await;
    // Scheduled, completed; on demand, completed and skipped.
    service.consume().await;
    queue(service, owner, site, &["status", "ssl"]).await;
    service.consume().await;

    // Scheduled, retry, follow-up: an issue opens and resolves.
    target.answer(503);
    set_clock(service, "2026-11-20T23:50:00Z");
    service.run_scheduled(site, Tool::Status).await;
    service.advance_minutes(2);
    follow(service).await;
    service.advance_minutes(9);
    target.answer(200);
    follow(service).await;

    // The next day: runs that fail, scheduled, on demand and as a retry.
    let mut others = guarded();
    swap(&mut service.engines, &mut others);
    set_clock(service, "2026-11-21T12:00:00Z");
    service.run_scheduled(site, Tool::Status).await;
    queue(service, owner, site, &["status"]).await;
    service.consume().await;
    swap(&mut service.engines, &mut others);
    target.answer(503);
    set_clock(service, "2026-11-21T12:30:00Z");
    service.run_scheduled(site, Tool::Status).await;
    swap(&mut service.engines, &mut others);
    service.advance_minutes(2);
    follow(service).await;
    swap(&mut service.engines, &mut others);

    // Another day: one check is queued late and completed, and another one is pending.
    target.answer(200);
    set_clock(service, "2026-11-22T08:00:00Z");
    service.run_scheduled(site, Tool::Status).await;
    service.advance_minutes(1);
    queue(service, owner, site, &["dns"]).await;
    service.consume().await;
    service.advance_minutes(1);
    service.run_scheduled(site, Tool::Status).await;
    queue(service, owner, site, &["status", "ssl"]).await;
    for (message, _) in service.waiting() {
        if matches!(message, Message::Check(check) if check.tool == Tool::Ssl) {
            service.deliver(&message).await;
        }
    }
    site
}

/// Runs the only retry or follow-up that waits.
async fn follow(service: &Service) {
    let waiting = service.waiting();
    let [(message, _)] = waiting.as_slice() else { panic!("{waiting:?}") };
    service.deliver(message).await;
}

#[tokio::test]
async fn a_page_holds_checks_links_and_seven_facts_about_the_list() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    queue(&service, &owner, site, &["broken-links"]).await;
    let answer = list(&service, &owner, site, "").await;
    let [crawl, look] = &rows(&answer)[..] else { panic!("two checks") };
    let client = service.client(&owner);
    let alone = async |check: &Value| {
        client.get(&format!("/checks/{}", check["uuid"].as_str().expect("an id"))).await
    };
    let alone = [alone(crawl).await, alone(look).await];
    assert_eq!(rows(&answer), alone.map(|alone| alone.body["data"].clone()));
    assert_page(&answer, (&format!("/sites/{site}/checks"), ""), (1, 25, 2));
}

#[tokio::test]
async fn an_empty_list_has_one_page_and_no_bounds() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let filter = "automatic=false&run_reason=scheduled&";
    let answer = list(&service, &owner, site, &format!("?{filter}")).await;
    assert_page(&answer, (&format!("/sites/{site}/checks"), filter), (1, 25, 0));
}

#[tokio::test]
async fn filters_alone_in_pairs_and_all_together_show_what_they_say() {
    let (mut service, owner) = Service::with_team().await;
    let site = eventful(&mut service, &owner).await;
    let all = rows(&list(&service, &owner, site, "?per_page=100").await);
    assert_eq!(all.len(), 15);
    let mut shown = 0;
    for tool in ["", "status", "ssl"] {
        for status in ["", "pending", "completed", "failed", "skipped"] {
            for automatic in ["", "true", "false"] {
                for reason in ["", "scheduled", "confirmation_retry", "incident_follow_up"] {
                    let mut filters = vec![
                        ("type", tool),
                        ("status", status),
                        ("automatic", automatic),
                        ("run_reason", reason),
                    ];
                    filters.retain(|(_, wanted)| !wanted.is_empty());
                    if filters.len() == 3 {
                        continue;
                    }
                    let matches = |row: &Value| {
                        filters.iter().all(|(field, wanted)| match &row[field] {
                            Value::Bool(value) => value.to_string() == *wanted,
                            value => value == wanted,
                        })
                    };
                    let expected: Vec<_> = all.iter().filter(|row| matches(row)).cloned().collect();
                    let said: Vec<_> =
                        filters.iter().map(|(field, wanted)| format!("{field}={wanted}")).collect();
                    let query = format!("?{}", said.join("&"));
                    let answer = list(&service, &owner, site, &query).await;
                    assert_eq!(rows(&answer), expected, "{query}");
                    assert_eq!(answer.body["meta"]["total"], expected.len(), "{query}");
                    shown += expected.len();
                }
            }
        }
    }
    assert!(shown > 100, "the lists are not all empty: {shown}");
    for (digit, word) in [("1", "true"), ("0", "false")] {
        let digits = list(&service, &owner, site, &format!("?automatic={digit}")).await;
        let words = list(&service, &owner, site, &format!("?automatic={word}")).await;
        assert_eq!(rows(&digits), rows(&words));
    }
}

#[tokio::test]
async fn the_newest_check_comes_first_and_the_uuid_decides_between_equals() {
    let (mut service, owner) = Service::with_team().await;
    let site = eventful(&mut service, &owner).await;
    let all = rows(&list(&service, &owner, site, "").await);
    let place = |row: &Value| (text(row, "created_at").to_owned(), text(row, "uuid").to_owned());
    assert!(all.is_sorted_by(|one, next| place(one) > place(next)));
    let lines: Vec<_> = all
        .iter()
        .map(|row| {
            let reason = row["run_reason"].as_str().unwrap_or("on demand");
            let [time, tool, status] = ["created_at", "type", "status"].map(|name| text(row, name));
            format!("{time} {tool} {reason}: {status}")
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    2026-11-22T08:02:00+00:00 ssl on demand: skipped
    2026-11-22T08:02:00+00:00 status scheduled: completed
    2026-11-22T08:02:00+00:00 status on demand: pending
    2026-11-22T08:01:00+00:00 dns on demand: skipped
    2026-11-22T08:00:00+00:00 status scheduled: completed
    2026-11-21T12:32:00+00:00 status confirmation_retry: failed
    2026-11-21T12:30:00+00:00 status scheduled: completed
    2026-11-21T12:00:00+00:00 status scheduled: failed
    2026-11-21T12:00:00+00:00 status on demand: failed
    2026-11-20T23:57:00+00:00 status incident_follow_up: completed
    2026-11-20T23:52:00+00:00 status confirmation_retry: completed
    2026-11-20T23:50:00+00:00 status scheduled: completed
    2026-11-20T09:54:00+00:00 ssl on demand: skipped
    2026-11-20T09:54:00+00:00 status scheduled: completed
    2026-11-20T09:54:00+00:00 status on demand: completed
    ");
}

#[tokio::test]
async fn days_are_whole_and_both_ends_belong_to_the_span() {
    let (mut service, owner) = Service::with_team().await;
    let site = eventful(&mut service, &owner).await;
    let all = rows(&list(&service, &owner, site, "?per_page=100").await);
    for (from, to) in [
        ("2026-11-20", ""),
        ("2026-11-21", ""),
        ("", "2026-11-20"),
        ("", "2026-11-21"),
        ("2026-11-21", "2026-11-21"),
        ("2026-11-20", "2026-11-21"),
        ("2026-11-22", "2026-11-22"),
        ("2026-11-23", ""),
        ("", "2026-11-19"),
        ("0001-01-01", "9999-12-31"),
    ] {
        for more in ["", "automatic=false"] {
            let bounds = [("from", from), ("to", to)]
                .into_iter()
                .filter(|(_, day)| !day.is_empty())
                .map(|(name, day)| format!("{name}={day}&"));
            let query = format!("?{}{more}", bounds.collect::<String>());
            let expected: Vec<_> = all
                .iter()
                .filter(|row| {
                    let day = &text(row, "created_at")[..10];
                    (from.is_empty() || from <= day) && (to.is_empty() || day <= to)
                })
                .filter(|row| more != "automatic=false" || row["automatic"] == false)
                .cloned()
                .collect();
            let answer = list(&service, &owner, site, &query).await;
            assert_eq!(rows(&answer), expected, "{query}");
            assert_eq!(answer.body["meta"]["total"], expected.len(), "{query}");
        }
    }
}

#[tokio::test]
async fn pages_of_any_size_put_together_are_the_whole_list() {
    let (mut service, owner) = Service::with_team().await;
    let site = eventful(&mut service, &owner).await;
    let (client, path) = (service.client(&owner), format!("/sites/{site}/checks"));
    for (filter, count) in [("", 15), ("automatic=false&", 6)] {
        let all = assert_paged(&client, &path, filter, &[1, 4, count]).await;
        assert_eq!(all.len(), count);
    }
    // Links repeat filters in their order.
    let filter = "to=2026-11-22&type=status&from=2026-11-20&";
    assert_eq!(assert_paged(&client, &path, filter, &[3]).await.len(), 12);
}

#[tokio::test]
async fn parameters_have_one_form_each() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let date = |name: &str| format!("The {name} field must be a date of the form YYYY-MM-DD.");
    let choice = |name: &str| format!("The selected {name} is invalid.");
    let boolean = "The automatic field must be true or false.".to_owned();
    for (query, field, message) in [
        ("type=uptime", "type", choice("type")),
        ("type=links", "type", choice("type")),
        ("type=", "type", choice("type")),
        ("type=Status", "type", choice("type")),
        ("status=open", "status", choice("status")),
        ("status=", "status", choice("status")),
        ("run_reason=manual", "run_reason", choice("run_reason")),
        ("run_reason=", "run_reason", choice("run_reason")),
        ("automatic=yes", "automatic", boolean.clone()),
        ("automatic=True", "automatic", boolean.clone()),
        ("automatic=2", "automatic", boolean.clone()),
        ("automatic=", "automatic", boolean),
        ("from=20261120", "from", date("from")),
        ("from=2026-11-20T00:00:00Z", "from", date("from")),
        ("from=2026-02-30", "from", date("from")),
        ("from=2026-1-2", "from", date("from")),
        ("from=", "from", date("from")),
        ("to=tomorrow", "to", date("to")),
        (
            "from=2026-11-21&to=2026-11-20",
            "to",
            "The to field must be a date on or after from.".to_owned(),
        ),
    ] {
        assert_invalid(&list(&service, &owner, site, &format!("?{query}")).await, field, &message);
    }
    for query in ["from=2026-11-20&to=2026-11-20", "x=&y[]=1"] {
        assert_eq!(list(&service, &owner, site, &format!("?{query}")).await.status, 200, "{query}");
    }
    let many = list(&service, &owner, site, "?to=x&status=x&page=x&type=x").await;
    insta::assert_snapshot!(many.shown(), @r#"
    422 {
      "errors": {
        "page": ["The page field must be an integer."],
        "status": ["The selected status is invalid."],
        "to": ["The to field must be a date of the form YYYY-MM-DD."],
        "type": ["The selected type is invalid."]
      },
      "message": "The page field must be an integer. (and 3 more errors)"
    }
    "#);
}

#[tokio::test]
async fn checks_of_other_sites_are_not_listed() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let other = new_site(&service, &owner, "https://example.org").await;
    queue(&service, &owner, other, &["dns"]).await;
    assert_eq!(list(&service, &owner, site, "").await.body["meta"]["total"], 0);
    assert_eq!(list(&service, &owner, other, "").await.body["meta"]["total"], 1);
}

#[tokio::test]
async fn history_shows_for_as_many_days_as_the_plan_keeps_it() {
    let service = Service::start().await;
    let owner = new_team(&service.test, Plan::Starter).await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    queue(&service, &owner, site, &["status", "dns"]).await;
    service.consume().await;
    set_clock(&service, "2026-11-21T00:00:00Z");
    service.run_scheduled(site, Tool::Status).await;
    // Thirty days are today and the twenty-nine before.
    for (now, total) in [
        ("2026-12-19T23:59:59Z", 4),
        ("2026-12-20T00:00:00Z", 1),
        ("2026-12-20T23:59:59Z", 1),
        ("2026-12-21T00:00:00Z", 0),
        ("2027-05-20T00:00:00Z", 0),
    ] {
        set_clock(&service, now);
        for query in ["", "?from=2026-01-01", "?to=2029-12-31"] {
            let answer = list(&service, &owner, site, query).await;
            assert_eq!(rows(&answer).len(), total, "{now} {query}");
            assert_eq!(answer.body["meta"]["total"], total, "{now} {query}");
        }
    }
}

#[tokio::test]
async fn a_smaller_plan_shows_less_at_once_and_a_larger_one_no_more_than_was_kept() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    set_plan(&service, owner.team, Plan::Starter, true).await;
    set_clock(&service, "2026-11-21T00:00:00Z");
    service.run_scheduled(site, Tool::Status).await;
    let total = async |now: &str| {
        set_clock(&service, now);
        list(&service, &owner, site, "").await.body["meta"]["total"].clone()
    };
    assert_eq!(total("2026-12-20T00:00:00Z").await, 1);
    set_plan(&service, owner.team, Plan::Growth, true).await;
    // The first day was begun on the agency plan, the second on the starter plan.
    assert_eq!(total("2026-12-20T12:00:00Z").await, 2);
    assert_eq!(total("2026-12-21T00:00:00Z").await, 1);
    assert_eq!(total("2027-02-17T23:59:59Z").await, 1);
    assert_eq!(total("2027-02-18T00:00:00Z").await, 0);
}

#[tokio::test]
async fn a_check_that_ends_after_midnight_stays_in_its_day() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    set_clock(&service, "2026-11-20T23:59:59Z");
    queue(&service, &owner, site, &["status", "ssl"]).await;
    let waiting = service.waiting();

    // The day turns for one of the tools before its pending check ends.
    set_clock(&service, "2026-11-21T00:00:01Z");
    service.run_scheduled(site, Tool::Status).await;
    let states = async || {
        let mut found = Vec::new();
        for day in ["2026-11-20", "2026-11-21"] {
            for status in ["pending", "completed", "skipped"] {
                let query = format!("?from={day}&to={day}&status={status}");
                let answer = list(&service, &owner, site, &query).await;
                assert_eq!(answer.body["meta"]["total"], rows(&answer).len(), "{query}");
                found.push(rows(&answer).len());
            }
        }
        found
    };
    assert_eq!(states().await, [2, 1, 0, 0, 1, 0]);
    for (message, _) in &waiting {
        service.deliver(message).await;
    }
    assert_eq!(states().await, [0, 2, 1, 0, 1, 0]);
    let whole = list(&service, &owner, site, "").await;
    assert_eq!(whole.body["meta"]["total"], 4);
    let newest = &rows(&whole)[0];
    assert_eq!(newest["created_at"], "2026-11-21T00:00:01+00:00");
}

#[tokio::test]
async fn pages_do_not_move_when_the_day_turns() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    service.consume().await;
    set_clock(&service, "2026-11-20T23:00:00Z");
    for _ in 0..5 {
        service.advance_minutes(10);
        service.run_scheduled(site, Tool::Status).await;
    }
    let pages = async |filter: &str| {
        let mut pages = Vec::new();
        for page in 1..=4 {
            let query = format!("?per_page=2&page={page}{filter}");
            pages.push(list(&service, &owner, site, &query).await.body);
        }
        pages
    };
    let before = pages("").await;
    set_clock(&service, "2026-11-21T00:00:00Z");
    assert_eq!(pages("").await, before, "midnight alone");
    service.test.advance(SignedDuration::from_mins(30));
    service.run_scheduled(site, Tool::Status).await;
    let after = pages("&to=2026-11-20").await;
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(after["data"], before["data"]);
        assert_eq!(after["meta"], before["meta"]);
    }
    assert_eq!(list(&service, &owner, site, "").await.body["meta"]["total"], 7);
}
