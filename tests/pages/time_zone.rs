//! The time zone of a team, with a form.

use vedette_domain::accounts::account::{Role, Scope};
use vedette_testkit::{TestApp, member_of};

use crate::support::{Browser, main_part, said, sent_to};

#[tokio::test]
async fn a_zone_is_chosen_of_all_that_there_are_and_what_is_none_is_refused() {
    let (test, owner) = TestApp::with_team().await;
    let mut browser = Browser::of(&test, owner.user).await;
    let path = format!("/teams/{}/time-zone", owner.team);
    let page = browser.get(&path).await;
    let page = said(&page);
    for zone in ["<option value=\"UTC\" selected>", "<option value=\"Europe/Berlin\">"] {
        assert!(page.contains(zone), "{zone}: {page}");
    }
    assert_eq!(page.matches("value=\"UTC\"").count(), 1);
    let saved = browser.post(&path, "time_zone=Europe%2FBerlin").await;
    assert_eq!(sent_to(&saved), format!("{path}?notice=saved"));
    let page = browser.get(&format!("{path}?notice=saved")).await;
    for text in ["Saved.", "<option value=\"Europe/Berlin\" selected>"] {
        assert!(said(&page).contains(text), "{text}");
    }
    let refused = browser.post(&path, "time_zone=Europe%2FAtlantis").await;
    assert_eq!(refused.status(), 422);
    assert!(main_part(&refused).contains("Must be an IANA time zone name"));
    let log = browser.get(&format!("/teams/{}/audit-log", owner.team)).await;
    assert!(said(&log).contains("Europe/Berlin"));
}

#[tokio::test]
async fn members_read_the_zone_and_admins_change_it() {
    let (test, owner) = TestApp::with_team().await;
    let path = format!("/teams/{}/time-zone", owner.team);
    let member = member_of(&test, owner.team, Role::Member, &Scope::ALL).await;
    let mut browser = Browser::of(&test, member.user).await;
    let page = browser.get(&path).await;
    let page = said(&page);
    assert!(page.contains("<dd>UTC</dd>"), "{page}");
    assert!(!page.contains("<form"), "{page}");
    assert_eq!(browser.post(&path, "time_zone=Europe%2FBerlin").await.status(), 403);
    let admin = member_of(&test, owner.team, Role::Admin, &Scope::ALL).await;
    let mut browser = Browser::of(&test, admin.user).await;
    sent_to(&browser.post(&path, "time_zone=Europe%2FBerlin").await);
}
