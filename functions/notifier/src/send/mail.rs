//! Mail, and the ways that it takes: Amazon SES, an SMTP server, a folder.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_types::SdkConfig;
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use lettre::message::Mailbox;
use lettre::transport::smtp::AsyncSmtpTransport;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncTransport, Tokio1Executor};
use percent_encoding::percent_decode_str;
use tokio::time::timeout;
use tracing::error;
use url::{Host, Url};
use vedette_domain::ErrorChain;
use vedette_domain::alert::mail::{self, Envelope};
use vedette_domain::config::{ConfigError, Read};
use vedette_runtime::config::Service;

use super::{Message, SendOutcome, ses};

/// For a whole mail, from the connection on.
const DEADLINE: Duration = Duration::from_secs(30);

/// While the operator has something to mend.
const HELD: Duration = Duration::from_hours(1);

/// The sender of mails that nobody but this machine gets.
const LOCAL_SENDER: &str = "Vedette <vedette@localhost>";

const SMTP: &str = "VEDETTE_SMTP";
const MAIL_FROM: &str = Service::MAIL_FROM;

/// From whom mails come, and the way that they take.
pub struct MailConfig {
    /// None where this deployment sends no mail.
    from: Option<Mailbox>,
    way: MailWay,
}

/// The way that mails take.
pub enum MailWay {
    /// Amazon SES.
    Ses(Box<SdkConfig>),
    /// An SMTP server.
    Smtp(Box<AsyncSmtpTransport<Tokio1Executor>>),
    /// Files `*.eml` in a folder, for a reader to look at.
    Folder(PathBuf),
}

impl MailConfig {
    /// Reads the sender, and the SMTP server; where none is named, mails go the `other` way.
    ///
    /// # Errors
    ///
    /// The first variable that is missing or invalid. The text holds no password.
    pub fn read(read: Read<'_>, other: MailWay) -> Result<Self, ConfigError> {
        let way = match read(SMTP) {
            Some(url) => {
                let server = smtp(url.trim()).map_err(|problem| invalid(SMTP, problem))?;
                MailWay::Smtp(Box::new(server))
            }
            None => other,
        };
        let named = read(MAIL_FROM);
        let from = named.as_deref().or(match way {
            MailWay::Folder(_) => Some(LOCAL_SENDER),
            MailWay::Ses(_) | MailWay::Smtp(_) => None,
        });
        let from = from.map(str::trim).map(str::parse::<Mailbox>).transpose();
        let from = from.map_err(|_| invalid(MAIL_FROM, "must be an address, or NAME <ADDRESS>"))?;
        if from.is_none() && matches!(way, MailWay::Smtp(_)) {
            return Err(invalid(MAIL_FROM, "is not set, and mails need a sender"));
        }
        Ok(Self { from, way })
    }

    /// Whether mails reach anybody else than who looks into a folder.
    pub const fn reaches_people(&self) -> bool {
        self.from.is_some() && !matches!(self.way, MailWay::Folder(_))
    }

    /// Sends a mail to an address.
    pub(super) async fn send(&self, to: &str, message: &Message, now: Timestamp) -> SendOutcome {
        let Some(from) = &self.from else {
            return SendOutcome::refused(format!(
                "this service sends no mail: {MAIL_FROM} is not set"
            ));
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
            Message::Alert { alert, id, unsubscribe_url } => {
                mail::message(alert, &envelope(id, unsubscribe_url.clone()))
            }
            Message::Letter { letter, id } => mail::letter(letter, &envelope(id, None)),
            Message::Event { .. } => return SendOutcome::refused("an event is no mail"),
        };
        let written = match written {
            Ok(written) => written,
            Err(error) => return SendOutcome::refused(ErrorChain(&error).to_string()),
        };
        let bytes = written.formatted();
        match &self.way {
            MailWay::Ses(sdk) => ses::send(sdk, to, &bytes, now.into()).await,
            MailWay::Smtp(server) => {
                let sent = timeout(DEADLINE, server.send_raw(written.envelope(), &bytes)).await;
                sent.map_or_else(
                    |_| SendOutcome::retry("the mail server does not answer"),
                    |sent| sent.map_or_else(|error| refused(&error), |_| SendOutcome::Delivered),
                )
            }
            MailWay::Folder(folder) => match keep(folder, now, &bytes).await {
                Ok(()) => SendOutcome::Delivered,
                Err(error) => SendOutcome::retry(format!("the folder of mails: {error}")),
            },
        }
    }
}

fn invalid(name: &'static str, problem: &str) -> ConfigError {
    ConfigError { name, problem: problem.to_owned() }
}

