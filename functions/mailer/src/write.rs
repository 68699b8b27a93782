//! Sends sign-in links and invitations, asks readers to confirm a subscription, and sends a member the report that they
//! have requested. The secrets that let somebody in are
//! created here, so that only the reader of the email has them.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tracing::warn;
use vedette_domain::accounts::invitation::Invitation;
use vedette_domain::accounts::session::{LINK_LIFETIME, SessionHash, SignInLink};
use vedette_domain::alerts::link;
use vedette_domain::alerts::mail::{Asker, TransactionalMail, TransactionalMailKind};
use vedette_domain::checks::limits::LONGEST_DELAY;
use vedette_domain::id::{ListId, SubscriptionId, TeamId, UserId};
use vedette_domain::message::{MailRequest, Message};
use vedette_domain::reports::ReportPeriod;
use vedette_notifier::send::{OutgoingMessage, SendOutcome, SendReason};
use vedette_notifier::{Recipient, Transport};
use vedette_runtime::App;

use crate::MailerError;
use crate::report::MadeReport;

/// When a transactional email that failed is sent again, unless the receiver says when.
pub(crate) const RETRY: Duration = Duration::from_mins(2);
/// How long a member waits for a report.
const REPORT_WANTED_FOR: SignedDuration = SignedDuration::from_hours(24);

/// Sends a user a sign-in link, unless the request is too old.
pub(crate) async fn sign_in(
    app: &App,
    transport: &impl Transport,
    user: UserId,
    asked_at: Timestamp,
) -> Result<(), MailerError> {
    let now = app.clock.now();
    if now.duration_since(asked_at) >= LINK_LIFETIME {
        return Ok(());
    }
    let message = MailRequest::SignIn { user, asked_at };
    let Some(user) = app.store.user(user).await? else { return Ok(()) };
    let base = app.service.pages_base().ok_or(MailerError::NoBase)?;
    let secret = app.entropy.session_secret()?;
    let link = SignInLink::new(&secret, user.id, now).by_mail();
    app.store.create_sign_in_link(&link).await?;
    let mail = TransactionalMail {
        kind: TransactionalMailKind::SignIn,
        url: link::sign_in(base, &secret),
        unsubscribe_url: None,
    };
    send(app, transport, &user.email, mail, link.hash.0, message).await
}

/// Sends an invitation to its address, unless it was accepted or withdrawn, or its sender may no longer give the role.
pub(crate) async fn invitation(
    app: &App,
    transport: &impl Transport,
    team: TeamId,
    listed: &SessionHash,
) -> Result<(), MailerError> {
    let now = app.clock.now();
    let found = futures::try_join!(app.store.team(team, now), app.store.invitation(listed))?;
    let (Some(team), Some(invitation)) = found else { return Ok(()) };
    if team.team.invitation(&invitation.hash).is_none() {
        return Ok(());
    }
    let inviter = invitation.by;
    let (asked_by, place) = futures::try_join!(
        app.store.user(inviter),
        app.store.membership(inviter, invitation.team)
    )?;
    let is_backed = invitation.is_backed_by(place.map(|place| place.role));
    let Some(asked_by) = asked_by.filter(|_| is_backed) else { return Ok(()) };
    let base = app.service.pages_base().ok_or(MailerError::NoBase)?;
    let secret = app.entropy.session_secret()?;
    let hash = secret.hash();
    let mailed = Invitation { by_mail: true, ..invitation };
    app.store.put_invitation_link(&hash, &mailed).await?;
    let asked_by = Asker::of(&asked_by);
    let kind = TransactionalMailKind::Invitation { asked_by, team: team.team.name };
    let mail =
        TransactionalMail { kind, url: link::invitation(base, &secret), unsubscribe_url: None };
    let message = MailRequest::Invitation { team: mailed.team, invitation: listed.clone() };
    send(app, transport, &mailed.email, mail, hash.0, message).await
}

