//! The plan of a team.

use vedette_domain::accounts::plan::Plan;
use vedette_testkit::{TestApp, new_team};

use crate::support::{Browser, said, text};

#[tokio::test]
async fn the_plan_says_what_it_allows_and_how_much_is_used() {
    let test = TestApp::start().await;
    let owner = new_team(&test, Plan::Starter).await;
    let browser = Browser::of(&test, owner.user).await;
    let page = browser.get(&format!("/teams/{}/plan", owner.team)).await;
    insta::assert_snapshot!(text(said(&page)), @r#"Plan Monitoring Status Certificate DNS Broken links Performance Request header Maintenance Notifications Quiet time Reminders Time zone Team Name Members Plan Audit log Starter Plan Starter Sites 0 of 5 Seats 1 of 3: 1 member, 0 pending invitations On-demand checks this month 0 of 50 Fastest checks Every 30 minutes; Broken links: every 12 hours; Performance: every 12 hours History 30 days Tools Status, Certificate, DNS, Broken links, Performance To change the plan, ask the operator of this service."#);
}
