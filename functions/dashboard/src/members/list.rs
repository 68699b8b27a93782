//! The members of a team and its pending invitations.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::{TeamMember, pending_invitations, team_members};
use vedette_domain::accounts::account::{Permission, Role, User};
use vedette_domain::accounts::invitation::Invitation;
use vedette_domain::id::UserId;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::TeamWithSettings;

use super::role_word;
use crate::RequestContext;
use crate::clock::Clock;
use crate::form::FormInput;
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

/// The form for a new member before somebody fills it in.
pub(super) fn blank() -> FormInput {
    let mut form = FormInput::default();
    form.put("role", Role::Member.as_str());
    form
}

/// Shows the members.
pub(crate) async fn list(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    page(context, &team, &blank(), None).await
}

/// The page with its form, or with what is wrong with what was done with a member.
pub(super) async fn page(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    form: &FormInput,
    problem: Option<&str>,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let viewer = (caller.user.id, caller.role_in(team.id())?);
    let members = team_members(&context.app.store, team.id()).await?;
    let (sends_mail, clock) = (context.app.service.sends_mail, context.clock(Some(&team.team)));
    let view = MembersView::new(team, viewer, members, sends_mail, clock);
    let status = match problem {
        None => form.status(),
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let content = html! {
        @if let Some(problem) = problem { (layout::problem(problem)) }
        @if status == StatusCode::OK { (layout::notice(context, &NOTICES)) }
        (content(&view, form))
    };
    let title = Heading::new("Members").lead(html! {
        p.quiet { (counted(team.team.members as usize, "member", "members")) " of " bdi { (team.team.name) } }
    });
    let content = beside_others(team.id(), Part::Members, &content);
    Ok(layout::team_page(context, (&team.team, NavTab::Members), status, title, &content))
}

/// What the page shows.
struct MembersView<'a> {
    team: &'a TeamWithSettings,
    /// The signed-in user, and their role.
    viewer: UserId,
    role: Role,
    /// In the order of their roles, owners first.
    members: Vec<TeamMember>,
    /// Each with whether it can be accepted. It cannot if its sender may no longer invite people.
    invitations: Vec<(&'a Invitation, bool)>,
    sends_mail: bool,
    clock: Clock<'a>,
}

impl<'a> MembersView<'a> {
    fn new(
        team: &'a TeamWithSettings,
        (viewer, role): (UserId, Role),
        members: Vec<TeamMember>,
        sends_mail: bool,
        clock: Clock<'a>,
    ) -> Self {
        let invitations = pending_invitations(team, &members);
        Self { team, viewer, role, members, invitations, sends_mail, clock }
    }

    fn may_manage(&self) -> bool {
        self.role.grants(Permission::ManageMembers)
    }
}

fn content(view: &MembersView<'_>, form: &FormInput) -> Markup {
    html! {
        (members(view))
        @if !view.invitations.is_empty() { (invitations(view)) }
        @if view.may_manage() {
            (invitation_form(view, form))
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
            @for TeamMember { user, role } in &view.members {
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

fn invitation_form(view: &MembersView<'_>, form: &FormInput) -> Markup {
    let [email, name, role] = ["email", "name", "role"].map(|field| form.problems(field));
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
                            value=(form.text("email"))
                            aria-describedby=[email.described()] aria-invalid=[email.invalid()];
                        (email.shown())
                    }
                    div.fld {
                        label for="name" { "Name" }
                        input #name name="name" autocomplete="off"
                            value=(form.text("name"))
                            aria-describedby=[name.described()] aria-invalid=[name.invalid()];
                        (name.shown())
                        p.help { "Optional, for a new account." }
                    }
                    div.fld {
                        label for="role" { "Role" }
                        select #role name="role" aria-describedby=[role.described()] {
                            @for one in Role::NEW {
                                option value=(one.as_str()) selected[form.has("role", one.as_str())] { (role_word(one)) }
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
