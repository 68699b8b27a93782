//! The tags of a team, with a number for each, and how many sites have it.
//!
//! Rows of the directory store numbers instead of tags, so ten tags take twenty bytes. A number stays as long as any
//! site has its tag. Then another tag may get it.

use serde::{Deserialize, Serialize};

use super::tag::{TEAM_TAGS_MAX, Tag, Tags};

/// The tags of a team.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagDictionary {
    /// Increases with every change; 0 if no site has ever had a tag.
    pub rev: u64,
    /// By number.
    entries: Vec<Option<TagEntry>>,
}

/// A tag that sites have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagEntry {
    /// The tag.
    #[serde(rename = "t")]
    pub tag: Tag,
    /// How many sites have it.
    #[serde(rename = "n")]
    pub sites: u32,
}

/// Why a site cannot have more tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("The team already uses {TEAM_TAGS_MAX} different tags.")]
pub struct TooManyTags;

impl TagDictionary {
    /// The tags that sites have, with their numbers.
    pub fn entries(&self) -> impl Iterator<Item = (u16, &TagEntry)> {
        (0..).zip(&self.entries).filter_map(|(number, entry)| Some((number, entry.as_ref()?)))
    }

    /// The tag with a number.
    pub fn tag(&self, number: u16) -> Option<&Tag> {
        self.entries.get(usize::from(number))?.as_ref().map(|entry| &entry.tag)
    }

    /// The number of a tag, if any site has it.
    pub fn number(&self, tag: &Tag) -> Option<u16> {
        self.entries().find(|(_, entry)| entry.tag == *tag).map(|(number, _)| number)
    }

    /// The numbers of tags that sites have, ascending.
    pub fn numbers(&self, tags: &Tags) -> Vec<u16> {
        let entries = self.entries().filter(|(_, entry)| tags.contains(&entry.tag));
        entries.map(|(number, _)| number).collect()
    }

    /// The dictionary after the tags of a site have changed.
    ///
    /// # Errors
    ///
    /// If the team would have more than [`TEAM_TAGS_MAX`].
    pub fn changed(&self, before: &Tags, after: &Tags) -> Result<Self, TooManyTags> {
        let mut changed = self.counted(before, after);
        for tag in after {
            if changed.entries().any(|(_, entry)| entry.tag == *tag) {
                continue;
            }
            let entry = Some(TagEntry { tag: tag.clone(), sites: 1 });
            match changed.entries.iter().position(Option::is_none) {
                Some(free) => changed.entries[free] = entry,
                None if changed.entries.len() < TEAM_TAGS_MAX => changed.entries.push(entry),
                None => return Err(TooManyTags),
            }
        }
        Ok(changed)
    }

    /// The dictionary after a site with these tags was deleted.
    #[must_use]
    pub fn without(&self, tags: &Tags) -> Self {
        self.counted(tags, &Tags::new())
    }

    /// The known tags after those of a site have changed.
    fn counted(&self, before: &Tags, after: &Tags) -> Self {
        let count = |entry: &TagEntry| {
            let sites = entry.sites + u32::from(after.contains(&entry.tag));
            let sites = sites.saturating_sub(u32::from(before.contains(&entry.tag)));
            (sites > 0).then(|| TagEntry { sites, ..entry.clone() })
        };
        let entries = self.entries.iter().map(|entry| entry.as_ref().and_then(count));
        Self { rev: self.rev + 1, entries: entries.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(texts: &[&str]) -> Tags {
        texts.iter().map(|text| Tag::parse(text).expect("a tag")).collect()
    }

    fn shown(dictionary: &TagDictionary) -> Vec<(u16, String, u32)> {
        let entries = dictionary.entries();
        entries.map(|(number, entry)| (number, entry.tag.to_string(), entry.sites)).collect()
    }

    #[test]
    fn tags_are_counted_and_keep_their_numbers() {
        let [none, ab, bc] = [&[][..], &["a", "b"], &["b", "c"]].map(tags);
        let first = TagDictionary::default().changed(&none, &ab).expect("room");
        let second = first.changed(&none, &bc).expect("room");
        let all = [(0, "a".to_owned(), 1), (1, "b".to_owned(), 2), (2, "c".to_owned(), 1)];
        assert_eq!(shown(&second), all);
        assert_eq!((second.rev, second.numbers(&bc)), (2, vec![1, 2]));
        // The first site gives up a tag that no other site has, and gets another.
        let third = second.changed(&ab, &tags(&["b", "d"])).expect("room");
        assert_eq!(shown(&third), [(0, "d".to_owned(), 1), all[1].clone(), all[2].clone()]);
        assert_eq!(third.changed(&bc, &bc).map(|same| shown(&same)), Ok(shown(&third)));
        let last = third.without(&bc).without(&tags(&["b", "d"]));
        assert_eq!(shown(&last), []);
    }

    #[test]
    fn a_team_has_a_limited_number_of_tags() {
        let mut full = TagDictionary::default();
        for number in 0..TEAM_TAGS_MAX {
            full = full.changed(&Tags::new(), &tags(&[&number.to_string()])).expect("room");
        }
        assert_eq!(full.changed(&Tags::new(), &tags(&["7", "8"])).map(|it| it.rev), Ok(501));
        assert_eq!(full.changed(&Tags::new(), &tags(&["a"])), Err(TooManyTags));
        // A tag that is given up makes room.
        assert!(full.changed(&tags(&["7"]), &tags(&["a"])).is_ok());
    }
}
