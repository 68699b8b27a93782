//! What the pages may do with the table.

use vedette_store::Grant;
use vedette_store::keys::Prefix::Channel;

/// Pages read and write channels, for whoever has the link from a mail. Nobody is signed in, so they
/// can read nothing else.
pub const PAGES_GRANT: Grant = Grant { get: &[Channel], put: &[Channel], ..Grant::NONE };
