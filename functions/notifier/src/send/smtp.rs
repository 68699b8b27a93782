//! Email to an SMTP server. What a refusal means depends on the refused command, so the dialog runs command by command.

use std::net::IpAddr;
use std::time::Duration;

use lettre::address::Envelope;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Tls, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use percent_encoding::percent_decode_str;
use tokio::time::timeout;
use url::{Host, Url};
use vedette_ops::ErrorChain;

use super::SendOutcome;
use super::hold::{Failure, SenderFailure};

/// For a whole email, including the connection.
const DEADLINE: Duration = Duration::from_secs(28);

/// For the end of the dialog. The email has arrived by then, or has not.
const QUIT_DEADLINE: Duration = Duration::from_secs(2);

/// A mail server.
#[derive(Debug)]
pub struct SmtpServer {
    host: String,
    port: u16,
    pub(super) tls: Tls,
    credentials: Option<Credentials>,
}

/// How far the dialog has come. Up to `Sender` it is the same for every email.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DeliveryStep {
    Connection,
    Encryption,
    Credentials,
    Sender,
    Recipient,
    Message,
}

impl DeliveryStep {
    /// For people who know SMTP.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Connection => "the connection",
            Self::Encryption => "STARTTLS",
            Self::Credentials => "AUTH",
            Self::Sender => "MAIL FROM",
            Self::Recipient => "RCPT TO",
            Self::Message => "DATA",
        }
    }
}

