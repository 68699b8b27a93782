//! Query parameters: digits for integers, `true|false|1|0` for booleans, ISO dates.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::RangeInclusive;

use jiff::civil::Date;
use url::form_urlencoded;

use crate::validation::Errors;

/// The query parameters of a request. Unknown ones are ignored; if one is repeated, the last one counts.
#[derive(Debug)]
pub struct Query {
    pairs: Vec<(String, String)>,
    known: RefCell<Vec<&'static str>>,
}

impl Query {
    /// Reads a raw query string.
    pub fn parse(raw: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(raw.unwrap_or_default().as_bytes());
        Self { pairs: pairs.into_owned().collect(), known: RefCell::default() }
    }

    /// Reads the query string of a form, in which an empty field is one that was left out.
    pub fn of_form(raw: Option<&str>) -> Self {
        let mut query = Self::parse(raw);
        query.pairs.retain(|(_, value)| !value.trim().is_empty());
        query
    }

    /// The parameter's text. Also remembers that the route knows the parameter.
    fn text(&self, name: &'static str) -> Option<&str> {
        self.known.borrow_mut().push(name);
        self.pairs.iter().rev().find(|(sent, _)| sent == name).map(|(_, value)| value.as_str())
    }

    /// The parameters that the route knows, as they were sent, for the links of a list.
    pub(crate) fn known_pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let known = self.known.borrow();
        let kept: Vec<_> = self
            .pairs
            .iter()
            .filter(|(name, _)| known.contains(&name.as_str()))
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        kept.into_iter()
    }

    /// Whether the parameter was sent, even if it is blank.
    pub fn has(&self, name: &'static str) -> bool {
        self.text(name).is_some()
    }

    /// Free text, trimmed; `None` if it is blank.
    pub fn search(&self, name: &'static str) -> Option<&str> {
        self.text(name).map(str::trim).filter(|text| !text.is_empty())
    }

    /// An integer within bounds.
    pub fn integer(
        &self,
        name: &'static str,
        bounds: RangeInclusive<u64>,
        errors: &mut Errors,
    ) -> Option<u64> {
        let text = self.text(name)?;
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (min, max) = (bounds.start(), bounds.end());
        // A number with more digits than fit is above every limit.
        let number = digits.then(|| text.parse().unwrap_or(u64::MAX));
        match number {
            None => errors.push(name, format!("The {name} field must be an integer.")),
            Some(number) if number < *min => {
                errors.push(name, format!("The {name} field must be at least {min}."));
            }
            Some(number) if number > *max => {
                errors.push(name, format!("The {name} field must not be greater than {max}."));
            }
            Some(number) => return Some(number),
        }
        None
    }

    /// A boolean.
    pub fn boolean(&self, name: &'static str, errors: &mut Errors) -> Option<bool> {
        match self.text(name)? {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => {
                errors.push(name, format!("The {name} field must be true or false."));
                None
            }
        }
    }

    /// One of a few values.
    pub fn one_of<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
        errors: &mut Errors,
    ) -> Option<T> {
        let found = read(self.text(name)?);
        if found.is_none() {
            errors.push(name, format!("The selected {name} is invalid."));
        }
        found
    }

    /// A text with a form of its own. What is wrong with it continues "The … field".
    pub fn parsed<T, E: Display>(
        &self,
        name: &'static str,
        read: impl FnOnce(&str) -> Result<T, E>,
        errors: &mut Errors,
    ) -> Option<T> {
        let read = read(self.text(name)?);
        read.map_err(|error| errors.push(name, format!("The {name} field {error}."))).ok()
    }

    /// A UUID in its hyphenated form.
    pub fn uuid<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
        errors: &mut Errors,
    ) -> Option<T> {
        let found = read(self.text(name)?);
        if found.is_none() {
            errors.push(name, format!("The {name} field must be a valid UUID."));
        }
        found
    }

    /// A day, `YYYY-MM-DD`.
    pub fn date(&self, name: &'static str, errors: &mut Errors) -> Option<Date> {
        let text = self.text(name)?;
        // The parser accepts other spellings and years before Christ.
        let date =
            text.parse().ok().filter(|date: &Date| text.len() == 10 && date.to_string() == text);
        if date.is_none() {
            errors.push(name, format!("The {name} field must be a date of the form YYYY-MM-DD."));
        }
        date
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_one_form() {
        let query = Query::parse(Some(
            "a=100&b=101&c=0&d=1.5&e=abc&f=&g=true&h=1&i=yes&j=2026-11-20&k=20261120&l=-1&m=%2B1\
             &n=99999999999999999999999&o=-009999-03-14&a=7&p=a%20b+c",
        ));
        let mut errors = Errors::new();
        for name in ["b", "c", "d", "e", "f", "l", "m", "n"] {
            assert_eq!(query.integer(name, 1..=100, &mut errors), None, "{name}");
        }
        assert_eq!(errors.len(), 8);
        assert_eq!(query.integer("a", 1..=100, &mut errors), Some(7), "the last counts");
        assert_eq!(query.integer("absent", 1..=100, &mut errors), None);
        assert_eq!(query.boolean("g", &mut errors), Some(true));
        assert_eq!(query.boolean("h", &mut errors), Some(true));
        assert_eq!(query.boolean("c", &mut errors), Some(false));
        assert_eq!(query.date("j", &mut errors), Some(jiff::civil::date(2026, 11, 20)));
        assert_eq!(query.search("p"), Some("a b c"));
        assert_eq!(query.search("f"), None);
        assert_eq!(query.search("absent"), None);
        assert_eq!(errors.len(), 8);
        assert_eq!(query.boolean("i", &mut errors), None);
        assert_eq!(query.date("k", &mut errors), None);
        assert_eq!(query.date("o", &mut errors), None);
        assert_eq!(query.one_of("e", |_| None::<()>, &mut errors), None);
        let refused = errors.finish(Some(())).expect_err("refused");
        insta::assert_json_snapshot!(refused, @r#"
        {
          "message": "The b field must not be greater than 100. (and 11 more errors)",
          "errors": {
            "b": [
              "The b field must not be greater than 100."
            ],
            "c": [
              "The c field must be at least 1."
            ],
            "d": [
              "The d field must be an integer."
            ],
            "e": [
              "The e field must be an integer.",
              "The selected e is invalid."
            ],
            "f": [
              "The f field must be an integer."
            ],
            "l": [
              "The l field must be an integer."
            ],
            "m": [
              "The m field must be an integer."
            ],
            "n": [
              "The n field must not be greater than 100."
            ],
            "i": [
              "The i field must be true or false."
            ],
            "k": [
              "The k field must be a date of the form YYYY-MM-DD."
            ],
            "o": [
              "The o field must be a date of the form YYYY-MM-DD."
            ]
          }
        }
        "#);
    }
}
