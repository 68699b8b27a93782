//! Configuration from named variables. The caller passes in their source: the environment, or the values of a test.

use std::fmt;
use std::str::FromStr;

/// A variable that is missing or invalid.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {problem}")]
pub struct ConfigError {
    /// The variable.
    pub name: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

/// Reads one variable.
pub type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The value of a variable that must be set.
///
/// # Errors
///
/// When it is not set.
pub fn required(read: Read<'_>, name: &'static str) -> Result<String, ConfigError> {
    read(name).ok_or_else(|| ConfigError { name, problem: "is not set".to_owned() })
}

/// A variable's value; `None` if it is not set.
///
/// # Errors
///
/// When it cannot be read as a `T`.
pub fn one<T: FromStr<Err: fmt::Display>>(
    read: Read<'_>,
    name: &'static str,
) -> Result<Option<T>, ConfigError> {
    let value = read(name).map(|text| text.trim().parse());
    value.transpose().map_err(|problem: T::Err| ConfigError { name, problem: problem.to_string() })
}

/// The values of a variable that is a comma-separated list.
///
/// # Errors
///
/// When one of them cannot be read as a `T`.
pub fn list<T: FromStr<Err: fmt::Display>>(
    read: Read<'_>,
    name: &'static str,
) -> Result<Vec<T>, ConfigError> {
    let text = read(name).unwrap_or_default();
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(|item| {
            item.parse().map_err(|problem: T::Err| ConfigError {
                name,
                problem: format!("`{item}`: {problem}"),
            })
        })
        .collect()
}
