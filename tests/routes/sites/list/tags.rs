//! `tag` and `selector`: an addition to the specification.

use serde_json::{Value, json};
use vedette_domain::accounts::plan::Plan;
use vedette_testkit::{Member, new_team};
use vedette_tests::Service;

use super::{list, named, names, patch};
use crate::support::assert_invalid;

/// Sites whose names are their tags.
async fn tagged(service: &Service, owner: &Member, all: &[&[&str]]) {
    for (n, tags) in all.iter().enumerate() {
        let url = format!("https://example.com/{n}");
        let site = named(service, owner, &format!("{tags:?}"), &url).await;
        patch(service, owner, site, &json!({ "url": url, "tags": tags })).await;
    }
}

#[tokio::test]
async fn sites_are_selected_by_their_tags() {
    let (service, owner) = Service::with_team().await;
    let [shop, web, old, none] =
        [&["env:prod", "team:shop"][..], &["env:prod", "team:web"], &["env:test", "legacy"], &[]];
    tagged(&service, &owner, &[shop, web, old, none]).await;
    for (query, expected) in [
        ("tag=env:prod", vec![web, shop]),
        ("tag=ENV:Prod", vec![web, shop]),
        ("tag=legacy", vec![old]),
        // A tag is the whole tag.
        ("tag=env", vec![]),
        ("tag=unknown", vec![]),
        ("selector=env", vec![old, web, shop]),
        ("selector=env:prod, team in (shop,api)", vec![shop]),
        ("selector=!legacy", vec![none, web, shop]),
        ("selector=!team:shop", vec![none, old, web]),
        ("selector=env:prod&tag=team:web", vec![web]),
        ("selector=env&sort=created_at&per_page=1", vec![shop]),
        ("selector=unknown", vec![]),
        ("selector=!unknown", vec![none, old, web, shop]),
    ] {
        let answer = list(&service, &owner, &format!("?{}", query.replace(' ', "%20"))).await;
        let expected: Vec<_> = expected.iter().map(|tags| format!("{tags:?}")).collect();
        assert_eq!((answer.status, names(&answer)), (200, expected), "{query}");
    }
    let answer = list(&service, &owner, "?selector=env%3Aprod").await;
    let tags: Vec<&Value> =
        answer.body["data"].as_array().expect("a list").iter().map(|site| &site["tags"]).collect();
    assert_eq!(tags, [&json!(["env:prod", "team:web"]), &json!(["env:prod", "team:shop"])]);
    assert!(answer.body["links"]["first"].to_string().contains("selector=env%3Aprod"));
    // A site without tags has no such field: clients of the specification see what they know.
    let answer = list(&service, &owner, "?selector=!env").await;
    assert_eq!(answer.body["data"][0].get("tags"), None);
}

#[tokio::test]
async fn what_is_not_a_tag_or_a_selector_is_refused() {
    let (service, owner) = Service::with_team().await;
    let tag = "The tag field must be a tag such as legacy or env:prod, of letters, digits and -_. (and / after the \
               colon).";
    let syntax =
        "The selector field must be a selector such as env:prod, team in (shop,web), !legacy.";
    let long = format!("selector={}", "a".repeat(501));
    for (query, field, message) in [
        ("tag=", "tag", tag),
        ("tag=a:b:c", "tag", tag),
        ("selector=", "selector", "The selector field must name at least one tag."),
        ("selector=%20", "selector", "The selector field must name at least one tag."),
        ("selector=a,,b", "selector", syntax),
        ("selector=a+or+b", "selector", syntax),
        (&long, "selector", "The selector field must not be longer than 500 characters."),
    ] {
        assert_invalid(&list(&service, &owner, &format!("?{query}")).await, field, message);
    }
}

#[tokio::test]
async fn a_list_reads_the_tags_of_the_team_only_if_it_depends_on_them() {
    let (service, owner) = Service::with_team().await;
    tagged(&service, &owner, &[&["env:prod"]]).await;
    let meter = service.test.meter();
    let mut spent = Vec::new();
    for query in ["", "?selector=env"] {
        meter.start();
        list(&service, &owner, query).await;
        spent.push(meter.stop());
    }
    let [plain, selected] = spent[..] else { panic!("{spent:?}") };
    assert_eq!(selected.round_trips, plain.round_trips + 1);
    assert_eq!(selected.rounds, plain.rounds, "both are read at once");
    assert!(selected.reads - plain.reads <= 1.0, "{spent:?}");
}

#[tokio::test]
async fn five_tags_of_each_site_add_at_most_a_tenth_to_what_a_list_reads() {
    const SITES: usize = 300;
    let service = Service::start().await;
    let mut spent = Vec::new();
    for tags in [0, 5] {
        let owner = new_team(&service.test, Plan::Agency).await;
        let sites: Vec<_> = (0..SITES)
            .map(|n| {
                // As many different tags as a team may have.
                let tags: Vec<_> = (0..tags).map(|k| format!("key-{k}:{}", n % 100)).collect();
                json!({ "url": format!("https://{n}.shop.example/"), "tags": tags })
            })
            .collect();
        for sites in sites.chunks(100) {
            let path = format!("/teams/{}/sites/bulk", owner.team);
            let answer = service.client(&owner).post(&path, &json!({ "sites": sites })).await;
            let created = answer.body["data"]["created"].as_array().map(Vec::len);
            assert_eq!(created, Some(100), "{answer:?}");
        }
        let rows = service.test.app.store.directory(owner.team, SITES).await.expect("read");
        assert!(rows.iter().all(|row| row.tags.len() == tags));
        let meter = service.test.meter();
        meter.start();
        service.test.app.store.tagged_directory(owner.team, SITES).await.expect("read");
        spent.push(meter.stop().reads);
    }
    let [without, with] = spent[..] else { panic!("{spent:?}") };
    // The dictionary of 500 tags is read once, however many sites there are.
    let dictionary = 3.0;
    assert!(with - dictionary <= 1.1 * without, "{spent:?}");
}
