//! Documents: sites, channels and settings as YAML files that people write.
//!
//! [`TeamDocument::read`] reads the files into one JSON document, and knows the [`Place`] of every value. Validation, which
//! names a field by its dotted path such as `sites.3.name`, can thus show each error at its place.
//! [`write()`] writes a document as YAML.
//!
//! The YAML is version 1.2 with its core schema. `no`, `on`, `12:30`, `007`, `1_000` and dates are texts. Numbers may
//! also be hexadecimal, octal or binary (`0x1F`, `0o17`, `0b11`). A whole number of more than 64 bits becomes a decimal
//! one. Anchors, aliases and merge keys (`<<`) work. `!!str` and the other tags of the core schema work, all other tags
//! are refused. Each file is one YAML document.
//!
//! A document must not contain secrets. It has [`Reference`]s to environment variables and files instead. This crate
//! does no I/O: the caller reads them.

mod document;
mod node;
mod parse;
mod secrets;
mod write;

use std::fmt;

pub use document::TeamDocument;
pub use secrets::{Reference, Secrecy};
pub use write::write;

/// The most bytes of all files together. With 200 bytes for each, these are 5000 sites. This is our own limit, as are
/// the others here.
pub const TEXT_MAX: usize = 1 << 20;

/// How deep lists and objects may be nested. The deepest field of a site is on level 7.
pub const DEPTH_MAX: usize = 32;

/// The most values of a document, including those that come from aliases and defaults. A list or an object is one
/// value, and so is each of its items or fields.
pub const NODES_MAX: usize = 100_000;

/// The most bytes of all keys and texts of a document, including those that come from aliases and defaults, and of the
/// paths of its secrets.
pub const EXPANDED_TEXT_MAX: usize = 4 * TEXT_MAX;

/// The most characters of a key. The longest key that Vedette accepts is the name of a request header.
pub const KEY_MAX: usize = 255;

/// The most problems that are reported at once.
pub const PROBLEMS_MAX: usize = 500;

/// A file of a document.
#[derive(Debug, Clone, Copy)]
pub struct DocumentFile<'a> {
    /// What [`Place::file`] says.
    pub name: &'a str,
    /// The content.
    pub text: &'a str,
}

/// Where a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The name of the [`DocumentFile`].
    pub file: String,
    /// The line. The first is 1.
    pub line: u64,
    /// The column, in characters. The first is 1.
    pub column: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// What is wrong with a document, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct DocumentProblem {
    /// Where it is wrong.
    pub place: Place,
    /// One or more whole sentences, without the value of a secret.
    pub message: String,
}
