//! The calendar feed of a team's maintenance windows.

mod create;
mod delete;
mod get;

use vedette_testkit::Member;

fn path(of: &Member) -> String {
    format!("/teams/{}/maintenance-calendar", of.team)
}
