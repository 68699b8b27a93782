//! The page of a team without sites: a form with one question.

use maud::{Markup, html};
use vedette_domain::accounts::team::Team;
use vedette_domain::checks::tool::Tool;

use crate::look::{self, Icon};

pub(super) fn part(team: &Team, may_manage: bool) -> Markup {
    let next = |icon: Markup, title: &str, text: &str| {
        html! { li { b { (icon) (title) } span.quiet { (text) } } }
    };
    html! {
        div.card {
            div.empty {
                @if may_manage {
                    div {
                        h1 { "Add your first site" }
                        p.quiet.m1.say { "Enter a URL to start monitoring. You’ll see the first result within a minute." }
                    }
                    form.row.lg method="post" action={ "/teams/" (team.id) "/sites" } {
                        label.hide for="urls" { "Site URL" }
                        input #urls.grow.mid name="urls" required inputmode="url" autocapitalize="none"
                            placeholder="https://www.example.com";
                        button.main { "Start monitoring" }
                    }
                    ol.next {
                        (next(look::tool(Tool::Status), "Right away", "Status, response time, certificate and DNS records."))
                        (next(look::tool(Tool::BrokenLinks), "In a few minutes", "Broken links and performance, where your plan has them."))
                        (next(Icon::Bell.shape(), "After that", "Vedette keeps checking, and notifies you only when something is wrong."))
                    }
                    p.quiet.small.rule {
                        "Adding many sites? " a href={ "/teams/" (team.id) "/sites/new" } { "Paste a list of URLs" }
                        ". To get notifications, " a href={ "/teams/" (team.id) "/channels" } { "add a channel" } "."
                    }
                } @else {
                    div {
                        h1 { "No sites yet" }
                        p.quiet.m1.say { "Members of the team can add sites; you can only view them." }
                    }
                }
            }
        }
    }
}
