//! The name of the table, and its layout in the file.

use std::path::Path;

use rusqlite::{Connection, params};

/// The table's name in an embedded database.
pub const TABLE: &str = "vedette";

/// Bytes of a page. A row that takes more than a quarter of a page is stored partly in other pages, and a site's row
/// can take 2 KB.
const PAGE_SIZE: u32 = 8_192;

/// Stores an empty table by its key, instead of by row numbers with a separate index: dynoxide gives a row a new number
/// with every write, so each check would change two trees, and leave a hole between the checks where the site's state
/// was.
pub(crate) fn by_key(file: &Path) -> rusqlite::Result<()> {
    let mut file = Connection::open(file)?;
    let recreated = file.transaction()?;
    let find = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?1";
    let definition: String = recreated.query_row(find, params![TABLE], |row| row.get(0))?;
    recreated.execute_batch(&format!("DROP TABLE \"{TABLE}\"; {definition} WITHOUT ROWID"))?;
    recreated.commit()?;
    // The page size only changes when the file is rewritten, which needs another journal mode.
    file.execute_batch(&format!(
        "PRAGMA journal_mode = DELETE; PRAGMA page_size = {PAGE_SIZE}; VACUUM"
    ))
}
