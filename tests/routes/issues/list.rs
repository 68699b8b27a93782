//! `GET /issues`: whose issues are listed, filters and order.

use serde_json::json;
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{IssueId, SiteId};
use vedette_domain::issues::Fingerprint;
use vedette_testkit::{ApiResponse, Member, new_team};
use vedette_tests::Service;

use super::{broken, next_run, open};
use crate::support::{
    assert_invalid, assert_not_found, assert_page, assert_paged, assert_plan_required, join,
    masked, new_site, odd_spellings, suspend,
};

async fn list(service: &Service, caller: &Member, query: &str) -> ApiResponse {
    service.client(caller).get(&format!("/issues{query}")).await
}

/// The uuids in the result of a query, after checking that the total matches.
async fn listed(service: &Service, caller: &Member, query: &str) -> Vec<String> {
    let answer = list(service, caller, query).await;
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    let rows = answer.body["data"].as_array().expect("issues");
    assert_eq!(answer.body["meta"]["total"], rows.len(), "{query}");
    rows.iter().map(|row| row["uuid"].as_str().expect("a uuid").to_owned()).collect()
}

/// What can be wrong with a site.
fn of_sites() -> impl Iterator<Item = Fingerprint> {
    Fingerprint::ALL.into_iter().filter(|fingerprint| fingerprint.tool() != Tool::Heartbeat)
}

/// Two sites that together have an issue of every fingerprint, each opened a minute after the previous one.
struct Troubles {
    sites: [SiteId; 2],
    issues: Vec<(SiteId, Fingerprint, IssueId)>,
}

async fn troubles(service: &Service, owner: &Member) -> Troubles {
    let first = new_site(service, owner, "https://example.com").await;
    let second = new_site(service, owner, "https://example.org").await;
    let mut issues = Vec::new();
    for (n, fingerprint) in of_sites().enumerate() {
        service.advance_minutes(1);
        let site = if n % 3 == 0 { second } else { first };
        issues.push((site, fingerprint, open(service, site, fingerprint).await));
    }
    service.advance_minutes(1);
    Troubles { sites: [first, second], issues }
}

impl Troubles {
    /// The issues that were opened last come first.
    fn expected(&self, wanted: impl Fn(usize, SiteId, Fingerprint) -> bool) -> Vec<String> {
        let mut uuids: Vec<_> = self
            .issues
            .iter()
            .enumerate()
            .filter(|(n, (site, fingerprint, _))| wanted(*n, *site, *fingerprint))
            .map(|(_, (.., id))| id.to_string())
            .collect();
        uuids.reverse();
        uuids
    }
}

