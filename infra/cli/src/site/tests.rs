//! Sites and their tags from the command line.

use serde_json::{Value, json};

use super::last_check;
use crate::testing::{Bench, SITE};

/// A team with three sites, two of which have tags.
async fn arranged() -> (Bench, String) {
    let bench = Bench::new().await;
    bench.user("ada").await;
    let team = bench.team("ada", "starter").await;
    for site in [
        "https://shop.example.com --name Shop --tag env:prod --tag team:shop",
        "https://blog.example.com --name Blog --tag team:web --tag Env:Prod",
        "https://old.example.com --name Old",
    ] {
        bench.json(&format!("site add --team {team} {site}")).await;
    }
    (bench, team)
}

/// The names of the sites in a list with these options.
async fn listed(bench: &Bench, team: &str, options: &[&str]) -> Vec<Value> {
    let list = [&["--json", "site", "list", "--team", team], options].concat();
    let sites = bench.run_words(list).await.document("site list");
    sites.as_array().expect("sites").iter().map(|site| site["name"].clone()).collect()
}

#[tokio::test]
async fn sites_are_added_listed_and_deleted() {
    let (bench, team) = arranged().await;
    let list = format!("site list --team {team}");
    insta::assert_snapshot!(bench.run(&list).await.out, @r"
    SITE                                  NAME  URL                       LAST CHECK  TAGS
    04040404-0404-4404-8404-040404040404  Blog  https://blog.example.com  -           env:prod team:web
    05050505-0505-4505-8505-050505050505  Old   https://old.example.com   -           -
    03030303-0303-4303-8303-030303030303  Shop  https://shop.example.com  -           env:prod team:shop
    ");
    let shown = bench.run("site show blog.example.com").await.out;
    insta::assert_snapshot!(shown, @r"
    site        04040404-0404-4404-8404-040404040404
    team        02020202-0202-4202-8202-020202020202
    name        Blog
    url         https://blog.example.com
    last check  -
    tags        env:prod team:web
    created     2026-11-20 09:54:00 UTC
    ");
    let unnamed = bench.json(&format!("site add --team {team} https://new.example.com")).await;
    assert_eq!((&unnamed["name"], unnamed.get("tags")), (&json!("new.example.com"), None));

    for site in ["old.example.com", "03030303-0303-4303-8303-030303030303"] {
        assert_eq!(bench.run(&format!("site delete {site}")).await.code, 0, "{site}");
    }
    let deleted = bench.run("site delete https://blog.example.com").await;
    assert_eq!((deleted.code, deleted.out.as_str()), (0, "Blog is no longer monitored.\n"));
    assert_eq!(listed(&bench, &team, &[]).await, ["new.example.com"]);
    let refused = bench.refused("site delete blog.example.com").await;
    assert_eq!(refused, "no team monitors https://blog.example.com");
    bench.json("site delete new.example.com").await;
    assert_eq!(bench.run(&list).await.out, "The team has no sites.\n");
}

#[tokio::test]
async fn a_list_is_filtered_by_tags_and_by_a_text() {
    let (bench, team) = arranged().await;
    for (options, names) in [
        (&["--selector", "env:prod"][..], &["Blog", "Shop"][..]),
        (&["--selector", "Env, !team:web"], &["Shop"]),
        (&["--selector", "team in (shop,web)"], &["Blog", "Shop"]),
        (&["--selector", "!env"], &["Old"]),
        (&["--selector", "legacy"], &[]),
        (&["--search", "SHOP"], &["Shop"]),
        (&["--search", "shop", "--selector", "team:web"], &[]),
    ] {
        assert_eq!(listed(&bench, &team, options).await, names, "{options:?}");
    }
}

#[tokio::test]
async fn tags_are_added_and_removed() {
    let (bench, team) = arranged().await;
    bench.site(&bench.team("ada", "starter").await).await;
    let tagged = bench.run(&format!("site tag {SITE} --add env:test --add Legacy")).await.out;
    insta::assert_snapshot!(tagged, @r"
    site        0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01
    team        06060606-0606-4606-8606-060606060606
    name        Shop
    url         https://shop.example.com
    last check  -
    tags        env:test legacy
    created     2026-11-20 09:54:00 UTC
    ");
    for (change, tags) in [
        ("--remove env:test --add env:prod", json!(["env:prod", "legacy"])),
        ("--add env:prod", json!(["env:prod", "legacy"])),
        ("--remove env --remove other", json!(["env:prod", "legacy"])),
        ("--remove LEGACY --remove env:prod", Value::Null),
    ] {
        let tagged = bench.json(&format!("site tag {SITE} {change}")).await;
        assert_eq!(tagged["tags"], tags, "{change}");
        assert_eq!(bench.json(&format!("site show {SITE}")).await["tags"], tags, "{change}");
    }

    let refused = bench.refused("site tag shop.example.com --add legacy").await;
    assert_eq!(
        refused,
        "several teams monitor https://shop.example.com; give the UUID of the site"
    );
    bench.json("site tag blog.example.com --add legacy").await;
    assert_eq!(listed(&bench, &team, &["--selector", "legacy"]).await, ["Blog"]);
}

#[tokio::test]
async fn what_cannot_be_a_site_or_a_tag_is_refused() {
    let (bench, team) = arranged().await;
    let tag = bench.run("site tag old.example.com --add env=prod").await;
    let why = "'env=prod' for '--add <TAG>': must be a tag such as legacy or env:prod, of letters, \
               digits and -_. (and / after the colon)";
    assert!(tag.code == 2 && tag.said.contains(why), "{}", tag.said);
    let selector = bench.run(&format!("site list --team {team} --selector env=prod")).await;
    let why = "'env=prod' for '--selector <SELECTOR>': must be a selector such as env:prod, team in \
               (shop,web), !legacy";
    assert!(selector.code == 2 && selector.said.contains(why), "{}", selector.said);
    let many = |option: &str| (0..=10).map(|tag| format!(" {option} {tag}")).collect::<String>();
    for usage in [
        "site tag old.example.com".to_owned(),
        "site tag old.example.com --remove a:b:c".to_owned(),
        format!("site add --team {team}"),
        format!("site add --team {team} new.example.com"),
        format!("site add --team {team} https://new.example.com --tag !legacy"),
        format!("site add --team {team} https://new.example.com{}", many("--tag")),
    ] {
        assert_eq!(bench.run(&usage).await.code, 2, "{usage}");
    }

    let taken = bench.refused(&format!("site add --team {team} https://old.example.com/")).await;
    assert_eq!(taken, "This URL is already monitored by the team.");
    let full = bench.refused(&format!("site tag old.example.com{}", many("--add"))).await;
    assert_eq!(full, "The add_tags field must not have more than 10 items.");
    let unknown = bench.refused(&format!("site tag {SITE} --add legacy")).await;
    assert_eq!(unknown, format!("there is no site {SITE}"));
}

#[test]
fn the_last_check_is_in_words() {
    for (check, words) in [
        (json!({ "status": "completed", "result": { "up": true } }), "up"),
        (json!({ "status": "completed", "result": { "up": false } }), "down"),
        (json!({ "status": "failed", "result": null }), "failed"),
        (json!({ "status": "pending", "result": null }), "pending"),
        (Value::Null, "-"),
    ] {
        let site = json!({ "latest_checks": { "status": check } });
        assert_eq!(last_check(&site), words);
    }
}
