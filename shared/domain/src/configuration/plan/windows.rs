//! The maintenance windows of a document.

use serde_json::Value;

use super::super::describe;
use super::super::document::{Entry, ObjectKind};
use super::{Change, ChangeAction, ChangeStep, Likeness, Planner, text_of};
use crate::id::WindowId;
use crate::input::read_object;
use crate::maintenance::{MaintenanceWindow, NewWindow, WINDOWS_MAX, parse_start};

impl Planner<'_> {
    pub(super) fn windows(&mut self) {
        let (team, now) = (self.current.team, self.choices.now);
        let windows: Vec<MaintenanceWindow> = team.windows.iter().cloned().collect();
        let starts_then = |entry: &Entry| {
            let start = parse_start(text_of(entry, "starts_at"))?;
            Some(format!("{start} {}", text_of(entry, "name")))
        };
        let matches = self.match_up(
            ObjectKind::MaintenanceWindow,
            &windows,
            |window| window.managed_by.as_ref(),
            &[
                Likeness {
                    of_entry: &starts_then,
                    of_object: &|window| Some(format!("{} {}", window.start, window.name)),
                },
                Likeness {
                    of_entry: &|entry| Some(text_of(entry, "name").to_owned()),
                    of_object: &|window| Some(window.name.clone()),
                },
            ],
        );
        let mut next = team.windows.clone();
        for (entry, before) in matches.pairs {
            let Some(new) = self.read_window(&entry) else { continue };
            let id = before.map_or_else(|| WindowId(self.uuid()), |before| before.id);
            let managed_by = Some(self.managed_by(&entry));
            let window = MaintenanceWindow { managed_by, ..new.into_window(id, &self.zone, now) };
            // An instance that somebody ended does not start again, unless it takes place at another time.
            let ended_at = before
                .filter(|before| before.is_at_times_of(&window))
                .map_or_else(|| team.windows.ended_at(&window), |before| before.ended_at);
            let window = MaintenanceWindow { ended_at, ..window };
            // The service drops a window that is over.
            if window.is_over(now) {
                if let Some(before) = before.filter(|before| !before.is_over(now)) {
                    self.end_window(&entry, before);
                }
                continue;
            }
            match next.with(window.clone(), now) {
                Ok(windows) => next = windows,
                Err(refusal) => {
                    let why = refusal.to_string();
                    self.errors.push(entry.path.clone(), why);
                    continue;
                }
            }
            let described = (
                before.map(|before| describe::window(before, &self.references)),
                describe::window(&window, &self.references),
            );
            let is_managed = before.is_some_and(|before| before.managed_by == window.managed_by);
            let name = window.name.clone();
            let step = ChangeStep::SaveWindow(Box::new(window));
            self.change(
                ObjectKind::MaintenanceWindow,
                &entry,
                &name,
                (described.0.as_ref(), &described.1),
                is_managed,
                step,
            );
        }
        for window in matches.gone {
            if !window.is_over(now) {
                let step = ChangeStep::DeleteWindow(window.id);
                let described = describe::window(window, &self.references);
                let by = window.managed_by.as_ref();
                let kind = ObjectKind::MaintenanceWindow;
                self.remove(kind, (&window.name, &described), by, step);
            }
        }
        self.limit(
            ObjectKind::MaintenanceWindow,
            team.windows.current_ones(now).len(),
            WINDOWS_MAX,
            "a team",
        );
    }

    /// Deletes a window that would be over.
    fn end_window(&mut self, entry: &Entry, window: &MaintenanceWindow) {
        self.deletions.push(Change {
            action: ChangeAction::Delete,
            kind: ObjectKind::MaintenanceWindow,
            key: Some(entry.key.clone()),
            name: window.name.clone(),
            adopted: false,
            fields: Vec::new(),
            path: entry.path.clone(),
            unique: Default::default(),
            step: ChangeStep::DeleteWindow(window.id),
        });
    }

    fn read_window(&mut self, entry: &Entry) -> Option<NewWindow> {
        let mut entry = entry.clone();
        if let Some(Value::Array(sites)) = entry.fields.get_mut("sites") {
            for (place, site) in sites.iter_mut().enumerate() {
                let path = format!("{}.sites.{place}", entry.path);
                self.references.resolve(site, path, &mut self.errors);
            }
        }
        let fields = entry.fields();
        // A window that starts now would start again with every document.
        if fields.field("starts_at").is_absent() {
            entry.refuse("starts_at", "is required", &mut self.errors);
        }
        read_object(&fields, &mut self.errors)
    }
}
