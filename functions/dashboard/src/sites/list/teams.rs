//! The choice of a team, for a user who belongs to several or to none.

use std::collections::BTreeMap;

use maud::{Markup, html};
use vedette_domain::id::TeamId;
use vedette_store::TeamWithSettings;

use crate::layout::{self, NEW_TEAM};
use crate::words::counted;

pub(super) fn choice(teams: &BTreeMap<TeamId, TeamWithSettings>, may_create: bool) -> Markup {
    html! {
        @if teams.is_empty() {
            div.card {
                div.in.stack {
                    p { "You don’t belong to a team yet. Ask the operator of this service to add you with:" }
                    p { code { "vedette member add" } }
                    @if may_create { p { "Or " a href=(NEW_TEAM) { "create a team" } "." } }
                }
            }
        } @else {
            ul.card.rows {
                @for team in teams.values() {
                    li {
                        span.face.l.sq aria-hidden="true" { (layout::initial(&team.team.name)) }
                        div.grow {
                            a href={ "/teams/" (team.id()) } { bdi { (team.team.name) } }
                            p.quiet.small { (counted(team.team.sites as usize, "site", "sites")) }
                        }
                    }
                }
            }
        }
    }
}
