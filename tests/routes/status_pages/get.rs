//! `GET /teams/{team}/status-pages/{status_page}`.

use vedette_tests::Service;

use super::added;

#[tokio::test]
async fn a_page_has_its_address_and_its_settings() {
    let (service, owner) = Service::with_team().await;
    let page = added(&service, &owner, "meridian").await;
    let answer = service.client(&owner).get(&page).await;
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
}
