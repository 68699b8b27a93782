//! The files of a document, and the secrets that it refers to.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use vedette_document::{
    DocumentFile, DocumentProblem, Place, Reference, Secrecy, TEXT_MAX, TeamDocument,
};
use vedette_domain::configuration::{is_secret, may_be_secret};
use vedette_http::body::BODY_MAX;
use vedette_runtime::config::environment;

use crate::Failure;

/// The longest document with its defaults, in bytes of JSON: a request without its other fields.
const DOCUMENT_MAX: usize = BODY_MAX - 1024;

/// The longest secret of a file, in bytes: longer than any that a field may have.
const SECRET_MAX: usize = 64 * 1024;

/// The files of a document, each with its name and its text.
pub(super) struct Files(Vec<(PathBuf, String)>);

impl Files {
    /// Reads files, and the files in folders that end in `.yaml` or `.yml`, in the order of their names.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut files = Vec::new();
        for path in paths {
            if !path.is_dir() {
                files.push(path.clone());
                continue;
            }
            let unreadable = |error: std::io::Error| Failure::unreadable(path, &error);
            let mut inside = Vec::new();
            for entry in fs::read_dir(path).map_err(unreadable)? {
                inside.push(entry.map_err(unreadable)?.path());
            }
            let is_yaml = |file: &PathBuf| {
                file.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
            };
            inside.retain(is_yaml);
            inside.sort();
            if inside.is_empty() {
                let folder = path.display();
                return Err(Failure::Usage(format!("{folder} has no .yaml or .yml files")));
            }
            files.append(&mut inside);
        }
        let read = |file: PathBuf| Ok((file.clone(), text(&file)?));
        Ok(Self(files.into_iter().map(read).collect::<Result<_, Failure>>()?))
    }

    /// The document, with references to its secrets.
    pub(super) fn document(&self) -> Result<TeamDocument, Failure> {
        let names: Vec<String> =
            self.0.iter().map(|(file, _)| file.display().to_string()).collect();
        let sources = names.iter().zip(&self.0);
        let sources: Vec<_> =
            sources.map(|(name, (_, text))| DocumentFile { name, text }).collect();
        let document =
            TeamDocument::read(&sources, secrecy).map_err(|problems| refused(&problems))?;
        let long = Value::Object(document.value().clone()).to_string().len();
        if long > DOCUMENT_MAX {
            let most = format!("{long} bytes with its defaults; the limit is {DOCUMENT_MAX}");
            return Err(Failure::Usage(format!("the document has {most}")));
        }
        Ok(document)
    }
}

fn text(file: &Path) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| Failure::unreadable(file, &error);
    let mut text = Vec::new();
    // A longer file is refused by its length, so its end does not matter.
    let limit = TEXT_MAX as u64 + 4;
    File::open(file)
        .and_then(|file| file.take(limit).read_to_end(&mut text))
        .map_err(unreadable)?;
    match String::from_utf8(text) {
        Ok(text) => Ok(text),
        Err(error) if error.as_bytes().len() > TEXT_MAX => {
            Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
        }
        Err(_) => Err(Failure::Usage(format!("{} is not UTF-8", file.display()))),
    }
}

fn secrecy(path: &str) -> Secrecy {
    match (is_secret(path), may_be_secret(path)) {
        (true, _) => Secrecy::Secret,
        (false, true) => Secrecy::Either,
        (false, false) => Secrecy::Public,
    }
}

/// Replaces the references to secrets by their values. If some may be unknown, a variable that is not set leaves its
/// reference.
pub(super) fn resolve(document: &mut TeamDocument, may_be_unknown: bool) -> Result<(), Failure> {
    let read = |reference: &Reference, place: &Place| match reference {
        Reference::Env(name) => match environment(name) {
            None if !may_be_unknown => Err(format!("The variable {name} is not set or empty.")),
            value => Ok(value),
        },
        Reference::File(path) => {
            let folder = Path::new(&place.file).parent().unwrap_or_else(|| Path::new(""));
            match secret_of(&folder.join(path)) {
                Err(_) if may_be_unknown => Ok(None),
                Err(why) => Err(format!("{path} cannot be read: {why}.")),
                Ok(secret) => Ok(Some(secret)),
            }
        }
    };
    document.resolve(read).map_err(|problems| refused(&problems))
}

/// The text of a file without the line break at its end.
fn secret_of(file: &Path) -> Result<String, String> {
    let mut text = String::new();
    let limit = SECRET_MAX as u64 + 1;
    let read = File::open(file).and_then(|file| file.take(limit).read_to_string(&mut text));
    read.map_err(|error| error.to_string())?;
    if text.len() > SECRET_MAX {
        return Err("it is too long".to_owned());
    }
    let secret = text.strip_suffix('\n').unwrap_or(&text);
    Ok(secret.strip_suffix('\r').unwrap_or(secret).to_owned())
}

/// Everything that is wrong with a document, each at its place.
fn refused(problems: &[DocumentProblem]) -> Failure {
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    Failure::Usage(lines.join("\n"))
}

/// The errors of fields at their places in the files.
pub(super) fn failure(document: &TeamDocument, errors: &[(String, String)]) -> Failure {
    let problem = |(field, message): &(String, String)| DocumentProblem {
        place: document.place(field),
        message: message.clone(),
    };
    let mut problems: Vec<_> = errors.iter().map(problem).collect();
    problems.sort_by(|a, b| {
        let place = |of: &DocumentProblem| (of.place.file.clone(), of.place.line, of.place.column);
        place(a).cmp(&place(b))
    });
    refused(&problems)
}
