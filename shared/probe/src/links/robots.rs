//! `robots.txt` (RFC 9309).

use texting_robots::Robot;

/// The product token that rules may name.
const TOKEN: &str = "vedette";

/// Bytes of a `robots.txt` that are read. RFC 9309 asks for 500 KiB. Each rule is compared with
/// each link, so this also bounds our work.
pub(super) const SIZE_LIMIT: usize = 512 * 1024;

/// Rules obeyed in total; one with a `$` counts as [`ANCHORED`].
const RULES: usize = 2_000;

/// The weight of a rule with a `$`: it becomes a regular expression of up to [`RULE_SIZE`], which
/// takes up to a millisecond to compile. All other rules are compared as text.
const ANCHORED: usize = 8;

/// Bytes of the largest regular expression of a rule.
const RULE_SIZE: usize = 100 * 1024;

/// Lines read: many more than a file of [`SIZE_LIMIT`] with rules has.
const LINES: usize = 20_000;

/// Approximate memory for a `*` or `$` in such a rule.
const STATES: usize = 16 * 1024;

/// The rules for us in a `robots.txt`.
pub(super) struct Robots {
    robot: Robot,
    /// Its approximate maximum size in memory, in bytes.
    pub(super) size: usize,
}

impl Robots {
    /// Parses a file. An invalid one has no rules, as if it were absent.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        // To the parser, a NUL ends a line, too.
        let lines = text.split_inclusive(|byte| matches!(byte, b'\n' | b'\r' | 0));
        let mut rules = 0;
        let mut size = 0;
        let end: usize = lines
            .take(LINES)
            .take_while(|line| {
                if line.contains(&b':') {
                    let is_anchored = line.contains(&b'$');
                    rules += if is_anchored { ANCHORED } else { 1 };
                    if is_anchored {
                        let special = line.iter().filter(|byte| b"*$".contains(byte)).count();
                        size += (special * STATES).min(RULE_SIZE);
                    }
                }
                rules <= RULES
            })
            .map(<[u8]>::len)
            .sum();
        Some(Self { robot: Robot::new(TOKEN, &text[..end]).ok()?, size: size + end })
    }

    /// Whether the canonical `url` may be fetched.
    pub(super) fn allow(&self, url: &str) -> bool {
        self.robot.allowed(url)
    }

    /// The URLs of sitemaps, as written.
    pub(super) fn sitemaps(&self) -> impl Iterator<Item = &str> {
        self.robot.sitemaps.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(text: &str, path: &str) -> bool {
        let robots = Robots::parse(text.as_bytes()).expect("readable");
        robots.allow(&format!("https://example.com{path}"))
    }

    #[test]
    fn the_group_for_vedette_takes_precedence_over_the_one_for_all() {
        let both = "User-agent: *\nDisallow: /\n\nUser-agent: Vedette\nDisallow: /private\n";
        for (text, path, allowed) in [
            ("", "/", true),
            ("User-agent: *\nDisallow:\n", "/", true),
            ("User-agent: *\nDisallow: /\n", "/", false),
            ("User-agent: other\nDisallow: /\n", "/", true),
            (both, "/", true),
            (both, "/private/x", false),
            ("User-agent: *\nDisallow: /a\nAllow: /a/b\n", "/a/b/c", true),
            ("User-agent: *\nDisallow: /a\nAllow: /a/b\n", "/a/c", false),
            ("User-agent: *\nDisallow: /*.pdf$\n", "/x.pdf", false),
            ("User-agent: *\nDisallow: /*.pdf$\n", "/x.pdf?y", true),
            ("User-agent: *\r\nDisallow: /a\r\n", "/a", false),
            ("\u{feff}User-agent: *\nDisallow: /a\n", "/a", false),
        ] {
            assert_eq!(allows(text, path), allowed, "{text:?} {path}");
        }
    }

    #[test]
    fn sitemaps_are_named_for_everyone() {
        let text = "Sitemap: https://example.com/one.xml\nUser-agent: other\nDisallow: /\n\
                    sitemap: /two.xml\n";
        let robots = Robots::parse(text.as_bytes()).expect("readable");
        assert_eq!(
            robots.sitemaps().collect::<Vec<_>>(),
            ["https://example.com/one.xml", "/two.xml"]
        );
    }

    #[test]
    fn anything_may_be_served_as_robots_txt() {
        for text in [&b"<!doctype html><p>Not found"[..], b"\xff\xfe\0\0", &[b'*'; 100_000]] {
            assert!(Robots::parse(text).is_none_or(|robots| robots.allow("https://example.com/")));
        }
        let many = "User-agent: *\n".to_owned() + &"Disallow: /x*y*z\n".repeat(30_000);
        let robots = Robots::parse(many.as_bytes()).expect("readable");
        assert!(robots.allow("https://example.com/"));
        assert!(!robots.allow("https://example.com/xyz"));
    }

    #[test]
    fn rules_beyond_the_limit_of_lines_are_ignored() {
        for end in ["\n", "\r", "\0"] {
            let obeyed = |before| {
                let text = format!("{}User-agent: *\nDisallow: /y\n", end.repeat(before));
                !allows(&text, "/y")
            };
            assert!(obeyed(LINES - 2) && !obeyed(LINES), "{end:?}");
        }
    }

    #[test]
    fn rules_that_cost_more_are_fewer() {
        for (rule, count) in [("Disallow: /x", RULES), ("Disallow: /x$", RULES / ANCHORED)] {
            let obeyed = |before| {
                let text = format!("{}\nDisallow: /y\n", vec![rule; before].join("\n"));
                !allows(&text, "/y")
            };
            assert!(obeyed(count - 1) && !obeyed(count), "{rule}");
        }
    }
}
