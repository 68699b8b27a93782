//! `GET /teams/{team}/status-pages/{status_page}`.

use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::new_team;
use vedette_tests::Service;

use super::added;
use crate::support::{assert_not_found, colleague, odd_spellings};

#[tokio::test]
async fn members_of_the_team_see_a_page() {
    let (service, owner) = Service::with_team().await;
    let page = added(&service, &owner, "meridian").await;
    let viewer = colleague(&service, &owner, Role::Viewer).await;
    let answer = service.client(&viewer).get(&page).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    200 {
      "data": {
        "created_at": "2026-11-20T09:54:00+00:00",
        "groups": [],
        "maintenance_names": false,
        "message": null,
        "name": "Meridian",
        "slug": "meridian",
        "subscriptions": false,
        "unlisted": false,
        "updated_at": "2026-11-20T09:54:00+00:00",
        "url": "https://monitor.test/status/meridian",
        "uuid": "00000000-0000-4000-8000-000000000004"
      }
    }
    "#);
    let other = new_team(&service.test, Plan::Agency).await;
    assert_not_found(&service.client(&other).get(&page).await);
    let (base, id) = page.rsplit_once('/').expect("an id");
    for odd in odd_spellings(&id) {
        assert_not_found(&service.client(&owner).get(&format!("{base}/{odd}")).await);
    }
}
