//! Tags of sites, and the list filtered by them.

use lambda_http::Body;
use lambda_http::http::Response;
use lambda_http::http::header::SET_COOKIE;
use serde_json::json;
use vedette_domain::id::SiteId;
use vedette_testkit::Member;
use vedette_tests::Service;

use crate::sites::after;
use crate::support::{Browser, main_part, said, sent_to, text};

/// A team with four sites, by their numbers, which were added with the form.
pub(crate) async fn team() -> (Service, Member) {
    let (service, owner) = Service::with_team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    for (urls, tags) in [
        ("https%3A%2F%2F1.example%0D%0Ahttps%3A%2F%2F2.example", "env%3Aprod+team%3Ashop"),
        ("https%3A%2F%2F3.example", "%2C+Env%3AProd%2Clegacy"),
        ("https%3A%2F%2F4.example", ""),
    ] {
        let path = format!("/teams/{}/sites", owner.team);
        let added = browser.post(&path, &format!("urls={urls}&tags={tags}")).await;
        assert_eq!(added.status(), 303, "{}", said(&added));
    }
    (service, owner)
}

pub(crate) async fn site(service: &Service, owner: &Member, url: &str) -> SiteId {
    let rows = service.test.app.store.directory(owner.team, 4).await.expect("read");
    rows.iter().find(|row| row.url.as_str() == url).expect("a site").id
}

/// The sites in a list, without what `https://` and `.example` add.
fn listed(page: &str) -> Vec<String> {
    let names = page.split("<a class=\"name cut\"").skip(1);
    names.map(|name| name.split("<bdi>").nth(1).expect("a name")[..1].to_owned()).collect()
}

#[tokio::test]
async fn a_list_shows_tags_and_is_filtered_by_them() {
    let (service, owner) = team().await;
    let browser = Browser::of(&service.test, owner.user).await;
    let list = browser.get("/").await;
    let (page, shown) = (said(&list), text(said(&list)));
    assert_eq!(listed(page), ["1", "2", "3", "4"]);
    assert!(shown.contains("env:prod 3 team:shop 2 legacy 1 Tags"), "{shown}");
    assert!(page.contains("<span class=\"tag\" title=\"env:prod\">prod</span>"), "{page}");
    assert!(page.contains("<span class=\"tag\" title=\"team:shop\">+1</span>"), "{page}");

    for (selector, sites, heading, words) in [
        ("env:prod", &["1", "2", "3"][..], "All 3 sites are waiting", "With env:prod."),
        ("env, !team:shop", &["3"], "One site is waiting", "With env, without team:shop."),
        ("!env", &["4"], "One site is waiting", "Without env."),
        ("env:prod, x", &[], "No sites with these tags", "With env:prod and x."),
    ] {
        let address = selector.replace(' ', "%20");
        let list = browser.get(&format!("/?selector={address}")).await;
        let (page, shown) = (said(&list), text(said(&list)));
        assert_eq!(listed(page), sites, "{selector}");
        assert!(shown.contains(heading), "{heading}: {shown}");
        assert!(shown.contains(&format!("{words} Show all 4 sites")), "{words}: {shown}");
    }

    // The tags that the filter fixes are left out, and each part has a link that removes it.
    let list = browser.get("/?selector=env:prod,!legacy&search=example&sort=name").await;
    let page = said(&list);
    assert!(!page.contains("title=\"env:prod\""), "{page}");
    assert!(page.contains("selector=%21legacy&amp;sort=name"), "{page}");
    assert!(page.contains("selector=env%3Aprod&amp;sort=name"), "{page}");
    assert!(text(page).contains("Remove the filter not legacy"), "{page}");
    let list = browser.get("/?selector=env:prod,!x").await;
    let page = said(&list);
    assert!(page.contains("selector=env%3Aprod%2C+%21x%2C+team%3Ashop"), "adds a tag: {page}");

    // A number is that of the sites behind its link. Tags that all or none of the sites have are left out.
    let client = service.client(&owner);
    let four = site(&service, &owner, "https://4.example").await;
    let key = json!({ "url": "https://4.example", "tags": ["env", "env:test"] });
    assert_eq!(client.patch(&format!("/sites/{four}"), &key).await.status, 200);
    let shown = text(said(&browser.get("/").await));
    assert!(shown.contains("env 4 env:prod 3 team:shop 2 env:test 1 Tags"), "{shown}");
    assert_eq!(listed(said(&browser.get("/?selector=env").await)), ["1", "2", "3", "4"]);
    let shown = text(said(&browser.get("/?selector=env:prod").await));
    assert!(shown.contains("!legacy. Filter team:shop 2 legacy 1 Sort by"), "{shown}");

    let nothing = browser.get("/?selector=x,env").await;
    let shown = text(said(&nothing));
    assert!(
        shown.contains("No sites with x and env. Remove x Remove env Show all sites"),
        "{shown}"
    );
    let refused = browser.get("/?selector=a+or+b").await;
    let (page, shown) = (said(&refused), text(said(&refused)));
    assert_eq!(listed(page), ["1", "2", "3", "4"]);
    assert!(shown.contains("The selector must be a selector such as env:prod"), "{shown}");
    assert!(page.contains("value=\"a or b\""), "{page}");
}

