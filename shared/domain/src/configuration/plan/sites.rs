//! The sites of a document.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::describe;
use super::super::document::{Entry, ObjectKind, is_unread};
use super::{ChangeStep, Likeness, Planner, UNREAD, text_of};
use crate::expectations::{CONTENT_TYPE_DEFAULT, Expectations, PostRequest};
use crate::id::SiteId;
use crate::input::{FieldRule as _, FlagRule, read_beside};
use crate::sites::input::NewSite;
use crate::sites::settings::{Settings, SiteOverrides, TEAM_PATH, parse_site_overrides};
use crate::sites::site::Site;
use crate::sites::site_url::SiteUrl;
use crate::validation::{Errors, Field, Fields};

/// A site as a document describes it.
struct WantedSite {
    new: NewSite,
    pinned: bool,
    overrides: SiteOverrides,
    expectations: Expectations,
    knows_body: bool,
}

impl Planner<'_> {
    pub(super) fn sites(&mut self) {
        let (sites, plan) = (self.current.sites, self.current.plan);
        self.sites = sites.iter().map(|site| (site.id, site.clone())).collect();
        let url_of = |entry: &Entry| {
            SiteUrl::parse(text_of(entry, "url")).ok().map(|url| url.as_str().to_owned())
        };
        let alike = Likeness {
            of_entry: &url_of,
            of_object: &|site: &Site| Some(site.url.as_str().to_owned()),
        };
        let matches =
            self.match_up(ObjectKind::Site, sites, |site| site.managed_by.as_ref(), &[alike]);
        let mut planned = Vec::new();
        let mut urls: BTreeSet<SiteUrl> = BTreeSet::new();
        for (entry, before) in matches.pairs {
            let Some(wanted) = self.read_site(&entry, before) else { continue };
            if !urls.insert(wanted.new.url.clone()) {
                entry.refuse("url", "must differ from the URLs of other sites", &mut self.errors);
            }
            let after = self.site_after(&entry, before, wanted);
            self.references.add(&after, &entry.key);
            planned.push((entry, before, after));
        }
        let gone: BTreeSet<SiteId> = match self.prunes(ObjectKind::Site) {
            true => matches.gone.iter().map(|site| site.id).collect(),
            false => BTreeSet::new(),
        };
        for site in sites.iter().filter(|site| !gone.contains(&site.id)) {
            self.references.add_other(site);
        }
        for (entry, before, after) in planned {
            let described = describe::site(&after, plan);
            let is_managed = before.is_some_and(|before| before.managed_by == after.managed_by);
            let name = after.name.clone();
            self.sites.insert(after.id, after.clone());
            let step = match before {
                None => ChangeStep::CreateSite(Box::new(after)),
                Some(_) => ChangeStep::SaveSite(Box::new(after)),
            };
            let before = before.map(|site| describe::site(site, plan));
            self.change(
                ObjectKind::Site,
                &entry,
                &name,
                (before.as_ref(), &described),
                is_managed,
                step,
            );
        }
        for site in matches.gone {
            let described = describe::site(site, plan);
            let step = ChangeStep::DeleteSite(site.id);
            let by = site.managed_by.as_ref();
            self.remove(ObjectKind::Site, (&site.name, &described), by, step);
            if self.prunes(ObjectKind::Site) {
                self.sites.remove(&site.id);
            }
        }
        let most = plan.limits().sites;
        let most = most.map_or(usize::MAX, |most| most as usize);
        self.limit(ObjectKind::Site, sites.len(), most, "the plan");
    }

    fn read_site(&mut self, entry: &Entry, before: Option<&Site>) -> Option<WantedSite> {
        let mut sent = Value::from(entry.fields.clone());
        let stored = before.and_then(|site| site.overrides.request_header.as_ref());
        let stored = stored.map(|header| (header.name.clone(), header.value.clone()));
        self.read_header(&mut sent, stored, &entry.path);
        let errors = &mut self.errors;
        let fields = Field::at(entry.path.clone(), &sent).object(errors)?;
        let before = errors.len();
        let new: Option<NewSite> =
            read_beside(&["pinned", TEAM_PATH, "expectations"], &fields, errors);
        let pinned = FlagRule.read(&fields.field("pinned"), errors).unwrap_or_default();
        let sent = fields.field(TEAM_PATH);
        let domain = new.as_ref().map(|new| new.url.domain());
        let plan = self.current.plan;
        let overrides = match sent.is_sent() {
            true => parse_site_overrides(&sent, &self.settings, plan, domain, errors),
            false => SiteOverrides::default(),
        };
        let (expectations, knows_body) = read_expectations(entry, &fields, errors);
        let wanted = WantedSite { new: new?, pinned, overrides, expectations, knows_body };
        (errors.len() == before).then_some(wanted)
    }

    /// The site after the plan.
    fn site_after(
        &mut self,
        entry: &Entry,
        before: Option<&Site>,
        WantedSite { new, pinned, overrides, mut expectations, knows_body }: WantedSite,
    ) -> Site {
        let (team, now) = (self.current.team.id, self.choices.now);
        // What belongs to the old URL is removed with it.
        let kept = match before {
            Some(site) => site.moved_to(new.url.clone()),
            None => Site::new(SiteId(self.uuid()), team, new.url.clone(), now),
        };
        if let Some(post) = expectations.post.as_mut().filter(|_| !knows_body) {
            match &kept.expectations.post {
                Some(stored) => post.body.clone_from(&stored.body),
                None if self.choices.is_dry_run => {}
                None => entry.refuse(
                    describe::POST_BODY,
                    "needs a value: the site has no stored one yet",
                    &mut self.errors,
                ),
            }
        }
        let read = Settings::resolve(&self.settings, &kept.overrides, self.current.plan);
        let overrides = kept.overrides.keeping_cadences(overrides, &read);
        let expected_records = new.dns_expected_records.unwrap_or_default();
        // Without expected records, the next check learns them again.
        let clears = expected_records.is_empty() && !kept.expected_records.is_empty();
        let site = Site {
            name: new.name.unwrap_or_else(|| new.url.generated_name().to_owned()),
            notes: new.notes,
            tags: new.tags.unwrap_or_default(),
            js_rendered: new.js_rendered,
            pinned,
            overrides,
            expected_records,
            expectations,
            objective: new.objective,
            managed_by: Some(self.managed_by(entry)),
            records: kept.records + u64::from(clears),
            ..kept
        };
        if let Err(refusal) = site.check_texts() {
            entry.refuse("notes", refusal, &mut self.errors);
        }
        let settings = Settings::resolve(&self.settings, &site.overrides, self.current.plan);
        let is_changed = before.is_none_or(|before| {
            before.objective != site.objective || before.overrides != site.overrides
        });
        if is_changed && let Err(refusal) = site.check_objective(&settings) {
            entry.refuse("objective.percentage", refusal, &mut self.errors);
        }
        site
    }
}

/// Reads what a site's checks expect, and whether the client knew what they post.
fn read_expectations(
    entry: &Entry,
    fields: &Fields<'_>,
    errors: &mut Errors,
) -> (Expectations, bool) {
    const EXPECTATIONS: &str = "expectations";
    let field = fields.field(EXPECTATIONS);
    if field.object(errors).is_none() {
        return (Expectations::default(), true);
    }
    let mut sent = field.value().and_then(Value::as_object).cloned().unwrap_or_default();
    sent.entry(EXPECTATIONS).or_insert_with(|| Value::Array(Vec::new()));
    let unread =
        PostRequest { content_type: CONTENT_TYPE_DEFAULT.to_owned(), body: UNREAD.to_owned() };
    let post = sent.get_mut("post").and_then(Value::as_object_mut);
    let knows_body = match post {
        Some(post) if post.get("body").is_some_and(is_unread) => {
            post.remove("body");
            false
        }
        _ => true,
    };
    let stored = (!knows_body).then_some(&unread);
    match Expectations::read(sent, |sent| Fields::body(sent), stored) {
        Ok(expectations) => (expectations, knows_body),
        Err(error) => {
            entry.refuse_all(EXPECTATIONS, error, errors);
            (Expectations::default(), true)
        }
    }
}
