//! Reading the directory of a team, which may take megabytes.

use futures::future::try_join_all;
use vedette_domain::id::TeamId;

use crate::item::{key_of, value};
use crate::table::{Range, Sort, Store};
use crate::{DirectoryRow, StoreError, keys};

/// The most calls that are made at once for a directory.
const RANGES_MAX: u32 = 16;

impl Store {
    /// A team's directory, in its order; where it takes several calls, the first one shows how many, and
    /// the others are made at once.
    pub async fn directory(&self, team: TeamId) -> Result<Vec<DirectoryRow>, StoreError> {
        let pk = keys::directory_partition(team);
        let (first, last) = self.query_page(&Range::new(&pk, Sort::All), None, None).await?;
        let ranges = match last {
            Some(last) => ranges_after(&key_of(&last)?.sk),
            None => Vec::new(),
        };
        let rest = ranges.into_iter().map(|(from, to)| {
            let range = Range::new(&pk, Sort::Between(from, to));
            async { self.query(range).await?.into_iter().map(value).collect::<Result<Vec<_>, _>>() }
        });
        let mut rows: Vec<DirectoryRow> = first.into_iter().map(value).collect::<Result<_, _>>()?;
        rows.extend(try_join_all(rest).await?.into_iter().flatten());
        Ok(rows)
    }
}

/// The ranges of sort keys that are left of a directory of which a page was read up to a row, about a page
/// each: the keys are hashes, and so spread evenly.
fn ranges_after(last: &str) -> Vec<(String, String)> {
    const END: u32 = 0x1_0000;
    let read = last.get(..4).and_then(|prefix| u32::from_str_radix(prefix, 16).ok());
    let read = read.unwrap_or_default() + 1;
    let count = (END - read).div_ceil(read).clamp(1, RANGES_MAX);
    let bound = |number: u32| read + (END - read) * number / count;
    let text = |bound: u32| if bound == END { "g".to_owned() } else { format!("{bound:04x}") };
    // Nothing stands between a key and the same with a space.
    let from = |number| if number == 0 { format!("{last} ") } else { text(bound(number)) };
    (0..count).map(|number| (from(number), text(bound(number + 1)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_directory_is_in_one_of_its_ranges() {
        for last in ["0000", "0fff", "5fff", "8000", "fffe", "ffff"] {
            let last = format!("{last}{}", "7".repeat(60));
            let ranges = ranges_after(&last);
            let holding = |sk: &str| {
                let holds =
                    |(from, to): &&(String, String)| (from.as_str()..=to.as_str()).contains(&sk);
                ranges.iter().filter(holds).count()
            };
            for prefix in 0..=0xffff {
                let sk = format!("{prefix:04x}{}", "a".repeat(60));
                let is_left = sk > last;
                assert_eq!(holding(&sk), usize::from(is_left), "{sk} after {last}");
            }
            assert_eq!(holding(&last), 0);
        }
        let after = |prefix: &str| ranges_after(prefix).len();
        assert_eq!([after("7fff"), after("5555"), after("3fff"), after("0001")], [1, 2, 3, 16]);
    }
}
