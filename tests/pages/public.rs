//! Status pages, as their readers are served them.

use std::fmt::Write as _;
use std::future::ready;

use jiff::SignedDuration;
use lambda_http::Body;
use lambda_http::http::request::Parts;
use lambda_http::http::{HeaderValue, Method, Response};
use vedette_dashboard::{StatusPages, find_public, not_published};
use vedette_domain::alerts::channel::LinkKey;
use vedette_domain::status_pages::{ComponentState, PublishedPage};
use vedette_routing::serve;
use vedette_runtime::health::ServiceProblem;
use vedette_store::Grant;
use vedette_testkit::status_pages::published_page;
use vedette_testkit::{Spent, TestApp, granted};

use crate::support::{body, head, main_part, text, whole};

/// A test with a page at `/status/meridian`.
async fn published(change: impl FnOnce(&mut PublishedPage)) -> TestApp {
    let test = TestApp::start().await;
    let mut page = published_page(test.now());
    change(&mut page);
    test.publish_page("meridian", None, &page).await;
    test
}

async fn send(test: &TestApp, head: &Parts) -> Response<Body> {
    let Some(found) = find_public(head) else { return not_published(&test.app, head) };
    let grant = found.route.function.grant();
    let served = serve(&StatusPages, &test.app, found, head, |_| ready(Ok(Body::Empty)));
    Box::pin(granted([grant, &Grant::NONE], served)).await
}

async fn get(test: &TestApp, path: &str) -> Response<Body> {
    send(test, &head("GET", path)).await
}

fn header<'r>(response: &'r Response<Body>, name: &str) -> &'r str {
    response.headers().get(name).map_or("", |value| value.to_str().expect("text"))
}

/// What must hold for every page.
fn assert_sound(page: &str) {
    assert!(page.contains("<html lang=\"en\">") && page.contains("href=\"#main\""), "{page}");
    assert_eq!(page.matches("<h1>").count(), 1, "{page}");
    for wrong in ["<script", "<style", " style=", "http-equiv", "href=\"http", "src=\"http"] {
        assert!(!page.contains(wrong), "{wrong}: {page}");
    }
    assert_eq!(
        page.matches("<nav").count(),
        page.matches("<nav class=\"row\" aria-label=\"").count()
    );
}

