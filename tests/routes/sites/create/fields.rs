//! `POST /teams/{team}/sites`: the fields of a site other than its monitoring.

use serde_json::json;
use vedette_tests::Service;

use super::Creator;
use crate::support::assert_invalid;

#[tokio::test]
async fn urls_are_kept_in_their_canonical_form() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    for (sent, url, domain, name) in [
        ("https://Example.COM/", "https://example.com", "example.com", "example.com"),
        ("  https://a.test/b \n", "https://a.test/b", "a.test", "a.test"),
        ("HTTPS://a.test:443/c", "https://a.test/c", "a.test", "a.test"),
        ("http://a.test:80/d/", "http://a.test/d/", "a.test", "a.test"),
        ("http://a.test:443", "http://a.test:443", "a.test", "a.test"),
        ("https://a.test/?b=1#c", "https://a.test/?b=1", "a.test", "a.test"),
        ("https://a.test/E/%7e?G=h&", "https://a.test/E/%7e?G=h&", "a.test", "a.test"),
        (
            "https://bücher.example/ä",
            "https://xn--bcher-kva.example/%C3%A4",
            "xn--bcher-kva.example",
            "xn--bcher-kva.example",
        ),
        (
            "https://WWW.Example.org:8443",
            "https://www.example.org:8443",
            "www.example.org",
            "example.org",
        ),
        ("https://b.test./?", "https://b.test", "b.test", "b.test"),
        (
            "https://www.my_shop.test./",
            "https://www.my_shop.test",
            "www.my_shop.test",
            "my_shop.test",
        ),
        ("http://0x7f.1/", "http://127.0.0.1", "127.0.0.1", "127.0.0.1"),
        ("http://[2001:DB8::1]/", "http://[2001:db8::1]", "[2001:db8::1]", "[2001:db8::1]"),
    ] {
        let created = creator.post(&json!({ "url": sent })).await;
        assert_eq!(created.status, 201, "{sent}: {created:?}");
        let shown = ["url", "domain", "name"].map(|field| created.data(field));
        assert_eq!(shown, [url, domain, name], "{sent}");
    }
    let longest = format!("https://example.com/{}", "a".repeat(2048 - 20));
    assert_eq!(creator.post(&json!({ "url": longest })).await.data("url"), longest);
}

#[tokio::test]
async fn what_is_no_url_of_a_site_is_refused() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let long = format!("https://example.com/{}", "a".repeat(2048 - 19));
    for (sent, message) in [
        (json!(null), "The url field is required."),
        (json!(" "), "The url field is required."),
        (json!(5), "The url field must be a string."),
        (json!(["https://example.com"]), "The url field must be a string."),
        (json!("example.com"), "The url must start with http:// or https://."),
        (json!("ftp://example.com"), "The url must start with http:// or https://."),
        (json!("https:example.com"), "The url must start with http:// or https://."),
        (json!("https://"), "The url must have a host."),
        (json!("https:///path"), "The url must have a host."),
        (json!("https://ada@example.com"), "The url must not contain a user name or password."),
        (
            json!("https://ada:secret@example.com"),
            "The url must not contain a user name or password.",
        ),
        (json!("https://exa mple.com"), "The url must have a valid domain name as its host."),
        (json!("https://.."), "The url must have a valid domain name as its host."),
        (json!("https://-"), "The url must have a valid domain name as its host."),
        (json!("https://ok..test"), "The url must have a valid domain name as its host."),
        (json!("https://-ok.test"), "The url must have a valid domain name as its host."),
        (
            json!(format!("https://{}.test", "a".repeat(64))),
            "The url must have a valid domain name as its host.",
        ),
        (json!("https://example.com:0"), "The url must not have the port 0."),
        (json!("https://example.com/a\nb"), "The url must not contain control characters."),
        (json!("https://example.com:99999"), "The url is not a valid URL: invalid port number."),
        (json!(long), "The url must not be longer than 2048 characters."),
    ] {
        assert_invalid(&creator.post(&json!({ "url": sent })).await, "url", message);
    }
    let omitted = creator.post(&json!({ "name": "Shop" })).await;
    assert_invalid(&omitted, "url", "The url field is required.");
}

