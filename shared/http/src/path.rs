//! Paths with `{parameters}`, in the notation of API Gateway.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;

use crate::error::ApiError;

/// The values in the path of a request, by their names in the path of its route.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct PathParameters(HashMap<String, String>);

impl PathParameters {
    /// The values in a path; `None` if it does not match the pattern.
    ///
    /// Paths are matched as they were sent and decoded afterwards, so that an encoded slash stays within its segment.
    pub fn read(pattern: &str, path: &str) -> Option<Self> {
        let mut values = HashMap::new();
        let mut segments = path.split('/');
        for expected in pattern.split('/') {
            let segment = segments.next()?;
            let name = expected.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
            match name {
                Some(name) if !segment.is_empty() => {
                    let value = percent_decode_str(segment).decode_utf8_lossy().into_owned();
                    values.insert(name.to_owned(), value);
                }
                _ if segment == expected && name.is_none() => {}
                _ => return None,
            }
        }
        segments.next().is_none().then_some(Self(values))
    }

    /// A value; empty if the path has no parameter of this name.
    pub fn value(&self, name: &str) -> &str {
        self.0.get(name).map(String::as_str).unwrap_or_default()
    }

    /// A value that is an id.
    ///
    /// # Errors
    ///
    /// 404 if the value is not a valid id.
    pub fn id<T>(&self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, ApiError> {
        parse(self.value(name)).ok_or(ApiError::NotFound)
    }
}

/// Names with their values that have already been read, for example by API Gateway.
impl FromIterator<(String, String)> for PathParameters {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl From<PathParameters> for HashMap<String, String> {
    fn from(parameters: PathParameters) -> Self {
        parameters.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_within_their_segment() {
        let site = |path: &str| {
            let known = ["/api/v1/sites/{site}", "/api/v1/sites/{site}/checks"];
            let found = known.iter().find_map(|pattern| PathParameters::read(pattern, path));
            found.map(|found| found.value("site").to_owned())
        };
        for (path, value) in [
            ("/api/v1/sites/a%2Fb", Some("a/b")),
            ("/api/v1/sites/a%2Fchecks", Some("a/checks")),
            ("/api/v1/sites/%ff%00%zz%", Some("\u{fffd}\0%zz%")),
            ("/api/v1/sites/{site}", Some("{site}")),
            ("/api/v1/sites/..", Some("..")),
            ("/api/v1/sites/", None),
            ("/api/v1/sites//checks", None),
            ("/api/v1/me/../sites/a", None),
            ("api/v1/sites/a", None),
            ("*", None),
            ("", None),
        ] {
            assert_eq!(site(path).as_deref(), value, "{path}");
        }
    }
}
