//! What people choose for a site, besides its monitoring settings, which depend on its team.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::id::{SiteId, TeamId};
use crate::input::{FieldRule as _, FlagRule, ListRule, TextKind, TextRule, input, line};
use crate::name::NAME_MAX;
use crate::objectives::{Objective, ObjectiveRule};
use crate::sites::settings::{ExpectedRecords, ExpectedRecordsRule, SiteOverrides};
use crate::sites::site::{NOTES_MAX, Site};
use crate::sites::site_url::{SiteUrl, UrlRule};
use crate::sites::tag::{SITE_TAGS_MAX, TAG_MAX, TAG_PATTERN, Tag, Tags};
use crate::validation::{Errors, Field};

input! {
    /// A new site.
    NewSite,
    /// A change of a site.
    SiteEdit {
        /// The URL to monitor. It is stored in canonical form and is unique in the team. Its host is a valid DNS name
        /// or an IP address. It must not have a user name, a password or the port 0.
        #[form("URL")]
        url: Always<SiteUrl> = UrlRule;
        /// Display name: one line of visible text. A site without a name gets one from the URL's host.
        name: Optional<String> = line(NAME_MAX);
        /// Free text.
        #[form("Notes, sent with notifications")]
        notes: Clearable<String> = NOTES;
        /// An addition to the specification: what the site has in common with others, as keys such as legacy or keys
        /// with values such as env:prod. Upper case becomes lower case. A team has at most 500 different tags.
        tags: Optional<Tags> = TAGS;
        /// An addition to the specification: tags to add to those that the site has, which may then be at most 10.
        add_tags: ChangeOnly<Tags> = TAGS;
        /// An addition to the specification: tags to remove, if the site has them and they are not added as well.
        remove_tags: ChangeOnly<Tags> = TAGS;
        /// Whether broken-link crawls render pages with a browser.
        #[form("Render pages in a browser when checking links")]
        js_rendered: Optional<bool> = FlagRule, or false;
        /// The DNS records that must exist, by type. Null and `{}` clear them; the next check then becomes the
        /// baseline.
        dns_expected_records: Clearable<ExpectedRecords> = ExpectedRecordsRule;
        /// An addition to the specification: how much of a period the site should be up. Null removes it. Checks must
        /// be frequent enough to tell: what it allows is at least two of them long.
        objective: Clearable<Objective> = ObjectiveRule;
        /// Whether the team keeps the site at the top.
        #[form("Keep at the top of lists")]
        pinned: ChangeOnly<bool> = FlagRule;
    }
}

pub(crate) const NOTES: TextRule<String> =
    TextRule { min: 0, max: NOTES_MAX, kind: TextKind::Other, parse: |text| Ok(text.to_owned()) };

const TAG: TextRule<Tag> = TextRule {
    min: 1,
    max: TAG_MAX,
    kind: TextKind::Pattern(TAG_PATTERN),
    parse: |text| Tag::parse(text).map_err(|error| error.to_string()),
};

pub(crate) const TAGS: ListRule<TextRule<Tag>, Tag> = ListRule::new(0, SITE_TAGS_MAX, TAG);

/// Reads the tags of sites: a list of texts.
pub fn read_tags(field: &Field<'_>, errors: &mut Errors) -> Option<Tags> {
    TAGS.read(field, errors)
}

impl NewSite {
    /// The new site. Anything that the overrides leave out is inherited.
    pub fn into_site(
        self,
        overrides: SiteOverrides,
        id: SiteId,
        team: TeamId,
        now: Timestamp,
    ) -> Site {
        let site = Site::new(id, team, self.url, now);
        Site {
            name: self.name.unwrap_or(site.name),
            notes: self.notes,
            tags: self.tags.unwrap_or_default(),
            js_rendered: self.js_rendered,
            overrides,
            expected_records: self.dns_expected_records.unwrap_or_default(),
            objective: self.objective,
            ..site
        }
    }
}

