//! `GET /teams/{team}/status-pages/{status_page}/incidents`.

use super::{arranged, delays, post};

#[tokio::test]
async fn incidents_are_listed_newest_first() {
    let (service, owner, path) = arranged().await;
    for title in ["First", "Second"] {
        let mut body = delays();
        body["title"] = title.into();
        assert_eq!(post(&service, &owner, &path, &body).await.status, 201);
        service.advance_minutes(1);
    }
    let listed = service.client(&owner).get(&path).await;
    let titles: Vec<_> = listed.body["data"]
        .as_array()
        .expect("incidents")
        .iter()
        .map(|one| &one["title"])
        .collect();
    assert_eq!(titles, ["Second", "First"]);
}
