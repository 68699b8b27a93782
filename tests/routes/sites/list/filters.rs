//! What each filter shows, and what it hides.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vedette_testkit::{Member, WebServer};
use vedette_tests::Service;

use super::{list, named, names, order, patch, rows};
use crate::support::{guarded, new_site, new_site_with};

/// Sites of every sort: pinned and not, with tools on and off, with checks in every state.
async fn varied(service: &mut Service, owner: &Member) {
    let target = WebServer::start().await;
    let url = |path: &str| format!("{}/{path}", target.url);
    let up = named(service, owner, "Shop", &url("shop")).await;
    service.consume().await;
    order(service, owner, up, "ssl").await;
    service.consume().await;

    let failed = named(service, owner, "blog", &url("SHOP-blog")).await;
    let mut others = guarded();
    std::mem::swap(&mut service.engines, &mut others);
    service.consume().await;
    std::mem::swap(&mut service.engines, &mut others);
    patch(service, owner, failed, &json!({ "url": url("SHOP-blog"), "pinned": true })).await;

    service.advance_minutes(1);
    let off = json!({ "tools": { "status": { "enabled": false }, "dns": { "enabled": false } } });
    new_site_with(service, owner, &url("off"), &off).await;
    service.consume().await;

    let pending = named(service, owner, "Pending", &url("pending")).await;
    service.consume().await;
    order(service, owner, pending, "dns").await;
    service.waiting();
    patch(service, owner, pending, &json!({ "url": url("pending"), "pinned": true })).await;

    // Its only check has not run: its first runs are still to come.
    named(service, owner, "new", &url("new")).await;
}

#[tokio::test]
async fn every_combination_of_filters_shows_what_it_says() {
    let (mut service, owner) = Service::with_team().await;
    varied(&mut service, &owner).await;
    let all = rows(&list(&service, &owner, "").await);
    assert_eq!(all.len(), 5);
    let mut shown = BTreeSet::new();
    for search in ["", "shop", "127.0.0.1", "%25"] {
        for pinned in ["", "true", "false"] {
            for tool in ["", "status", "ssl", "dns", "performance"] {
                for status in ["", "pending", "completed", "failed", "skipped"] {
                    let matches = |row: &&Value| {
                        let text = format!("{} {}", row["name"], row["url"]).to_lowercase();
                        let enabled = row["enabled_checks"].as_array().expect("tools");
                        let latest = row["latest_checks"].as_object().expect("checks");
                        let has_status = |name: &String, check: &Value| {
                            (tool.is_empty() || tool == name) && check["status"] == status
                        };
                        text.contains(search)
                            && (pinned.is_empty() || row["is_pinned"] == (pinned == "true"))
                            && (tool.is_empty() || enabled.contains(&json!(tool)))
                            && (status.is_empty()
                                || latest.iter().any(|(name, check)| has_status(name, check)))
                    };
                    let expected: Vec<_> = all.iter().filter(matches).cloned().collect();
                    let filters = [
                        ("search", search),
                        ("pinned", pinned),
                        ("tool", tool),
                        ("status", status),
                    ];
                    let said: Vec<_> = filters
                        .iter()
                        .filter(|(_, wanted)| !wanted.is_empty())
                        .map(|(name, wanted)| format!("{name}={wanted}"))
                        .collect();
                    let query = format!("?{}", said.join("&"));
                    let answer = list(&service, &owner, &query).await;
                    assert_eq!(rows(&answer), expected, "{query}");
                    assert_eq!(answer.body["meta"]["total"], expected.len(), "{query}");
                    if !expected.is_empty() {
                        shown.insert(status);
                    }
                }
            }
        }
    }
    assert_eq!(shown.len(), 5, "each status is there: {shown:?}");
}

#[tokio::test]
async fn a_search_is_part_of_name_or_canonical_url_and_a_blank_one_is_none() {
    let (service, owner) = Service::with_team().await;
    named(&service, &owner, "Bücher 100%", "https://bücher.example/A_b").await;
    named(&service, &owner, "Shop", "https://EXAMPLE.com/").await;
    for (search, expected) in [
        ("", vec!["Shop", "Bücher 100%"]),
        ("+", vec!["Shop", "Bücher 100%"]),
        ("sho", vec!["Shop"]),
        ("+SHOP+", vec!["Shop"]),
        ("b%C3%9CCHER", vec!["Bücher 100%"]),
        ("xn--bcher", vec!["Bücher 100%"]),
        ("a_B", vec!["Bücher 100%"]),
        ("_", vec!["Bücher 100%"]),
        ("0%25", vec!["Bücher 100%"]),
        ("%25", vec!["Bücher 100%"]),
        ("example.com/", vec![]),
        ("s%25p", vec![]),
        ("sh_p", vec![]),
    ] {
        let answer = list(&service, &owner, &format!("?search={search}")).await;
        assert_eq!(names(&answer), expected, "{search}");
    }
}

#[tokio::test]
async fn a_tool_that_the_site_leaves_to_its_team_follows_the_team() {
    let (service, owner) = Service::with_team().await;
    let dns = |enabled: bool| json!({ "tools": { "dns": { "enabled": enabled } } });
    new_site_with(&service, &owner, "https://on.test", &dns(true)).await;
    new_site_with(&service, &owner, "https://off.test", &dns(false)).await;
    new_site(&service, &owner, "https://team.test").await;
    assert_eq!(
        names(&list(&service, &owner, "?tool=dns&sort=name").await),
        ["on.test", "team.test"]
    );
    let path = format!("/teams/{}/monitoring", owner.team);
    let off = json!({ "monitoring_settings": {
        "tools": { "dns": { "enabled": false, "cadence_minutes": 60 } },
    } });
    let client = service.client(&owner);
    let changed = client.patch(&path, &off).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    assert_eq!(names(&list(&service, &owner, "?tool=dns&sort=name").await), ["on.test"]);
}

#[tokio::test]
async fn the_status_follows_each_check_from_its_order_to_its_end() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = new_site(&service, &owner, &target.url).await;
    let found = async || {
        let mut found = Vec::new();
        for status in ["pending", "completed", "failed", "skipped"] {
            let answer = list(&service, &owner, &format!("?status={status}&tool=status")).await;
            found.extend((!rows(&answer).is_empty()).then_some(status));
        }
        found
    };
    assert!(found().await.is_empty());
    service.consume().await;
    assert_eq!(found().await, ["completed"]);
    service.advance_minutes(1);
    order(&service, &owner, site, "status").await;
    assert_eq!(found().await, ["pending"]);
    service.consume().await;
    assert_eq!(found().await, ["completed"]);
    // A tool that is switched off keeps its last check, but is no longer among the site's tools.
    let off = json!({ "tools": { "status": { "enabled": false } } });
    let body = json!({ "url": target.url, "monitoring_settings": off });
    patch(&service, &owner, site, &body).await;
    assert!(found().await.is_empty());
    assert_eq!(rows(&list(&service, &owner, "?status=completed").await).len(), 1);
}
