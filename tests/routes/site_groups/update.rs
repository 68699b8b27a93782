//! `PUT /teams/{team}/groups`: what a group is, and what is refused.

use serde_json::{Value, json};
use vedette_domain::accounts::audit::AuditEvent;
use vedette_tests::Service;

use super::{get, put};
use crate::support::assert_invalid;

#[tokio::test]
async fn groups_replace_those_before_and_are_written_in_one_way() {
    let (service, owner) = Service::with_team().await;
    let sent = json!({ "groups": [
        { "name": " Shop ", "selector": "Team:Shop,!legacy" },
        { "name": "Production", "selector": "env:prod" },
    ] });
    let answer = put(&service, &owner, &sent).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    200 {
      "data": {
        "groups": [
          { "name": "Shop", "selector": "team:shop, !legacy" },
          { "name": "Production", "selector": "env:prod" }
        ]
      }
    }
    "#);
    assert_eq!(get(&service, &owner, owner.team).await.body, answer.body);
    // The same groups are no change, and no entry of the audit log.
    put(&service, &owner, &answer.body["data"]).await;
    let one = json!({ "groups": [{ "name": "Production", "selector": "env in (prod,live)" }] });
    put(&service, &owner, &one).await;
    let log = service.test.app.store.audit_log(owner.team, None, 10).await.expect("read");
    let [second, _first] = &log.entries[..] else { panic!("{log:?}") };
    let AuditEvent::SettingsChanged { differences } = &second.event else { panic!("{second:?}") };
    let changes = differences
        .iter()
        .map(|one| (one.setting.as_str(), one.before.as_deref(), one.after.as_deref()));
    let changes: Vec<_> = changes.collect();
    assert_eq!(
        changes,
        [
            ("group Production", Some("env:prod"), Some("env in (live,prod)")),
            ("group Shop", Some("team:shop, !legacy"), None),
        ]
    );
    let none = put(&service, &owner, &json!({ "groups": [] })).await;
    assert_eq!(none.body, json!({ "data": { "groups": [] } }));
}

#[tokio::test]
async fn what_is_no_group_is_refused_and_changes_nothing() {
    let (service, owner) = Service::with_team().await;
    let kept = json!({ "groups": [{ "name": "Shop", "selector": "team:shop" }] });
    put(&service, &owner, &kept).await;
    let group = |name: &str, selector: &str| json!({ "name": name, "selector": selector });
    let many: Vec<Value> = (0..21).map(|n| group(&format!("Group {n}"), "env:prod")).collect();
    for (groups, field, message) in [
        (Value::Null, "groups", "The groups field is required."),
        (json!([group("", "env:prod")]), "groups.0.name", "The groups.0.name field is required."),
        (
            json!([group("All", "")]),
            "groups.0.selector",
            "The groups.0.selector field is required.",
        ),
        (
            json!([group("All", "env:")]),
            "groups.0.selector",
            "The groups.0.selector field must be a selector such as env:prod, team in (shop,web), !legacy.",
        ),
        (
            json!([group("Shop", "a"), group("SHOP", "b")]),
            "groups",
            "The groups field must not have two groups with the same name.",
        ),
        (json!(many), "groups", "The groups field must not have more than 20 items."),
    ] {
        let answer = put(&service, &owner, &json!({ "groups": groups })).await;
        assert_invalid(&answer, field, message);
    }
    assert_eq!(get(&service, &owner, owner.team).await.body, json!({ "data": kept }));
}

#[tokio::test]
async fn a_group_has_an_objective_that_the_checks_of_the_team_can_tell() {
    let (service, owner) = Service::with_team().await;
    let group = |percentage: f64| {
        let objective = json!({ "percentage": percentage, "period": "30_days" });
        json!({ "groups": [{ "name": "Shop", "selector": "team:shop", "objective": objective }] })
    };
    let answer = put(&service, &owner, &group(99.9)).await;
    insta::assert_snapshot!(answer.shown(), @r#"
    200 {
      "data": {
        "groups": [
          {
            "name": "Shop",
            "objective": { "counts_maintenance": false, "percentage": 99.9, "period": "30_days" },
            "selector": "team:shop"
          }
        ]
      }
    }
    "#);
    assert_eq!(put(&service, &owner, &answer.body["data"]).await.body, answer.body);
    let refused = put(&service, &owner, &group(99.99)).await;
    let message = "The groups.0.objective.percentage field must be one that checks can tell: checks every 5 minutes cannot tell 99.99 % of 30 days.";
    assert_invalid(&refused, "groups.0.objective.percentage", message);
    // One that the group has may stay when the team checks less often.
    let rare = json!({ "monitoring_settings": { "tools": { "status": { "enabled": true, "cadence_minutes": 60 } } } });
    let path = format!("/teams/{}/monitoring", owner.team);
    assert_eq!(service.client(&owner).patch(&path, &rare).await.status, 200);
    assert_eq!(put(&service, &owner, &group(99.9)).await.status, 200);
    assert_eq!(put(&service, &owner, &group(99.91)).await.status, 422);
    let log = service.test.app.store.audit_log(owner.team, None, 10).await.expect("read");
    let first = log.entries.last().expect("an entry");
    insta::assert_json_snapshot!(first.event, @r#"
    {
      "what": "settings_changed",
      "differences": [
        {
          "setting": "group Shop",
          "after": "team:shop"
        },
        {
          "setting": "group Shop.objective.counts_maintenance",
          "after": "false"
        },
        {
          "setting": "group Shop.objective.percentage",
          "after": "99.9"
        },
        {
          "setting": "group Shop.objective.period",
          "after": "30_days"
        }
      ]
    }
    "#);
}
