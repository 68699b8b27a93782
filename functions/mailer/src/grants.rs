//! What may be done with the table for transactional mails.

use vedette_store::Grant;
use vedette_store::keys::Prefix::{Invitation, SignIn, Team, User};

/// Transactional mails read who they are for, and make the links that they carry: to sign in, and to an invitation, which
/// admits only as long as its team lists it.
pub const LETTERS: Grant = Grant {
    get: &[Invitation, User],
    batch_get: &[Team],
    put: &[Invitation, SignIn],
    ..Grant::NONE
};
