//! The channels of a document.

use std::collections::BTreeSet;
use std::convert::Infallible;

use super::super::describe;
use super::super::document::{Entry, ObjectKind, is_unread};
use super::super::effects::Filters;
use super::{ChangeStep, Likeness, Planner, UNREAD, describe_channel, text_of};
use crate::alerts::channel::{
    CHANNELS_MAX, Channel, ChannelInput, ChannelKind, PublicTarget, SigningKey, Target, TargetEdit,
    sha256,
};
use crate::input::FieldRule as _;
use crate::validation::Fields;

/// A channel as a document describes it.
struct WantedChannel {
    target: Target,
    input: ChannelInput,
    knows_url: bool,
    knows_token: bool,
}

impl Planner<'_> {
    pub(super) fn channels(&mut self) {
        let channels = self.current.channels;
        for channel in channels {
            let filters = [0, 1].map(|_| Some(channel.filter.clone()));
            let filters = Filters { name: channel.name.clone(), filters };
            self.channels.insert(channel.id.to_string(), filters);
        }
        let leads_to = |entry: &Entry| {
            let kind = ChannelKind::parse(text_of(entry, "kind"))?;
            if kind == ChannelKind::Email {
                return Some(text_of(entry, "address").to_lowercase());
            }
            let key = SigningKey::from_random([0; SigningKey::BYTES]);
            let Ok(read) = kind.read(&Fields::body(&entry.fields), || Ok::<_, Infallible>(key));
            Some(read.ok()?.0.url()?.masked().digest)
        };
        // The address of a channel cannot change, so a channel with another one is another.
        let is_called = |entry: &Entry| {
            let name = text_of(entry, "name");
            let parts = [text_of(entry, "kind"), &text_of(entry, "address").to_lowercase(), name];
            Some(parts.join(" ")).filter(|_| !name.is_empty())
        };
        let matches = self.match_up(
            ObjectKind::Channel,
            channels,
            |channel| channel.managed_by.as_ref(),
            &[
                Likeness {
                    of_entry: &leads_to,
                    of_object: &|channel| match &channel.target {
                        PublicTarget::Email { address } => Some(address.to_lowercase()),
                        target => target.masked().map(|masked| masked.digest.clone()),
                    },
                },
                Likeness {
                    of_entry: &is_called,
                    of_object: &|channel| {
                        let address = channel.target.address().unwrap_or_default().to_lowercase();
                        let kind = channel.target.kind();
                        Some(format!("{kind} {address} {}", channel.name))
                    },
                },
            ],
        );
        let mut names: BTreeSet<String> = BTreeSet::new();
        for (entry, before) in matches.pairs {
            let Some(wanted) = self.read_channel(&entry) else { continue };
            let name = wanted.input.name.clone();
            let name = name.unwrap_or_else(|| wanted.target.default_name().to_owned());
            if !names.insert(name.clone()) {
                entry.refuse(
                    "name",
                    "must differ from the names of other channels",
                    &mut self.errors,
                );
            }
            self.plan_channel(&entry, before, wanted, name);
        }
        for channel in matches.gone {
            let kind = ObjectKind::Channel;
            let described = describe_channel(channel);
            let step = ChangeStep::DeleteChannel(Box::new(channel.clone()));
            let by = channel.managed_by.as_ref();
            self.remove(kind, (&channel.name, &described), by, step);
            if self.prunes(kind)
                && let Some(audience) = self.channels.get_mut(&channel.id.to_string())
            {
                audience.filters[1] = None;
            }
        }
        self.limit(ObjectKind::Channel, channels.len(), CHANNELS_MAX, "a team");
    }

    fn read_channel(&mut self, entry: &Entry) -> Option<WantedChannel> {
        let fields = entry.fields();
        let kind = ChannelKind::ALL.read_required(&fields.field("kind"), &mut self.errors)?;
        let mut known: Vec<_> = kind.fields().map(|field| field.name).collect();
        known.push("kind");
        fields.only(&known, &mut self.errors);
        let mut sent = entry.fields.clone();
        let knows_url = !sent.get("url").is_some_and(is_unread);
        if !knows_url {
            let example = kind.description().destination.example;
            sent.insert("url".to_owned(), example.into());
        }
        let knows_token = !sent.get("token").is_some_and(is_unread);
        if !knows_token {
            sent.insert("token".to_owned(), UNREAD.into());
        }
        let key = SigningKey::from_random(self.random());
        let Ok(read) = kind.read(&Fields::body(&sent), || Ok::<_, Infallible>(key));
        match read {
            Ok((target, input)) => Some(WantedChannel { target, input, knows_url, knows_token }),
            Err(error) => {
                entry.refuse_all("", error, &mut self.errors);
                None
            }
        }
    }

    fn plan_channel(
        &mut self,
        entry: &Entry,
        before: Option<&Channel>,
        WantedChannel { target, input, knows_url, knows_token }: WantedChannel,
        name: String,
    ) {
        let (filter, managed_by) = (input.filter(), self.managed_by(entry));
        let shown = name.clone();
        let Some(before) = before else {
            let is_known = knows_url && knows_token;
            if !self.choices.is_dry_run && !is_known {
                let field = if knows_url { "token" } else { "url" };
                entry.refuse(field, "needs a value for a new channel", &mut self.errors);
            }
            let token = target.token().map(|token| sha256(token.reveal()));
            let mut after = describe::channel(&name, &target.public(), &filter, token.as_ref());
            if !knows_url {
                // What replaces an unknown URL is the same for all channels of a kind, but their URLs are not.
                after.secrets.insert(describe::URL, entry.key.clone());
            }
            let filters = [None, Some(filter.clone())];
            let filters = Filters { name: name.clone(), filters };
            self.channels.insert(format!("new {}", entry.key), filters);
            let channel = Box::new((name, target, filter));
            let step = ChangeStep::AddChannel { channel, managed_by };
            self.change(ObjectKind::Channel, entry, &shown, (None, &after), false, step);
            return;
        };
        if before.target.kind() != target.kind() {
            entry.refuse(
                "kind",
                "cannot change; to add another channel, use another key",
                &mut self.errors,
            );
            return;
        }
        let address = |of: &PublicTarget| of.address().map(str::to_lowercase);
        if address(&before.target) != address(&target.public()) {
            entry.refuse(
                "address",
                "cannot change; to add another channel, use another key",
                &mut self.errors,
            );
            return;
        }
        let url = target.url().filter(|_| knows_url).cloned();
        let token = target.token().cloned();
        let token_digest = token.as_ref().map(|token| sha256(token.reveal()));
        let changes_token = knows_token && token_digest != before.token_digest;
        let to = TargetEdit { url, token: changes_token.then_some(token) };
        let mut to = to.beyond(before.target.masked()).unwrap_or_default();
        // A token does not follow the channel to another place by itself.
        if to.url.is_some() && knows_token {
            to.token = Some(target.token().cloned());
        }
        let mut after = before.clone();
        if let Some(edited) =
            before.edited(&name, filter.clone(), Some(&to), None, self.choices.now)
        {
            after = edited;
        }
        let described = [before, &after].map(|channel| {
            describe::channel(
                &channel.name,
                &channel.target,
                &channel.filter,
                channel.token_digest.as_ref(),
            )
        });
        let is_managed = before.managed_by.as_ref() == Some(&managed_by);
        let filters = [Some(before.filter.clone()), Some(filter.clone())];
        let filters = Filters { name: name.clone(), filters };
        self.channels.insert(before.id.to_string(), filters);
        let after = Box::new((name, filter));
        let step =
            ChangeStep::EditChannel { before: Box::new(before.clone()), after, to, managed_by };
        let described = (Some(&described[0]), &described[1]);
        self.change(ObjectKind::Channel, entry, &shown, described, is_managed, step);
    }
}