impl SmtpServer {
    /// Parses the URL of a server, which has nothing after the port. `smtps` uses TLS from the start; `smtp` switches to
    /// TLS if the server can, and must switch if there is a password. Only connections to this machine stay in clear
    /// text.
    pub(super) fn parse(url: &str) -> Result<Self, &'static str> {
        let problem = "must be smtp://USER:PASSWORD@HOST:PORT or smtps://…, without a path, query or fragment. The \
                       user is optional. In USER and PASSWORD, write / as %2F, ? as %3F and # as %23";
        let url = Url::parse(url).map_err(|_| problem)?;
        // Such a character in a password ends the host early, so that the user would be taken for the server.
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(problem);
        }
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
        let credentials = match password {
            Some(password) => Some(Credentials::new(decoded(url.username())?, password)),
            None => None,
        };
        let (host, port) = (host.to_owned(), url.port().unwrap_or(port));
        Ok(Self { host, port, tls, credentials })
    }

    /// Sends a whole email to one recipient.
    pub(super) async fn send(&self, envelope: &Envelope, mail: &[u8]) -> Result<(), Failure> {
        let (mut step, mut connection) = (DeliveryStep::Connection, None);
        let dialog = self.dialog(&mut step, &mut connection, envelope, mail);
        let sent = match timeout(DEADLINE, dialog).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(failure(step, &error)),
            Err(_) => Err(silence(step)),
        };
        if let Some(mut connection) = connection {
            // It does not matter whether the server says goodbye.
            let _ = timeout(QUIT_DEADLINE, connection.abort()).await;
        }
        sent
    }

    /// Runs the dialog. Records in `step` how far it gets, and leaves in `connection` what must be closed.
    async fn dialog(
        &self,
        step: &mut DeliveryStep,
        connection: &mut Option<AsyncSmtpConnection>,
        envelope: &Envelope,
        mail: &[u8],
    ) -> Result<(), Error> {
        let server = connection.insert(self.connect(step).await?);
        *step = DeliveryStep::Sender;
        let supports = |feature| server.server_info().supports_feature(feature);
        let mut options = Vec::new();
        let mut addresses = envelope.to().iter().chain(envelope.from());
        let are_ascii = addresses.all(|address| AsRef::<str>::as_ref(address).is_ascii());
        if !are_ascii && supports(Extension::SmtpUtfEight) {
            options.push(MailParameter::SmtpUtfEight);
        }
        if !mail.is_ascii() && supports(Extension::EightBitMime) {
            options.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        server.command(Mail::new(envelope.from().cloned(), options)).await?;
        *step = DeliveryStep::Recipient;
        for recipient in envelope.to() {
            server.command(Rcpt::new(recipient.clone(), Vec::new())).await?;
        }
        *step = DeliveryStep::Message;
        server.command(Data).await?;
        server.message(mail).await?;
        Ok(())
    }

    /// A connection that is ready to send email.
    async fn connect(&self, step: &mut DeliveryStep) -> Result<AsyncSmtpConnection, Error> {
        let name = ClientId::default();
        let tls = match &self.tls {
            Tls::Wrapper(tls) => Some(tls.clone()),
            _ => None,
        };
        let place = (self.host.as_str(), self.port);
        let mut server =
            AsyncSmtpConnection::connect_tokio1(place, Some(DEADLINE), &name, tls, None).await?;
        *step = DeliveryStep::Encryption;
        match &self.tls {
            Tls::Required(tls) => server.starttls(tls.clone(), &name).await?,
            Tls::Opportunistic(tls) if server.can_starttls() => {
                server.starttls(tls.clone(), &name).await?;
            }
            _ => {}
        }
        *step = DeliveryStep::Credentials;
        if let Some(credentials) = &self.credentials {
            server.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(server)
    }
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        // The URL parser recognizes IP addresses only in special schemes.
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

/// How enhanced codes about a recipient's address or mailbox begin.
const OF_RECIPIENT: [&str; 2] = ["5.1.", "5.2."];

/// Enhanced codes about a sender's address.
const OF_SENDER: [&str; 2] = ["5.1.7", "5.1.8"];

/// Codes of a server that wants credentials, other credentials, or TLS.
const OF_CREDENTIALS: [u16; 4] = [530, 534, 535, 538];

/// What servers say that refuse the sender only once the recipient is named, as Postfix does by default
/// (`smtpd_delay_reject`), or that do not relay our email (Postfix, Exim, Exchange, Sendmail).
const SAID_OF_SENDER: [&str; 7] = [
    "relay access denied",
    "relaying denied",
    "relay not permitted",
    "unable to relay",
    "sender address rejected",
    "client host rejected",
    "helo command rejected",
];

/// What the failure of a step means.
fn failure(step: DeliveryStep, error: &Error) -> Failure {
    let why = format!("the mail server, at {}: {}", step.as_str(), ErrorChain(error));
    let code = error.status().map_or(0, u16::from);
    let is_refused = code >= 500;
    if step <= DeliveryStep::Sender {
        return SenderFailure { is_refused, ..SenderFailure::unavailable(why) }.into();
    }
    let said = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    let enhanced = said.split_whitespace().next().unwrap_or_default();
    if is_refused && concerns_sender(code, enhanced, &said) {
        // A server may repeat here what another server has said. That must not hold back all email.
        return SenderFailure { is_of_all: false, ..SenderFailure::refused(why) }.into();
    }
    let is_of_recipient = step == DeliveryStep::Recipient
        || OF_RECIPIENT.iter().any(|beginning| enhanced.starts_with(beginning));
    Failure::Mail(match code {
        550..560 if NO_MAILBOX.contains(&enhanced) => SendOutcome::Gone { why },
        500.. if is_of_recipient => SendOutcome::Refused { why },
        _ => SendOutcome::retry(why),
    })
}

fn concerns_sender(code: u16, enhanced: &str, said: &str) -> bool {
    let said = said.to_lowercase();
    OF_CREDENTIALS.contains(&code)
        || OF_SENDER.contains(&enhanced)
        || SAID_OF_SENDER.iter().any(|words| said.contains(words))
}

/// What it means when a server does not answer.
fn silence(step: DeliveryStep) -> Failure {
    let why =
        format!("the mail server, at {}: no answer within {} s", step.as_str(), DEADLINE.as_secs());
    if step <= DeliveryStep::Sender {
        SenderFailure::unavailable(why).into()
    } else {
        Failure::Mail(SendOutcome::retry(why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let server = format!("{:?}", SmtpServer::parse(url).expect(url));
            assert!(server.contains(&format!("tls: {tls}")), "{url}: {server}");
            assert!(!server.contains("secret"), "{server}");
        }
    }
}
