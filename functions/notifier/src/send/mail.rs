//! Email, and how it is sent: through Amazon SES, through an SMTP server, or into a folder.

use std::io;
use std::path::{Path, PathBuf};

use aws_types::SdkConfig;
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use lettre::Address;
use lettre::message::Mailbox;
use tokio::sync::watch;
use vedette_domain::alerts::mail::{self, Envelope};
use vedette_domain::text::disrupts_line;
use vedette_ops::ErrorChain;
use vedette_ops::config::{ConfigError, Read};
use vedette_runtime::Health;
use vedette_runtime::config::Service;

use super::hold::{Failure, Hold, SenderFailure};
use super::smtp::SmtpServer;
use super::{OutgoingMessage, SendOutcome, SendReason, ses};

/// The sender of emails that do not leave this machine.
const LOCAL_SENDER: &str = "vedette@localhost";

/// The sender's name, unless the deployment sets another one.
const NAME: &str = "Vedette";

const SMTP: &str = "VEDETTE_SMTP";
const MAIL_FROM: &str = Service::MAIL_FROM;
const MAIL_FROM_NAME: &str = "VEDETTE_MAIL_FROM_NAME";

/// The sender of emails, and how they are sent.
pub struct MailConfig {
    /// `None` if this deployment sends no email.
    from: Option<Mailbox>,
    way: MailTransport,
    hold: Hold,
}

/// How email is sent.
pub enum MailTransport {
    /// Amazon SES.
    Ses(Box<SdkConfig>),
    /// An SMTP server.
    Smtp(Box<SmtpServer>),
    /// Files `*.eml` in a folder, for somebody to read.
    Folder(PathBuf),
}

impl MailConfig {
    /// Reads the sender with its name, and the SMTP server. If no server is configured, email goes through `other`.
    ///
    /// # Errors
    ///
    /// The first variable that is missing or invalid. The text contains no password.
    pub fn read(read: Read<'_>, other: MailTransport) -> Result<Self, ConfigError> {
        let way = match read(SMTP) {
            Some(url) => {
                let server = SmtpServer::parse(url.trim());
                let server = server.map_err(|problem| invalid(SMTP, problem))?;
                MailTransport::Smtp(Box::new(server))
            }
            None => other,
        };
        let named = read(MAIL_FROM);
        let from = named.as_deref().or(match way {
            MailTransport::Folder(_) => Some(LOCAL_SENDER),
            MailTransport::Ses(_) | MailTransport::Smtp(_) => None,
        });
        let from = from.map(str::trim).map(str::parse::<Address>).transpose();
        let from = from.map_err(|_| invalid(MAIL_FROM, BARE_ADDRESS))?;
        let name = read(MAIL_FROM_NAME);
        let name = name.as_deref().map_or(NAME, str::trim);
        if name.is_empty() || name.chars().any(disrupts_line) {
            return Err(invalid(MAIL_FROM_NAME, "must be a name on one line"));
        }
        let from = from.map(|address| Mailbox::new(Some(name.to_owned()), address));
        if from.is_none() && matches!(way, MailTransport::Smtp(_)) {
            return Err(invalid(MAIL_FROM, "is not set, and emails need a sender"));
        }
        Ok(Self { from, way, hold: Hold::default() })
    }

    /// Whether emails reach people rather than a folder.
    pub const fn reaches_people(&self) -> bool {
        self.from.is_some() && !matches!(self.way, MailTransport::Folder(_))
    }

    /// Reports to `health` if no email can be sent.
    pub fn report_to(&mut self, health: Health) {
        self.hold.report_to(health);
    }

    /// Receives a number that changes when everything that was held back can be sent.
    pub(super) fn recoveries(&self) -> watch::Receiver<u64> {
        self.hold.recoveries()
    }

    /// Sends an email to an address, unless email is held back and nobody has just asked for this one.
    pub(crate) async fn send(
        &self,
        to: &str,
        message: &OutgoingMessage,
        reason: SendReason,
        now: Timestamp,
    ) -> SendOutcome {
        match self.hold.admit(reason, now) {
            Ok(admission) => {
                let sent = self.hand_over(to, message, now).await;
                self.hold.settle(admission, sent, now)
            }
            Err(held) => held,
        }
    }

    async fn hand_over(
        &self,
        to: &str,
        message: &OutgoingMessage,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let Some(from) = &self.from else {
            let why = format!("this service sends no mail: {MAIL_FROM} is not set");
            return Err(SenderFailure::refused(why).into());
        };
        let host = from.email.domain();
        let envelope = |id: &str, unsubscribe_url: Option<String>| Envelope {
            from: from.to_string(),
            to: to.to_owned(),
            message_id: format!("{id}@{host}"),
            at: now,
            unsubscribe_url,
            host: host.to_owned(),
        };
        let written = match message {
            OutgoingMessage::Alert { alert, id, unsubscribe_url, .. } => {
                mail::message(alert, &envelope(id, unsubscribe_url.clone()))
            }
            OutgoingMessage::TransactionalMail { mail, id } => {
                mail::mail(mail, &envelope(id, None))
            }
            OutgoingMessage::Event { .. } | OutgoingMessage::Snapshot { .. } => {
                return Err(Failure::Mail(SendOutcome::refused(
                    "an event cannot be sent by email",
                )));
            }
        };
        let written = written
            .map_err(|error| Failure::Mail(SendOutcome::refused(ErrorChain(&error).to_string())))?;
        let bytes = written.formatted();
        match &self.way {
            MailTransport::Ses(sdk) => {
                let addresses = ses::Addresses { from: from.email.as_ref(), to };
                ses::send(sdk, addresses, &bytes, now.into()).await
            }
            MailTransport::Smtp(server) => server.send(written.envelope(), &bytes).await,
            MailTransport::Folder(folder) => keep(folder, now, &bytes).await.map_err(|error| {
                SenderFailure::unavailable(format!("the folder for emails: {error}")).into()
            }),
        }
    }
}

