//! References to secrets, which are not in the files themselves.

use serde_json::Value;

use crate::Place;
use crate::node::{Budget, Content, Files, Node, Problems, Spot};
use crate::parse::too_large;

/// The longest name of an environment variable. This is our own limit.
const VARIABLE_MAX: usize = 255;

/// Whether a field is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrecy {
    /// Its value is in the document.
    Public,
    /// Its value is in the document, or elsewhere.
    Either,
    /// Its value is elsewhere.
    Secret,
}

/// Where the value of a secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// In an environment variable.
    Env(String),
    /// In a file. A relative path begins at the folder of the file that has the reference.
    File(String),
}

/// A reference in a document.
pub(crate) struct Secret {
    /// The dotted path of the field.
    pub(crate) path: String,
    /// The field of the document that the secret is in.
    pub(crate) field: String,
    /// The JSON pointer from there. Unlike the path, it is unique, whatever the keys contain.
    pub(crate) pointer: String,
    pub(crate) reference: Reference,
    pub(crate) place: Place,
}

/// What a mapping refers to, if it is `{env: …}` or `{file: …}` with a text.
pub(crate) fn reference(node: &Node) -> Option<Reference> {
    let Content::Object(fields) = &node.content else { return None };
    let (key, value) = fields.first_key_value().filter(|_| fields.len() == 1)?;
    match (key.as_str(), &value.content) {
        ("env", Content::Scalar(Value::String(name))) => Some(Reference::Env(name.clone())),
        ("file", Content::Scalar(Value::String(path))) => Some(Reference::File(path.clone())),
        _ => None,
    }
}

/// Finds the references to secrets, and everything that should be one or must not be one.
pub(crate) struct Finder<'a, F> {
    secrecy: F,
    files: &'a Files,
    /// Long paths of many secrets would need more memory than the document.
    budget: &'a mut Budget,
    problems: &'a mut Problems,
    found: Vec<(Spot, Secret)>,
}

impl<'a, F: Fn(&str) -> Secrecy> Finder<'a, F> {
    pub(crate) fn new(
        secrecy: F,
        files: &'a Files,
        budget: &'a mut Budget,
        problems: &'a mut Problems,
    ) -> Self {
        Self { secrecy, files, budget, problems, found: Vec::new() }
    }

    /// What was found, in the order of places.
    pub(crate) fn finish(mut self) -> Vec<Secret> {
        self.found.sort_by_key(|(spot, _)| *spot);
        self.found.into_iter().map(|(_, secret)| secret).collect()
    }

    /// Looks at a value, which is at a path of the document, and at a pointer of one of its fields.
    pub(crate) fn find(&mut self, path: &str, field: &str, pointer: &str, node: &Node) {
        let is_secret = match (self.secrecy)(path) {
            Secrecy::Public => false,
            Secrecy::Either => reference(node).is_some(),
            Secrecy::Secret => true,
        };
        if is_secret {
            return match self.checked(path, node) {
                Ok(None) => {}
                Ok(Some(_)) if !self.budget.take(0, path.len() + pointer.len()) => {
                    self.problems.push(node.spot, too_large());
                }
                Ok(Some(reference)) => {
                    let place = self.files.place(node.spot);
                    let (path, field, pointer) = (path.into(), field.into(), pointer.into());
                    self.found.push((node.spot, Secret { path, field, pointer, reference, place }));
                }
                Err(message) => self.problems.push(node.spot, message),
            };
        }
        match &node.content {
            Content::Scalar(_) => {}
            Content::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    let (path, pointer) = (format!("{path}.{index}"), format!("{pointer}/{index}"));
                    self.find(&path, field, &pointer, item);
                }
            }
            Content::Object(fields) => {
                if matches!(reference(node), Some(Reference::Env(name)) if is_variable(&name)) {
                    let message = format!(
                        "The {path} field cannot refer to an environment variable, because it is \
                         not a secret. Write its value here."
                    );
                    self.problems.push(node.spot, message);
                }
                for (key, child) in fields {
                    let token = key.replace('~', "~0").replace('/', "~1");
                    let (path, pointer) = (format!("{path}.{key}"), format!("{pointer}/{token}"));
                    self.find(&path, field, &pointer, child);
                }
            }
        }
    }

    /// The reference at the path of a secret, which may also be null.
    fn checked(&self, path: &str, node: &Node) -> Result<Option<Reference>, String> {
        match reference(node) {
            Some(Reference::Env(name)) if !is_variable(&name) => Err(format!(
                "The {path}.env field must be the name of an environment variable: at most \
                 {VARIABLE_MAX} letters, digits and underscores, and no digit at the beginning."
            )),
            Some(Reference::File(file)) if file.is_empty() => {
                Err(format!("The {path}.file field must be the path of a file."))
            }
            Some(reference) => Ok(Some(reference)),
            None if matches!(node.content, Content::Scalar(Value::Null)) => Ok(None),
            None if matches!(node.content, Content::Object(_)) => Err(format!(
                "The {path} field must be {{env: NAME}} or {{file: PATH}}, with a string."
            )),
            None => Err(format!(
                "The {path} field is a secret, and a document must not contain secrets. Write \
                 {{env: NAME}} for the value of an environment variable, or {{file: PATH}} for the \
                 content of a file."
            )),
        }
    }
}

/// Whether a text can be the name of an environment variable.
fn is_variable(text: &str) -> bool {
    text.len() <= VARIABLE_MAX
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