/// Asks a reader to confirm a subscription, unless they have done so or the request has expired.
pub(crate) async fn subscription(
    app: &App,
    transport: &impl Transport,
    list: ListId,
    id: SubscriptionId,
) -> Result<(), MailerError> {
    let (now, read) = (app.clock.now(), app.store.subscription(list, id).await?);
    let Some(subscription) = read.filter(|one| one.is_pending(now)) else { return Ok(()) };
    let team = subscription.team;
    let kind = match (subscription.page(), &subscription.reports) {
        (None, Some(reports)) => {
            let Some(of) = app.store.team(team, now).await? else { return Ok(()) };
            TransactionalMailKind::Recipient { team: of.team.name, reports: reports.clone() }
        }
        (Some(page), _) => {
            let Some(of) = app.store.status_page(team, page).await? else { return Ok(()) };
            TransactionalMailKind::Subscription { page: of.name }
        }
        (None, None) => return Ok(()),
    };
    let base = app.service.pages_base().ok_or(MailerError::NoBase)?;
    let mail = TransactionalMail {
        kind,
        url: link::confirm_subscription(base, &subscription),
        unsubscribe_url: None,
    };
    let message_id = format!("{id}.{}", subscription.requested_at.as_millisecond());
    let message = MailRequest::Subscription { team, list, subscription: id };
    send(app, transport, &subscription.email, mail, message_id, message).await
}

/// Sends a member a report, unless they asked too long ago, or have left the team.
pub(crate) async fn report(
    app: &App,
    transport: &impl Transport,
    (team, period, group): (TeamId, ReportPeriod, Option<&str>),
    user: UserId,
    asked_at: Timestamp,
) -> Result<(), MailerError> {
    if app.clock.now().duration_since(asked_at) >= REPORT_WANTED_FOR {
        return Ok(());
    }
    let (made, user, membership) = futures::try_join!(
        MadeReport::read(app, team, period),
        app.store.user(user),
        app.store.membership(user, team),
    )?;
    let (Some(made), Some(user), Some(_)) = (made, user, membership) else { return Ok(()) };
    let base = app.service.pages_base().ok_or(MailerError::NoBase)?;
    let Some(report) = made.report(group) else { return Ok(()) };
    let mail = made.mail(base, report, None);
    let id = format!("{team}.{period}.{}.{}", user.id, asked_at.as_millisecond());
    let group = group.map(str::to_owned);
    let message = MailRequest::Report { team, period, group, user: user.id, asked_at };
    send(app, transport, &user.email, mail, id, message).await
}

/// Sends a transactional email. If it fails, it is sent again, as long as its link would be valid: `message` requests it
/// again. The email is not in the table, so a link that lets somebody in gets a new secret.
async fn send(
    app: &App,
    transport: &impl Transport,
    to: &str,
    mail: TransactionalMail,
    id: String,
    message: MailRequest,
) -> Result<(), MailerError> {
    let email = OutgoingMessage::TransactionalMail { mail, id };
    match transport.send(Recipient::Address(to), &email, SendReason::Due, app.clock.now()).await {
        SendOutcome::Delivered { .. } => Ok(()),
        SendOutcome::Retry { after, why } => {
            warn!(why, "could not send a transactional email; trying again later");
            ask_again(app, message, after.unwrap_or(RETRY)).await
        }
        // The log already says that email is held back. The wait may end sooner than expected.
        SendOutcome::Held { after, .. } => ask_again(app, message, after.min(RETRY)).await,
        SendOutcome::Refused { why } | SendOutcome::Gone { why } => {
            warn!(why, "a transactional email was refused");
            Ok(())
        }
    }
}

async fn ask_again(app: &App, message: MailRequest, after: Duration) -> Result<(), MailerError> {
    let delay = after.min(LONGEST_DELAY.unsigned_abs());
    Ok(app.queue.send(&Message::Mail(message), delay).await?)
}
