//! An alert as an email, and transactional emails, which ask their reader to follow a link. A message has plain text,
//! and HTML with the same content.
//!
//! Nothing in it is random: the same input yields the same message, byte for byte.

mod report;

use std::borrow::Cow;

use jiff::Timestamp;
use lettre::address::AddressError;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MessageBuilder, MultiPart, SinglePart};
use lettre::{Address, Message};
use maud::{DOCTYPE, Markup, html};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::text::{cut, one_line, paragraphs};
use super::unlinked::{address, unlinked};
use super::{Alert, Thread, Tone};
use crate::accounts::account::User;
use crate::reports::ReportList;
use crate::status_pages::IncidentNews;

pub use report::ReportMail;

/// The longest name in a subject, in characters.
const SUBJECT_NAME: usize = 255;
/// The longest name, in characters, in an email to somebody who has not asked for any.
const STRANGERS_NAME: usize = 64;

/// The parts of an email besides its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The sender: `Vedette <alerts@example.com>`, or a bare address.
    pub from: String,
    /// The recipient's address.
    pub to: String,
    /// The id of this message, without brackets: `1234@example.com`. An email that is sent again has the same id.
    pub message_id: String,
    /// When it is sent.
    pub at: Timestamp,
    /// Where the recipient unsubscribes: a POST does it, and a GET asks first.
    pub unsubscribe_url: Option<String>,
    /// The host name in the ids of threads.
    pub host: String,
}

/// An email that asks its reader to follow a link.
#[derive(Clone, PartialEq, Eq)]
pub struct TransactionalMail {
    /// What it asks for.
    pub kind: TransactionalMailKind,
    /// Where the link leads. It may carry a secret, so there is no `Debug`.
    pub url: String,
    /// Where the recipient unsubscribes, if the email is one of several that they have subscribed to.
    pub unsubscribe_url: Option<String>,
}

/// What a transactional email asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionalMailKind {
    /// To confirm an address for alerts.
    Confirmation {
        /// The user who asks; `None` for the operator.
        asked_by: Option<Asker>,
        /// The name of the team.
        team: String,
    },
    /// To join a team.
    Invitation {
        /// The user who invites.
        asked_by: Asker,
        /// The name of the team.
        team: String,
    },
    /// To sign in, which the reader has requested.
    SignIn,
    /// To confirm a subscription to the incidents of a status page.
    Subscription {
        /// The name of the page.
        page: String,
    },
    /// To confirm an address for reports, for which a member of the team has added it.
    Recipient {
        /// The name of the team.
        team: String,
        /// Which reports.
        reports: ReportList,
    },
    /// To read a report, which the email summarizes.
    Report(Box<ReportMail>),
    /// To read about an incident on a status page that the reader has subscribed to.
    Incident(IncidentNews),
}

/// The user who requests a transactional email to somebody else. The email names them, because its reader may know
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// The name that they chose.
    pub name: String,
    /// Their address.
    pub email: String,
}

impl Asker {
    /// The user as the one who asks.
    pub fn of(user: &User) -> Self {
        Self { name: user.name.clone(), email: user.email.clone() }
    }

    fn words(&self) -> String {
        let email = address(&self.email);
        match self.name == self.email {
            true => email,
            false => format!("{} ({email})", strangers_name(&self.name)),
        }
    }
}

/// A name in an email that its reader has not asked for. Strangers choose their own names, so a name must be too short
/// for a message, and must not become a link.
fn strangers_name(text: &str) -> String {
    cut(&unlinked(text), STRANGERS_NAME, |_| 1)
}

/// The words of a transactional email.
struct Words {
    subject: Cow<'static, str>,
    request: String,
    button: &'static str,
    otherwise: Cow<'static, str>,
}

