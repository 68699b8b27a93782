//! The heartbeats of a document.

use serde_json::Value;

use super::super::describe;
use super::super::document::{Entry, ObjectKind};
use super::{ChangeStep, Likeness, Planner, text_of};
use crate::heartbeats::heartbeat::{Heartbeat, slug_of};
use crate::heartbeats::input::NewHeartbeat;
use crate::id::{HeartbeatId, PingKey};
use crate::input::read_object;

impl Planner<'_> {
    pub(super) fn heartbeats(&mut self) {
        let (heartbeats, plan) = (self.current.heartbeats, self.current.plan);
        self.heartbeats = heartbeats.iter().map(|one| (one.id, one.clone())).collect();
        let matches = self.match_up(
            ObjectKind::Heartbeat,
            heartbeats,
            |heartbeat| heartbeat.managed_by.as_ref(),
            &[
                Likeness {
                    of_entry: &|entry| Some(wanted_slug(entry)).filter(|slug| !slug.is_empty()),
                    of_object: &|heartbeat| Some(heartbeat.slug.clone()),
                },
                Likeness {
                    of_entry: &|entry| Some(text_of(entry, "name").to_owned()),
                    of_object: &|heartbeat| Some(heartbeat.name.clone()),
                },
            ],
        );
        for (entry, before) in matches.pairs {
            let Some(after) = self.read_heartbeat(&entry, before) else { continue };
            let described = describe::heartbeat(&after);
            let is_managed = before.is_some_and(|before| before.managed_by == after.managed_by);
            let name = after.name.clone();
            self.references.add_heartbeat(&after, &entry.key);
            self.heartbeats.insert(after.id, after.clone());
            let step = match before {
                None => ChangeStep::CreateHeartbeat(Box::new(after)),
                Some(_) => ChangeStep::SaveHeartbeat(Box::new(after)),
            };
            let before = before.map(describe::heartbeat);
            let change = (before.as_ref(), &described);
            self.change(ObjectKind::Heartbeat, &entry, &name, change, is_managed, step);
        }
        for heartbeat in matches.gone {
            let described = describe::heartbeat(heartbeat);
            let step = ChangeStep::DeleteHeartbeat(heartbeat.id);
            let by = heartbeat.managed_by.as_ref();
            self.remove(ObjectKind::Heartbeat, (&heartbeat.name, &described), by, step);
            if self.prunes(ObjectKind::Heartbeat) {
                self.heartbeats.remove(&heartbeat.id);
            }
        }
        for heartbeat in self.heartbeats.values() {
            self.references.add_other_heartbeat(heartbeat);
        }
        let most = plan.limits().heartbeats;
        let most = most.map_or(usize::MAX, |most| most as usize);
        self.limit(ObjectKind::Heartbeat, heartbeats.len(), most, "the plan");
    }

    /// The heartbeat that an entry describes. Its address is that of the heartbeat before, or a random one.
    fn read_heartbeat(&mut self, entry: &Entry, before: Option<&Heartbeat>) -> Option<Heartbeat> {
        let fields = entry.fields();
        if fields.field("ping_uuid").is_sent() {
            let why =
                "is a secret, which a document does not have; create the heartbeat with it first";
            entry.refuse("ping_uuid", why, &mut self.errors);
            return None;
        }
        let new: NewHeartbeat = read_object(&fields, &mut self.errors)?;
        let (team, now) = (self.current.team.id, self.choices.now);
        let id = before.map_or_else(|| HeartbeatId(self.uuid()), |before| before.id);
        let random = u64::from_be_bytes(self.random());
        let key = before.and_then(|before| before.ping_key);
        let key = key.unwrap_or_else(|| PingKey::new(id, random));
        let read = match new.into_heartbeat(id, key, team, &self.zone, now) {
            Ok(read) => read,
            Err(error) => {
                entry.refuse_all("", error, &mut self.errors);
                return None;
            }
        };
        let (slug, managed_by) = (wanted_slug(entry), Some(self.managed_by(entry)));
        Some(match before {
            None => Heartbeat { slug, managed_by, ..read },
            Some(Heartbeat { rev, cfg, created_at, updated_at, .. }) => Heartbeat {
                slug,
                managed_by,
                rev: *rev,
                cfg: *cfg,
                created_at: *created_at,
                updated_at: *updated_at,
                ..read
            },
        })
    }
}

/// The slug of an entry. By default, it follows from the name. An empty text means that there is none.
fn wanted_slug(entry: &Entry) -> String {
    match entry.fields.get("slug").and_then(Value::as_str) {
        None => slug_of(text_of(entry, "name")),
        Some(slug) => slug.trim().to_owned(),
    }
}