/// A server by its URL: `smtps` speaks TLS from the start; `smtp` changes to it where the server can,
/// and must where there is a password. Only to this machine everything goes in clear text.
fn smtp(url: &str) -> Result<AsyncSmtpTransport<Tokio1Executor>, &'static str> {
    let problem = "must be smtp://USER:PASSWORD@HOST:PORT or smtps://…, the user optional";
    let url = Url::parse(url).map_err(|_| problem)?;
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or(problem)?;
    let host = host.trim_matches(['[', ']']);
    let decoded = |text: &str| {
        let text = percent_decode_str(text).decode_utf8().map_err(|_| problem)?;
        Ok::<_, &'static str>(text.into_owned())
    };
    let password = url.password().map(decoded).transpose()?;
    let tls = || TlsParameters::new(host.to_owned()).map_err(|_| "names no valid host");
    let (port, tls) = match url.scheme() {
        "smtps" => (465, Tls::Wrapper(tls()?)),
        "smtp" if is_this_machine(&url) => (25, Tls::None),
        "smtp" if password.is_some() => (587, Tls::Required(tls()?)),
        "smtp" => (25, Tls::Opportunistic(tls()?)),
        _ => return Err(problem),
    };
    let mut server = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)
        .port(url.port().unwrap_or(port))
        .tls(tls)
        .timeout(Some(DEADLINE));
    if let Some(password) = password {
        server = server.credentials(Credentials::new(decoded(url.username())?, password));
    }
    Ok(server.build())
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        // Only special schemes have their addresses parsed.
        Some(Host::Domain(name)) => {
            let address = name.parse::<IpAddr>();
            name == "localhost" || address.is_ok_and(|address| address.is_loopback())
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Enhanced codes (RFC 3463) of a mailbox that does not exist, has moved, or is closed.
const NO_MAILBOX: [&str; 3] = ["5.1.1", "5.1.6", "5.2.1"];

/// What a server's refusal means.
fn refused(error: &lettre::transport::smtp::Error) -> SendOutcome {
    let why = format!("the mail server: {}", ErrorChain(error));
    let Some(code) = error.status().map(u16::from) else {
        return SendOutcome::Retry { after: None, why };
    };
    let said = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    let enhanced = said.split_whitespace().next().unwrap_or_default();
    match code {
        // It wants credentials, or others.
        530 | 534 | 535 | 538 => {
            error!(code, "no mail is sent until the mail server takes our credentials");
            SendOutcome::Retry { after: Some(HELD), why }
        }
        550..560 if NO_MAILBOX.contains(&enhanced) => SendOutcome::Gone { why },
        500.. => SendOutcome::Refused { why },
        _ => SendOutcome::Retry { after: None, why },
    }
}

/// Writes a mail into a folder. Its name begins with the time, so that they stand in order; what is
/// there is whole.
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

    fn config(vars: &[(&str, &str)], other: MailWay) -> Result<MailConfig, String> {
        let read = |name: &str| {
            vars.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned())
        };
        MailConfig::read(&read, other).map_err(|error| error.to_string())
    }

    fn folder() -> MailWay {
        MailWay::Folder("mail".into())
    }

    #[test]
    fn without_a_server_mails_are_kept_in_a_folder() {
        let config = config(&[], folder()).expect("a configuration");
        assert!(matches!(config.way, MailWay::Folder(_)));
        assert_eq!(config.from.expect("a sender").to_string(), LOCAL_SENDER);
    }

    #[test]
    fn on_aws_a_deployment_without_a_sender_sends_no_mail() {
        let sdk = SdkConfig::builder().build();
        let config = config(&[], MailWay::Ses(Box::new(sdk))).expect("a configuration");
        assert!(config.from.is_none());
    }

    #[test]
    fn a_password_is_never_sent_in_clear_text_to_another_machine() {
        for (url, tls) in [
            ("smtp://mail.test", "Opportunistic"),
            ("smtp://ada:secret@mail.test", "Required"),
            ("smtps://ada:secret@mail.test", "Wrapper"),
            ("smtp://ada:secret@localhost:2525", "None"),
            ("smtp://127.0.0.1:2525", "None"),
            ("smtp://[::1]", "None"),
            ("smtp://128.0.0.1", "Opportunistic"),
        ] {
            let server = format!("{:?}", smtp(url).expect(url));
            assert!(server.contains(&format!("tls: {tls}")), "{url}: {server}");
            assert!(!server.contains("secret"), "{server}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_without_its_password() {
        let from = (MAIL_FROM, "Vedette <alerts@vedette.test>");
        for (vars, said) in [
            (&[(SMTP, "https://ada:secret@mail.test"), from][..], "VEDETTE_SMTP: must be smtp://"),
            (&[(SMTP, "smtp://"), from], "VEDETTE_SMTP: must be"),
            (&[(SMTP, "mail.test:25"), from], "VEDETTE_SMTP: must be"),
            (&[(SMTP, "smtp://mail.test")], "VEDETTE_MAIL_FROM: is not set, and mails need"),
            (&[(MAIL_FROM, "Vedette")], "VEDETTE_MAIL_FROM: must be an address"),
        ] {
            let error = config(vars, folder()).err().unwrap_or_default();
            assert!(error.starts_with(said), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
