//! The order of changes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::describe::{self, Described};
use super::super::document::ObjectKind;
use super::Change;
use crate::heartbeats::heartbeat::slug_of;
use crate::validation::Errors;

/// What only one object of a team may have: the URL of a site, the name or the URL of a channel, the slug of a heartbeat
/// or of a page. The field comes first.
pub(super) type Unique = (&'static str, String);

/// What only one object of a team may have.
pub(super) fn unique(kind: ObjectKind, of: &Described) -> BTreeSet<Unique> {
    let text = |field: &'static str, name: &str| {
        let text = of.fields.get(name).and_then(Value::as_str);
        text.map(|text| (field, text.to_owned()))
    };
    match kind {
        ObjectKind::Site => text("url", "url").into_iter().collect(),
        ObjectKind::Heartbeat => {
            let slug = text("slug", "slug").or_else(|| {
                let (field, name) = text("slug", "name")?;
                Some((field, slug_of(&name)))
            });
            // Pages have slugs, too, but not these.
            let slug = slug.filter(|(_, slug)| !slug.is_empty());
            slug.map(|(field, slug)| (field, format!("ping {slug}"))).into_iter().collect()
        }
        ObjectKind::StatusPage => text("slug", "slug").into_iter().collect(),
        ObjectKind::Channel => {
            // Sites have URLs, too, but not these.
            let url = of.secrets.get(describe::URL).map(|digest| ("url", digest.clone()));
            text("name", "name").into_iter().chain(url).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// The changes in an order in which everything that only one object may have is free when an object gets it. Deletions
/// come last, unless they free something. What stays taken is refused.
pub(super) fn in_order(
    changes: Vec<Change>,
    mut deletions: Vec<Change>,
    mut held: BTreeSet<Unique>,
    errors: &mut Errors,
) -> Vec<Change> {
    let mut ordered = Vec::new();
    let mut waiting = changes;
    while !waiting.is_empty() {
        let is_blocked = |change: &Change, held: &BTreeSet<Unique>| {
            let [before, after] = &change.unique;
            after.difference(before).any(|one| held.contains(one))
        };
        let mut blocked = Vec::new();
        let before = ordered.len();
        for change in waiting {
            if is_blocked(&change, &held) {
                blocked.push(change);
                continue;
            }
            let [before, after] = &change.unique;
            for one in before {
                held.remove(one);
            }
            held.extend(after.iter().cloned());
            ordered.push(change);
        }
        let wanted: BTreeSet<Unique> =
            blocked.iter().flat_map(|change| change.unique[1].iter().cloned()).collect();
        let frees = |deletion: &mut Change| !deletion.unique[0].is_disjoint(&wanted);
        let sooner: Vec<_> = deletions.extract_if(.., frees).collect();
        for one in sooner.iter().flat_map(|deletion: &Change| &deletion.unique[0]) {
            held.remove(one);
        }
        ordered.extend(sooner);
        if ordered.len() == before {
            for change in &blocked {
                let [before, after] = &change.unique;
                for (field, _) in after.difference(before).filter(|one| held.contains(*one)) {
                    let path = format!("{}.{field}", change.path);
                    let why =
                        format!("The {path} field belongs to another {} of the team.", change.kind);
                    errors.push(path, why);
                }
            }
            break;
        }
        waiting = blocked;
    }
    ordered.append(&mut deletions);
    ordered
}
