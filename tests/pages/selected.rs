//! Several sites of the list are changed at once: those that are ticked, or all that match the filter.

use lambda_http::Body;
use lambda_http::http::Response;
use serde_json::json;
use vedette_domain::accounts::account::{Role, Scope};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::issues::IssueStatus;
use vedette_testkit::{Member, member_of, new_team};
use vedette_tests::Service;

use crate::results::{end, status};
use crate::sites::after;
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

/// The sites that a question is about.
fn confirmed(question: &Response<Body>) -> String {
    after(said(question), "name=\"confirmed\" value=\"").to_owned()
}

/// Sends a form, and confirms it if that is asked for.
async fn send(browser: &mut Browser<'_>, path: &str, form: &str) -> Response<Body> {
    let answer = browser.post(path, form).await;
    if answer.status() != 200 {
        return answer;
    }
    let form = format!("{form}&confirmed={}", confirmed(&answer));
    browser.post(path, &form).await
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
    // What was confirmed is these sites, and no others.
    let others = confirmed(&browser.post(&path, &selected(&all[1..], "delete")).await);
    let wrong = selected(&all[..2], &format!("delete&confirmed={others}"));
    assert!(said(&browser.post(&path, &wrong).await).contains("Delete 2 sites</button>"));
    let list = send(&mut browser, &path, &selected(&all[..2], "delete")).await;
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
    let tag = format!("{}&tags=env:prod&remove=", selected(&all, "tag"));
    send(&mut browser, &path, &tag).await;

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
    for (form, notice) in [(&selected(&all, "pause"), "all-paused"), (&tag, "all-tagged")] {
        let back = send(&mut browser, &filtered, form).await;
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
    for form in [selected(&theirs, "delete"), "site=x&do=pause".to_owned(), String::new()] {
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
    let change = async |browser: &mut Browser<'_>, sites: &[SiteId], add: &str, remove: &str| {
        let form = format!("{}&tags={add}&remove={remove}", selected(sites, "tag"));
        send(browser, &path, &form).await
    };
    let tags = async |site: SiteId| {
        let stored = service.test.app.store.site(site.partition()).await.expect("read");
        stored.expect("a site").site.tags.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let form = browser.post(&path, &selected(&all[..2], "tag")).await;
    assert!(text(said(&form)).contains("These sites have no tags."), "{}", said(&form));
    assert!(said(&form).contains("Change tags of 2 sites</button>"), "{}", said(&form));

    let list = change(&mut browser, &all[..2], "env:prod+old", "").await;
    assert!(text(said(&browser.get(sent_to(&list)).await)).contains("Tags changed."));
    change(&mut browser, &all[1..], "Team:Shop", "old%2Cunknown").await;
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
        let refused = change(&mut browser, &[all[2], all[0]], add, remove).await;
        assert_eq!(refused.status(), 422);
        assert!(text(main_part(&refused)).contains(why), "{why}: {}", text(main_part(&refused)));
        assert!(main_part(&refused).contains("Change tags of 2 sites</button>"));
    }
    assert_eq!((tags(all[0]).await.len(), tags(all[2]).await.len()), (2, 1));
}

#[tokio::test]
async fn all_sites_that_match_the_filter_are_changed_once_they_are_confirmed() {
    let (service, owner) = Service::with_team().await;
    let names: Vec<String> = (0..27).map(|n| format!("shop-{n:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let shops = sites(&service, &owner, &names).await;
    let others = sites(&service, &owner, &["blog"]).await;
    let mut browser = Browser::of(&service.test, owner.user).await;
    let list = format!("/teams/{}?search=shop", owner.team);
    let path = format!("/teams/{}/sites/selected?search=shop", owner.team);
    let is_paused = async |site: SiteId| {
        let stored = service.test.app.store.site(site.partition()).await.expect("read");
        stored.expect("a site").site.overrides.tools.enabled(Tool::Status) == Some(false)
    };

    let page = browser.get(&list).await;
    let all =
        format!("/teams/{}?state=&amp;search=shop&amp;selector=&amp;selected=all", owner.team);
    assert!(said(&page).contains(&format!("href=\"{all}\">Select all 27</a>")), "{}", said(&page));
    let page = browser.get(&format!("{list}&selected=all")).await;
    assert!(text(said(&page)).contains("All 27 selected · Clear"), "{}", text(said(&page)));
    assert_eq!(said(&page).matches(" checked disabled>").count(), 25);
    let question = browser.post(&path, "all=1&do=pause").await;
    assert!(said(&question).contains("Pause 27 sites</button>"), "{}", said(&question));
    let sites_before = confirmed(&question);
    // Meanwhile there is one more, which nobody has confirmed.
    let more = sites(&service, &owner, &["shop-27"]).await;
    let question = browser.post(&path, &format!("all=1&do=pause&confirmed={sites_before}")).await;
    assert!(said(&question).contains("Pause 28 sites</button>"), "{}", said(&question));
    assert!(!is_paused(shops[0]).await);
    let done = send(&mut browser, &path, "all=1&do=pause").await;
    assert_eq!(sent_to(&done), format!("/teams/{}?notice=all-paused&search=shop", owner.team));
    for site in shops.iter().chain(&more) {
        assert!(is_paused(*site).await);
    }
    assert!(!is_paused(others[0]).await, "it does not match");

    let form = browser.post(&path, "all=1&do=tag").await;
    assert!(said(&form).contains("name=\"all\" value=\"1\""), "{}", said(&form));
    let done = send(&mut browser, &path, "all=1&do=tag&tags=team:shop&remove=").await;
    assert!(sent_to(&done).contains("all-tagged"));
    let tags = service.test.app.store.tags(owner.team).await.expect("read");
    assert_eq!(tags.entries().map(|(_, entry)| entry.sites).collect::<Vec<_>>(), [28]);
    send(&mut browser, &path, "all=1&do=resume").await;
    assert!(!is_paused(shops[0]).await);
    for notice in ["none-open", "all-acknowledged", "none-open"] {
        let done = send(&mut browser, &path, "all=1&do=acknowledge").await;
        assert!(sent_to(&done).contains(&format!("notice={notice}")), "{}", sent_to(&done));
        if notice == "none-open" {
            for site in [shops[3], others[0], shops[3], others[0]] {
                service.advance_minutes(2);
                end(&service, site, status(503, 30.0)).await;
            }
        }
    }
    let index = service.test.app.store.issue_index(owner.team, true).await.expect("read");
    let open: Vec<_> = index.iter().filter(|row| row.status == IssueStatus::Open).collect();
    assert_eq!(open.iter().map(|row| row.monitor).collect::<Vec<_>>(), [others[0]]);
}