#[tokio::test]
async fn names_are_trimmed_strings_of_at_most_255_characters() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let longest = "ü".repeat(255);
    for (n, sent, kept) in [(1, "  Shop\n", "Shop"), (2, &longest, &longest), (3, "0", "0")] {
        let created = creator.post_with(n, "name", &json!(sent)).await;
        assert_eq!((created.status, created.data("name")), (201, kept.to_owned()));
    }
    for (sent, message) in [
        (json!("n".repeat(256)), "The name field must not be longer than 255 characters."),
        (json!(null), "The name field must not be empty."),
        (json!(""), "The name field must not be empty."),
        (json!(" \t"), "The name field must not be empty."),
        (
            json!("Shop\u{1b}[31m"),
            "The name field must not contain control characters or characters that change the direction of text.",
        ),
        (
            json!("Sh\nop"),
            "The name field must not contain control characters or characters that change the direction of text.",
        ),
        (
            json!("Sh\u{2028}op"),
            "The name field must not contain control characters or characters that change the direction of text.",
        ),
        (
            json!("\u{202e}pohS"),
            "The name field must not contain control characters or characters that change the direction of text.",
        ),
        (json!("\u{200b}\u{2060}"), "The name field must contain a visible character."),
        (json!(5), "The name field must be a string."),
        (json!({}), "The name field must be a string."),
    ] {
        assert_invalid(&creator.post_with(9, "name", &sent).await, "name", message);
    }
}

#[tokio::test]
async fn notes_are_trimmed_strings_of_at_most_5000_characters_or_null() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    let longest = "ü".repeat(5000);
    for (n, sent, kept) in [
        (1, json!(" a\nb "), json!("a\nb")),
        (2, json!(longest), json!(longest)),
        (3, json!(null), json!(null)),
        (4, json!(""), json!(null)),
        (5, json!("  "), json!(null)),
    ] {
        let created = creator.post_with(n, "notes", &sent).await;
        assert_eq!((created.status, &created.body["data"]["notes"]), (201, &kept));
    }
    for (sent, message) in [
        (json!("n".repeat(5001)), "The notes field must not be longer than 5000 characters."),
        (json!(5), "The notes field must be a string."),
        (json!(false), "The notes field must be a string."),
    ] {
        assert_invalid(&creator.post_with(9, "notes", &sent).await, "notes", message);
    }
}

#[tokio::test]
async fn js_rendered_is_true_or_false_and_nothing_like_it() {
    let (service, owner) = Service::with_team().await;
    let creator = Creator::new(&service, &owner);
    for (n, value) in [(1, true), (2, false)] {
        let created = creator.post_with(n, "js_rendered", &json!(value)).await;
        assert_eq!((created.status, &created.body["data"]["js_rendered"]), (201, &json!(value)));
    }
    for (sent, message) in [
        (json!(1), "The js_rendered field must be true or false."),
        (json!("true"), "The js_rendered field must be true or false."),
        (json!([]), "The js_rendered field must be true or false."),
        (json!(null), "The js_rendered field must not be empty."),
        (json!(""), "The js_rendered field must not be empty."),
    ] {
        assert_invalid(&creator.post_with(9, "js_rendered", &sent).await, "js_rendered", message);
    }
}

#[tokio::test]
async fn unknown_fields_are_ignored_and_pinned_is_one_of_them() {
    let (service, owner) = Service::with_team().await;
    let body = json!({
        "url": "https://example.com",
        "pinned": true,
        "is_pinned": true,
        "uuid": 5,
        "monitoring": { "settings": [] },
        "quiet_time": { "enabled": "yes" },
    });
    let created = Creator::new(&service, &owner).post(&body).await;
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!(created.body["data"]["is_pinned"], false);
}