impl TransactionalMailKind {
    fn words(&self) -> Words {
        match self {
            Self::Confirmation { asked_by, team } => Words {
                subject: "Confirm this address for alerts".into(),
                request: match asked_by {
                    Some(asked_by) => format!(
                        "{} wants to send alerts about the websites of the team “{}” to this address.",
                        asked_by.words(),
                        strangers_name(team)
                    ),
                    None => format!(
                        "The team “{}” wants to send alerts about its websites to this address.",
                        strangers_name(team)
                    ),
                },
                button: "Confirm this address",
                otherwise: "No alerts are sent here until you confirm. If you do not want them, ignore this email.".into(),
            },
            Self::Invitation { asked_by, team } => Words {
                subject: "Invitation to a team on Vedette".into(),
                request: format!(
                    "{} has invited you to the team “{}”, which monitors its websites with Vedette.",
                    asked_by.words(),
                    strangers_name(team)
                ),
                button: "View the invitation",
                otherwise: "The link expires in a week. If you do not want to join, ignore this email.".into(),
            },
            Self::SignIn => Words {
                subject: "Sign in to Vedette".into(),
                request: "Use this link to sign in to Vedette.".to_owned(),
                button: "Sign in",
                otherwise: "The link works once and expires in 15 minutes. If you did not request it, ignore this email.".into(),
            },
            Self::Subscription { page } => Words {
                subject: "Confirm your subscription".into(),
                request: format!(
                    "Somebody, probably you, asked to send updates about incidents on the status page “{}” to this address.",
                    strangers_name(page)
                ),
                button: "Confirm subscription",
                otherwise: "Nothing is sent here until you confirm. The link expires in two days. If you do not want updates, ignore this email.".into(),
            },
            Self::Recipient { team, reports } => Words {
                subject: "Confirm this address for reports".into(),
                request: format!(
                    "The team “{}” wants to send its {} to this address.",
                    strangers_name(team),
                    unlinked(&reports.name())
                ),
                button: "Confirm this address",
                otherwise: "No reports are sent here until you confirm. The link expires in two days. If you do not want them, ignore this email.".into(),
            },
            Self::Report(of) => Words {
                subject: of.subject().into(),
                request: of.summary(),
                button: "View the whole report",
                otherwise: of.report.method().join(" ").into(),
            },
            Self::Incident(news) => Words {
                subject: format!(
                    "[{}] {}: {}",
                    news.status.title(),
                    one_line(&news.page),
                    cut(&news.title, SUBJECT_NAME, |_| 1)
                )
                .into(),
                request: news.text.clone(),
                button: "Open the status page",
                otherwise: format!("You have subscribed to the status page “{}”.", one_line(&news.page)).into(),
            },
        }
    }
}

/// An email that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// An address is invalid.
    #[error("the address of the {role} is not valid")]
    Address {
        /// Whose: the sender's or the recipient's.
        role: &'static str,
        /// What is wrong with it.
        source: AddressError,
    },
    /// A part of it is missing.
    #[error("the message cannot be composed")]
    Incomplete(#[from] lettre::error::Error),
}

/// The email of an alert: its bytes, its sender and its recipient.
///
/// # Errors
///
/// When an address is not valid.
pub fn message(alert: &Alert, envelope: &Envelope) -> Result<Message, MailError> {
    let alert = alert.tamed();
    // Gmail ignores text in brackets when it compares subjects. The state changes within a thread, so it is in
    // brackets; the name is not.
    let subject = format!("[{}] {}", alert.state, cut(&alert.name, SUBJECT_NAME, |_| 1));
    let mut mail = addressed(envelope, &subject)?;
    if let Some(Thread { issue, opened_at }) = alert.thread {
        // SES replaces the ids of messages, so all emails of a thread refer to an id that no message has.
        let root = format!("<i.{issue}.{}@{}>", opened_at.as_millisecond(), envelope.host);
        mail = mail.in_reply_to(root.clone()).references(root);
        mail = with(mail, "X-Vedette-Issue", issue.to_string());
    }
    let unsubscribe = envelope.unsubscribe_url.as_deref();
    let (plain, html) = (plain(&alert, unsubscribe), page(&alert, unsubscribe));
    Ok(unsubscribable(mail, unsubscribe).multipart(alternatives(plain, html))?)
}

/// A transactional email as a message.
///
/// # Errors
///
/// When an address is not valid.
pub fn mail(mail: &TransactionalMail, envelope: &Envelope) -> Result<Message, MailError> {
    let Words { subject, request, button: follow, otherwise } = mail.kind.words();
    let (url, unsubscribe) = (&mail.url, mail.unsubscribe_url.as_deref());
    if let TransactionalMailKind::Report(of) = &mail.kind {
        let (plain, html) =
            (of.plain((follow, url), unsubscribe), of.html((follow, url), unsubscribe));
        let written = unsubscribable(addressed(envelope, &subject)?, unsubscribe);
        return Ok(written.multipart(alternatives(plain, html))?);
    }
    let affected = match &mail.kind {
        TransactionalMailKind::Incident(news) if !news.components.is_empty() => {
            Some(format!("Affects: {}", news.components.join(", ")))
        }
        _ => None,
    };
    let mut parts = vec![request.clone()];
    parts.extend(affected.clone());
    parts.extend([format!("{follow}: {url}"), otherwise.clone().into_owned()]);
    parts.extend(unsubscribe.map(signature));
    let plain = parts.join("\n\n") + "\n";
    let content = html! {
        p { @for (place, line) in request.lines().enumerate() { @if place > 0 { br; } (line) } }
        @if let Some(affected) = &affected { p { (affected) } }
        (button(follow, url))
        p { (otherwise) }
        @if let Some(url) = unsubscribe { (unsubscribe_link(url)) }
    };
    let preview = request.lines().next().unwrap_or_default();
    let html = document(Tone::Neutral, &subject, preview, &content);
    let mut written = addressed(envelope, &subject)?;
    if let TransactionalMailKind::Incident(news) = &mail.kind {
        // SES replaces the ids of messages, so all emails of a thread refer to an id that no message has.
        let root = format!("<incident.{}@{}>", news.incident, envelope.host);
        written = written.in_reply_to(root.clone()).references(root);
    }
    Ok(unsubscribable(written, unsubscribe).multipart(alternatives(plain, html))?)
}

