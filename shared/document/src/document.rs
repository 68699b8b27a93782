//! Documents: all files together, with their defaults applied.

use std::collections::btree_map::Entry;
use std::fmt;

use serde_json::{Map, Value};

use crate::node::{Budget, Content, Fields, Files, Node, Problems, Spot};
use crate::parse::{parse, too_large};
use crate::secrets::{Finder, Reference, Secrecy, Secret, reference};
use crate::{DocumentFile, DocumentProblem, Place, TEXT_MAX};

/// The fields that are lists. Those of all files are joined.
const LISTS: [&str; 5] = ["sites", "channels", "maintenance_windows", "status_pages", "groups"];

/// The lists that may have defaults.
const LISTS_WITH_DEFAULTS: [&str; 4] = ["sites", "channels", "maintenance_windows", "status_pages"];

/// A document that was read from its files.
pub struct TeamDocument {
    fields: Map<String, Value>,
    /// Has the places of all values.
    root: Node,
    files: Files,
    /// In the order of their places.
    secrets: Vec<Secret>,
}

/// Without the values, since these may be secrets.
impl fmt::Debug for TeamDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeamDocument").field("files", &self.files).finish_non_exhaustive()
    }
}

impl TeamDocument {
    /// Reads the files. `secrecy` says whether the value at a dotted path, such as `channels.0.url`, is a secret.
    ///
    /// # Errors
    ///
    /// All problems, in the order of files and lines.
    pub fn read(
        sources: &[DocumentFile<'_>],
        secrecy: impl Fn(&str) -> Secrecy,
    ) -> Result<Self, Vec<DocumentProblem>> {
        let files = Files::new(sources);
        let mut problems = Problems::default();
        let start = Spot { file: 0, line: 1, column: 1 };
        if sources.iter().map(|source| source.text.len()).sum::<usize>() > TEXT_MAX {
            let message =
                format!("The files of a document must not exceed {} MiB in total.", TEXT_MAX >> 20);
            return Err(vec![DocumentProblem { place: files.place(start), message }]);
        }

        let mut budget = Budget::default();
        let mut joined = Fields::new();
        for (file, source) in sources.iter().enumerate() {
            if let Some(mut fields) = parse(source.text, file, &mut budget, &mut problems) {
                apply_defaults(&mut fields, &mut budget, &mut problems);
                if budget.is_exceeded {
                    problems.push(Spot { file, ..start }, too_large());
                }
                join(&mut joined, fields, &files, &mut problems);
            }
            if budget.is_exceeded {
                break;
            }
        }

        let mut finder = Finder::new(secrecy, &files, &mut budget, &mut problems);
        for (name, node) in &joined {
            finder.find(name, name, "", node);
        }
        let secrets = finder.finish();
        problems.finish(&files)?;
        let fields = joined.iter().map(|(name, node)| (name.clone(), node.to_value())).collect();
        let root = Node { spot: start, content: Content::Object(joined) };
        Ok(Self { fields, root, files, secrets })
    }

    /// The document as JSON. A secret is as it is in the file, `{"env": "NAME"}` or `{"file": "PATH"}`, until
    /// [`resolve`](Self::resolve) replaces it.
    pub fn value(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// The references to secrets in the order of their places, each with its dotted path.
    pub fn secrets(&self) -> impl Iterator<Item = (&str, &Reference, &Place)> {
        self.secrets.iter().map(|secret| (secret.path.as_str(), &secret.reference, &secret.place))
    }

    /// Replaces the references by values. `read` returns the value of a reference, `None` to leave it as it is, or what
    /// is wrong with it.
    ///
    /// # Errors
    ///
    /// All problems. The other references are replaced.
    pub fn resolve(
        &mut self,
        mut read: impl FnMut(&Reference, &Place) -> Result<Option<String>, String>,
    ) -> Result<(), Vec<DocumentProblem>> {
        let mut problems = Vec::new();
        for Secret { field, pointer, reference, place, .. } in &self.secrets {
            match read(reference, place) {
                Ok(None) => {}
                Ok(Some(text)) => {
                    let value = self.fields.get_mut(field).and_then(|top| top.pointer_mut(pointer));
                    if let Some(value) = value {
                        *value = Value::String(text);
                    }
                }
                Err(message) => problems.push(DocumentProblem { place: place.clone(), message }),
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// The place of the field at a dotted path. If it is missing, this is the place of the innermost object or list on
    /// the path. An object begins with its first key.
    pub fn place(&self, path: &str) -> Place {
        let mut node = &self.root;
        let mut rest = path;
        while let Some((child, after)) = node.child(rest) {
            (node, rest) = (child, after);
        }
        self.files.place(node.spot)
    }
}

/// Removes the defaults of a file from its fields, and gives each object of its lists the fields that it lacks.
fn apply_defaults(fields: &mut Fields, budget: &mut Budget, problems: &mut Problems) {
    let Some(Node { spot, content }) = fields.remove("defaults") else { return };
    let Content::Object(lists) = content else {
        return problems.push(spot, "The defaults field must be a mapping of lists to fields.");
    };
    for (name, Node { spot, content }) in lists {
        if !LISTS_WITH_DEFAULTS.contains(&name.as_str()) {
            let lists = LISTS_WITH_DEFAULTS.join(", ");
            problems.push(spot, format!("There are no defaults for {name}, only for {lists}."));
            continue;
        }
        let Content::Object(defaults) = content else {
            problems.push(spot, format!("The defaults.{name} field must be a mapping of fields."));
            continue;
        };
        if let Some(key) = defaults.get("key") {
            let message = format!("Remove the defaults.{name}.key field: keys must be unique.");
            problems.push(key.spot, message);
        }
        let Some(Content::List(items)) = fields.get_mut(&name).map(|node| &mut node.content) else {
            continue;
        };
        for item in items {
            if let Content::Object(own) = &mut item.content {
                complete(own, &defaults, budget);
            }
        }
    }
}

/// Gives an object the fields that it lacks, and the objects in it, too.
fn complete(own: &mut Fields, defaults: &Fields, budget: &mut Budget) {
    for (key, default) in defaults {
        match own.entry(key.clone()) {
            Entry::Vacant(entry) => {
                if !budget.take(0, key.len()) || !budget.take_all(default) {
                    return;
                }
                entry.insert(default.clone());
            }
            Entry::Occupied(mut entry) => {
                let has_reference = reference(entry.get()).or(reference(default)).is_some();
                if let (false, Content::Object(own), Content::Object(defaults)) =
                    (has_reference, &mut entry.get_mut().content, &default.content)
                {
                    complete(own, defaults, budget);
                }
            }
        }
    }
}

/// Adds the fields of a file to those of the files before it.
fn join(joined: &mut Fields, fields: Fields, files: &Files, problems: &mut Problems) {
    for (name, node) in fields {
        let is_list = LISTS.contains(&name.as_str());
        if is_list && !matches!(node.content, Content::List(_)) {
            problems.push(node.spot, format!("The {name} field must be a list."));
            continue;
        }
        match (joined.get_mut(&name), node.content) {
            (None, content) => {
                joined.insert(name, Node { spot: node.spot, content });
            }
            (Some(Node { content: Content::List(all), .. }), Content::List(items)) if is_list => {
                all.extend(items);
            }
            (Some(first), Content::Scalar(value))
                if name == "name" && first.to_value() == value => {}
            (Some(first), _) => {
                let place = files.place(first.spot);
                let message = format!("The {name} field is also at {place}. Remove one of them.");
                problems.push(node.spot, message);
            }
        }
    }
}

#[cfg(test)]
mod tests;
