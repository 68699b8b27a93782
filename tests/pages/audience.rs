//! Who may open each page.

use vedette_dashboard::{Audience, PAGES, Page};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::alerts::channel::Filter;
use vedette_domain::alerts::link;
use vedette_testkit::channels::{add_channel, chat};
use vedette_testkit::new_team;
use vedette_tests::Service;

use crate::issues::broken;
use crate::results::{end, status};
use crate::support::{Browser, sent_to};

/// Opens a page at an address, or sends its form empty.
async fn open(browser: &mut Browser<'_>, page: &Page, address: &str) -> u16 {
    let response = match page.method {
        "GET" => browser.get(address).await,
        _ => browser.post(address, "").await,
    };
    if response.status() == 303 {
        assert_eq!(sent_to(&response), link::SIGN_IN, "{}", page.name);
    }
    response.status().as_u16()
}

/// Everything that is stored about teams and their sites.
async fn of_teams(service: &Service) -> Vec<String> {
    let dump = service.test.table.dump().await;
    let of_teams = dump.iter().filter(|((pk, _), _)| {
        ["S#", "T#", "N#", "L#", "C#", "Z#", "D#", "J#", "A#"].iter().any(|own| pk.starts_with(own))
    });
    of_teams.map(|item| format!("{item:?}")).collect()
}

#[tokio::test]
async fn every_page_of_a_team_is_for_its_members_alone() {
    let (service, owner) = Service::with_team().await;
    let (_target, issue) = broken(&service, &owner).await;
    let sites = service.test.app.store.directory(owner.team, 1).await.expect("read");
    let site = sites[0].id;
    service.advance_minutes(1);
    let check = end(&service, site, status(200, 9.0)).await;
    let ops = ("Ops", chat());
    let channel = add_channel(&service.test.app, owner.team, ops, Filter::default()).await.id;
    let stranger = new_team(&service.test, Plan::Agency).await;
    let filled = |path: &str| {
        path.replace("{team}", &owner.team.to_string())
            .replace("{site}", &site.to_string())
            .replace("{check}", &check.to_string())
            .replace("{issue}", &issue.to_string())
            .replace("{channel}", &channel.to_string())
            .replace("{user}", &owner.user.to_string())
            .replace("{section}", "status")
    };
    let of_team = |page: &&Page| page.endpoint.permission().is_some() && page.path.contains('{');
    let (mut nobody, mut other) =
        (Browser::new(&service.test), Browser::of(&service.test, stranger.user).await);
    let before = of_teams(&service).await;
    for page in PAGES.iter().filter(of_team) {
        let address = filled(page.path);
        assert_eq!(open(&mut other, page, &address).await, 404, "{}", page.name);
        if page.audience != Audience::Anybody {
            assert_eq!(open(&mut nobody, page, &address).await, 303, "{}", page.name);
        }
        // So that the user stays within the limit of requests a minute.
        service.advance_minutes(1);
    }
    assert_eq!(of_teams(&service).await, before, "refused requests change nothing");
}
