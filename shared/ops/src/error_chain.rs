//! Displays an error with its causes.

use std::error::Error;
use std::fmt;

/// Displays an error followed by its causes: `the table failed: dispatch failure: connection refused`.
///
/// Our errors hold their source and leave it out of their own text, so errors are logged and shown through this. If an
/// error already quotes its cause, as errors of some libraries do, the cause is not repeated.
#[derive(Debug, Clone, Copy)]
pub struct ErrorChain<'a>(pub &'a dyn Error);

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.0.to_string();
        f.write_str(&text)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let next = error.to_string();
            if !text.ends_with(&next) {
                write!(f, ": {next}")?;
            }
            text = next;
            cause = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Link {
        text: &'static str,
        source: Option<Box<Self>>,
    }

    fn chain(texts: &[&'static str]) -> Option<Box<Link>> {
        let (text, rest) = texts.split_first()?;
        Some(Box::new(Link { text, source: chain(rest) }))
    }

    #[test]
    fn an_error_is_followed_by_its_causes() {
        for (texts, shown) in [
            (&["alone"][..], "alone"),
            (&["the table failed", "no answer", "refused"], "the table failed: no answer: refused"),
            (&["broken: disk full", "disk full", "code 28"], "broken: disk full: code 28"),
        ] {
            let error = chain(texts).expect("an error");
            assert_eq!(ErrorChain(&*error).to_string(), shown);
        }
    }
}
