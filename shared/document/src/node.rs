//! Values with their places.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{DocumentFile, DocumentProblem, EXPANDED_TEXT_MAX, NODES_MAX, PROBLEMS_MAX, Place};

/// The fields of an object.
pub(crate) type Fields = BTreeMap<String, Node>;

/// A value and where it is.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) spot: Spot,
    pub(crate) content: Content,
}

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Scalar(Value),
    List(Vec<Node>),
    Object(Fields),
}

/// A place whose file is a number: the position of its source. Spots are in the order in which people read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) file: usize,
    pub(crate) line: u64,
    pub(crate) column: u64,
}

impl Node {
    /// The item or field that a path begins with, and the rest of the path. Since keys may contain dots, the longest
    /// key that fits is meant.
    pub(crate) fn child<'a>(&self, path: &'a str) -> Option<(&Self, &'a str)> {
        match &self.content {
            Content::Scalar(_) => None,
            Content::List(items) => {
                let (index, rest) = path.split_once('.').unwrap_or((path, ""));
                Some((items.get(index.parse::<usize>().ok()?)?, rest))
            }
            Content::Object(fields) => {
                let fit = fields.iter().filter_map(|(key, node)| {
                    let rest = path.strip_prefix(key.as_str())?;
                    let rest = if rest.is_empty() { rest } else { rest.strip_prefix('.')? };
                    Some((node, rest))
                });
                fit.min_by_key(|(_, rest)| rest.len())
            }
        }
    }

    /// The value without places.
    pub(crate) fn to_value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => items.iter().map(Self::to_value).collect(),
            Content::Object(fields) => {
                fields.iter().map(|(key, node)| (key.clone(), node.to_value())).collect()
            }
        }
    }
}

/// What the document may still grow by. Aliases and defaults multiply values, so the size of the files limits nothing.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) nodes: usize,
    pub(crate) bytes: usize,
    /// Whether something did not fit. Then nothing else does.
    pub(crate) is_exceeded: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self { nodes: NODES_MAX, bytes: EXPANDED_TEXT_MAX, is_exceeded: false }
    }
}

impl Budget {
    /// Takes values, and bytes of their texts or keys. Returns whether they fit.
    pub(crate) fn take(&mut self, nodes: usize, bytes: usize) -> bool {
        match (self.nodes.checked_sub(nodes), self.bytes.checked_sub(bytes)) {
            (Some(nodes), Some(bytes)) => (self.nodes, self.bytes) = (nodes, bytes),
            _ => self.is_exceeded = true,
        }
        !self.is_exceeded
    }

    /// Takes a value with everything in it. Returns whether it fits.
    pub(crate) fn take_all(&mut self, node: &Node) -> bool {
        match &node.content {
            Content::Scalar(value) => self.take(1, value.as_str().map_or(0, str::len)),
            Content::List(items) => self.take(1, 0) && items.iter().all(|item| self.take_all(item)),
            Content::Object(fields) => {
                self.take(1, fields.keys().map(String::len).sum())
                    && fields.values().all(|field| self.take_all(field))
            }
        }
    }
}

/// The names of the sources, in their order.
#[derive(Debug)]
pub(crate) struct Files(Vec<String>);

impl Files {
    pub(crate) fn new(sources: &[DocumentFile<'_>]) -> Self {
        Self(sources.iter().map(|source| source.name.to_owned()).collect())
    }

    pub(crate) fn place(&self, spot: Spot) -> Place {
        let file = self.0.get(spot.file).cloned().unwrap_or_default();
        Place { file, line: spot.line, column: spot.column }
    }
}

/// Collects problems, at most [`PROBLEMS_MAX`] and one for each spot. Otherwise, a mistake in defaults would be
/// reported for each object that gets them.
#[derive(Debug, Default)]
pub(crate) struct Problems(BTreeMap<Spot, String>);

impl Problems {
    pub(crate) fn push(&mut self, spot: Spot, message: impl Into<String>) {
        if self.0.len() < PROBLEMS_MAX {
            self.0.entry(spot).or_insert_with(|| message.into());
        }
    }

    /// All problems with their places, if there are any.
    pub(crate) fn finish(self, files: &Files) -> Result<(), Vec<DocumentProblem>> {
        if self.0.is_empty() {
            return Ok(());
        }
        let problem = |(spot, message)| DocumentProblem { place: files.place(spot), message };
        Err(self.0.into_iter().map(problem).collect())
    }
}
