//! Several sites of the list are paused, resumed or deleted at once.

use serde_json::json;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::id::SiteId;
use vedette_testkit::{Member, member_of, new_team};
use vedette_tests::Service;

use crate::support::{Browser, main_part, said, sent_to, text};

/// Sites of a team with these names.
async fn sites(service: &Service, owner: &Member, names: &[&str]) -> Vec<SiteId> {
    let mut sites = Vec::new();
    for name in names {
        let body = json!({ "url": format!("https://{name}.test/"), "name": name });
        let path = format!("/teams/{}/sites", owner.team);
        let created = service.client(owner).post(&path, &body).await;
        sites.push(SiteId::parse(&created.data("uuid")).expect("an id"));
    }
    sites
}

fn selected(sites: &[SiteId], change: &str) -> String {
    let sites: String = sites.iter().map(|site| format!("site={site}&")).collect();
    format!("{sites}do={change}")
}

#[tokio::test]
async fn selected_sites_are_paused_resumed_and_deleted_once_somebody_says_so() {
    let (service, owner) = Service::with_team().await;
    let all = sites(&service, &owner, &["a", "b", "c"]).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}/sites/selected", owner.team);
    let list = browser.get("/").await;
    let tick = format!(
        "<input id=\"select-{0}\" type=\"checkbox\" name=\"site\" value=\"{0}\" form=\"selected\">",
        all[0]
    );
    assert!(said(&list).contains(&tick), "{}", said(&list));
    assert!(said(&list).contains(&format!("id=\"selected\" method=\"post\" action=\"{path}\"")));

    let list = browser.post(&path, &selected(&all[..2], "pause")).await;
    let list = browser.get(sent_to(&list)).await;
    assert!(text(said(&list)).contains("Monitoring paused."), "{}", text(said(&list)));
    assert!(said(&list).contains("<span>Paused</span></span><b>2</b>"), "{}", said(&list));
    // Sites that are already paused stay paused.
    let list = browser.post(&path, &selected(&all, "pause")).await;
    let list = browser.get(sent_to(&list)).await;
    assert!(said(&list).contains("<span>Paused</span></span><b>3</b>"));
    let list = browser.post(&path, &selected(&all[1..], "resume")).await;
    let list = browser.get(sent_to(&list)).await;
    assert!(text(said(&list)).contains("Monitoring resumed."));
    assert!(said(&list).contains("<span>Paused</span></span><b>1</b>"));

    let question = browser.post(&path, &selected(&all[..2], "delete")).await;
    assert!(text(said(&question)).contains("can’t be undone"), "{}", text(said(&question)));
    assert!(said(&question).contains("Delete 2 sites</button>"));
    assert!(said(&browser.get("/").await).contains("3 sites"));
    let list = browser.post(&path, &selected(&all[..2], "delete-for-good")).await;
    let list = browser.get(sent_to(&list)).await;
    assert!(text(said(&list)).contains("Sites deleted."));
    assert!(text(said(&list)).contains("1 site, sorted by state"), "{}", text(said(&list)));
}

#[tokio::test]
async fn an_action_leads_back_to_the_list_with_its_filter() {
    let (service, owner) = Service::with_team().await;
    let all = sites(&service, &owner, &["a", "b"]).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}/sites/selected", owner.team);
    let form = format!("{}&tags=env:prod&remove=", selected(&all, "change-tags"));
    browser.post(&path, &form).await;

    let query = "state=unknown&search=test&selector=env%3Aprod&sort=name&size=50";
    let list = browser.get(&format!("/teams/{}?{query}&page=2&notice=deleted", owner.team)).await;
    let action = format!("{path}?{}", query.replace('&', "&amp;"));
    assert!(said(&list).contains(&format!("action=\"{action}\"")), "{}", said(&list));
    let filtered = format!("{path}?{query}&notice=deleted");
    for change in ["tag", "delete"] {
        let form = browser.post(&filtered, &selected(&all, change)).await;
        let back = format!("href=\"/teams/{}?{}\"", owner.team, query.replace('&', "&amp;"));
        assert!(said(&form).contains(&back), "{}", said(&form));
        assert!(said(&form).contains(&format!("action=\"{action}\"")), "{}", said(&form));
    }
    for (change, notice) in [("pause", "all-paused"), ("change-tags", "all-tagged")] {
        let back = browser.post(&filtered, &selected(&all, change)).await;
        assert_eq!(sent_to(&back), format!("/teams/{}?notice={notice}&{query}", owner.team));
    }
    let none = browser.post(&format!("{path}?selector=%2C"), "").await;
    assert_eq!(sent_to(&none), format!("/teams/{}?notice=none-selected", owner.team));
}

