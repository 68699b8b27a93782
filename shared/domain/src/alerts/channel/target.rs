//! Where channels lead: the table of their kinds, and everything derived from it.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;
use lettre::address::AddressError;
use serde::{Deserialize, Serialize};
use url::Url;

use super::chat::Chat;
use super::description::{ChannelEdit, ChannelInput, KindDescription, TargetEdit, UrlEdit, is_in};
use super::program::Program;
use super::secret::{AccessToken, MaskedUrl, SecretUrl, SigningKey, SigningKeys};
use super::snapshot::Snapshot;
use super::webhook::Webhook;
use super::{EventKind, Filter};
use super::{
    alertmanager, discord, email, google_chat, gotify, matrix, mattermost, ntfy, pagerduty,
    pushover, slack, teams, telegram, webhook,
};
use crate::input::{Input, InputField, read_beside};
use crate::validation::{Errors, Fields, ValidationError};

/// Declares the kinds of channels. All code that has to know every kind is derived from this table, so none can be
/// forgotten. A chat, a program or a receiver of snapshots has a module with a type that implements [`Chat`], [`Program`]
/// or [`Snapshot`] and has a function `new` for what people enter, and with a `DESCRIPTION`.
macro_rules! kinds {
    (
        $(#[$mail_doc:meta])+ mail Email = $mail:literal;
        chats { $($(#[$chat_doc:meta])+ $module:ident::$Chat:ident = $chat:literal, $Edit:ty;)+ }
        programs { $($(#[$program_doc:meta])+ $place:ident::$Program:ident = $program:literal, $ProgramEdit:ty;)+ }
        snapshots { $($(#[$snapshot_doc:meta])+ $state:ident::$Snapshot:ident = $snapshot:literal, $SnapshotEdit:ty;)+ }
        $(#[$webhook_doc:meta])+ webhook Webhook = $webhook:literal;
    ) => {
        /// A kind of channel.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum ChannelKind {
            $(#[$mail_doc])+ #[serde(rename = $mail)] Email,
            $($(#[$chat_doc])+ #[serde(rename = $chat)] $Chat,)+
            $($(#[$program_doc])+ #[serde(rename = $program)] $Program,)+
            $($(#[$snapshot_doc])+ #[serde(rename = $snapshot)] $Snapshot,)+
            $(#[$webhook_doc])+ #[serde(rename = $webhook)] Webhook,
        }

        impl ChannelKind {
            /// All of them, in the order in which forms show them.
            pub const ALL: [Self; [Self::Email, $(Self::$Chat,)+ $(Self::$Program,)+ $(Self::$Snapshot,)+ Self::Webhook].len()] =
                [Self::Email, $(Self::$Chat,)+ $(Self::$Program,)+ $(Self::$Snapshot,)+ Self::Webhook];

            /// The name in storage and on the command line.
            pub const fn as_str(self) -> &'static str {
                match self {
                    Self::Email => $mail,
                    $(Self::$Chat => $chat,)+
                    $(Self::$Program => $program,)+
                    $(Self::$Snapshot => $snapshot,)+
                    Self::Webhook => $webhook,
                }
            }

            /// Its description.
            pub const fn description(self) -> &'static KindDescription {
                match self {
                    Self::Email => const { &email::DESCRIPTION },
                    $(Self::$Chat => const { &$module::DESCRIPTION },)+
                    $(Self::$Program => const { &$place::DESCRIPTION },)+
                    $(Self::$Snapshot => const { &$state::DESCRIPTION },)+
                    Self::Webhook => const { &webhook::DESCRIPTION },
                }
            }

            /// Whether people read its channels.
            pub const fn is_for_people(self) -> bool {
                matches!(self, Self::Email $(| Self::$Chat)+)
            }

            /// Whether its channels are notified of every transition, in order. The others learn the current state.
            pub const fn gets_events(self) -> bool {
                matches!(self, $(Self::$Program |)+ Self::Webhook)
            }

            /// The minutes after which its channels are sent a snapshot of all open issues again; `None` if they get no
            /// snapshots.
            pub const fn period_minutes(self) -> Option<u32> {
                match self {
                    $(Self::$Snapshot => Some($state::PERIOD_MINUTES),)+
                    _ => None,
                }
            }

            /// Reads a channel of this kind. Requests to a program are signed with a key from `key`.
            ///
            /// # Errors
            ///
            /// When there is no key, and otherwise everything that is wrong with the channel.
            pub fn read<E>(
                self,
                fields: &Fields<'_>,
                key: impl FnOnce() -> Result<SigningKey, E>,
            ) -> Result<Result<(Target, ChannelInput), ValidationError>, E> {
                let mut found = Errors::new();
                let errors = &mut found;
                let target = match self {
                    Self::Email => Input::read(fields, errors)
                        .map(|email::EmailInput { address }| Target::Email { address }),
                    $(Self::$Chat => {
                        Input::read(fields, errors).map($module::$Chat::new).map(Target::$Chat)
                    })+
                    $(Self::$Program => {
                        Input::read(fields, errors).map($place::$Program::new).map(Target::$Program)
                    })+
                    $(Self::$Snapshot => {
                        Input::read(fields, errors).map($state::$Snapshot::new).map(Target::$Snapshot)
                    })+
                    Self::Webhook => match Input::read(fields, errors) {
                        Some(input) => Some(Target::Webhook(Webhook::new(input, key()?))),
                        None => None,
                    },
                };
                let target = target.filter(|target| {
                    target.url().is_none_or(|url| self.is_home_at(url, errors))
                });
                let mut input = ChannelInput::read(fields, errors);
                if let Some(input) = &mut input {
                    self.refuse_unfit(&input.filter(), errors);
                    self.complete(&mut input.events);
                }
                Ok(found.finish(target.zip(input)))
            }
        }

        impl ChannelKind {
            /// Reads a change of where a channel of this kind leads.
            fn read_target(self, fields: &Fields<'_>, errors: &mut Errors) -> Option<TargetEdit> {
                match self {
                    Self::Email => Some(TargetEdit::default()),
                    $(Self::$Chat => <$Edit>::read(fields, errors).map(TargetEdit::from),)+
                    $(Self::$Program => <$ProgramEdit>::read(fields, errors).map(TargetEdit::from),)+
                    $(Self::$Snapshot => <$SnapshotEdit>::read(fields, errors).map(TargetEdit::from),)+
                    Self::Webhook => UrlEdit::read(fields, errors).map(TargetEdit::from),
                }
            }
        }

        /// Where a channel leads, with the secrets that only the sender of messages may know.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Target {
            $(#[$mail_doc])+
            #[serde(rename = $mail)]
            Email {
                /// The address.
                address: String,
            },
            $(
                $(#[$chat_doc])+
                #[serde(rename = $chat)]
                $Chat($module::$Chat),
            )+
            $(
                $(#[$program_doc])+
                #[serde(rename = $program)]
                $Program($place::$Program),
            )+
            $(
                $(#[$snapshot_doc])+
                #[serde(rename = $snapshot)]
                $Snapshot($state::$Snapshot),
            )+
            $(#[$webhook_doc])+
            #[serde(rename = $webhook)]
            Webhook(Webhook),
        }

        impl Target {
            /// The receiver at the other end.
            pub const fn receiver(&self) -> Receiver<'_> {
                match self {
                    Self::Email { address } => Receiver::Mailbox(address.as_str()),
                    $(Self::$Chat(chat) => Receiver::Chat(chat),)+
                    $(Self::$Program(program) => Receiver::Program(program),)+
                    $(Self::$Snapshot(receiver) => Receiver::Snapshot(receiver),)+
                    Self::Webhook(webhook) => Receiver::Program(webhook),
                }
            }

            /// The part that is not secret.
            pub fn public(&self) -> PublicTarget {
                match self {
                    Self::Email { address } => PublicTarget::Email { address: address.clone() },
                    $(Self::$Chat(chat) => PublicTarget::$Chat(chat.url().masked()),)+
                    $(Self::$Program(program) => PublicTarget::$Program(program.url().masked()),)+
                    $(Self::$Snapshot(receiver) => PublicTarget::$Snapshot(receiver.url().masked()),)+
                    Self::Webhook(webhook) => PublicTarget::Webhook(webhook.url.masked()),
                }
            }

            /// Its kind.
            pub const fn kind(&self) -> ChannelKind {
                match self {
                    Self::Email { .. } => ChannelKind::Email,
                    $(Self::$Chat(_) => ChannelKind::$Chat,)+
                    $(Self::$Program(_) => ChannelKind::$Program,)+
                    $(Self::$Snapshot(_) => ChannelKind::$Snapshot,)+
                    Self::Webhook(_) => ChannelKind::Webhook,
                }
            }
        }

        /// Where a channel leads, in the form that is visible to everybody who can see the channel.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum PublicTarget {
            $(#[$mail_doc])+
            #[serde(rename = $mail)]
            Email {
                /// The address.
                address: String,
            },
            $(
                $(#[$chat_doc])+
                #[serde(rename = $chat)]
                $Chat(MaskedUrl),
            )+
            $(
                $(#[$program_doc])+
                #[serde(rename = $program)]
                $Program(MaskedUrl),
            )+
            $(
                $(#[$snapshot_doc])+
                #[serde(rename = $snapshot)]
                $Snapshot(MaskedUrl),
            )+
            $(#[$webhook_doc])+
            #[serde(rename = $webhook)]
            Webhook(MaskedUrl),
        }

        impl PublicTarget {
            /// Its kind.
            pub const fn kind(&self) -> ChannelKind {
                match self {
                    Self::Email { .. } => ChannelKind::Email,
                    $(Self::$Chat(_) => ChannelKind::$Chat,)+
                    $(Self::$Program(_) => ChannelKind::$Program,)+
                    $(Self::$Snapshot(_) => ChannelKind::$Snapshot,)+
                    Self::Webhook(_) => ChannelKind::Webhook,
                }
            }

            /// Whether people read it, as for [its kind](ChannelKind::is_for_people).
            pub const fn is_for_people(&self) -> bool {
                self.kind().is_for_people()
            }

            /// Whether it is notified of every transition, as for [its kind](ChannelKind::gets_events).
            pub const fn gets_events(&self) -> bool {
                self.kind().gets_events()
            }

            /// The address, if it is an email channel.
            pub fn address(&self) -> Option<&str> {
                match self {
                    Self::Email { address } => Some(address),
                    $(Self::$Chat(_) |)+ $(Self::$Program(_) |)+ $(Self::$Snapshot(_) |)+ Self::Webhook(_) => None,
                }
            }

            /// The target after it got another URL; an address stays.
            #[must_use]
            pub fn at(&self, url: MaskedUrl) -> Self {
                match self {
                    Self::Email { .. } => self.clone(),
                    $(Self::$Chat(_) => Self::$Chat(url),)+
                    $(Self::$Program(_) => Self::$Program(url),)+
                    $(Self::$Snapshot(_) => Self::$Snapshot(url),)+
                    Self::Webhook(_) => Self::Webhook(url),
                }
            }

            /// The visible part of the URL, if there is one.
            pub const fn masked(&self) -> Option<&MaskedUrl> {
                match self {
                    Self::Email { .. } => None,
                    $(Self::$Chat(url) |)+ $(Self::$Program(url) |)+ $(Self::$Snapshot(url) |)+ Self::Webhook(url) => Some(url),
                }
            }
        }
    };
}

kinds! {
    /// One email address.
    mail Email = "email";
    chats {
        /// An incoming webhook of Slack.
        slack::Slack = "slack", UrlEdit;
        /// A webhook of a Discord channel.
        discord::Discord = "discord", UrlEdit;
        /// A workflow of Microsoft Teams that starts when a webhook request is received.
        teams::Teams = "teams", UrlEdit;
        /// An incoming webhook of Google Chat.
        google_chat::GoogleChat = "google-chat", UrlEdit;
        /// An incoming webhook of Mattermost.
        mattermost::Mattermost = "mattermost", UrlEdit;
        /// A room of a Matrix server.
        matrix::Matrix = "matrix", matrix::MatrixEdit;
        /// A chat in which a Telegram bot posts.
        telegram::Telegram = "telegram", telegram::TelegramEdit;
        /// A topic of an ntfy server.
        ntfy::Ntfy = "ntfy", ntfy::NtfyEdit;
        /// A user or a group of Pushover.
        pushover::Pushover = "pushover", pushover::PushoverEdit;
        /// An application of a Gotify server.
        gotify::Gotify = "gotify", gotify::GotifyEdit;
    }
    programs {
        /// An integration of a PagerDuty service.
        pagerduty::PagerDuty = "pagerduty", pagerduty::PagerDutyEdit;
    }
    snapshots {
        /// A Prometheus Alertmanager.
        alertmanager::Alertmanager = "alertmanager", alertmanager::AlertmanagerEdit;
    }
    /// A program, notified in the format of Standard Webhooks.
    webhook Webhook = "webhook";
}

/// The field of an access token.
const TOKEN: &str = "token";

/// The receiver at the other end of a channel.
#[derive(Clone, Copy)]
pub enum Receiver<'a> {
    /// People who read email at an address.
    Mailbox(&'a str),
    /// People who read a chat.
    Chat(&'a dyn Chat),
    /// A program.
    Program(&'a dyn Program),
    /// A program that is sent the current state, again and again.
    Snapshot(&'a dyn Snapshot),
}

impl ChannelKind {
    /// What people enter about a channel of this kind.
    pub fn fields(self) -> impl Iterator<Item = &'static InputField> {
        self.description().fields.iter().chain(ChannelInput::FIELDS)
    }

    /// What people may change about where a channel of this kind leads. A new address would have to be confirmed, so it
    /// needs a new channel.
    pub const fn target_fields(self) -> &'static [InputField] {
        match self {
            Self::Email => &[],
            _ => self.description().fields,
        }
    }

    /// Whether its channels need an access token.
    pub fn needs_token(self) -> bool {
        self.description().fields.iter().any(|field| field.name == TOKEN && field.is_required(true))
    }

    /// What people may change about a channel whose kind is not known yet. If only some kinds accept null, it is
    /// accepted.
    pub fn edit_fields() -> Vec<&'static InputField> {
        let mut fields: Vec<&InputField> = ChannelEdit::FIELDS.iter().collect();
        for field in Self::ALL.into_iter().flat_map(Self::target_fields) {
            match fields.iter_mut().find(|known| known.name == field.name) {
                Some(known) if field.is_nullable() => *known = field,
                Some(_) => {}
                None => fields.push(field),
            }
        }
        fields
    }

    /// Reads a change of a channel of this kind.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn read_edit(
        self,
        fields: &Fields<'_>,
    ) -> Result<(TargetEdit, ChannelEdit), ValidationError> {
        let mut found = Errors::new();
        let errors = &mut found;
        let target = self.read_target(fields, errors);
        // A token must not follow the channel to another place.
        let misses_token =
            |edit: &TargetEdit| self.needs_token() && edit.url.is_some() && edit.token.is_none();
        if target.as_ref().is_some_and(misses_token) {
            fields.field(TOKEN).refuse(errors, "must be given again for another destination");
        }
        let is_home = |edit: &TargetEdit| {
            edit.url.as_ref().is_none_or(|url| self.is_home_at(url, &mut *errors))
        };
        let target = target.filter(is_home);
        let own: Vec<_> = self.target_fields().iter().map(|field| field.name).collect();
        let mut edit: Option<ChannelEdit> = read_beside(&own, fields, errors);
        if let Some(edit) = &mut edit {
            self.refuse_unfit(&edit.filter(&Filter::default()), errors);
            if edit.events.is_some() {
                self.complete(&mut edit.events);
            }
        }
        found.finish(target.zip(edit))
    }

    /// The events that its channels can get.
    pub const fn events(self) -> &'static [EventKind] {
        match self {
            Self::Webhook => &EventKind::ALL,
            Self::PagerDuty => &pagerduty::EVENTS,
            Self::Alertmanager => &alertmanager::EVENTS,
            _ => &EventKind::FOR_PEOPLE,
        }
    }

    /// Refuses what only other channels have: times and links for a program, which gets each event when it happens, and
    /// events that the kind has no use for, or without which a snapshot would not be whole.
    fn refuse_unfit(self, filter: &Filter, errors: &mut Errors) {
        let label = self.description().label;
        let all: BTreeSet<_> = self.events().iter().copied().collect();
        for event in filter.events.difference(&all) {
            errors.push("events", format!("A channel of type {label} gets no {event} events."));
        }
        let takes_all = self.period_minutes().is_some() && !filter.events.is_empty();
        if takes_all && filter.events.is_subset(&all) {
            for event in all.difference(&filter.events) {
                let why = format!("A channel of type {label} always gets {event} events.");
                errors.push("events", why);
            }
        }
        let for_people = [
            ("delay_minutes", filter.delay_minutes.is_some()),
            ("repeat_minutes", filter.repeat_minutes.is_some()),
            ("without_links", filter.without_links),
        ];
        for (field, _) in for_people.iter().filter(|(_, is_set)| *is_set && !self.is_for_people()) {
            let why = format!("The {field} field is only for channels that people read.");
            errors.push(*field, why);
        }
    }

    /// Names all events for PagerDuty if none are chosen, because that would leave out acknowledgements, and for channels
    /// that get snapshots, because they get no reminders.
    fn complete(self, events: &mut Option<BTreeSet<EventKind>>) {
        let names_all = self == Self::PagerDuty || self.period_minutes().is_some();
        if names_all && events.as_ref().is_none_or(BTreeSet::is_empty) {
            *events = Some(self.events().iter().copied().collect());
        }
    }

    /// Whether the host of a URL takes the messages of this kind, as far as that is known. Otherwise, an error says which
    /// kind is right.
    fn is_home_at(self, url: &SecretUrl, errors: &mut Errors) -> bool {
        let url = Url::parse(url.reveal()).ok();
        let Some(host) = url.as_ref().and_then(Url::domain) else { return true };
        // A name with a trailing dot is the same host.
        let host = host.trim_end_matches('.');
        let of_host = |kind: &Self| is_in(host, kind.description().own_domains);
        let owner = Self::ALL.into_iter().find(of_host);
        let Some(owner) = owner.filter(|owner| *owner != self) else { return true };
        let label = owner.description().label;
        errors
            .push("url", format!("The url field belongs to {label}; add a channel of that type."));
        false
    }

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for ChannelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Target {
    /// An email channel.
    ///
    /// # Errors
    ///
    /// When the address is invalid.
    pub fn email(address: &str) -> Result<Self, AddressError> {
        Ok(Self::Email { address: email::parse(address)? })
    }

    /// Whether it has secrets.
    pub(crate) fn is_secret(&self) -> bool {
        self.url().is_some()
    }

    /// The URL that messages are posted to, if there is one. It distinguishes channels.
    pub fn url(&self) -> Option<&SecretUrl> {
        match self.receiver() {
            Receiver::Mailbox(_) => None,
            Receiver::Chat(chat) => Some(chat.url()),
            Receiver::Program(program) => Some(program.url()),
            Receiver::Snapshot(receiver) => Some(receiver.url()),
        }
    }

    /// The access token, if there is one.
    pub fn token(&self) -> Option<&AccessToken> {
        match self.receiver() {
            Receiver::Mailbox(_) | Receiver::Program(_) => None,
            Receiver::Chat(chat) => chat.token(),
            Receiver::Snapshot(receiver) => receiver.token(),
        }
    }

    /// The keys that sign requests, if they are signed.
    pub fn keys(&self) -> Option<&SigningKeys> {
        match self.receiver() {
            Receiver::Mailbox(_) | Receiver::Chat(_) | Receiver::Snapshot(_) => None,
            Receiver::Program(program) => program.keys(),
        }
    }

    pub(super) fn with_new_key(&self, key: SigningKey, now: Timestamp) -> Option<Self> {
        let Self::Webhook(Webhook { url, keys }) = self else { return None };
        let keys = keys.followed_by(key, now);
        Some(Self::Webhook(Webhook { url: url.clone(), keys }))
    }

    /// The name of a channel that gets no other name.
    pub fn default_name(&self) -> &str {
        match self.receiver() {
            Receiver::Mailbox(address) => address,
            Receiver::Chat(_) | Receiver::Program(_) | Receiver::Snapshot(_) => {
                self.kind().description().label
            }
        }
    }
}

impl PublicTarget {
    /// What distinguishes its URL from others; empty if it is an address.
    pub fn digest(&self) -> &str {
        self.masked().map_or("", |url| &url.digest)
    }

    /// Where it leads: the address, or the part of a URL that is not secret.
    pub fn leads_to(&self) -> &str {
        match self.masked() {
            Some(url) => &url.to,
            None => self.address().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::channel::request::Failure;

    #[test]
    fn each_example_is_accepted() {
        let key = SigningKey::from_random([7; SigningKey::BYTES]);
        for kind in ChannelKind::ALL {
            let fields = kind.fields().map(|field| field.name);
            let fields = fields.filter(|name| ["url", "address", TOKEN].contains(name));
            let texts: serde_json::Map<_, _> = fields
                .map(|name| match name {
                    TOKEN => (TOKEN.to_owned(), "token".into()),
                    name => (name.to_owned(), kind.description().destination.example.into()),
                })
                .collect();
            let key = || Ok::<_, std::convert::Infallible>(key.clone());
            let Ok(read) = kind.read(&Fields::texts(&texts), key);
            assert_eq!(read.map(|(target, _)| target.kind()), Ok(kind));
        }
    }

    #[test]
    fn a_status_says_whether_to_try_again() {
        const A: Failure = Failure::Attempt;
        const M: Failure = Failure::Message;
        const C: Failure = Failure::Channel;
        let statuses = [301, 400, 401, 403, 404, 408, 410, 413, 429, 500, 503, 507];
        for kind in ChannelKind::ALL {
            let (failure, expected): (fn(u16) -> Failure, _) = match kind {
                // Email has no status.
                ChannelKind::Email => continue,
                ChannelKind::Slack => (slack::failure, [A, M, M, C, C, A, C, M, A, A, A, A]),
                ChannelKind::Discord
                | ChannelKind::Teams
                | ChannelKind::GoogleChat
                | ChannelKind::Telegram
                | ChannelKind::Pushover
                | ChannelKind::PagerDuty => {
                    (Failure::of_service, [A, M, C, C, C, A, C, M, A, A, A, A])
                }
                ChannelKind::Mattermost
                | ChannelKind::Matrix
                | ChannelKind::Ntfy
                | ChannelKind::Gotify
                | ChannelKind::Alertmanager => {
                    (Failure::of_own_server, [A, M, C, C, A, A, C, M, A, A, A, A])
                }
                ChannelKind::Webhook => (webhook::failure, [A, A, A, A, A, A, C, A, A, A, A, A]),
            };
            assert_eq!(statuses.map(failure), expected, "{kind}: {statuses:?}");
        }
    }

    /// Targets that earlier versions have stored are read, and written again byte for byte.
    #[test]
    fn each_kind_is_stored_as_ever() {
        const KEY: &str = "[7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7]";
        let (url, digest) = (
            r#""url":"https://example.com/hook""#,
            "19f1352238b915338c91b6a9fdd2dd4be99a13c18e95bbfbf1443ee01fb616b6",
        );
        let masked = format!(r#""to":"https://example.com/…","digest":"{digest}""#);
        let rotated =
            format!(r#""keys":{{"current":{KEY},"previous":[{KEY},"2026-11-21T12:00:00Z"]}}"#);
        let email = r#"{"kind":"email","address":"ada@example.com"}"#.to_owned();
        let stored = [
            (ChannelKind::Email, email.clone(), email),
            (
                ChannelKind::Slack,
                format!(r#"{{"kind":"slack",{url}}}"#),
                format!(r#"{{"kind":"slack",{masked}}}"#),
            ),
            (
                ChannelKind::Discord,
                format!(r#"{{"kind":"discord",{url}}}"#),
                format!(r#"{{"kind":"discord",{masked}}}"#),
            ),
            (
                ChannelKind::Teams,
                format!(r#"{{"kind":"teams",{url}}}"#),
                format!(r#"{{"kind":"teams",{masked}}}"#),
            ),
            (
                ChannelKind::Ntfy,
                format!(r#"{{"kind":"ntfy",{url}}}"#),
                format!(r#"{{"kind":"ntfy",{masked}}}"#),
            ),
            (
                ChannelKind::Ntfy,
                format!(r#"{{"kind":"ntfy",{url},"token":"tk_secret"}}"#),
                format!(r#"{{"kind":"ntfy",{masked}}}"#),
            ),
            (
                ChannelKind::GoogleChat,
                format!(r#"{{"kind":"google-chat",{url}}}"#),
                format!(r#"{{"kind":"google-chat",{masked}}}"#),
            ),
            (
                ChannelKind::Mattermost,
                format!(r#"{{"kind":"mattermost",{url}}}"#),
                format!(r#"{{"kind":"mattermost",{masked}}}"#),
            ),
            (
                ChannelKind::Matrix,
                format!(r#"{{"kind":"matrix",{url},"token":"secret"}}"#),
                format!(r#"{{"kind":"matrix",{masked}}}"#),
            ),
            (
                ChannelKind::Telegram,
                format!(r#"{{"kind":"telegram",{url},"token":"secret"}}"#),
                format!(r#"{{"kind":"telegram",{masked}}}"#),
            ),
            (
                ChannelKind::Pushover,
                format!(r#"{{"kind":"pushover",{url},"token":"secret"}}"#),
                format!(r#"{{"kind":"pushover",{masked}}}"#),
            ),
            (
                ChannelKind::Gotify,
                format!(r#"{{"kind":"gotify",{url}}}"#),
                format!(r#"{{"kind":"gotify",{masked}}}"#),
            ),
            (
                ChannelKind::PagerDuty,
                format!(r#"{{"kind":"pagerduty",{url}}}"#),
                format!(r#"{{"kind":"pagerduty",{masked}}}"#),
            ),
            (
                ChannelKind::Alertmanager,
                format!(r#"{{"kind":"alertmanager",{url},"token":"secret"}}"#),
                format!(r#"{{"kind":"alertmanager",{masked}}}"#),
            ),
            (
                ChannelKind::Webhook,
                format!(r#"{{"kind":"webhook",{url},"keys":{{"current":{KEY}}}}}"#),
                format!(r#"{{"kind":"webhook",{masked}}}"#),
            ),
            (
                ChannelKind::Webhook,
                format!(r#"{{"kind":"webhook",{url},{rotated}}}"#),
                format!(r#"{{"kind":"webhook",{masked}}}"#),
            ),
        ];
        let kinds: BTreeSet<ChannelKind> = stored.iter().map(|(kind, ..)| *kind).collect();
        assert_eq!(kinds, ChannelKind::ALL.into());
        for (kind, secret, public) in stored {
            let target: Target = serde_json::from_str(&secret).expect("a target");
            assert_eq!(serde_json::to_string(&target).expect("JSON"), secret);
            let shown: PublicTarget = serde_json::from_str(&public).expect("a public target");
            assert_eq!(serde_json::to_string(&shown).expect("JSON"), public);
            assert_eq!((&target.public(), target.kind(), shown.kind()), (&shown, kind, kind));
        }
    }
}