/// A message with its sender, recipient and subject, marked so that programs do not reply to it.
fn addressed(envelope: &Envelope, subject: &str) -> Result<MessageBuilder, MailError> {
    let invalid = |role| move |source| MailError::Address { role, source };
    let from: Mailbox = envelope.from.parse().map_err(invalid("sender"))?;
    let to: Address = envelope.to.parse().map_err(invalid("recipient"))?;
    let mail = Message::builder()
        .from(from)
        .to(Mailbox::new(None, to))
        // Text that looks like an encoded word would be decoded.
        .subject(one_line(subject).replace("=?", "= ?"))
        .date(envelope.at.into())
        .message_id(Some(format!("<{}>", envelope.message_id)));
    let mail = with(mail, "Auto-Submitted", "auto-generated".to_owned());
    Ok(with(mail, "X-Auto-Response-Suppress", "All".to_owned()))
}

/// A message with the headers from which email programs offer to unsubscribe with one click (RFC 8058).
fn unsubscribable(mail: MessageBuilder, unsubscribe: Option<&str>) -> MessageBuilder {
    let Some(url) = unsubscribe else { return mail };
    let mail = with(mail, "List-Unsubscribe", format!("<{url}>"));
    with(mail, "List-Unsubscribe-Post", "List-Unsubscribe=One-Click".to_owned())
}

fn with(mail: MessageBuilder, name: &'static str, value: String) -> MessageBuilder {
    mail.raw_header(HeaderValue::new(HeaderName::new_from_ascii_str(name), value))
}

fn alternatives(plain: String, html: String) -> MultiPart {
    // No text contains its own hash, so no line of it can look like the boundary.
    let hash = Sha256::new().chain_update(&plain).chain_update(&html).finalize();
    let boundary = data_encoding::HEXLOWER.encode(&hash[..20]);
    MultiPart::alternative()
        .boundary(boundary)
        .singlepart(SinglePart::plain(plain))
        .singlepart(SinglePart::html(html))
}

const UNSUBSCRIBE: &str = "Unsubscribe this address";

fn plain(alert: &Alert, unsubscribe: Option<&str>) -> String {
    let [lines, details, notes] = alert.texts();
    let signature = unsubscribe.map(signature).unwrap_or_default();
    paragraphs([alert.title(), lines, details, alert.plain_links(), notes, signature]) + "\n"
}

/// The link to unsubscribe, as plain text. Email programs treat the two hyphens as the start of a signature.
fn signature(url: &str) -> String {
    format!("-- \n{UNSUBSCRIBE}: {url}")
}

/// The link to unsubscribe, as HTML.
fn unsubscribe_link(url: &str) -> Markup {
    html! {
        p style="font-size:12px;opacity:.7" { a href=(url) style="color:inherit" { (UNSUBSCRIBE) } }
    }
}

fn page(alert: &Alert, unsubscribe: Option<&str>) -> String {
    let content = html! {
        @for line in &alert.lines {
            p { (line) }
        }
        @if alert.details().next().is_some() {
            table role="presentation" cellpadding="0" cellspacing="0" style="margin:16px 0" {
                @for (label, value) in alert.details() {
                    tr {
                        td style="padding:2px 16px 2px 0;opacity:.7;vertical-align:top" { (label) }
                        td style="padding:2px 0" { (value) }
                    }
                }
            }
        }
        @for link in alert.links() { (button(link.text, &link.url)) }
        @if let Some(runbook) = &alert.runbook {
            p { b { "Notes:" } @for line in runbook.lines() { br; (line) } }
        }
        @if let Some(url) = unsubscribe { (unsubscribe_link(url)) }
    };
    let first = alert.lines.first().map(String::as_str).unwrap_or_default();
    document(alert.tone(), &alert.title(), first, &content)
}

fn button(text: &str, url: &str) -> Markup {
    html! {
        p { a href=(url) style="display:inline-block;padding:8px 16px;border:1px solid;border-radius:4px;color:inherit;text-decoration:none" { (text) } }
    }
}

/// A page with one column. `preview` is the text that a list of emails shows.
fn document(tone: Tone, title: &str, preview: &str, content: &Markup) -> String {
    let font = "font:15px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif";
    let bar = format!("border-left:4px solid {};padding-left:12px;font-size:18px", color(tone));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                meta name="color-scheme" content="light dark";
                meta name="supported-color-schemes" content="light dark";
                title { (title) }
            }
            body style=(font) {
                div style="display:none;max-height:0;overflow:hidden" { (preview) }
                table role="presentation" width="100%" style="max-width:600px" {
                    tr { td {
                        h1 style=(bar) { (title) }
                        (content)
                    } }
                }
            }
        }
    };
    page.into_string()
}

const fn color(tone: Tone) -> &'static str {
    match tone {
        Tone::Critical => "#d92d20",
        Tone::Warning => "#dc8a04",
        Tone::Info => "#2e7bd6",
        Tone::Good => "#1e9e5a",
        Tone::Neutral => "#80848e",
    }
}
