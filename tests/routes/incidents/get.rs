//! `GET /teams/{team}/status-pages/{status_page}/incidents/{incident}`.

use super::{arranged, written};
use crate::status_pages::added;
use crate::support::assert_not_found;

#[tokio::test]
async fn an_incident_is_found_on_its_page_alone() {
    let (service, owner, path) = arranged().await;
    let incident = written(&service, &owner, &path).await;
    let answer = service.client(&owner).get(&incident).await;
    assert_eq!((answer.status, answer.data("title")), (200, "Orders are delayed".to_owned()));
    let other = added(&service, &owner, "other").await;
    let (_, id) = incident.rsplit_once('/').expect("an id");
    assert_not_found(&service.client(&owner).get(&format!("{other}/incidents/{id}")).await);
}