#[tokio::test]
async fn a_form_changes_the_tags_of_a_site_and_its_page_shows_them() {
    let (service, owner) = team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let site = site(&service, &owner, "https://1.example").await;
    let path = format!("/sites/{site}/edit");
    let form = browser.get(&path).await;
    assert_eq!(after(said(&form), "name=\"tags\" value=\""), "env:prod team:shop");
    let saved = browser.post(&path, "url=https://1.example&name=1.example&tags=env:test+new").await;
    assert_eq!(saved.status(), 303, "{}", said(&saved));
    let page = browser.get(sent_to(&saved)).await;
    let chip = format!("<a href=\"/teams/{}?selector=env%3Atest\">env:test</a>", owner.team);
    assert!(said(&page).contains(&chip), "{}", said(&page));

    let refused =
        browser.post(&path, "url=https://1.example&name=1.example&tags=env:test+%21x").await;
    assert_eq!(refused.status(), 422);
    assert!(text(main_part(&refused)).contains("Tag 2: must be a tag such as"));
    assert_eq!(after(main_part(&refused), "name=\"tags\" value=\""), "env:test !x");
    let form = browser.get(&path).await;
    assert_eq!(after(said(&form), "name=\"tags\" value=\""), "env:test new");

    // Tags that a form does not send stay.
    browser.post(&path, "url=https://1.example&name=One").await;
    let form = browser.get(&path).await;
    assert_eq!(after(said(&form), "name=\"tags\" value=\""), "env:test new");
    browser.post(&path, "url=https://1.example&name=1.example").await;

    // What is refused when sites are added stays in the form, and nothing is added.
    let sent = "urls=https%3A%2F%2F5.example&tags=a+b%3A";
    let refused = browser.post(&format!("/teams/{}/sites", owner.team), sent).await;
    assert_eq!(refused.status(), 422);
    let page = main_part(&refused);
    assert!(text(page).contains("Tag 2: must be a tag such as"), "{page}");
    assert!(page.contains(">https://5.example</textarea>"), "{page}");
    assert_eq!(listed(said(&browser.get("/").await)), ["1", "2", "3", "4"]);
    let log = browser.get(&format!("/teams/{}/audit-log", owner.team)).await;
    assert!(text(said(&log)).contains("Tags"), "{}", text(said(&log)));
}

#[tokio::test]
async fn a_browser_keeps_the_selector_of_each_team() {
    let (service, owner) = team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let list = format!("/teams/{}", owner.team);
    let session = browser.cookie.clone().expect("a session");
    let cookie = |page: &Response<Body>| {
        let cookie = page.headers().get(SET_COOKIE).map(|cookie| cookie.to_str().expect("text"));
        cookie.map(ToOwned::to_owned)
    };
    let filtered = browser.get(&format!("{list}?selector=env:prod,!legacy")).await;
    let kept = cookie(&filtered).expect("a cookie");
    let (pair, rest) = kept.split_once(';').expect("attributes");
    let name = format!("vedette-selector-{}", owner.team);
    assert_eq!(pair, format!("__Host-{name}=env%3Aprod%2C+%21legacy"));
    assert!(rest.contains("Max-Age=2592000") && rest.contains("HttpOnly"), "{rest}");

    browser.cookie = Some(format!("{session}; {pair}"));
    for (asked, shown) in [
        (list.clone(), "?selector=env%3Aprod%2C+%21legacy"),
        (format!("{list}?notice=deleted"), "?notice=deleted&selector=env%3Aprod%2C+%21legacy"),
        ("/".to_owned(), "?selector=env%3Aprod%2C+%21legacy"),
    ] {
        assert_eq!(sent_to(&browser.get(&asked).await), format!("{list}{shown}"), "{asked}");
    }
    // The same selector is kept as it is, and what a link says counts.
    let again = browser.get(&format!("{list}?selector=env:prod,!legacy")).await;
    assert_eq!(cookie(&again), None);
    let down = browser.get(&format!("{list}?state=down")).await;
    assert_eq!((down.status().as_u16(), cookie(&down)), (200, None));
    let all = browser.get(&format!("{list}?state=&search=&selector=")).await;
    assert!(cookie(&all).expect("a cookie").starts_with(&format!("__Host-{name}=; Max-Age=0")));
    assert_eq!(listed(said(&all)), ["1", "2", "3", "4"]);
    browser.cookie = Some(format!("{session}; __Host-{name}=%ff%0d%0aX:y"));
    assert!(
        sent_to(&browser.get(&list).await)
            .starts_with(&format!("{list}?selector=%EF%BF%BD%0D%0AX%3Ay"))
    );
}
