//! Registrations, and registries below another registry.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vedette_tests::names::MonitoredName;

fn ends(dates: &[&str]) -> Value {
    let event = |date: &&str| json!({ "eventAction": "expiration", "eventDate": date });
    dates.iter().map(event).collect()
}

const EXPIRING: &str = "dns:domain_expiring";

#[tokio::test]
async fn an_end_is_read_in_whatever_form_the_registry_writes_it() {
    // The first check is at 2026-11-20 10:54; the end is reported 30 days before.
    for (dates, end) in [
        (&["2026-12-01T00:00:00.000"][..], "2026-12-01T00:00:00Z"),
        (&["2026-11-30 24:00:00"], "2026-12-01T00:00:00Z"),
        (&["2026-12-01 01:00:00+0100"], "2026-12-01T00:00:00Z"),
        (&["2026-12-01 GMT"], "2026-12-01T00:00:00Z"),
        (&["never", "1970-01-01", "2026-12-01"], "2026-12-01T00:00:00Z"),
        (&["2025-12-01", "2026-12-01T00:00"], "2026-12-01T00:00:00Z"),
    ] {
        let scene = MonitoredName::new("https://www.example.com").await;
        scene.names.register("example.com", json!({ "events": ends(dates) }));
        let registration = scene.check_after_hours(1).await.registration.expect("a registration");
        assert_eq!(registration.expires_at, Some(end.parse().expect("a timestamp")), "{dates:?}");
        assert_eq!(scene.fingerprints().await, [EXPIRING.to_owned()].into(), "{dates:?}");
    }
}

#[tokio::test]
async fn a_placeholder_is_no_end_and_what_cannot_be_read_is_named() {
    for (date, error) in [
        ("1900-01-01T00:00:00Z", None),
        ("0000-00-00", None),
        ("1984-12-31", None),
        ("01-Dec-2026", Some("the registry's expiration date cannot be read: \"01-Dec-2026\"")),
        ("", Some("the registry's expiration date cannot be read: \"\"")),
        ("2026-13-01", Some("the registry's expiration date cannot be read: \"2026-13-01\"")),
    ] {
        let scene = MonitoredName::new("https://www.example.com").await;
        scene.names.register("example.com", json!({ "events": ends(&[date]) }));
        let result = scene.check_after_hours(1).await;
        let registration = result.registration.expect("a registration");
        assert_eq!((registration.expires_at, result.registration_error.as_deref()), (None, error));
        assert_eq!(scene.fingerprints().await, BTreeSet::new(), "{date}");
    }
}

#[tokio::test]
async fn a_name_in_unicode_is_the_same_name() {
    for (host, ascii, name) in [
        ("https://müller.de", "xn--mller-kva.de", json!({ "ldhName": "müller.de" })),
        ("https://www.ÇA.fr", "xn--a-5fa.fr", json!({ "ldhName": null, "unicodeName": "ça.fr" })),
        (
            "https://xn--e1afmkfd.xn--p1ai",
            "xn--e1afmkfd.xn--p1ai",
            json!({ "ldhName": "Пример.рф." }),
        ),
    ] {
        let scene = MonitoredName::new(host).await;
        scene.names.register(ascii, name);
        let result = scene.check_after_hours(1).await;
        let domain = result.registration.map(|registration| registration.domain);
        assert_eq!((domain.as_deref(), result.registration_error), (Some(ascii), None));
    }
}

#[tokio::test]
async fn a_domain_that_is_about_to_be_deleted_is_reported_whatever_its_date() {
    for status in ["redemption period", "pending delete", "Pending Delete"] {
        let scene = MonitoredName::new("https://www.example.com").await;
        let register = |status: &[&str], date| {
            let fields = json!({ "status": status, "events": ends(&[date]) });
            scene.names.register("example.com", fields);
        };
        register(&["active"], "2027-11-20");
        scene.check_after_hours(1).await;
        assert_eq!(scene.fingerprints().await, BTreeSet::new());
        register(&["server hold", status], "2027-11-20");
        scene.check_after_hours(13).await;
        assert_eq!(scene.fingerprints().await, [EXPIRING.to_owned()].into(), "{status}");
        register(&["server hold", status], "2099-11-20");
        let result = scene.check_after_hours(1).await;
        assert_eq!(result.registration.expect("a registration").status, ["server hold", status]);
        assert_eq!(scene.fingerprints().await, [EXPIRING.to_owned()].into(), "it is not renewed");
        register(&["active"], "2028-11-20");
        scene.check_after_hours(1).await;
        assert_eq!(scene.fingerprints().await, BTreeSet::new(), "restored");
    }
}

#[tokio::test]
async fn the_domain_is_that_of_the_registry_that_knows_the_name() {
    for (url, registered, domain, unregistered) in [
        ("https://www.shop.us.com", &["us.com", "shop.us.com"][..], "shop.us.com", None),
        ("https://a.b.shop.gb.net", &["gb.net", "shop.gb.net"], "shop.gb.net", None),
        ("https://shop.asso.eu.org", &["eu.org", "shop.asso.eu.org"], "shop.asso.eu.org", None),
        ("https://shop.netlify.app", &["netlify.app"], "netlify.app", Some("shop.netlify.app")),
        ("https://www.shop.pages.dev", &["pages.dev"], "pages.dev", Some("shop.pages.dev")),
        ("https://gone.us.com", &["us.com", "shop.us.com"], "us.com", Some("gone.us.com")),
        ("https://www.github.io", &["github.io"], "github.io", Some("www.github.io")),
        ("https://github.io", &["github.io"], "github.io", None),
        ("https://www.example.co.uk", &["example.co.uk"], "example.co.uk", None),
    ] {
        let scene = MonitoredName::new(url).await;
        for name in registered {
            scene.names.register(name, json!({}));
        }
        let registration = scene.check_after_hours(1).await.registration.expect("a registration");
        let found = (registration.domain.as_str(), registration.unregistered.as_deref());
        assert_eq!(found, (domain, unregistered), "{url}");
    }
}

#[tokio::test]
async fn a_suffix_without_a_registry_is_asked_about_again_after_a_day() {
    let scene = MonitoredName::new("https://shop.netlify.app").await;
    let found_after = async |hours| {
        let registration = scene.check_after_hours(hours).await.registration;
        registration.expect("a registration").domain
    };
    scene.names.register("netlify.app", json!({}));
    assert_eq!(found_after(1).await, "netlify.app");
    scene.names.register("shop.netlify.app", json!({}));
    // Registrations are cached for 12 hours.
    assert_eq!(found_after(23).await, "netlify.app");
    assert_eq!(found_after(2).await, "shop.netlify.app");
}