#[tokio::test]
async fn a_page_shows_incidents_components_and_maintenance() {
    // One component with good days, and one with others.
    let test = published(|page| page.groups[1].components.truncate(1)).await;
    let response = get(&test, "/status/meridian").await;
    assert_sound(body(&response));
    // The page names its stylesheet, so its tag changes with that.
    let shown = whole(&response).replace(header(&response, "etag"), "\"TAG\"");
    insta::assert_snapshot!(shown, @r##"
    200 OK
    cache-control: public, max-age=30
    x-content-type-options: nosniff
    content-type: text/html; charset=utf-8
    content-security-policy: default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'
    referrer-policy: same-origin
    vary: accept-encoding
    etag: "TAG"
    cross-origin-opener-policy: same-origin
    cross-origin-resource-policy: same-origin
    strict-transport-security: max-age=31536000

    <!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark"><title>Meridian Goods status</title><link rel="icon" href="/assets/icon-down-HASH.svg"><link rel="stylesheet" href="/assets/app-HASH.css"><link rel="alternate" type="application/atom+xml" title="Meridian Goods status" href="/status/meridian/history.atom"></head><body><a class="skip" href="#main">Skip to the content</a><main id="main"><div class="wrap pub stack l"><header class="row far"><span class="brand say"><span class="face l sq" aria-hidden="true">M</span><bdi>Meridian Goods</bdi></span></header><section class="hero tint down" id="00000000-0000-0000-0000-00000000000b"><div><span class="pill xl down"><svg class="i" viewBox="0 0 16 16" aria-hidden="true"><rect class="f" x="1.75" y="1.75" width="12.5" height="12.5" rx="2.5"/><path class="k" d="m5.5 5.5 5 5m0-5-5 5"/></svg><span>Partial outage</span></span></div><div><h1>Orders are delayed</h1><p class="m1 say text">You can still shop and pay.</p></div><p class="quiet small">Started at <time datetime="2026-11-20T09:40:00+00:00" title="2026-11-20 10:40 CET">10:40 CET</time>, 14 min ago · Updated at <time datetime="2026-11-20T09:48:00+00:00" title="2026-11-20 10:48 CET">10:48 CET</time>, 6 min ago · Next update by <time datetime="2026-11-20T10:24:00+00:00" title="2026-11-20 11:24 CET">11:24 CET</time> · Affects Orders</p><ol class="time rule"><li class="issues"><span class="dot"><svg class="i" viewBox="0 0 16 16" aria-hidden="true"><path class="f" d="M8 1.5c.5 0 .9.25 1.15.7l5.6 10.1c.5.9-.1 1.95-1.1 1.95H2.35c-1 0-1.6-1.05-1.1-1.95L6.85 2.2c.25-.45.65-.7 1.15-.7z"/><path class="k" d="M8 5.75V9M8 11.5v.01"/></svg></span><div><p><b>Identified</b></p><p class="quiet p0 text">The cause is a release at 02:44.</p></div><time datetime="2026-11-20T09:48:00+00:00" title="2026-11-20 10:48 CET">10:48 CET</time></li><li class="down"><span class="dot"><svg class="i" viewBox="0 0 16 16" aria-hidden="true"><rect class="f" x="1.75" y="1.75" width="12.5" height="12.5" rx="2.5"/><path class="k" d="m5.5 5.5 5 5m0-5-5 5"/></svg></span><div><p><b>Investigating</b></p><p class="quiet p0 text">Orders aren’t being confirmed.</p></div><time datetime="2026-11-20T09:43:00+00:00" title="2026-11-20 10:43 CET">10:43 CET</time></li></ol></section><section class="card"><header><h2>Components</h2><span class="legend bk"><span class="up"><i></i>No downtime</span><span class="down"><i></i>Down: the longer, the taller</span><span class="paused"><i></i>No checks</span></span></header><div class="line"><div class="comp" id="00000000-0000-0000-0000-000000000001"><div class="row far"><h3><bdi>Shop</bdi></h3><span class="pill bare up"><svg class="i" viewBox="0 0 16 16" aria-hidden="true"><circle class="f" cx="8" cy="8" r="6.5"/><path class="k" d="m5.25 8.25 2 2 3.5-4"/></svg><span>Up</span></span></div><svg class="d90 whole" viewBox="0 0 270 24" preserveAspectRatio="none" role="img" aria-label="90 days, none with downtime"><path class="u" d="M3 17h2v7h-2zM6 17h2v7h-2zM9 17h2v7h-2zM12 17h2v7h-2zM15 17h2v7h-2zM18 17h2v7h-2zM21 17h2v7h-2zM24 17h2v7h-2zM27 17h2v7h-2zM30 17h2v7h-2zM33 17h2v7h-2zM36 17h2v7h-2zM39 17h2v7h-2zM42 17h2v7h-2zM45 17h2v7h-2zM48 17h2v7h-2zM51 17h2v7h-2zM54 17h2v7h-2zM57 17h2v7h-2zM60 17h2v7h-2zM63 17h2v7h-2zM66 17h2v7h-2zM69 17h2v7h-2zM72 17h2v7h-2zM75 17h2v7h-2zM78 17h2v7h-2zM81 17h2v7h-2zM84 17h2v7h-2zM87 17h2v7h-2zM90 17h2v7h-2zM93 17h2v7h-2zM96 17h2v7h-2zM99 17h2v7h-2zM102 17h2v7h-2zM105 17h2v7h-2zM108 17h2v7h-2zM111 17h2v7h-2zM114 17h2v7h-2zM117 17h2v7h-2zM120 17h2v7h-2zM123 17h2v7h-2zM126 17h2v7h-2zM129 17h2v7h-2zM132 17h2v7h-2zM135 17h2v7h-2zM138 17h2v7h-2zM141 17h2v7h-2zM144 17h2v7h-2zM147 17h2v7h-2zM150 17h2v7h-2zM153 17h2v7h-2zM156 17h2v7h-2zM159 17h2v7h-2zM162 17h2v7h-2zM165 17h2v7h-2zM168 17h2v7h-2zM171 17h2v7h-2zM174 17h2v7h-2zM177 17h2v7h-2zM180 17h2v7h-2zM183 17h2v7h-2zM186 17h2v7h-2zM189 17h2v7h-2zM192 17h2v7h-2zM195 17h2v7h-2zM198 17h2v7h-2zM201 17h2v7h-2zM204 17h2v7h-2zM207 17h2v7h-2zM210 17h2v7h-2zM213 17h2v7h-2zM216 17h2v7h-2zM219 17h2v7h-2zM222 17h2v7h-2zM225 17h2v7h-2zM228 17h2v7h-2zM231 17h2v7h-2zM234 17h2v7h-2zM237 17h2v7h-2zM240 17h2v7h-2zM243 17h2v7h-2zM246 17h2v7h-2zM249 17h2v7h-2zM252 17h2v7h-2zM255 17h2v7h-2zM258 17h2v7h-2zM261 17h2v7h-2zM264 17h2v7h-2zM267 17h2v7h-2z"><title>89 days: no downtime</title></path><path class="o" d="M0 22h2v2h-2z"><title>1 day: no checks</title></path></svg><div class="ends"><span>90 days ago</span><span>99.94 % uptime · 182 ms</span><span>Today</span></div></div></div></section><section class="card"><header><h2>Checkout</h2></header><div class="line"><div class="comp" id="00000000-0000-0000-0000-000000000002"><div class="row far"><h3><bdi>Orders</bdi></h3><span class="pill bare down"><svg class="i" viewBox="0 0 16 16" aria-hidden="true"><rect class="f" x="1.75" y="1.75" width="12.5" height="12.5" rx="2.5"/><path class="k" d="m5.5 5.5 5 5m0-5-5 5"/></svg><span>Down</span></span></div><svg class="d90 whole" viewBox="0 0 270 24" preserveAspectRatio="none" role="img" aria-label="90 days, 2 with downtime"><path class="d" d="M267 9h2v15h-2z"><title>1 day: down for less than 30 minutes</title></path><path class="d" d="M264 0h2v24h-2z"><title>1 day: down for 8 hours or more</title></path><path class="u" d="M3 17h2v7h-2zM6 17h2v7h-2zM9 17h2v7h-2zM12 17h2v7h-2zM15 17h2v7h-2zM18 17h2v7h-2zM21 17h2v7h-2zM24 17h2v7h-2zM27 17h2v7h-2zM30 17h2v7h-2zM33 17h2v7h-2zM36 17h2v7h-2zM39 17h2v7h-2zM42 17h2v7h-2zM45 17h2v7h-2zM48 17h2v7h-2zM51 17h2v7h-2zM54 17h2v7h-2zM57 17h2v7h-2zM60 17h2v7h-2zM63 17h2v7h-2zM66 17h2v7h-2zM69 17h2v7h-2zM72 17h2v7h-2zM75 17h2v7h-2zM78 17h2v7h-2zM81 17h2v7h-2zM84 17h2v7h-2zM87 17h2v7h-2zM90 17h2v7h-2zM93 17h2v7h-2zM96 17h2v7h-2zM99 17h2v7h-2zM102 17h2v7h-2zM105 17h2v7h-2zM108 17h2v7h-2zM111 17h2v7h-2zM114 17h2v7h-2zM117 17h2v7h-2zM120 17h2v7h-2zM123 17h2v7h-2zM126 17h2v7h-2zM129 17h2v7h-2zM132 17h2v7h-2zM135 17h2v7h-2zM138 17h2v7h-2zM141 17h2v7h-2zM144 17h2v7h-2zM147 17h2v7h-2zM150 17h2v7h-2zM153 17h2v7h-2zM156 17h2v7h-2zM159 17h2v7h-2zM162 17h2v7h-2zM165 17h2v7h-2zM168 17h2v7h-2zM171 17h2v7h-2zM174 17h2v7h-2zM177 17h2v7h-2zM180 17h2v7h-2zM183 17h2v7h-2zM186 17h2v7h-2zM189 17h2v7h-2zM192 17h2v7h-2zM195 17h2v7h-2zM198 17h2v7h-2zM201 17h2v7h-2zM204 17h2v7h-2zM207 17h2v7h-2zM210 17h2v7h-2zM213 17h2v7h-2zM216 17h2v7h-2zM219 17h2v7h-2zM222 17h2v7h-2zM225 17h2v7h-2zM228 17h2v7h-2zM231 17h2v7h-2zM234 17h2v7h-2zM237 17h2v7h-2zM240 17h2v7h-2zM243 17h2v7h-2zM246 17h2v7h-2zM249 17h2v7h-2zM252 17h2v7h-2zM255 17h2v7h-2zM258 17h2v7h-2zM261 17h2v7h-2z"><title>87 days: no downtime</title></path><path class="o" d="M0 22h2v2h-2z"><title>1 day: no checks</title></path></svg><div class="ends"><span>90 days ago</span><span>99.94 % uptime</span><span>Today</span></div><details class="list"><summary>2 days with downtime or failed checks</summary><ul><li><span><time datetime="2026-11-20">20 Nov 2026</time></span><span class="quiet">Down for less than 30 minutes</span></li><li><span><time datetime="2026-11-19">19 Nov 2026</time></span><span class="quiet">Down for 8 hours or more</span></li></ul></details></div></div></section><section class="card"><header><h2>Scheduled maintenance</h2></header><ul class="rows"><li class="top0" id="00112233445566778899aabbccddeeff"><span class="pill info"><svg class="i" viewBox="0 0 16 16" aria-hidden="true"><path class="f" d="M8 1.25 14.75 8 8 14.75 1.25 8z"/><path class="k" d="M8 7.5v3M8 5.25v.01"/></svg><span>Scheduled</span></span><div class="grow"><b><bdi>Database upgrade</bdi></b><p class="quiet"><time datetime="2026-11-21T09:54:00+00:00" title="2026-11-21 10:54 CET">Sat 21 Nov, 10:54</time> to <time datetime="2026-11-21T11:24:00+00:00" title="2026-11-21 12:24 CET">12:24 CET</time> · Affects Shop</p></div></li></ul></section><section class="stack gm"><h2>Past incidents</h2><div class="card"><ul class="rows"><li class="top0" id="00000000-0000-0000-0000-00000000000c"><div class="grow"><b><bdi>Orders weren’t being confirmed</bdi></b><p class="quiet small"><time datetime="2026-11-19T09:13:00+00:00" title="2026-11-19 10:13 CET">Thu 19 Nov, 10:13</time> to <time datetime="2026-11-19T09:54:00+00:00" title="2026-11-19 10:54 CET">10:54 CET</time>, 41 min · Affected Orders</p><p class="small text">We’ve raised the limit.</p></div><span class="pill bare up"><svg class="i" viewBox="0 0 16 16" aria-hidden="true"><circle class="f" cx="8" cy="8" r="6.5"/><path class="k" d="m5.25 8.25 2 2 3.5-4"/></svg><span>Resolved</span></span></li></ul></div></section><footer class="row far quiet small"><span class="row"><svg class="mark up" width="18" height="18" viewBox="0 0 28 28" aria-hidden="true"><rect width="28" height="28" rx="7.5"></rect><path d="M7 11.5 12.5 20.5 19 11.8"></path><circle cx="20.75" cy="7.75" r="2.6"></circle><rect class="sq" x="17.5" y="4.5" width="6.5" height="6.5" rx="1.5"></rect></svg><span>Monitored by Vedette · As of <time datetime="2026-11-20T09:54:00+00:00" title="2026-11-20 10:54 CET">2026-11-20 10:54 CET</time></span></span><nav class="row" aria-label="Formats"><a href="/status/meridian/history.atom">Feed</a><a href="/status/meridian/badges/state.svg">Badge</a><a href="/status/meridian/api/v2/summary.json">JSON</a></nav></footer></div></main></body></html>
    "##);
}

#[tokio::test]
async fn the_summary_is_that_of_statuspage() {
    let test = published(|page| {
        // One component says how all look.
        page.groups[1].components.truncate(1);
        page.incidents.truncate(1);
    })
    .await;
    let response = get(&test, "/status/meridian/api/v2/summary.json").await;
    insta::assert_snapshot!(documented(&response), @r#"
    200 OK
    cache-control: public, max-age=30
    x-content-type-options: nosniff
    content-type: application/json
    vary: accept-encoding
    etag: "1a37a90171033fa321c01a5c1918004683a31f2a3784ec52b140545790a1ab60"
    cross-origin-resource-policy: cross-origin
    access-control-allow-origin: *
    strict-transport-security: max-age=31536000

    {
      "components": [
        {
          "created_at": "2026-11-20T09:54:00Z",
          "description": null,
          "group": false,
          "group_id": null,
          "id": "00000000-0000-0000-0000-000000000001",
          "name": "Shop",
          "only_show_if_degraded": false,
          "page_id": "meridian",
          "position": 1,
          "showcase": false,
          "start_date": null,
          "status": "operational",
          "updated_at": "2026-11-20T09:54:00Z"
        },
        {
          "components": [
            "00000000-0000-0000-0000-000000000002"
          ],
          "created_at": "2026-11-20T09:54:00Z",
          "description": null,
          "group": true,
          "group_id": null,
          "id": "group-2",
          "name": "Checkout",
          "only_show_if_degraded": false,
          "page_id": "meridian",
          "position": 2,
          "showcase": false,
          "start_date": null,
          "status": "major_outage",
          "updated_at": "2026-11-20T09:54:00Z"
        },
        {
          "created_at": "2026-11-20T09:54:00Z",
          "description": null,
          "group": false,
          "group_id": "group-2",
          "id": "00000000-0000-0000-0000-000000000002",
          "name": "Orders",
          "only_show_if_degraded": false,
          "page_id": "meridian",
          "position": 3,
          "showcase": false,
          "start_date": null,
          "status": "major_outage",
          "updated_at": "2026-11-20T09:54:00Z"
        }
      ],
      "incidents": [
        {
          "components": [
            {
              "created_at": "2026-11-20T09:54:00Z",
              "description": null,
              "group": false,
              "group_id": "group-2",
              "id": "00000000-0000-0000-0000-000000000002",
              "name": "Orders",
              "only_show_if_degraded": false,
              "page_id": "meridian",
              "position": 3,
              "showcase": false,
              "start_date": null,
              "status": "major_outage",
              "updated_at": "2026-11-20T09:54:00Z"
            }
          ],
          "created_at": "2026-11-20T09:40:00Z",
          "id": "00000000-0000-0000-0000-00000000000b",
          "impact": "major",
          "incident_updates": [
            {
              "affected_components": null,
              "body": "The cause is a release at 02:44.",
              "created_at": "2026-11-20T09:48:00Z",
              "custom_tweet": null,
              "deliver_notifications": true,
              "display_at": "2026-11-20T09:48:00Z",
              "id": "00000000-0000-0000-0000-00000000000b-2",
              "incident_id": "00000000-0000-0000-0000-00000000000b",
              "status": "identified",
              "tweet_id": null,
              "updated_at": "2026-11-20T09:48:00Z"
            },
            {
              "affected_components": null,
              "body": "Orders aren’t being confirmed.",
              "created_at": "2026-11-20T09:43:00Z",
              "custom_tweet": null,
              "deliver_notifications": true,
              "display_at": "2026-11-20T09:43:00Z",
              "id": "00000000-0000-0000-0000-00000000000b-1",
              "incident_id": "00000000-0000-0000-0000-00000000000b",
              "status": "investigating",
              "tweet_id": null,
              "updated_at": "2026-11-20T09:43:00Z"
            }
          ],
          "monitoring_at": null,
          "name": "Orders are delayed",
          "page_id": "meridian",
          "resolved_at": null,
          "shortlink": "https://monitor.test/status/meridian#00000000-0000-0000-0000-00000000000b",
          "started_at": "2026-11-20T09:40:00Z",
          "status": "identified",
          "updated_at": "2026-11-20T09:48:00Z"
        }
      ],
      "page": {
        "id": "meridian",
        "name": "Meridian Goods",
        "time_zone": "Europe/Berlin",
        "updated_at": "2026-11-20T09:54:00Z",
        "url": "https://monitor.test/status/meridian"
      },
      "scheduled_maintenances": [
        {
          "components": [
            {
              "created_at": "2026-11-20T09:54:00Z",
              "description": null,
              "group": false,
              "group_id": null,
              "id": "00000000-0000-0000-0000-000000000001",
              "name": "Shop",
              "only_show_if_degraded": false,
              "page_id": "meridian",
              "position": 1,
              "showcase": false,
              "start_date": null,
              "status": "operational",
              "updated_at": "2026-11-20T09:54:00Z"
            }
          ],
          "created_at": "2026-11-20T09:54:00Z",
          "id": "00112233445566778899aabbccddeeff",
          "impact": "maintenance",
          "incident_updates": [],
          "monitoring_at": null,
          "name": "Database upgrade",
          "page_id": "meridian",
          "resolved_at": null,
          "scheduled_for": "2026-11-21T09:54:00Z",
          "scheduled_until": "2026-11-21T11:24:00Z",
          "shortlink": "https://monitor.test/status/meridian#00112233445566778899aabbccddeeff",
          "started_at": "2026-11-21T09:54:00Z",
          "status": "scheduled",
          "updated_at": "2026-11-20T09:54:00Z"
        }
      ],
      "status": {
        "description": "Partial System Outage",
        "indicator": "major"
      }
    }
    "#);
}

#[tokio::test]
async fn the_other_documents_are_parts_of_statuspage() {
    let test = published(|page| page.groups[1].components.truncate(1)).await;
    let mut all = String::new();
    for name in ["status", "components", "incidents", "scheduled-maintenances"] {
        let response = get(&test, &format!("/status/meridian/api/v2/{name}.json")).await;
        assert_eq!(response.status(), 200, "{name}");
        let document: serde_json::Value = serde_json::from_str(body(&response)).expect("JSON");
        let document = document.as_object().expect("an object");
        let parts: Vec<_> = document
            .iter()
            .map(|(part, value)| {
                let entries = value.as_array().map(Vec::len);
                (part.as_str(), entries)
            })
            .collect();
        writeln!(all, "{name}: {parts:?}").expect("written");
    }
    insta::assert_snapshot!(all, @r#"
    status: [("page", None), ("status", None)]
    components: [("components", Some(3)), ("page", None)]
    incidents: [("incidents", Some(2)), ("page", None)]
    scheduled-maintenances: [("page", None), ("scheduled_maintenances", Some(1))]
    "#);
    for name in ["summary", "summary.xml", "SUMMARY.json", "../summary.json"] {
        let response = get(&test, &format!("/status/meridian/api/v2/{name}")).await;
        assert_eq!(response.status(), 404, "{name}");
    }
}

/// Status, headers and body of a JSON document, one value on each line.
fn documented(response: &Response<Body>) -> String {
    let value: serde_json::Value = serde_json::from_str(body(response)).expect("JSON");
    let shown = whole(response);
    let (headers, _) = shown.split_once("\n\n").expect("a body");
    format!("{headers}\n\n{}", serde_json::to_string_pretty(&value).expect("JSON"))
}

#[tokio::test]
async fn the_indicator_follows_the_state_of_all_components() {
    for (states, expected, heading) in [
        ([ComponentState::Operational; 2], "none", "Everything is up"),
        ([ComponentState::Unknown; 2], "none", "No data"),
        (
            [ComponentState::Operational, ComponentState::Maintenance],
            "none",
            "Orders is under maintenance",
        ),
        ([ComponentState::Operational, ComponentState::Degraded], "minor", "Orders is degraded"),
        ([ComponentState::Degraded; 2], "minor", "2 of 2 components are degraded"),
        ([ComponentState::Operational, ComponentState::Down], "major", "Orders is down"),
        ([ComponentState::Down; 2], "critical", "Everything is down"),
        // One component may work.
        ([ComponentState::Unknown, ComponentState::Down], "major", "Orders is down"),
    ] {
        let test = published(|page| {
            page.incidents.clear();
            page.groups[1].components.truncate(1);
            page.groups[0].components[0].state = states[0];
            page.groups[1].components[0].state = states[1];
        })
        .await;
        let status = get(&test, "/status/meridian/api/v2/status.json").await;
        let status: serde_json::Value = serde_json::from_str(body(&status)).expect("JSON");
        assert_eq!(status["status"]["indicator"], expected, "{heading}");
        let page = get(&test, "/status/meridian").await;
        let main = main_part(&page);
        assert!(main.contains(&format!("<h1>{heading}</h1>")), "{heading}: {main}");
    }
}

#[tokio::test]
async fn a_page_says_since_when_nothing_has_changed_and_how_often_is_checked() {
    for (slowest, stale, expected) in [
        (Some(5), false, "Unchanged since 09:49 CET . Checked every 5 minutes."),
        (Some(60), false, "Unchanged since 09:49 CET . Checked at least every hour."),
        (None, false, "Unchanged since 09:49 CET ."),
        (Some(5), true, ""),
    ] {
        let test = published(|page| {
            page.incidents.clear();
            page.unchanged_since = Some(page.generated_at - SignedDuration::from_mins(65));
            if stale {
                page.generated_at -= SignedDuration::from_hours(3);
            }
            let mut components: Vec<_> =
                page.groups.iter_mut().flat_map(|group| &mut group.components).collect();
            match slowest {
                Some(minutes) => components[1].cadence_minutes = Some(minutes),
                None => components.iter_mut().for_each(|one| one.cadence_minutes = None),
            }
        })
        .await;
        let page = text(main_part(&get(&test, "/status/meridian").await));
        let (_, says) = page.split_once("You can still shop and pay. ").expect("the message");
        let (says, _) = says.split_once("Components").expect("the components");
        assert_eq!(says.trim(), expected);
    }
    // While people write about an incident, that says more.
    let test = published(|page| page.unchanged_since = Some(page.generated_at)).await;
    assert!(!main_part(&get(&test, "/status/meridian").await).contains("Unchanged"));
}

#[tokio::test]
async fn the_feed_has_an_entry_for_each_incident() {
    let test = published(|_| {}).await;
    let response = get(&test, "/status/meridian/history.atom").await;
    insta::assert_snapshot!(whole(&response).replace("><", ">\n<"), @r#"
    200 OK
    cache-control: public, max-age=30
    x-content-type-options: nosniff
    content-type: application/atom+xml; charset=utf-8
    vary: accept-encoding
    etag: "ed369f339d792e58a1936ef599c06c38ee1312bddb5ad863ad9ec72eeff8bca1"
    cross-origin-resource-policy: cross-origin
    access-control-allow-origin: *
    strict-transport-security: max-age=31536000

    <?xml version="1.0"?>
    <feed xmlns="http://www.w3.org/2005/Atom">
    <title>Meridian Goods status</title>
    <id>https://monitor.test/status/meridian</id>
    <updated>2026-11-20T09:48:00+00:00</updated>
    <author>
    <name>Meridian Goods</name>
    </author>
    <generator>Vedette</generator>
    <link href="https://monitor.test/status/meridian/history.atom" rel="self" type="application/atom+xml"/>
    <link href="https://monitor.test/status/meridian" rel="alternate" type="text/html"/>
    <entry>
    <title>Orders are delayed</title>
    <id>urn:uuid:00000000-0000-0000-0000-00000000000b</id>
    <updated>2026-11-20T09:48:00+00:00</updated>
    <link href="https://monitor.test/status/meridian#00000000-0000-0000-0000-00000000000b" rel="alternate" type="text/html"/>
    <published>2026-11-20T09:40:00+00:00</published>
    <content type="text">Identified, 2026-11-20 10:48 CET: The cause is a release at 02:44.

    Investigating, 2026-11-20 10:43 CET: Orders aren’t being confirmed.</content>
    </entry>
    <entry>
    <title>Orders weren’t being confirmed</title>
    <id>urn:uuid:00000000-0000-0000-0000-00000000000c</id>
    <updated>2026-11-19T09:54:00+00:00</updated>
    <link href="https://monitor.test/status/meridian#00000000-0000-0000-0000-00000000000c" rel="alternate" type="text/html"/>
    <published>2026-11-19T09:13:00+00:00</published>
    <content type="text">Resolved, 2026-11-19 10:54 CET: We’ve raised the limit.</content>
    </entry>
    </feed>
    "#);
}

#[tokio::test]
async fn a_badge_shows_the_state_the_uptime_or_the_response_time() {
    let test = published(|_| {}).await;
    let response = get(&test, "/status/meridian/badges/state.svg").await;
    insta::assert_snapshot!(whole(&response).replace("><", ">\n<"), @r##"
    200 OK
    cache-control: public, max-age=30
    x-content-type-options: nosniff
    content-type: image/svg+xml
    vary: accept-encoding
    etag: "906beb3e6fb2efaadda53d0deb1551285c2f7d53bffdfe196e22152ffab04e74"
    cross-origin-resource-policy: cross-origin
    access-control-allow-origin: *
    strict-transport-security: max-age=31536000

    <svg xmlns="http://www.w3.org/2000/svg" width="234" height="24" role="img" aria-label="Meridian Goods: partial outage">
    <title>Meridian Goods: partial outage</title>
    <clipPath id="c">
    <rect width="234" height="24" rx="5">
    </rect>
    </clipPath>
    <g clip-path="url(#c)" font-family="Inter,system-ui,Segoe UI,Roboto,Helvetica,Arial,sans-serif" font-size="12" font-weight="600">
    <rect width="234" height="24" fill="#20252d">
    </rect>
    <rect x="114" width="234" height="24" fill="#bf1f2f">
    </rect>
    <text x="10" y="16.2" fill="#fff" textLength="94" lengthAdjust="spacingAndGlyphs">Meridian Goods</text>
    <g transform="translate(121 5)">
    <rect x="1.5" y="1.5" width="11" height="11" rx="2" fill="#fff"/>
    <path d="m4.8 4.8 4.4 4.4m0-4.4-4.4 4.4" stroke="#bf1f2f" stroke-width="1.5"/>
    </g>
    <text x="140" y="16.2" fill="#fff" textLength="84" lengthAdjust="spacingAndGlyphs">partial outage</text>
    </g>
    </svg>
    "##);
    let mut all = String::new();
    let shop = "components/00000000-0000-0000-0000-000000000001/badges";
    let help = "components/00000000-0000-0000-0000-000000000005/badges";
    for place in ["badges", shop, help] {
        for name in ["state", "uptime", "response-time"] {
            let image = get(&test, &format!("/status/meridian/{place}/{name}.svg")).await;
            let shields = get(&test, &format!("/status/meridian/{place}/{name}.json")).await;
            let (_, label) = body(&image).split_once("aria-label=\"").expect("a label");
            let label = label.split('"').next().expect("its end");
            writeln!(all, "{label}\n{}", body(&shields)).expect("written");
        }
    }
    insta::assert_snapshot!(all, @r#"
    Meridian Goods: partial outage
    {"color":"bf1f2f","label":"Meridian Goods","message":"partial outage","schemaVersion":1}
    Meridian Goods: 99.94 % uptime
    {"color":"0f7a4f","label":"Meridian Goods","message":"99.94 % uptime","schemaVersion":1}
    Meridian Goods: 182 ms
    {"color":"1d5bd6","label":"Meridian Goods","message":"182 ms","schemaVersion":1}
    Shop: up
    {"color":"0f7a4f","label":"Shop","message":"up","schemaVersion":1}
    Shop: 99.94 % uptime
    {"color":"0f7a4f","label":"Shop","message":"99.94 % uptime","schemaVersion":1}
    Shop: 182 ms
    {"color":"1d5bd6","label":"Shop","message":"182 ms","schemaVersion":1}
    Help: no data
    {"color":"586170","label":"Help","message":"no data","schemaVersion":1}
    Help: 99.94 % uptime
    {"color":"0f7a4f","label":"Help","message":"99.94 % uptime","schemaVersion":1}
    Help: no data
    {"color":"586170","label":"Help","message":"no data","schemaVersion":1}
    "#);
    for other in [
        "badges/state.png",
        "badges/state",
        "components/00000000-0000-0000-0000-000000000009/badges/state.svg",
        "components/shop/badges/state.svg",
    ] {
        assert_eq!(get(&test, &format!("/status/meridian/{other}")).await.status(), 404, "{other}");
    }
}

const EVERYTHING: [&str; 5] = [
    "/status/meridian",
    "/status/meridian/api/v2/summary.json",
    "/status/meridian/history.atom",
    "/status/meridian/badges/state.svg",
    "/status/meridian/badges/state.json",
];

#[tokio::test]
async fn what_is_served_may_be_kept_for_half_a_minute_and_asked_for_again() {
    let test = published(|_| {}).await;
    for path in EVERYTHING {
        let mut request = head("GET", path);
        // Nobody is known here.
        request.headers.insert("cookie", HeaderValue::from_static("__Host-vedette=x"));
        let first = send(&test, &request).await;
        assert_eq!(first.status(), 200, "{path}");
        assert_eq!(header(&first, "cache-control"), "public, max-age=30", "{path}");
        assert_eq!(header(&first, "vary"), "accept-encoding", "{path}");
        assert_eq!(header(&first, "set-cookie"), "", "{path}");
        assert_eq!(header(&first, "x-robots-tag"), "", "{path}");
        let is_page = path == EVERYTHING[0];
        let shared = if is_page { ["", "same-origin"] } else { ["*", "cross-origin"] };
        let found = ["access-control-allow-origin", "cross-origin-resource-policy"];
        assert_eq!(found.map(|name| header(&first, name)), shared, "{path}");

        let tag = first.headers()["etag"].clone();
        request.headers.insert("if-none-match", tag.clone());
        let again = send(&test, &request).await;
        assert_eq!((again.status().as_u16(), again.body().len()), (304, 0), "{path}");
        assert_eq!(again.headers()["etag"], tag);
        assert_eq!(header(&again, "cache-control"), "public, max-age=30", "{path}");

        let packed = {
            let mut request = head("GET", path);
            request.headers.insert("accept-encoding", HeaderValue::from_static("gzip"));
            send(&test, &request).await
        };
        let is_long = first.body().len() >= 1024;
        assert_eq!(header(&packed, "content-encoding") == "gzip", is_long, "{path}");
        assert_eq!(packed.headers()["etag"] == tag, !is_long, "{path}");

        let only_head = send(&test, &head("HEAD", path)).await;
        assert_eq!(only_head.headers(), first.headers(), "{path}");
    }
}

#[tokio::test]
async fn one_read_of_the_table_is_enough() {
    let test = published(|_| {}).await;
    for path in EVERYTHING {
        test.meter().start();
        assert_eq!(get(&test, path).await.status(), 200);
        let Spent { round_trips, writes, .. } = test.meter().stop();
        assert_eq!(round_trips, 1, "{path}");
        assert!(writes == 0.0, "{path}");
    }
    // What cannot be there is not looked for.
    for path in ["/status/Meri_dian", "/status/meridian/badges/x.svg", "/status/a"] {
        test.meter().start();
        assert_eq!(get(&test, path).await.status(), 404);
        assert_eq!(test.meter().stop().round_trips, 0, "{path}");
    }
}

#[tokio::test]
async fn an_unlisted_page_is_found_by_its_link_alone_and_not_by_search_engines() {
    let test = TestApp::start().await;
    let key = LinkKey::from_random([7; LinkKey::BYTES]);
    let page = PublishedPage { is_unlisted: true, ..published_page(test.now()) };
    test.publish_page("meridian", Some(key.clone()), &page).await;
    for path in EVERYTHING {
        assert_eq!(get(&test, path).await.status(), 404, "{path}");
        let path = path.replace("meridian", key.reveal());
        let response = get(&test, &path).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(header(&response, "x-robots-tag"), "noindex", "{path}");
        assert_eq!(header(&response, "referrer-policy"), "no-referrer", "{path}");
    }
}

#[tokio::test]
async fn where_no_page_is_there_is_a_404_that_caches_soon_forget() {
    let test = published(|_| {}).await;
    let nobody = get(&test, "/status/nobody/api/v2/summary.json").await;
    insta::assert_snapshot!(whole(&nobody), @r#"
    404 Not Found
    cache-control: public, max-age=5
    x-content-type-options: nosniff
    content-type: application/json
    vary: accept
    cross-origin-resource-policy: cross-origin
    access-control-allow-origin: *
    strict-transport-security: max-age=31536000

    {"message":"The requested resource was not found."}
    "#);
    let mut browser = head("GET", "/status/nobody");
    browser.headers.insert("accept", HeaderValue::from_static("text/html"));
    let page = send(&test, &browser).await;
    assert_sound(body(&page));
    insta::assert_snapshot!(whole(&page), @r##"
    404 Not Found
    cache-control: public, max-age=5
    x-content-type-options: nosniff
    content-type: text/html; charset=utf-8
    content-security-policy: default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'
    referrer-policy: same-origin
    vary: accept
    cross-origin-opener-policy: same-origin
    cross-origin-resource-policy: same-origin
    strict-transport-security: max-age=31536000

    <!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark"><title>Status page not found</title><link rel="icon" href="/assets/icon-unknown-HASH.svg"><link rel="stylesheet" href="/assets/app-HASH.css"></head><body><a class="skip" href="#main">Skip to the content</a><main id="main"><div class="wrap pub stack"><svg class="mark up" width="40" height="40" viewBox="0 0 28 28" aria-hidden="true"><rect width="28" height="28" rx="7.5"></rect><path d="M7 11.5 12.5 20.5 19 11.8"></path><circle cx="20.75" cy="7.75" r="2.6"></circle><rect class="sq" x="17.5" y="4.5" width="6.5" height="6.5" rx="1.5"></rect></svg><h1>Status page not found</h1><p>The link is incomplete, or the status page has been moved or deleted.</p></div></main></body></html>
    "##);
}

#[tokio::test]
async fn hostile_paths_lead_nowhere() {
    let test = published(|_| {}).await;
    let long = format!("/status/{}", "a".repeat(5_000));
    for path in [
        "/status/",
        "/status//",
        "/status/%00",
        "/status/%ff%fe",
        "/status/..%2f..%2fetc%2fpasswd",
        "/status/meridian%2f..",
        "/status/%3Cscript%3E",
        "/status/meridian/api/v2/%0a",
        "/status/meridian/components/%00/badges/state.svg",
        "/status/meridian/badges/.svg",
        "/status/0000000000000000000000000000000G",
        &long,
    ] {
        let response = get(&test, path).await;
        assert_eq!(response.status(), 404, "{path}");
        assert_eq!(header(&response, "cache-control"), "public, max-age=5", "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let response = send(&test, &head(method, "/status/meridian")).await;
        assert_eq!(response.status(), 404, "{method}");
    }
    assert_eq!(send(&test, &head("HEAD", "/status/nobody")).await.status(), 404);
}

#[tokio::test]
async fn a_page_that_is_no_longer_published_says_so() {
    let test = published(|_| {}).await;
    // On one machine, the process knows at once that it cannot publish.
    let why = "the disk is full".to_owned();
    test.app.health.report(ServiceProblem::NotWritable { why }, test.now());
    test.advance(SignedDuration::from_mins(2));
    let page = get(&test, "/status/meridian").await;
    let main = text(main_part(&page));
    assert!(
        main.contains(
            "This page may be out of date. It was last updated at 10:54 CET , 2 min ago."
        ),
        "{main}"
    );
    assert!(!main.contains("disk"), "readers are not told about the machine: {main}");
    test.app.health.report_over(|_| true);
    test.advance(SignedDuration::from_mins(118));
    let page = get(&test, "/status/meridian").await;
    assert!(!text(main_part(&page)).contains("may be out of date"));
    test.advance(SignedDuration::from_mins(1));
    let page = get(&test, "/status/meridian").await;
    let main = text(main_part(&page));
    assert!(
        main.contains("This page may be out of date. It was last updated at 10:54 CET , 2 h ago."),
        "{main}"
    );
    // Maintenance that is over is not shown any more, whenever the page was published.
    test.advance(SignedDuration::from_hours(48));
    let page = get(&test, "/status/meridian").await;
    assert!(!main_part(&page).contains("Database upgrade"));
}

#[tokio::test]
async fn what_the_team_writes_is_shown_as_text() {
    let hostile = "<img src=x onerror=alert(1)>&\"'";
    let test = published(|page| {
        page.name = hostile.to_owned();
        page.message = Some(hostile.to_owned());
        page.groups[1].name = Some(hostile.to_owned());
        page.groups[1].components[0].name = hostile.to_owned();
        page.incidents[0].title = hostile.to_owned();
        page.incidents[0].updates[0].text = hostile.to_owned();
        page.windows[0].name = hostile.to_owned();
    })
    .await;
    for path in EVERYTHING {
        let response = get(&test, path).await;
        assert_eq!(response.status(), 200, "{path}");
        let is_markup = !header(&response, "content-type").contains("json");
        assert!(!is_markup || !body(&response).contains("<img"), "{path}: {}", body(&response));
    }
}

#[tokio::test]
async fn the_function_answers_the_event_of_the_gateway() {
    let test = published(|_| {}).await;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../events/dashboard/status_page.json");
    let event = std::fs::read_to_string(path).expect("an event");
    let (head, _) = lambda_http::request::from_str(&event).expect("a request").into_parts();
    assert_eq!(head.method, Method::GET);
    let response = send(&test, &head).await;
    assert_eq!(header(&response, "content-type"), "text/html; charset=utf-8");
    assert!(body(&response).contains("Orders are delayed"));
}