impl SiteEdit {
    /// The site with what was chosen. A generated name stays when the URL changes, because the team knows the site by
    /// it. What is not sent and belongs to the old URL is removed; see [`Site::moved_to`]. Clearing the expected
    /// records also forgets the learned ones, if the site `has_learnt` any.
    pub fn apply_to(self, site: &Site, overrides: Option<SiteOverrides>, has_learnt: bool) -> Site {
        let kept = self.url.map_or_else(|| site.clone(), |url| site.moved_to(url));
        let records = self.dns_expected_records.map(Option::unwrap_or_default);
        let clears = records.as_ref().is_some_and(BTreeMap::is_empty);
        let mut tags = self.tags.unwrap_or(kept.tags);
        tags.retain(|tag| self.remove_tags.as_ref().is_none_or(|removed| !removed.contains(tag)));
        tags.extend(self.add_tags.into_iter().flatten());
        Site {
            overrides: overrides.unwrap_or(kept.overrides),
            name: self.name.unwrap_or(kept.name),
            notes: self.notes.unwrap_or(kept.notes),
            tags,
            js_rendered: self.js_rendered.unwrap_or(kept.js_rendered),
            pinned: self.pinned.unwrap_or(kept.pinned),
            expected_records: records.unwrap_or(kept.expected_records),
            objective: self.objective.unwrap_or(kept.objective),
            records: kept.records + u64::from(clears && has_learnt),
            ..kept
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::input::Input;

    /// Reads a site with one more field.
    fn with<T: Input>(field: &str, value: &Value) -> Result<T, Value> {
        let mut sent = json!({ "url": "https://example.com" });
        sent[field] = value.clone();
        let read = T::from_open_json(sent.to_string().as_bytes());
        read.map_err(|error| serde_json::to_value(error).expect("JSON")["errors"].take())
    }

    #[test]
    fn each_field_is_read() {
        let longest = "\u{fc}".repeat(NOTES_MAX);
        for (sent, kept) in [
            (json!(" a\nb "), Some("a\nb")),
            (json!(longest), Some(&*longest)),
            (json!(null), None),
            (json!("  "), None),
        ] {
            let kept = kept.map(str::to_owned);
            assert_eq!(with::<NewSite>("notes", &sent).expect("a site").notes, kept);
            assert_eq!(with::<SiteEdit>("notes", &sent).expect("a change").notes, Some(kept));
        }
        let named: SiteEdit = with("name", &json!("  Shop\n")).expect("a change");
        assert_eq!((named.name.as_deref(), named.notes, named.pinned), (Some("Shop"), None, None));
        let none: SiteEdit = with("dns_expected_records", &json!(null)).expect("a change");
        assert_eq!(none.dns_expected_records, Some(None));
        for value in [true, false] {
            let site: NewSite = with("js_rendered", &json!(value)).expect("a site");
            let change: SiteEdit = with("pinned", &json!(value)).expect("a change");
            assert_eq!((site.js_rendered, change.pinned), (value, Some(value)));
        }
        assert!(with::<NewSite>("pinned", &json!(1)).is_ok(), "a new site is not pinned");
    }

    #[test]
    fn what_is_wrong_is_refused_at_its_field() {
        let (required, switch) = ("field is required", "field must be true or false");
        let (text, visible) = (
            "field must be a string",
            "field must not contain control characters or characters that change the direction of text",
        );
        let empty = "field must not be empty";
        for (field, sent, message) in [
            ("url", json!(null), required),
            ("url", json!(" "), required),
            ("url", json!(5), text),
            ("url", json!(["https://example.com"]), text),
            ("url", json!("example.com"), "must start with http:// or https://"),
            ("name", json!("n".repeat(256)), "field must not be longer than 255 characters"),
            ("name", json!(null), empty),
            ("name", json!(" \t"), empty),
            ("name", json!("Shop\u{1b}[31m"), visible),
            ("name", json!("\u{202e}pohS"), visible),
            ("name", json!("\u{200b}\u{2060}"), "field must contain a visible character"),
            ("name", json!({}), text),
            ("notes", json!("n".repeat(5001)), "field must not be longer than 5000 characters"),
            ("notes", json!(false), text),
            ("js_rendered", json!(1), switch),
            ("js_rendered", json!("true"), switch),
            ("js_rendered", json!(null), empty),
            ("dns_expected_records", json!([]), "field must be an object"),
        ] {
            let expected = json!({ field: [format!("The {field} {message}.")] });
            assert_eq!(with::<NewSite>(field, &sent), Err(expected.clone()), "{sent}");
            assert_eq!(with::<SiteEdit>(field, &sent), Err(expected), "{sent}");
        }
        for (sent, message) in [(json!("true"), switch), (json!(null), empty)] {
            let expected = json!({ "pinned": [format!("The pinned {message}.")] });
            assert_eq!(with::<SiteEdit>("pinned", &sent), Err(expected));
        }
        let omitted = json!({ "url": [format!("The url {required}.")] });
        for refused in
            [NewSite::from_open_json(b"{}").map(drop), SiteEdit::from_open_json(b"{}").map(drop)]
        {
            let error = serde_json::to_value(refused.expect_err("no URL")).expect("JSON");
            assert_eq!(error["errors"], omitted);
        }
    }
}
