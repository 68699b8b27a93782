//! Groups of sites: the form for them, and the card above the list.

use url::form_urlencoded;
use vedette_dashboard::Dashboard;

use crate::results::{end, status};
use crate::sites::after;
use crate::support::{Browser, fields_of, main_part, said, send_with, sent_to, text};
use crate::tags::{site, team};

#[tokio::test]
async fn groups_are_saved_filters_above_the_list() {
    let (service, owner) = team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let (list, groups) =
        (format!("/teams/{}", owner.team), format!("/teams/{}/groups", owner.team));
    assert!(!text(said(&browser.get(&list).await)).contains("Groups"));
    let filtered = browser.get(&format!("{list}?selector=env:prod,!legacy")).await;
    let save = format!("href=\"{groups}?selector=env%3Aprod%2C+%21legacy\">Save as a group</a>");
    assert!(said(&filtered).contains(&save), "{}", said(&filtered));
    let form = browser.get(&format!("{groups}?selector=env%3Aprod%2C+%21legacy")).await;
    assert_eq!(after(said(&form), "name=\"groups.0.selector\" value=\""), "env:prod, !legacy");

    // Empty lines are left out.
    let sent = "rev=0&groups.0.name=&groups.0.selector=&groups.1.name=Production&groups.1.selector=env:prod,!legacy\
                &groups.2.name=Nobody&groups.2.selector=x";
    let saved = browser.post(&groups, sent).await;
    assert_eq!(sent_to(&saved), format!("{list}?notice=groups-saved"));
    let page = browser.get(sent_to(&saved)).await;
    let shown = text(said(&page));
    assert!(shown.contains("Groups saved."), "{shown}");
    let card =
        "Groups Edit groups Production All 2 are waiting for their first check Nobody No sites";
    assert!(shown.contains(card), "{shown}");
    let link = format!("href=\"{list}?selector=env%3Aprod%2C+%21legacy\"");
    assert!(said(&page).contains(&link), "{}", said(&page));
    let group = browser.get(&format!("{list}?selector=env:prod,!legacy")).await;
    let shown = text(said(&group));
    assert!(shown.contains("Group Production . With env:prod, without legacy."), "{shown}");
    assert!(shown.contains("Edit groups") && !shown.contains("Save as a group"), "{shown}");

    // The worst state of its sites, and good checks divided by all.
    let one = site(&service, &owner, "https://1.example").await;
    end(&service, one, status(200, 30.0)).await;
    service.advance_minutes(5);
    end(&service, one, status(503, 30.0)).await;
    let shown = text(said(&browser.get(&list).await)).replace('\u{202f}', " ");
    assert!(shown.contains("Production 1 of 2 is failing · 50.00 %"), "{shown}");

    let refused = browser.post(&groups, "rev=1&groups.3.name=All&groups.3.selector=a+or+b").await;
    assert_eq!(refused.status(), 422);
    assert_eq!(after(main_part(&refused), "name=\"groups.0.selector\" value=\""), "a or b");
    assert!(text(main_part(&refused)).contains("Must be a selector such as"), "{}", said(&refused));
    let twice = "rev=1&groups.0.name=All&groups.0.selector=a&groups.1.name=all&groups.1.selector=b";
    let refused = browser.post(&groups, twice).await;
    assert!(text(main_part(&refused)).contains("two groups with the same name"));
    // Somebody else has saved the others meanwhile.
    let late = "rev=0&groups.0.name=Late&groups.0.selector=late";
    let refused = browser.post(&groups, late).await;
    assert_eq!(refused.status(), 422);
    assert!(text(main_part(&refused)).contains("Somebody else has changed the groups."));
    for (field, value) in [("groups.1.name", "Nobody"), ("groups.2.name", "Late"), ("rev", "1")] {
        assert_eq!(after(main_part(&refused), &format!("name=\"{field}\" value=\"")), value);
    }
    browser.post(&groups, "rev=1").await;
    assert!(!text(said(&browser.get(&list).await)).contains("Groups"));
}

#[tokio::test]
async fn a_group_with_an_objective_says_what_is_left_of_its_budget_as_of_the_last_hour() {
    let (service, owner) = team().await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let list = format!("/teams/{}", owner.team);
    let groups = format!("{list}/groups");
    let form = |rev: u64, percentage: &str| {
        format!(
            "rev={rev}&groups.0.name=Production&groups.0.selector=env:prod&groups.0.objective.percentage={percentage}\
                 &groups.0.objective.period=30_days&groups.0.objective.counts_maintenance="
        )
    };
    let refused = browser.post(&groups, &form(0, "99.99")).await;
    assert_eq!(refused.status(), 422);
    let shown = text(main_part(&refused));
    let why =
        "Must be one that checks can tell: checks every 5 minutes cannot tell 99.99 % of 30 days.";
    assert!(shown.contains(why), "{shown}");
    let field = "name=\"groups.0.objective.percentage\" value=\"";
    assert_eq!(after(main_part(&refused), field), "99.99");
    assert_eq!(browser.post(&groups, &form(0, "99.5")).await.status(), 303);
    let page = browser.get(&groups).await;
    assert_eq!(after(main_part(&page), field), "99.5");
    let sent = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields_of(main_part(&page)))
        .finish();
    assert_eq!(browser.post(&groups, &sent).await.status(), 303);
    let store = &service.test.app.store;
    assert_eq!(store.site_groups(owner.team).await.expect("read").rev, 1, "nothing changed");

    // Two sites are down at the same time: it counts once. The budget is that of the 20 days since the sites exist.
    service.advance_minutes(20 * 24 * 60 - 30);
    for url in ["https://1.example", "https://2.example"] {
        let id = site(&service, &owner, url).await;
        end(&service, id, status(503, 30.0)).await;
    }
    service.advance_minutes(5);
    for url in ["https://1.example", "https://2.example"] {
        let id = site(&service, &owner, url).await;
        end(&service, id, status(503, 30.0)).await;
    }
    service.advance_minutes(25);
    let mut browser = Browser::of(&service.test, owner.user).await;
    let dashboard = Dashboard::default();
    let left = async |browser: &Browser| {
        let page = send_with(&service.test, &dashboard, &browser.head("GET", &list), "").await;
        let title = "title=\"Objective: 99.5 % of 30 days\">";
        after_until(said(&page), title, '<')
    };
    assert_eq!(left(&browser).await, "1 h 50 min left");
    service.advance_minutes(59);
    assert_eq!(left(&browser).await, "1 h 50 min left");
    service.advance_minutes(1);
    assert_eq!(left(&browser).await, "50 min left");
    service.advance_minutes(120);
    assert_eq!(left(&browser).await, "1 h 10 min over");
    browser.post(&groups, &form(1, "")).await;
    assert!(!said(&browser.get(&list).await).contains("Objective"));
}

fn after_until(page: &str, before: &str, end: char) -> String {
    let rest = page.split_once(before).unwrap_or_else(|| panic!("{before}: {page}")).1;
    rest.split(end).next().unwrap_or_default().to_owned()
}
