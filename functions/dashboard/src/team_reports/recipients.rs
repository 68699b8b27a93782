//! Who is sent the reports of a team by email, and sending one to the member who looks at it.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::{ActionError, add_recipient as add, remove_recipient as remove, send_report};
use vedette_domain::accounts::account::Permission;
use vedette_domain::alerts::link;
use vedette_domain::id::SubscriptionId;
use vedette_domain::reports::{ReportKind, ReportList, ReportPeriod};
use vedette_domain::status_pages::{Subscription, SubscriptionRefusal};
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_store::TeamWithSettings;

use crate::RequestContext;
use crate::form::{Choice, FormInput, capitalized, field, sentence};
use crate::layout::{self, Heading, NavTab};

/// The notices of forms, by the value in the URL.
pub(super) const NOTICES: [(&str, &str); 4] = [
    ("asked", "Recipient added. Nothing is sent until its reader follows the link in an email."),
    ("added", "Recipient added."),
    ("removed", "Recipient removed."),
    ("sent", "The report is on its way to your email address."),
];

/// The recipients, and the form that adds one.
pub(super) fn card(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    recipients: &[Subscription],
    groups: &[String],
) -> Result<Markup, ApiError> {
    let role = context.member()?.caller.role_in(team.id())?;
    let may_manage = role.grants(Permission::ManageChannels) && context.app.service.sends_mail;
    let mut blank = FormInput::default();
    blank.put("kind", "month");
    Ok(html! {
        @if may_manage || !recipients.is_empty() {
            section.card {
                header {
                    div {
                        h2 { "Recipients" }
                        p.quiet.small { "Recipients get each new report by email. They need not be members." }
                    }
                }
                @if !recipients.is_empty() {
                    ul.rows { @for recipient in recipients { (row(team, groups, recipient, may_manage)) } }
                }
                @if may_manage { (form(team, groups, &blank)) }
            }
        }
    })
}

fn row(
    team: &TeamWithSettings,
    groups: &[String],
    recipient: &Subscription,
    may_manage: bool,
) -> Markup {
    let group = recipient.reports.as_ref().and_then(|reports| reports.group.as_ref());
    let reports = recipient.reports.as_ref().map(|reports| capitalized(&reports.name()));
    html! {
        li.w {
            div.grow {
                b { bdi { (recipient.email) } }
                p.quiet.small {
                    bdi { (reports.unwrap_or_default()) }
                    @if recipient.confirmed_at.is_none() { " · Waiting for confirmation" }
                    @if group.is_some_and(|group| !groups.contains(group)) { " · There is no such group, so nothing is sent" }
                }
            }
            @if may_manage {
                form method="post" action={ "/teams/" (team.id()) "/recipients/" (recipient.id) "/remove" } {
                    button.s { "Remove" span.hide { " " (recipient.email) } }
                }
            }
        }
    }
}

fn form(team: &TeamWithSettings, groups: &[String], input: &FormInput) -> Markup {
    let kinds = [Choice::new("month", "Monthly"), Choice::new("week", "Weekly")];
    let all = Choice::new("", "All sites");
    let groups = groups.iter().map(|group| Choice::new(group, group));
    let groups: Vec<_> = std::iter::once(all).chain(groups).collect();
    html! {
        form.in.stack.gl method="post" novalidate action={ "/teams/" (team.id()) "/recipients" } {
            div.cols.c15 {
                (input.input("email", "email", "Email address"))
                (input.select("kind", "Reports", &kinds))
                @if groups.len() > 1 { (input.select("group", "About", &groups)) }
            }
            div.row { button.main { "Add recipient" } }
        }
    }
}

/// Adds a recipient. Only a form with what is wrong with it is shown here: the function that serves it reads no reports.
pub(crate) async fn add_recipient(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    if !context.app.service.sends_mail {
        return Err(ApiError::NotFound);
    }
    let sent = FormInput::sent(context.body);
    let caller = &context.member()?.caller;
    let group = Some(sent.text("group")).filter(|name| !name.is_empty()).map(str::to_owned);
    let kind = if sent.text("kind") == "week" { ReportKind::Week } else { ReportKind::Month };
    let groups = context.app.store.site_groups(team.id()).await?.groups;
    let groups: Vec<String> = groups.into_iter().map(|group| group.name).collect();
    if group.as_ref().is_some_and(|name| !groups.contains(name)) {
        return Err(ApiError::BadRequest("The team has no such group."));
    }
    let reports = ReportList { kind, group };
    let why = match sent.email() {
        Err(why) => why,
        Ok(email) => {
            let by = (caller, context.source());
            match add(context.app, team.id(), &reports, email, by).await {
                Err(ActionError::Refused(
                    refusal @ (SubscriptionRefusal::ManyRecipients
                    | SubscriptionRefusal::MailboxAskedOften),
                )) => ValidationError::new("email", sentence(&refusal.to_string())),
                added => {
                    let notice = if added?.confirmed_at.is_some() { "added" } else { "asked" };
                    return layout::redirect(&format!(
                        "/teams/{}/reports?notice={notice}",
                        team.id()
                    ));
                }
            }
        }
    };
    let content = html! { section.card { (form(&team, &groups, &sent.refused(why))) } };
    let heading =
        Heading::new("Add a recipient").below(format!("/teams/{}/reports", team.id()), "Reports");
    let tab = (&team.team, NavTab::Reports);
    Ok(layout::team_page(context, tab, StatusCode::UNPROCESSABLE_ENTITY, heading, &content))
}

/// Removes a recipient.
pub(crate) async fn remove_recipient(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let id = context.parameters.id("subscription", SubscriptionId::parse)?;
    let recipient = context.app.store.subscription(team.id(), id).await?;
    let recipient = recipient.ok_or(ApiError::NotFound)?;
    remove(context.app, &recipient, context.member()?.caller.by()).await?;
    layout::redirect(&format!("/teams/{}/reports?notice=removed", team.id()))
}

/// Sends the report to the member who asks for it.
pub(crate) async fn send(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    if !context.app.service.sends_mail {
        return Err(ApiError::NotFound);
    }
    let period = context.parameters.id("period", |text| text.parse::<ReportPeriod>().ok())?;
    let group = field(context.body, "group");
    let group = Some(group.into_owned()).filter(|group| !group.is_empty());
    let user = context.member()?.caller.user.id;
    let page = link::report("", team.id(), period, group.as_deref());
    let notice = if group.is_some() { "&notice=sent" } else { "?notice=sent" };
    send_report(context.app, team.id(), (period, group), user).await?;
    layout::redirect(&format!("{page}{notice}"))
}