#[tokio::test]
async fn a_page_holds_issues_with_their_sites_and_checks() {
    let (service, owner) = Service::with_team().await;
    let (site, target) = broken(&service, &owner).await;
    next_run(&service, site).await;
    let answer = list(&service, &owner, "").await;
    assert_page(&answer, ("/issues", ""), (1, 25, 1));
    let row = &answer.body["data"][0];
    let client = service.client(&owner);
    let alone = client.get(&format!("/issues/{}", row["uuid"].as_str().expect("a uuid"))).await;
    assert_eq!(&alone.body["data"], row);
    // The settings are those of the site's own route.
    let of_site = client.get(&format!("/sites/{site}")).await;
    for field in ["monitoring", "issue_settings"] {
        assert_eq!(row["site"][field], of_site.body["data"][field]);
    }
    let mut checks = answer.clone();
    checks.body = json!({
        "check": row["check"],
        "context": row["context"],
        "last_evaluated_at": row["last_evaluated_at"],
        "previous_check": row["previous_check"],
        "updated_at": row["updated_at"],
    });
    insta::assert_snapshot!(masked(&checks, &target), @r#"
    200 {
      "check": {
        "automatic": true,
        "completed_at": "2026-11-20T09:59:00+00:00",
        "created_at": "2026-11-20T09:59:00+00:00",
        "result": {
          "code": 503,
          "effective_url": "http://127.0.0.1:PORT",
          "phases": { "connect": "<ms>", "lookup": "<ms>" },
          "redirect_count": 0,
          "redirected": false,
          "response_time": "<ms>",
          "up": false,
          "url": "http://127.0.0.1:PORT"
        },
        "run_reason": "scheduled",
        "site": "<the site>",
        "status": "completed",
        "type": "status",
        "updated_at": "2026-11-20T09:59:00+00:00",
        "uuid": "01a1f865-22a0-8080-8000-000000000004"
      },
      "context": {
        "failures": 1,
        "first_failed_at": "2026-11-20T09:54:00+00:00",
        "last_failed_at": "2026-11-20T09:54:00+00:00",
        "measured": {
          "code": 503,
          "effective_url": "http://127.0.0.1:PORT",
          "error": null,
          "incident_status_codes": [400, 401, 403, 404, 405, 408, 410, 429, 500, 501, 502, 503, 504, 521, 522, 523, 524],
          "redirect_count": 0,
          "response_time": "<ms>",
          "up": false
        }
      },
      "last_evaluated_at": "2026-11-20T09:59:00+00:00",
      "previous_check": {
        "automatic": true,
        "completed_at": "2026-11-20T09:54:00+00:00",
        "created_at": "2026-11-20T09:54:00+00:00",
        "result": {
          "code": 503,
          "effective_url": "http://127.0.0.1:PORT",
          "phases": { "connect": "<ms>", "lookup": "<ms>" },
          "redirect_count": 0,
          "redirected": false,
          "response_time": "<ms>",
          "up": false,
          "url": "http://127.0.0.1:PORT"
        },
        "run_reason": "scheduled",
        "site": "<the site>",
        "status": "completed",
        "type": "status",
        "updated_at": "2026-11-20T09:54:00+00:00",
        "uuid": "01a1f860-8ec0-8080-8000-000000000004"
      },
      "updated_at": "2026-11-20T09:54:00+00:00"
    }
    "#);
}

#[tokio::test]
async fn an_empty_list_has_one_page_and_no_bounds() {
    let (service, owner) = Service::with_team().await;
    let answer = list(&service, &owner, "?severity=info&status=resolved&per_page=7").await;
    assert_page(&answer, ("/issues", "severity=info&status=resolved&per_page=7&"), (1, 7, 0));
}

#[tokio::test]
async fn status_chooses_and_resolved_issues_are_hidden_without_it() {
    let (service, owner) = Service::with_team().await;
    let troubles = troubles(&service, &owner).await;
    for (n, (.., id)) in troubles.issues.iter().enumerate() {
        match n % 4 {
            1 => service.acknowledge(*id, owner.user).await,
            2 => service.resolve(*id, owner.user).await,
            _ => {}
        }
    }
    for (query, kinds) in [
        ("", [0, 1, 3].as_slice()),
        ("?status=active", &[0, 1, 3]),
        ("?status=open", &[0, 3]),
        ("?status=acknowledged", &[1]),
        ("?status=resolved", &[2]),
    ] {
        let expected = troubles.expected(|n, _, _| kinds.contains(&(n % 4)));
        assert_eq!(listed(&service, &owner, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn site_tool_and_severity_narrow_the_list_together() {
    let (service, owner) = Service::with_team().await;
    let troubles = troubles(&service, &owner).await;
    let sites = troubles.sites.map(|site| site.to_string());
    for site in ["", &sites[0], &sites[1]] {
        for tool in ["", "ssl", "dns", "broken-links"] {
            for severity in ["", "critical", "warning", "info"] {
                let said: Vec<_> = [("site", site), ("tool", tool), ("severity", severity)]
                    .into_iter()
                    .filter(|(_, wanted)| !wanted.is_empty())
                    .map(|(name, wanted)| format!("{name}={wanted}"))
                    .collect();
                let query = format!("?{}", said.join("&"));
                let expected = troubles.expected(|_, of, fingerprint| {
                    (site.is_empty() || of.to_string() == site)
                        && (tool.is_empty() || fingerprint.tool().as_str() == tool)
                        && (severity.is_empty() || fingerprint.severity().as_str() == severity)
                });
                assert_eq!(listed(&service, &owner, &query).await, expected, "{query}");
            }
        }
    }
}

#[tokio::test]
async fn the_issue_opened_last_comes_first_and_the_uuid_decides_between_equals() {
    let (service, owner) = Service::with_team().await;
    let site = new_site(&service, &owner, "https://example.com").await;
    let status = open(&service, site, Fingerprint::StatusDown).await;
    let ssl = open(&service, site, Fingerprint::SslInvalid).await;
    service.advance_minutes(1);
    let dns = open(&service, site, Fingerprint::DnsLookupFailed).await;
    let newest_first = [dns, ssl, status].map(|id| id.to_string());
    assert!(newest_first.is_sorted_by(|one, next| one > next));
    assert_eq!(listed(&service, &owner, "").await, newest_first);
}

#[tokio::test]
async fn an_issue_opened_again_moves_to_the_front() {
    let (service, owner) = Service::with_team().await;
    let (site, target) = broken(&service, &owner).await;
    service.advance_minutes(1);
    open(&service, site, Fingerprint::SslInvalid).await;
    let before = listed(&service, &owner, "").await;
    target.answer(200);
    next_run(&service, site).await;
    assert_eq!(listed(&service, &owner, "").await, before[..1]);
    target.answer(503);
    next_run(&service, site).await;
    let after = listed(&service, &owner, "").await;
    assert_eq!(after, [before[1].as_str(), before[0].as_str()]);
    assert_eq!(listed(&service, &owner, "?status=resolved").await, [""; 0]);
}

#[tokio::test]
async fn pages_of_any_size_put_together_are_the_whole_list() {
    let (service, owner) = Service::with_team().await;
    troubles(&service, &owner).await;
    let client = service.client(&owner);
    let count = of_sites().count();
    for (filter, count) in [("", count), ("severity=critical&status=active&", 4)] {
        let all = assert_paged(&client, "/issues", filter, &[1, 2, 3, count]).await;
        assert_eq!(all.len(), count);
    }
}

#[tokio::test]
async fn without_a_team_all_teams_of_the_caller_are_listed_and_no_others() {
    let (service, owner) = Service::with_team().await;
    let other = new_team(&service.test, Plan::Starter).await;
    let stranger = new_team(&service.test, Plan::Starter).await;
    let mut uuids = Vec::new();
    for member in [&owner, &other, &stranger] {
        let site = new_site(&service, member, "https://example.com").await;
        service.advance_minutes(1);
        uuids.push(open(&service, site, Fingerprint::StatusDown).await.to_string());
    }
    join(&service, owner.user, other.team, Role::Viewer).await;
    let [first, second, _] = uuids.as_slice() else { panic!("three") };
    assert_eq!(listed(&service, &owner, "").await, [second.as_str(), first]);
    assert_eq!(listed(&service, &owner, &format!("?team={}", owner.team)).await, [first.as_str()]);
    let upper = other.team.to_string().to_uppercase();
    assert_eq!(listed(&service, &owner, &format!("?team={upper}")).await, [second.as_str()]);
    assert_not_found(&list(&service, &owner, &format!("?team={}", stranger.team)).await);
}

#[tokio::test]
async fn a_team_and_a_site_that_do_not_match_give_an_empty_page() {
    let (service, owner) = Service::with_team().await;
    let other = new_team(&service.test, Plan::Agency).await;
    join(&service, owner.user, other.team, Role::Viewer).await;
    let site = new_site(&service, &owner, "https://example.com").await;
    open(&service, site, Fingerprint::StatusDown).await;
    let matching = format!("?team={}&site={site}", owner.team);
    assert_eq!(listed(&service, &owner, &matching).await.len(), 1);
    let crossed = format!("?team={}&site={site}", other.team);
    assert_eq!(listed(&service, &owner, &crossed).await, [""; 0]);
}

#[tokio::test]
async fn teams_and_sites_of_others_are_not_found_even_if_other_parameters_are_invalid() {
    let (service, owner) = Service::with_team().await;
    let stranger = new_team(&service.test, Plan::Agency).await;
    let site = new_site(&service, &stranger, "https://example.com").await;
    let nothing = service.test.app.entropy.site_id().expect("an id");
    for query in [
        format!("?site={site}"),
        format!("?site={nothing}"),
        format!("?team={}", stranger.team),
        format!("?team={nothing}"),
        format!("?team={}&site={site}", owner.team),
        format!("?site={site}&status=all&page=0"),
    ] {
        assert_not_found(&list(&service, &owner, &query).await);
    }
}

#[tokio::test]
async fn parameters_have_one_form_each() {
    let (service, owner) = Service::with_team().await;
    let choice = |name: &str| format!("The selected {name} is invalid.");
    for (query, field, message) in [
        ("status=all", "status", choice("status")),
        ("status=", "status", choice("status")),
        ("status=Open", "status", choice("status")),
        ("tool=links", "tool", choice("tool")),
        ("tool=", "tool", choice("tool")),
        ("severity=high", "severity", choice("severity")),
        ("severity=", "severity", choice("severity")),
        ("team=", "team", "The team field must be a valid UUID.".to_owned()),
        ("site=", "site", "The site field must be a valid UUID.".to_owned()),
    ] {
        assert_invalid(&list(&service, &owner, &format!("?{query}")).await, field, &message);
    }
    for (field, uuid) in [("team", owner.team.to_string()), ("site", owner.user.to_string())] {
        for spelling in odd_spellings(&uuid) {
            let refused = list(&service, &owner, &format!("?{field}={spelling}")).await;
            assert_invalid(&refused, field, &format!("The {field} field must be a valid UUID."));
        }
    }
    let many = list(&service, &owner, "?page=x&severity=x&site=x&status=x&team=x&tool=x").await;
    insta::assert_snapshot!(many.shown(), @r#"
    422 {
      "errors": {
        "page": ["The page field must be an integer."],
        "severity": ["The selected severity is invalid."],
        "site": ["The site field must be a valid UUID."],
        "status": ["The selected status is invalid."],
        "team": ["The team field must be a valid UUID."],
        "tool": ["The selected tool is invalid."]
      },
      "message": "The team field must be a valid UUID. (and 5 more errors)"
    }
    "#);
    assert_eq!(listed(&service, &owner, "?type=x&per_page=100&search=").await, [""; 0]);
}

#[tokio::test]
async fn teams_without_an_active_plan_are_left_out_unless_they_are_named() {
    let (service, owner) = Service::with_team().await;
    let other = new_team(&service.test, Plan::Agency).await;
    join(&service, owner.user, other.team, Role::Viewer).await;
    let mut shown = Vec::new();
    let mut sites = Vec::new();
    for member in [&owner, &other] {
        let site = new_site(&service, member, "https://example.com").await;
        shown.push(open(&service, site, Fingerprint::StatusDown).await.to_string());
        sites.push(site);
    }
    suspend(&service, &other).await;
    assert_eq!(listed(&service, &owner, "").await, shown[..1]);
    assert_plan_required(&list(&service, &owner, &format!("?team={}", other.team)).await);
    assert_plan_required(&list(&service, &owner, &format!("?site={}", sites[1])).await);
    suspend(&service, &owner).await;
    assert_eq!(listed(&service, &owner, "").await, [""; 0]);
}
