//! The members of a team and its pending invitations.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_domain::accounts::account::{Permission, Role, User};
use vedette_domain::accounts::invitation::Invitation;
use vedette_domain::id::UserId;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_store::{MemberRow, TeamWithSettings};

use super::{NEW_ROLES, role_word};
use crate::RequestContext;
use crate::form::Problems;
use crate::layout::{self, NavTab};

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
    let store = &context.app.store;
    let caller = &context.member()?.caller;
    let own = caller.role_in(team.id())?;
    let rows = store.members(team.id()).await?;
    let ids: Vec<UserId> = rows.iter().map(|row| row.user).collect();
    let mut users = store.users(ids).await?;
    let found = rows.iter().filter_map(|row| users.remove(&row.user).map(|user| (user, row.role)));
    let mut members: Vec<(User, Role)> = found.collect();
    members
        .sort_by(|(a, a_role), (b, b_role)| b_role.cmp(a_role).then_with(|| a.email.cmp(&b.email)));
    let status = match (&refused, problem) {
        (None, None) => StatusCode::OK,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let may_manage = own.grants(Permission::ManageMembers);
    let content = html! {
        @if let Some(problem) = problem { p.error role="alert" { (problem) } }
        @if status == StatusCode::OK { (layout::done(context, &SAID)) }
        table {
            caption { (members.len()) @if members.len() == 1 { " member" } @else { " members" } }
            thead {
                tr {
                    th scope="col" { "Name" } th scope="col" { "Address" } th scope="col" { "Role" }
                    @if may_manage { th scope="col" { "Change" } }
                }
            }
            tbody {
                @for (user, role) in &members {
                    tr {
                        td { bdi { (user.name) } }
                        td { bdi { (user.email) } }
                        td { (role_word(*role)) }
                        @if may_manage {
                            td {
                                @if own.governs(*role) { (change(team, user, *role, own)) }
                            }
                        }
                    }
                }
            }
        }
        @if !team.team.invitations.is_empty() {
            (invitations(context, team, &rows, own))
        }
        @if may_manage {
            h2 { "Invite somebody" }
            (form(context, team, refused))
        } @else {
            p { "Owners and admins of the team can invite and remove members." }
        }
        h2 { "Leave the team" }
        details {
            summary { "Leave" }
            p { "You see nothing of the team any more, and neither do your tokens." }
            form method="post" action={ "/teams/" (team.id()) "/members/" (caller.user.id) "/remove" } {
                button { "Leave this team" }
            }
        }
    };
    let title = format!("Members of {}", team.team.name);
    Ok(layout::team_page(context, (team.id(), NavTab::Members), status, &title, &content))
}

fn change(team: &TeamWithSettings, user: &User, role: Role, own: Role) -> Markup {
    let path = |verb: &str| format!("/teams/{}/members/{}/{verb}", team.id(), user.id);
    let id = format!("role-{}", user.id);
    html! {
        form method="post" action=(path("role")) {
            label for=(id) { "Role of " bdi { (user.name) } }
            div.row {
                select id=(id) name="role" {
                    @for one in Role::ALL.into_iter().filter(|one| own.governs(*one)) {
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

fn invitations(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    members: &[MemberRow],
    own: Role,
) -> Markup {
    let may_manage = own.grants(Permission::ManageMembers);
    let is_valid = |pending: &Invitation| {
        let inviter = members.iter().find(|row| row.user == pending.by);
        pending.is_backed_by(inviter.map(|row| row.role))
    };
    let path = |pending: &Invitation, verb: &str| {
        format!("/teams/{}/invitations/{}/{verb}", team.id(), pending.hash.0)
    };
    html! {
        h2 { "Pending invitations" }
        table {
            caption { "Each of them takes a seat" }
            thead {
                tr {
                    th scope="col" { "Address" } th scope="col" { "Role" } th scope="col" { "Until" }
                    @if may_manage { th scope="col" { "Change" } }
                }
            }
            tbody {
                @for invitation in &team.team.invitations {
                    tr {
                        td { bdi { (invitation.email) } }
                        td { (role_word(invitation.role)) }
                        td {
                            @if is_valid(invitation) {
                                (layout::instant(invitation.expires_at))
                            } @else {
                                "Not valid: its sender may no longer invite people"
                            }
                        }
                        @if may_manage {
                            td {
                                @if !is_valid(invitation) {
                                    form method="post" action=(path(invitation, "renew")) {
                                        button { "Renew" }
                                    }
                                } @else if context.app.service.sends_mail {
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

fn form(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    refused: Option<&Refused<'_>>,
) -> Markup {
    let why = refused.map(|refused| &refused.why);
    let [email, name, role] =
        ["email", "name", "role"].map(|field| Problems::of(why, field, field));
    let chosen = refused.map_or(Role::Member.as_str(), |refused| refused.role);
    html! {
        p {
            "They get "
            @if context.app.service.sends_mail { "an email" } @else { "a link from you" }
            " and become a member once they accept."
        }
        form method="post" action={ "/teams/" (team.id()) "/members" } {
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
