//! The members of a team and its pending invitations.

use std::collections::BTreeMap;

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_domain::accounts::account::{Permission, Role, User};
use vedette_domain::accounts::invitation::Invitation;
use vedette_domain::id::{TeamId, UserId};
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_store::{MemberRow, Store, StoreError, TeamWithSettings};

use super::role_word;
use crate::RequestContext;
use crate::clock::Clock;
use crate::form::Problems;
use crate::layout::{self, Heading, NavTab};
use crate::look::Icon;
use crate::settings::{Part, beside_others};
use crate::words::counted;

/// The notices of forms, by the value in the URL.
const NOTICES: [(&str, &str); 4] = [
    ("changed", "Role changed."),
    ("removed", "Member removed."),
    ("invited", "Invitation sent."),
    ("withdrawn", "Invitation withdrawn. Its link no longer works."),
];

/// The input of the form for a new member, and what is wrong with it.
pub(super) struct Refused<'a> {
    pub(super) email: &'a str,
    pub(super) name: &'a str,
    pub(super) role: &'a str,
    pub(super) why: ValidationError,
}

/// Shows the members.
pub(crate) async fn list(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    page(context, &team, None, None).await
}

/// The page, with what is wrong with the form, or with what was done with a member.
pub(super) async fn page(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    refused: Option<&Refused<'_>>,
    problem: Option<&str>,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let viewer = (caller.user.id, caller.role_in(team.id())?);
    let stored = Stored::load(&context.app.store, team.id()).await?;
    let (sends_mail, clock) = (context.app.service.sends_mail, context.clock(Some(&team.team)));
    let view = MembersView::new(team, viewer, stored, sends_mail, clock);
    let status = match (&refused, problem) {
        (None, None) => StatusCode::OK,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let content = html! {
        @if let Some(problem) = problem { (layout::problem(problem)) }
        @if status == StatusCode::OK { (layout::notice(context, &NOTICES)) }
        (content(&view, refused))
    };
    let title = Heading::new("Members").lead(html! {
        p.quiet { (counted(team.team.members as usize, "member", "members")) " of " bdi { (team.team.name) } }
    });
    let content = beside_others(team.id(), Part::Members, &content);
    Ok(layout::team_page(context, (&team.team, NavTab::Members), status, title, &content))
}

/// A team's members as stored.
struct Stored {
    rows: Vec<MemberRow>,
    users: BTreeMap<UserId, User>,
}

impl Stored {
    async fn load(store: &Store, team: TeamId) -> Result<Self, StoreError> {
        let rows = store.members(team).await?;
        let ids: Vec<UserId> = rows.iter().map(|row| row.user).collect();
        let users = store.users(ids).await?;
        Ok(Self { rows, users })
    }
}

/// What the page shows.
struct MembersView<'a> {
    team: &'a TeamWithSettings,
    /// The signed-in user, and their role.
    viewer: UserId,
    role: Role,
    /// In the order of their roles, owners first.
    members: Vec<(User, Role)>,
    /// Each with whether it can be accepted. It cannot if its sender may no longer invite people.
    invitations: Vec<(&'a Invitation, bool)>,
    sends_mail: bool,
    clock: Clock<'a>,
}

impl<'a> MembersView<'a> {
    fn new(
        team: &'a TeamWithSettings,
        (viewer, role): (UserId, Role),
        Stored { rows, mut users }: Stored,
        sends_mail: bool,
        clock: Clock<'a>,
    ) -> Self {
        let is_valid = |pending: &Invitation| {
            let inviter = rows.iter().find(|row| row.user == pending.by);
            pending.is_backed_by(inviter.map(|row| row.role))
        };
        let pending = team.team.invitations.iter();
        let invitations = pending.map(|pending| (pending, is_valid(pending))).collect();
        let found = rows.iter().filter_map(|row| Some((users.remove(&row.user)?, row.role)));
        let mut members: Vec<(User, Role)> = found.collect();
        members.sort_by(|(a, a_role), (b, b_role)| {
            b_role.cmp(a_role).then_with(|| a.email.cmp(&b.email))
        });
        Self { team, viewer, role, members, invitations, sends_mail, clock }
    }

    fn may_manage(&self) -> bool {
        self.role.grants(Permission::ManageMembers)
    }
}

fn content(view: &MembersView<'_>, refused: Option<&Refused<'_>>) -> Markup {
    html! {
        (members(view))
        @if !view.invitations.is_empty() { (invitations(view)) }
        @if view.may_manage() {
            (form(view, refused))
        } @else {
            p.quiet { "Owners and admins of the team can invite and remove members." }
        }
        section.card {
            header {
                div {
                    h2 { "Leave the team" }
                    p.quiet.small { "You and your tokens lose access to its sites at once." }
                }
            }
            details.confirm {
                summary.txt.down { "Leave " (view.team.team.name) "…" }
                form.row.m2 method="post" action={ "/teams/" (view.team.id()) "/members/" (view.viewer) "/remove" } {
                    button.grave { "Leave team" }
                }
            }
        }
    }
}

fn members(view: &MembersView<'_>) -> Markup {
    html! {
        ul.card.rows aria-label="Members" {
            @for (user, role) in &view.members {
                li.w {
                    span.face.l aria-hidden="true" { (layout::initial(&user.name)) }
                    div.grow {
                        b { bdi { (user.name) } }
                        p.quiet.small.cut { bdi { (user.email) } }
                    }
                    @if view.may_manage() && view.role.governs(*role) {
                        (change(view, user, *role))
                    } @else {
                        span.quiet { (role_word(*role)) }
                    }
                }
            }
        }
    }
}

fn change(view: &MembersView<'_>, user: &User, role: Role) -> Markup {
    let path = |verb: &str| format!("/teams/{}/members/{}/{verb}", view.team.id(), user.id);
    let id = format!("role-{}", user.id);
    html! {
        div.row {
            form.row method="post" action=(path("role")) {
                label.hide for=(id) { "Role of " bdi { (user.name) } }
                select id=(id) name="role" {
                    @for one in Role::ALL.into_iter().filter(|one| view.role.governs(*one)) {
                        option value=(one.as_str()) selected[one == role] { (role_word(one)) }
                    }
                }
                button.s { "Change" }
            }
            details.menu {
                summary.btn.s.sq.sq2 { span.hide { "Actions for " (user.name) } (Icon::More.shape()) }
                div.pop {
                    form method="post" action=(path("remove")) {
                        button.bad { (Icon::Delete.shape()) "Remove from team" }
                    }
                }
            }
        }
    }
}

fn invitations(view: &MembersView<'_>) -> Markup {
    let path = |pending: &Invitation, verb: &str| {
        format!("/teams/{}/invitations/{}/{verb}", view.team.id(), pending.hash.0)
    };
    html! {
        section.card {
            header { h2 { "Pending invitations" } span.quiet.small { "Each takes a seat" } }
            ul.rows {
                @for (invitation, is_valid) in &view.invitations {
                    li.w {
                        div.grow {
                            b { bdi { (invitation.email) } }
                            p.quiet.small {
                                (role_word(invitation.role)) " · "
                                @if *is_valid { "Expires " (view.clock.instant(invitation.expires_at)) }
                                @else { "No longer valid: the sender can no longer invite people" }
                            }
                        }
                        @if view.may_manage() {
                            div.row {
                                @if !is_valid {
                                    form method="post" action=(path(invitation, "renew")) { button.s { "Renew" } }
                                } @else if view.sends_mail {
                                    form method="post" action=(path(invitation, "mail")) { button.s { "Send again" } }
                                }
                                form method="post" action=(path(invitation, "withdraw")) { button.s { "Withdraw" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn form(view: &MembersView<'_>, refused: Option<&Refused<'_>>) -> Markup {
    let why = refused.map(|refused| &refused.why);
    let [email, name, role] =
        ["email", "name", "role"].map(|field| Problems::of(why, field, field));
    let chosen = refused.map_or(Role::Member.as_str(), |refused| refused.role);
    html! {
        section.card {
            header {
                div {
                    h2 { "Invite a member" }
                    p.quiet.small {
                        "They get "
                        @if view.sends_mail { "an email" } @else { "a link from you" }
                        " and join when they accept."
                    }
                }
            }
            form.in.stack.gl method="post" action={ "/teams/" (view.team.id()) "/members" } {
                div.cols.c15 {
                    div.fld {
                        label for="email" { "Email address" }
                        input #email name="email" required autocomplete="off" inputmode="email"
                            value=(refused.map_or("", |refused| refused.email))
                            aria-describedby=[email.described()] aria-invalid=[email.invalid()];
                        (email.shown())
                    }
                    div.fld {
                        label for="name" { "Name" }
                        input #name name="name" autocomplete="off"
                            value=(refused.map_or("", |refused| refused.name))
                            aria-describedby=[name.described()] aria-invalid=[name.invalid()];
                        (name.shown())
                        p.help { "Optional, for a new account." }
                    }
                    div.fld {
                        label for="role" { "Role" }
                        select #role name="role" aria-describedby=[role.described()] {
                            @for one in Role::NEW {
                                option value=(one.as_str()) selected[one.as_str() == chosen] { (role_word(one)) }
                            }
                        }
                        (role.shown())
                    }
                }
                div.row { button.main { "Invite" } }
            }
        }
    }
}
