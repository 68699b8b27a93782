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

use super::{NEW_ROLES, role_word};
use crate::RequestContext;
use crate::form::Problems;
use crate::layout::{self, NavTab};
use crate::settings::{Part, beside_others};

/// What a form did, as the address names it, and in words.
const SAID: [(&str, &str); 4] = [
    ("changed", "The member has another role."),
    ("removed", "The member is removed."),
    ("invited", "The invitation is on its way to its address."),
    ("withdrawn", "The invitation no longer works."),
];

/// A form for somebody new, as it was filled in, and what is wrong with it.
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

/// The page, with what is wrong with the form for somebody new, or with what was done with a member.
pub(super) async fn page(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    refused: Option<&Refused<'_>>,
    problem: Option<&str>,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let viewer = (caller.user.id, caller.role_in(team.id())?);
    let stored = Stored::load(&context.app.store, team.id()).await?;
    let view = MembersView::new(team, viewer, stored, context.app.service.sends_mail);
    let status = match (&refused, problem) {
        (None, None) => StatusCode::OK,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let content = html! {
        @if let Some(problem) = problem { (layout::problem(problem)) }
        @if status == StatusCode::OK { (layout::done(context, &SAID)) }
        (content(&view, refused))
    };
    let title = format!("Members of {}", team.team.name);
    let content = beside_others(team.id(), Part::Members, &content);
    Ok(layout::team_page(context, (&team.team, NavTab::Members), status, title, &content))
}

/// Who belongs to a team, as the table has it.
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
    /// Who looks at it, and their role.
    viewer: UserId,
    role: Role,
    /// The highest role first.
    members: Vec<(User, Role)>,
    /// Each with whether it can be accepted: not if its sender may no longer invite people.
    invitations: Vec<(&'a Invitation, bool)>,
    sends_mail: bool,
}

impl<'a> MembersView<'a> {
    fn new(
        team: &'a TeamWithSettings,
        (viewer, role): (UserId, Role),
        Stored { rows, mut users }: Stored,
        sends_mail: bool,
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
        Self { team, viewer, role, members, invitations, sends_mail }
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
            h2 { "Invite somebody" }
            (form(view, refused))
        } @else {
            p { "Owners and admins of the team can invite and remove members." }
        }
        h2 { "Leave the team" }
        details {
            summary { "Leave" }
            p { "You see nothing of the team any more, and neither do your tokens." }
            form method="post" action={ "/teams/" (view.team.id()) "/members/" (view.viewer) "/remove" } {
                button { "Leave this team" }
            }
        }
    }
}

fn members(view: &MembersView<'_>) -> Markup {
    let members = &view.members;
    html! {
        table {
            caption { (members.len()) @if members.len() == 1 { " member" } @else { " members" } }
            thead {
                tr {
                    th scope="col" { "Name" } th scope="col" { "Address" } th scope="col" { "Role" }
                    @if view.may_manage() { th scope="col" { "Change" } }
                }
            }
            tbody {
                @for (user, role) in members {
                    tr {
                        td { bdi { (user.name) } }
                        td { bdi { (user.email) } }
                        td { (role_word(*role)) }
                        @if view.may_manage() {
                            td { @if view.role.governs(*role) { (change(view, user, *role)) } }
                        }
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
        form method="post" action=(path("role")) {
            label for=(id) { "Role of " bdi { (user.name) } }
            div.row {
                select id=(id) name="role" {
                    @for one in Role::ALL.into_iter().filter(|one| view.role.governs(*one)) {
                        option value=(one.as_str()) selected[one == role] { (role_word(one)) }
                    }
                }
                button { "Change" }
            }
        }
        details {
            summary { "Remove" }
            form method="post" action=(path("remove")) {
                button { "Remove " bdi { (user.name) } }
            }
        }
    }
}

fn invitations(view: &MembersView<'_>) -> Markup {
    let path = |pending: &Invitation, verb: &str| {
        format!("/teams/{}/invitations/{}/{verb}", view.team.id(), pending.hash.0)
    };
    html! {
        h2 { "Pending invitations" }
        table {
            caption { "Each of them takes a seat" }
            thead {
                tr {
                    th scope="col" { "Address" } th scope="col" { "Role" } th scope="col" { "Until" }
                    @if view.may_manage() { th scope="col" { "Change" } }
                }
            }
            tbody {
                @for (invitation, is_valid) in &view.invitations {
                    tr {
                        td { bdi { (invitation.email) } }
                        td { (role_word(invitation.role)) }
                        td {
                            @if *is_valid {
                                (layout::instant(invitation.expires_at))
                            } @else {
                                "Not valid: its sender may no longer invite people"
                            }
                        }
                        @if view.may_manage() {
                            td {
                                @if !is_valid {
                                    form method="post" action=(path(invitation, "renew")) {
                                        button { "Renew" }
                                    }
                                } @else if view.sends_mail {
                                    form method="post" action=(path(invitation, "mail")) {
                                        button { "Send again" }
                                    }
                                }
                                form method="post" action=(path(invitation, "withdraw")) {
                                    button { "Withdraw" }
                                }
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
        p {
            "They get "
            @if view.sends_mail { "an email" } @else { "a link from you" }
            " and become a member once they accept."
        }
        form method="post" action={ "/teams/" (view.team.id()) "/members" } {
            label for="email" { "Address" }
            (email.shown())
            input #email name="email" required autocomplete="off" inputmode="email"
                value=(refused.map_or("", |refused| refused.email))
                aria-describedby=[email.described()] aria-invalid=[email.invalid()];
            label for="name" { "Name, for a new account (the address when left out)" }
            (name.shown())
            input #name name="name" autocomplete="off"
                value=(refused.map_or("", |refused| refused.name))
                aria-describedby=[name.described()] aria-invalid=[name.invalid()];
            label for="role" { "Role" }
            (role.shown())
            select #role name="role" aria-describedby=[role.described()] {
                @for one in NEW_ROLES {
                    option value=(one.as_str()) selected[one.as_str() == chosen] { (role_word(one)) }
                }
            }
            p { button { "Invite" } }
        }
    }
}
