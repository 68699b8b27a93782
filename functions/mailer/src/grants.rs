//! What the function for transactional emails may do with the table.

use vedette_store::Grant;
use vedette_store::keys::Prefix::{Invitation, SignIn, Team, User};

/// For transactional emails, the function reads their recipients and creates their links: to sign in, and to an
/// invitation, which is valid only as long as its team lists it.
pub const LETTERS: Grant = Grant {
    get: &[Invitation, User],
    batch_get: &[Team],
    put: &[Invitation, SignIn],
    ..Grant::NONE
};
