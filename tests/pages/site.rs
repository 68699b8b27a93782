//! The page of a site: its sections, their ranges, and what hostile sites put into them.

use serde_json::{Value, json};
use vedette_domain::checks::check::{CheckError, Finish, Phases, StatusResult, ToolResult};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::expectations::Unmet;
use vedette_domain::id::{CheckId, SiteId};
use vedette_domain::issues::Fingerprint;
use vedette_probe::dns::NO_DOMAIN;
use vedette_testkit::Member;
use vedette_tests::Service;

use crate::results::{HARMLESS, HOSTILE, certificate, dns, end, links, performance, status};
use crate::support::{Browser, ask, body, said, sent_to, text};

/// A service with a site whose checks are ended by hand.
pub(crate) async fn watched() -> (Service, Member, SiteId) {
    let (mut service, owner) = Service::with_team().await;
    service.test.app.service.tools = Tool::ALL.to_vec();
    let body = json!({ "url": "https://a.test/", "name": HOSTILE, "notes": HOSTILE });
    let created = service.client(&owner).post(&format!("/teams/{}/sites", owner.team), &body).await;
    let site = SiteId::parse(&created.data("uuid")).expect("an id");
    service.waiting();
    (service, owner, site)
}

#[tokio::test]
async fn a_registration_says_what_is_not_registered_and_what_is_about_to_be_deleted() {
    let (service, owner, site) = watched().await;
    let Finish::Completed(ToolResult::Dns(mut result)) = dns(&["192.0.2.1"]) else {
        unreachable!()
    };
    let registration = result.registration.as_mut().expect("a registration");
    registration.status = vec!["active".to_owned(), "redemption period".to_owned()];
    registration.unregistered = Some("shop.a.test".to_owned());
    end(&service, site, Finish::Completed(ToolResult::Dns(result))).await;
    let browser = Browser::of(&service.test, owner.user).await;
    let page = browser.get(&format!("/sites/{site}")).await;
    let page = said(&page);
    for text in [
        "It is about to be deleted: <bdi>redemption period</bdi>.",
        "The site’s own name, <bdi>shop.a.test</bdi>, is not in that registry.",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
}

#[tokio::test]
async fn links_are_not_fine_while_one_is_broken() {
    let (service, owner, site) = watched().await;
    let browser = Browser::of(&service.test, owner.user).await;
    for (found, word) in [(0, "Fine"), (1, "Found")] {
        let mut finish = links();
        let Finish::Completed(ToolResult::BrokenLinks(result)) = &mut finish else {
            unreachable!()
        };
        result.found = found;
        service.advance_minutes(5);
        end(&service, site, finish).await;
        let page = browser.get(&format!("/sites/{site}")).await;
        let pill = format!("<span>{word}</span>");
        assert!(said(&page).contains(&pill), "{found}: {}", said(&page));
    }
}

#[tokio::test]
async fn every_tools_result_is_shown_and_texts_of_strangers_stay_texts() {
    let (service, owner, site) = watched().await;
    let browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{site}");
    // Nothing is known yet.
    assert!(said(&browser.get(&path).await).contains("No response times in the last 24 hours."));
    for finish in [certificate(), dns(&["192.0.2.1"]), links(), performance(93)] {
        end(&service, site, finish).await;
    }
    let dump = service.test.table.dump().await;
    assert!(dump.keys().any(|(_, sk)| sk.starts_with("B#ssl")), "a long result: {:?}", dump.keys());
    let page = browser.get(&path).await;
    let page = said(&page);
    for text in [
        "<dd>41</dd>",
        "CN=Root of all",
        "3 more",
        "EC of 256 bits, P-256",
        "2027-01-01 00:00:00 UTC",
        "<th scope=\"row\">A</th><td><bdi>a.test</bdi></td><td><bdi>192.0.2.1</bdi></td><td>300 s</td>",
        "Unknown, because no resolver answered: MX.",
        "2027-11-01 00:00 UTC",
        "32 broken of 99 links on 7 pages",
        "The site has more pages than Vedette crawls.",
        "<td><bdi>javascript:alert(1)</bdi></td>",
        "<a href=\"https://gone.test/&quot;x\" rel=\"noreferrer noopener\">",
        "No answer",
        "The first 20 are shown.",
        "Lighthouse score <b>93</b> of 100",
        "150 ms <bdi>Est savings of 21 KiB</bdi>",
        "<td>1.5 s</td>",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(page.matches(HARMLESS).count() > 10, "{page}");
    assert_eq!(page.matches("Est savings").count(), 10, "the first ten opportunities");
}

#[tokio::test]
async fn what_was_not_met_is_said_beside_the_uptime() {
    let (service, owner, site) = watched().await;
    let browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{site}");
    end(&service, site, status(200, 41.5)).await;
    let page = browser.get(&path).await;
    assert!(!said(&page).contains("Expectations met"), "nothing is expected");

    let expected = json!({
        "expectations": [{ "kind": "json_equals", "pointer": "/status", "value": "ok" }],
    });
    let put = service.client(&owner).put(&format!("{path}/expectations"), &expected).await;
    assert_eq!(put.status, 200, "{put:?}");
    let message = format!("expected \"ok\" at /status, got \"{HOSTILE}\"");
    let judged = |is_met: bool| {
        let Finish::Completed(ToolResult::Status(result)) = status(200, 41.5) else { panic!() };
        let unmet = Unmet { fingerprint: Fingerprint::StatusExpectation, message: message.clone() };
        let judged = Some((!is_met).then_some(unmet).into_iter().collect());
        Finish::Completed(ToolResult::Status(StatusResult { judged, ..result }))
    };
    for is_met in [true, true, false, false] {
        service.advance_minutes(5);
        end(&service, site, judged(is_met)).await;
    }
    let page = browser.get(&path).await;
    let shown = text(said(&page));
    for part in ["Expectations met, 24 h 50.00 % 1 not met in the newest check", "Not as expected"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(said(&page).contains(HARMLESS), "texts of strangers stay texts");
    let issues = service.client(&owner).get("/issues").await;
    let issue = issues.body["data"][0]["uuid"].as_str().expect("an issue").to_owned();
    let page = browser.get(&format!("/issues/{issue}")).await;
    let shown = text(said(&page));
    for part in
        ["Critical", "is not as expected: expected", "At opening Expected \"ok\" at /status"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let check = issues.body["data"][0]["check"]["uuid"].as_str().expect("a check");
    let page = browser.get(&format!("/checks/{check}")).await;
    assert!(
        text(said(&page)).contains("Not as expected Expected \"ok\" at /status"),
        "{}",
        text(said(&page))
    );
}

#[tokio::test]
async fn the_certificate_of_a_site_over_http_is_said_to_be_that_on_port_443() {
    let (service, owner, encrypted) = watched().await;
    let path = format!("/teams/{}/sites", owner.team);
    let body = json!({ "url": "http://plain.test/", "name": "Plain" });
    let created = service.client(&owner).post(&path, &body).await;
    let plain = SiteId::parse(&created.data("uuid")).expect("an id");
    let browser = Browser::of(&service.test, owner.user).await;
    let said_of = async |site: SiteId| {
        end(&service, site, certificate()).await;
        let page = browser.get(&format!("/sites/{site}")).await;
        let text = text(said(&page));
        assert!(text.contains("Certificate Checked "), "{text}");
        text.contains(
            "The site is monitored over http://. This is the certificate on port 443 of its host.",
        )
    };
    assert!(said_of(plain).await);
    assert!(!said_of(encrypted).await);
}

/// The result of [`certificate`] with other values in some fields.
fn certificate_with(fields: &[(&str, serde_json::Value)]) -> Finish {
    let Finish::Completed(result) = certificate() else { panic!("completed") };
    let mut result = serde_json::to_value(result).expect("JSON");
    for (name, value) in fields {
        result[*name] = value.clone();
    }
    let result = serde_json::from_value(result).expect("a result");
    Finish::Completed(ToolResult::Ssl(Box::new(result)))
}

fn without_certificate() -> Finish {
    certificate_with(&[
        ("is_valid", json!(false)),
        ("failure_type", json!("connection_failed")),
        ("failure_message", json!("connection refused")),
        ("valid_to", json!(null)),
        ("info", json!(null)),
    ])
}

#[tokio::test]
async fn a_site_with_http_is_said_to_need_no_certificate_until_it_had_one() {
    let (service, owner, encrypted) = watched().await;
    let path = format!("/teams/{}/sites", owner.team);
    let body = json!({ "url": "http://plain.test/", "name": "Plain" });
    let created = service.client(&owner).post(&path, &body).await;
    let plain = SiteId::parse(&created.data("uuid")).expect("an id");
    let browser = Browser::of(&service.test, owner.user).await;
    let words = "No certificate: this site uses http";
    // On the page of the site, in the history of its checks, and on the page of the check.
    let said_of = async |site: SiteId, finish: Finish| {
        service.advance_minutes(60);
        let check = end(&service, site, finish).await;
        let pages =
            [format!("/sites/{site}"), format!("/sites/{site}/checks"), format!("/checks/{check}")];
        let mut times = Vec::new();
        for path in pages {
            times.push(text(said(&browser.get(&path).await)).matches(words).count());
        }
        times
    };
    assert_eq!(said_of(encrypted, without_certificate()).await, [0, 0, 0]);
    assert_eq!(said_of(plain, without_certificate()).await, [2, 1, 1]);
    let page = text(said(&browser.get(&format!("/sites/{plain}")).await));
    let part = format!("{words} Port 443: connection refused");
    for part in ["Certificate Not needed", &part] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(said_of(plain, certificate()).await, [0, 0, 0], "it needs one from now on");
    assert_eq!(said_of(plain, without_certificate()).await, [0, 0, 0]);
}

#[tokio::test]
async fn a_site_with_an_ip_address_is_said_to_need_no_dns_records() {
    let (service, owner, _) = watched().await;
    let path = format!("/teams/{}/sites", owner.team);
    let created = service.client(&owner).post(&path, &json!({ "url": "http://10.1.2.3/" })).await;
    let site = SiteId::parse(&created.data("uuid")).expect("an id");
    let [code, message] = [NO_DOMAIN, "the URL has an IP address"].map(str::to_owned);
    let error = CheckError { code, message, data: Value::Null };
    service.advance_minutes(60);
    let check = CheckId::automatic(site, Tool::Dns, RunReason::Scheduled, service.test.now());
    service.test.end_run(site, check, Finish::Failed(error)).await;
    let browser = Browser::of(&service.test, owner.user).await;
    let page = text(said(&browser.get(&format!("/sites/{site}")).await));
    let shown = "DNS Not needed No DNS records: the URL has an IP address";
    assert!(page.contains(shown), "{page}");
}

#[tokio::test]
async fn what_expires_first_and_the_port_are_shown() {
    let (service, owner, site) = watched().await;
    let browser = Browser::of(&service.test, owner.user).await;
    let first = json!({ "subject": format!("CN={HOSTILE}"), "valid_to": "2026-11-25 00:00:00" });
    for _ in 0..2 {
        service.advance_minutes(60);
        let fields = [("first_to_expire", first.clone()), ("port", json!(8443))];
        end(&service, site, certificate_with(&fields)).await;
    }
    let page = browser.get(&format!("/sites/{site}")).await;
    assert!(
        said(&page).contains(&format!("<bdi>CN={HARMLESS}</bdi>, an intermediate certificate"))
    );
    let shown = text(said(&page));
    for part in [
        "Expires 2027-01-01, its chain 2026-11-25",
        "an intermediate certificate in the chain, expires on 2026-11-25 00:00:00 UTC, before the site’s own certificate.",
        "Port 8443",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let issues = service.client(&owner).get("/issues").await;
    let issue = issues.body["data"][0]["uuid"].as_str().expect("an issue");
    let page = browser.get(&format!("/issues/{issue}")).await;
    let shown = text(said(&page));
    for part in ["Expires first", "2026-11-25 00:00:00 UTC", "Port At opening 8443"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[tokio::test]
async fn what_changed_of_the_records_stands_beside_them() {
    let (service, owner, site) = watched().await;
    for addresses in [["192.0.2.1"], ["192.0.2.2"], ["192.0.2.2"]] {
        end(&service, site, dns(&addresses)).await;
        service.advance_minutes(60);
    }
    let browser = Browser::of(&service.test, owner.user).await;
    let page = browser.get(&format!("/sites/{site}")).await;
    let row = "<th scope=\"row\">A</th><td><bdi>192.0.2.1</bdi></td><td><bdi>192.0.2.2</bdi></td>";
    assert!(said(&page).contains(row), "{}", said(&page));
}

#[tokio::test]
async fn a_range_is_chosen_and_what_was_down_is_a_gap() {
    let (service, owner, site) = watched().await;
    // Four days, a check an hour; the site is down for three hours of the last day.
    for hour in 0..96 {
        let code = if (80..83).contains(&hour) { 503 } else { 200 };
        end(&service, site, status(code, 100.0 + f64::from(hour))).await;
        service.advance_minutes(60);
    }
    let browser = Browser::of(&service.test, owner.user).await;
    let page = async |range: &str| {
        let page = browser.get(&format!("/sites/{site}?range={range}")).await;
        said(&page).to_owned()
    };
    let day = page("24h").await;
    let line = |page: &str| {
        let (_, rest) = page.split_once("path class=\"line\" d=\"").expect("a line");
        rest.split('"').next().expect("its end").matches('M').count()
    };
    assert_eq!(line(&day), 2, "one gap: {day}");
    assert!(day.contains("The slowest half hour: 195 ms"), "{day}");
    assert!(text(&day).contains("3 failed checks"), "{}", text(&day));
    let (_, marks) = day.split_once("path class=\"failed\" d=\"").expect("marks of failures");
    assert_eq!(marks.split('"').next().expect("its end").matches('M').count(), 3);
    let (_, dots) = day.split_once("path class=\"dots\" d=\"").expect("each check");
    assert_eq!(dots.split('"').next().expect("its end").matches('M').count(), 20);
    for tile in [
        "87.50\u{202f}%</b><span>24 h",
        "96.87\u{202f}%</b><span>30 d",
        "185\u{202f}ms</b><span>Median",
        "194\u{202f}ms</b>",
    ] {
        assert!(day.contains(tile), "{tile}: {day}");
    }
    assert_eq!(day.matches("<path class=\"band\"").count(), 1, "when it was down: {day}");
    assert!(text(&day).contains("Down 3 h"), "{}", text(&day));
    // Of the 23 checks of the last 48 half hours, three failed. Each half hour has a median and a percentile.
    assert_eq!(day.matches(" ms</td>").count(), 40, "{day}");
    assert!(day.contains("range=24h\" aria-current=\"page\""));
    let week = page("7d").await;
    assert_eq!(line(&week), 2);
    assert!(week.contains("<span>7 d</span>"), "{week}");
    let month = page("30d").await;
    assert!(
        month.contains("Mean response time of each UTC day since 2026-11-20 09:54 UTC\""),
        "{month}"
    );
    assert_eq!(line(&month), 1);
    for range in ["90d", "1y", "other"] {
        page(range).await;
    }
    assert!(page("1y").await.contains("<span>year</span>"));
    assert!(page("other").await.contains("of the last 24 hours"));
}

#[tokio::test]
async fn a_day_without_an_answer_is_a_gap() {
    let (service, owner, site) = watched().await;
    for code in [200, 503, 200] {
        end(&service, site, status(code, 100.0)).await;
        service.advance_minutes(24 * 60);
    }
    let browser = Browser::of(&service.test, owner.user).await;
    let page = browser.get(&format!("/sites/{site}?range=30d")).await;
    let (_, line) = said(&page).split_once("path class=\"line\" d=\"").expect("a line");
    assert_eq!(line.split('"').next().expect("its end").matches('M').count(), 2);
}

#[tokio::test]
async fn a_page_is_loaded_again_while_it_waits_for_checks() {
    let (service, owner, site) = watched().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/sites/{site}");
    let refresh = |response: &lambda_http::Response<lambda_http::Body>| {
        response.headers().get("refresh").map(|value| value.to_str().expect("text").to_owned())
    };
    assert_eq!(refresh(&browser.get(&path).await), None);
    end(&service, site, certificate()).await;
    let queued = browser.post(&format!("{path}/checks"), "").await;
    let then = sent_to(&queued).to_owned();
    let page = browser.get(&then).await;
    assert_eq!(refresh(&page).as_deref(), Some("5"));
    assert!(said(&page).contains("Checking now: "), "{}", said(&page));
    assert!(said(&page).contains("CN=Root of all"), "the last result stays meanwhile");
    // The page does not wait for checks that do not end.
    service.advance_minutes(11);
    assert_eq!(refresh(&browser.get(&then).await), None);
    service.consume().await;
    let page = browser.get(&then).await;
    assert!(said(&page).contains("Checks finished."), "{}", said(&page));
}

#[tokio::test]
async fn performance_checks_wait_for_a_browser_on_a_machine_that_has_none() {
    let (mut service, owner, site) = watched().await;
    service.test.app.service.tools.retain(|tool| *tool != Tool::Performance);
    let path = format!("/sites/{site}");
    let hint = "Waiting for a browser. Install one with <code>vedette browser install</code>.";
    let page = Browser::of(&service.test, owner.user).await.get(&path).await;
    assert!(!body(&page).contains(hint), "somebody may want none");
    service.test.app.service.lacks_browser = true;
    let page = Browser::of(&service.test, owner.user).await.get(&path).await;
    assert_eq!(body(&page).matches(hint).count(), 1);
}

#[tokio::test]
async fn the_list_has_a_bar_for_each_of_ninety_days() {
    let (service, owner, site) = watched().await;
    // A day that is up, one on which a check failed, one without checks, one with an outage until today, and today.
    for codes in [&[200, 200][..], &[200, 503, 200], &[], &[503, 503], &[200]] {
        for &code in codes {
            end(&service, site, status(code, 100.0)).await;
            service.advance_minutes(1);
        }
        service.advance_minutes(24 * 60);
    }
    service.advance_minutes(-24 * 60);
    let browser = Browser::of(&service.test, owner.user).await;
    let page = browser.get(&format!("/teams/{}", owner.team)).await;
    let page = said(&page);
    let bars = |state: &str, path: &str| {
        let bars = format!("<path class=\"{state}\" d=\"{path}\">");
        assert!(page.contains(&bars), "{bars}: {page}");
    };
    bars("u", "M255 17h2v7h-2z");
    bars("w", "M258 14h2v10h-2z");
    bars("d", "M264 0h2v24h-2zM267 0h2v24h-2z");
    assert!(page.contains("<title>86 days: no checks</title>"), "{page}");
}

#[tokio::test]
async fn what_draws_the_plot_is_loaded_where_there_is_something_to_draw() {
    let (service, owner, site) = watched().await;
    let browser = Browser::of(&service.test, owner.user).await;
    let scripts = async || {
        let page = browser.get(&format!("/sites/{site}")).await;
        let scripts = body(&page).split("<script src=\"").skip(1);
        scripts.filter_map(|rest| Some(rest.split('"').next()?.to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(scripts().await.len(), 1);
    end(&service, site, status(200, 41.0)).await;
    let scripts = scripts().await;
    assert_eq!(scripts.len(), 3);
    for script in scripts {
        let file = ask(&service.test, "GET", &script).await;
        assert_eq!(file.status(), 200, "{script}");
        assert_eq!(file.headers()["content-type"], "text/javascript; charset=utf-8");
        assert_eq!(file.headers()["cache-control"], "public, max-age=31536000, immutable");
    }
}

#[tokio::test]
async fn the_chart_of_a_day_shows_phases_and_how_long_outages_and_maintenance_were() {
    let (service, owner, site) = watched().await;
    let browser = Browser::of(&service.test, owner.user).await;
    let checked = async |code: u16, phases: Option<Phases>| {
        let Finish::Completed(ToolResult::Status(result)) = status(code, 200.0) else { panic!() };
        let result = StatusResult { phases, ..result };
        end(&service, site, Finish::Completed(ToolResult::Status(result))).await;
        service.advance_minutes(5);
    };
    let path = format!("/sites/{site}");
    checked(200, None).await;
    let page = browser.get(&path).await;
    assert!(!said(&page).contains("First byte") && !said(&page).contains("class=\"ph "));

    let phases = Some(Phases { lookup: Some(20), connect: Some(30), tls: Some(50) });
    for code in [503, 503, 200, 200] {
        checked(code, phases).await;
    }
    let instance = json!({ "duration_minutes": 30 });
    let windows = format!("/teams/{}/maintenance-windows", owner.team);
    let window = service.client(&owner).post(&windows, &instance).await;
    assert_eq!(window.status, 201, "{window:?}");
    for _ in 0..7 {
        checked(200, phases).await;
    }
    let page = browser.get(&path).await;
    let shown = text(said(&page));
    for part in [
        "Down 10 min",
        "Maintenance 30 min",
        "DNS TCP TLS First byte Down Maintenance",
        "200 ms 200 ms 20 ms 30 ms 50 ms 100 ms",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    for part in ["ph p1", "pl p1", "ph p2", "ph p3", "ph p4 ok", "maint", "band"] {
        assert!(said(&page).contains(&format!("<path class=\"{part}\" d=\"M")), "{part}");
    }
    let csv = browser.get(&format!("{path}/response-times.csv")).await;
    let rows: Vec<&str> = body(&csv).lines().collect();
    assert_eq!(
        rows[..3],
        [
            "time,up,response_time_ms,lookup_ms,connect_ms,tls_ms,first_byte_ms",
            "2026-11-20T09:54:00Z,true,200.00,,,,",
            "2026-11-20T09:59:00Z,false,200.00,20,30,50,100",
        ]
    );
    assert_eq!(rows.len(), 13);

    // A window that is over is remembered when another one is saved, unless there are many later ones. Checks say that
    // they were in it.
    let later = json!({ "duration_minutes": 30, "starts_at": "2026-12-01T00:00" });
    let saved = service.client(&owner).post(&windows, &later).await;
    assert_eq!(saved.status, 201, "{saved:?}");
    let page = browser.get(&path).await;
    assert!(text(said(&page)).contains("Maintenance 30 min"), "{}", text(said(&page)));
    for _ in 0..20 {
        let window = service.client(&owner).post(&windows, &instance).await;
        service.advance_minutes(1);
        service.client(&owner).delete(&format!("{windows}/{}", window.data("uuid"))).await;
    }
    let page = browser.get(&path).await;
    assert!(text(said(&page)).contains("Maintenance 25 min"), "{}", text(said(&page)));
}

#[tokio::test]
async fn a_failed_check_removes_no_hour_from_a_week() {
    let (service, owner, site) = watched().await;
    // Four checks an hour; in the second hour one fails.
    for check in 0..16 {
        let code = if check == 5 { 503 } else { 200 };
        end(&service, site, status(code, 100.0)).await;
        service.advance_minutes(15);
    }
    let browser = Browser::of(&service.test, owner.user).await;
    let page = browser.get(&format!("/sites/{site}?range=7d")).await;
    let (_, line) = said(&page).split_once("path class=\"line\" d=\"").expect("a line");
    assert_eq!(line.split('"').next().expect("its end").matches('M').count(), 1);
    assert_eq!(said(&page).matches(" ms</td>").count(), 5, "{}", said(&page));
}

#[tokio::test]
async fn the_axis_begins_with_the_data_until_the_range_is_full() {
    let (service, owner, site) = watched().await;
    end(&service, site, status(200, 100.0)).await;
    service.advance_minutes(22);
    let browser = Browser::of(&service.test, owner.user).await;
    let axis = async |range: &str| {
        let page = browser.get(&format!("/sites/{site}?range={range}")).await;
        let value = |name: &str| {
            let (_, rest) = said(&page).split_once(&format!("data-{name}=\"")).expect("an axis");
            rest.split('"').next().expect("its end").parse::<i64>().expect("seconds")
        };
        let lasts = value("to") - value("from");
        (lasts, text(said(&page)).contains(" Since 09:54 "), said(&page).to_owned())
    };
    for range in ["24h", "7d", "30d", "90d", "1y"] {
        let (lasts, is_said, page) = axis(range).await;
        assert_eq!((lasts, is_said), (22 * 60, true), "{range}: {page}");
        assert_eq!(page.matches(" ms</td>").count(), if range == "24h" { 2 } else { 1 });
    }
    let (.., page) = axis("24h").await;
    assert!(page.contains("path class=\"dots\" d=\"M0 "), "{page}");
    assert!(page.contains("Median response time of each minute since "), "{page}");
    // From half past ten of the day before.
    service.advance_minutes(60 * 24);
    end(&service, site, status(200, 100.0)).await;
    let (lasts, is_said, page) = axis("24h").await;
    assert_eq!((lasts, is_said), (24 * 3600 - 14 * 60, false), "{page}");
    assert_eq!(axis("7d").await.0, 24 * 3600 + 22 * 60);
}