#[tokio::test]
async fn what_is_no_site_of_the_team_and_no_change_changes_nothing() {
    let (service, owner) = Service::with_team().await;
    let own = sites(&service, &owner, &["a"]).await;
    let stranger = new_team(&service.test, Plan::Agency).await;
    let theirs = sites(&service, &stranger, &["b"]).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}/sites/selected", owner.team);
    for form in [selected(&theirs, "delete-for-good"), "site=x&do=pause".to_owned(), String::new()]
    {
        let list = browser.post(&path, &form).await;
        assert!(sent_to(&list).ends_with("notice=none-selected"), "{form}");
    }
    assert_eq!(browser.post(&path, &selected(&own, "forget")).await.status(), 404);
    let store = &service.test.app.store;
    for site in own.iter().chain(&theirs) {
        assert!(store.site(site.partition()).await.expect("read").is_some());
    }

    let viewer = member_of(&service.test, owner.team, Role::Viewer, &Scope::ALL).await;
    let mut viewing = Browser::of(&service.test, viewer.user).await;
    assert_eq!(viewing.post(&path, &selected(&own, "pause")).await.status(), 403);
    assert!(!said(&viewing.get("/").await).contains("checkbox"));
}

#[tokio::test]
async fn tags_of_selected_sites_are_added_and_removed() {
    let (service, owner) = Service::with_team().await;
    let all = sites(&service, &owner, &["a", "b", "c"]).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let path = format!("/teams/{}/sites/selected", owner.team);
    let send = async |browser: &mut Browser<'_>, sites: &[SiteId], add: &str, remove: &str| {
        let form = format!("{}&tags={add}&remove={remove}", selected(sites, "change-tags"));
        browser.post(&path, &form).await
    };
    let tags = async |site: SiteId| {
        let stored = service.test.app.store.site(site.partition()).await.expect("read");
        stored.expect("a site").site.tags.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let form = browser.post(&path, &selected(&all[..2], "tag")).await;
    assert!(text(said(&form)).contains("These sites have no tags."), "{}", said(&form));
    assert!(said(&form).contains("Change tags of 2 sites</button>"), "{}", said(&form));

    let list = send(&mut browser, &all[..2], "env:prod+old", "").await;
    assert!(text(said(&browser.get(sent_to(&list)).await)).contains("Tags changed."));
    send(&mut browser, &all[1..], "Team:Shop", "old%2Cunknown").await;
    assert_eq!(tags(all[0]).await, ["env:prod", "old"]);
    assert_eq!(tags(all[1]).await, ["env:prod", "team:shop"]);
    assert_eq!(tags(all[2]).await, ["team:shop"]);
    let form = browser.post(&path, &selected(&all, "tag")).await;
    assert!(text(said(&form)).contains("These sites have env:prod old team:shop."));

    // Either all sites change, or none.
    let nine = (0..9).map(|n| n.to_string()).collect::<Vec<_>>().join("+");
    for (add, remove, why) in [
        (&*nine, "", "a would have more than 10 tags."),
        ("a+b:", "", "Tag 2: must be a tag such as"),
        ("", "%21", "Tag 1: must be a tag such as"),
    ] {
        let refused = send(&mut browser, &[all[2], all[0]], add, remove).await;
        assert_eq!(refused.status(), 422);
        assert!(text(main_part(&refused)).contains(why), "{why}: {}", text(main_part(&refused)));
        assert!(main_part(&refused).contains("Change tags of 2 sites</button>"));
    }
    assert_eq!((tags(all[0]).await.len(), tags(all[2]).await.len()), (2, 1));
}
