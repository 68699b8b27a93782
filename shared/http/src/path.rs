//! Paths with `{parameters}`, as API Gateway has them.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;

/// The values in a path, by their names in the pattern; `None` if it does not match.
///
/// Paths are matched as they were sent and decoded afterwards, so that an encoded slash stays
/// within its segment.
pub fn parameters(pattern: &str, path: &str) -> Option<HashMap<String, String>> {
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
    segments.next().is_none().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_within_their_segment() {
        let site = |path: &str| {
            let known = ["/api/v1/sites/{site}", "/api/v1/sites/{site}/checks"];
            known.iter().find_map(|pattern| Some(parameters(pattern, path)?["site"].clone()))
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