/// SES lets functions send from one address only, and it compares addresses without names, as SMTP servers do.
const BARE_ADDRESS: &str = "must be a bare address; put the name into VEDETTE_MAIL_FROM_NAME";

fn invalid(name: &'static str, problem: &str) -> ConfigError {
    ConfigError { name, problem: problem.to_owned() }
}

/// Writes an email to a folder. Its file name begins with the time, so that files sort by time. A file appears only
/// when it is complete.
async fn keep(folder: &Path, now: Timestamp, bytes: &[u8]) -> io::Result<()> {
    let hash = ring::digest::digest(&ring::digest::SHA256, bytes);
    let hash = HEXLOWER.encode(&hash.as_ref()[..8]);
    let name = format!("{}-{hash}", now.strftime("%Y%m%dT%H%M%S.%3fZ"));
    let (part, whole) = (folder.join(format!("{name}.part")), folder.join(format!("{name}.eml")));
    tokio::fs::create_dir_all(folder).await?;
    tokio::fs::write(&part, bytes).await?;
    tokio::fs::rename(&part, &whole).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(vars: &[(&str, &str)], other: MailTransport) -> Result<MailConfig, String> {
        let read = |name: &str| {
            vars.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned())
        };
        MailConfig::read(&read, other).map_err(|error| error.to_string())
    }

    fn folder() -> MailTransport {
        MailTransport::Folder("mail".into())
    }

    #[test]
    fn without_a_server_mails_are_kept_in_a_folder() {
        let config = config(&[], folder()).expect("a configuration");
        assert!(matches!(config.way, MailTransport::Folder(_)));
        assert_eq!(sender(&config), "Vedette <vedette@localhost>");
    }

    fn sender(config: &MailConfig) -> String {
        config.from.as_ref().expect("a sender").to_string()
    }

    #[test]
    fn the_sender_has_an_address_and_a_name_of_its_own() {
        let from = (MAIL_FROM, " alerts@vedette.test ");
        let default = config(&[from], folder()).expect("a configuration");
        assert_eq!(sender(&default), "Vedette <alerts@vedette.test>");
        let named =
            config(&[from, (MAIL_FROM_NAME, "Ops, Berlin")], folder()).expect("a configuration");
        assert_eq!(sender(&named), "\"Ops, Berlin\" <alerts@vedette.test>");
    }

    #[test]
    fn on_aws_a_deployment_without_a_sender_sends_no_mail() {
        let sdk = SdkConfig::builder().build();
        let config = config(&[], MailTransport::Ses(Box::new(sdk))).expect("a configuration");
        assert!(config.from.is_none());
    }

    #[test]
    fn what_makes_no_sense_is_refused_without_its_password() {
        let from = (MAIL_FROM, "alerts@vedette.test");
        for (vars, said) in [
            (&[(SMTP, "https://ada:secret@mail.test"), from][..], "VEDETTE_SMTP: must be smtp://"),
            (&[(SMTP, "smtp://"), from], "VEDETTE_SMTP: must be"),
            (&[(SMTP, "mail.test:25"), from], "VEDETTE_SMTP: must be"),
            (&[(SMTP, "smtp://ada:12/secret@mail.test"), from], "VEDETTE_SMTP: must be"),
            (&[(SMTP, "smtps://ada:12?secret@mail.test"), from], "VEDETTE_SMTP: must be"),
            (&[(SMTP, "smtp://ada:12#secret@mail.test"), from], "VEDETTE_SMTP: must be"),
            (&[(SMTP, "smtp://ada:sec/ret@mail.test"), from], "VEDETTE_SMTP: must be"),
            (&[(SMTP, "smtp://mail.test")], "VEDETTE_MAIL_FROM: is not set, and emails need"),
            (&[(MAIL_FROM, "Vedette")], "VEDETTE_MAIL_FROM: must be a bare address"),
            (
                &[(MAIL_FROM, "Vedette <alerts@vedette.test>")],
                "VEDETTE_MAIL_FROM: must be a bare address; put the name into VEDETTE_MAIL_FROM_NAME",
            ),
            (&[from, (MAIL_FROM_NAME, " ")], "VEDETTE_MAIL_FROM_NAME: must be a name on one line"),
            (&[from, (MAIL_FROM_NAME, "A\nBcc: b@b")], "VEDETTE_MAIL_FROM_NAME: must be"),
        ] {
            let error = config(vars, folder()).err().unwrap_or_default();
            assert!(error.starts_with(said), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
