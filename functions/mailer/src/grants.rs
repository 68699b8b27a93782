//! What the function for transactional emails may do with the table.

use vedette_store::Grant;
use vedette_store::keys::Prefix::{
    Invitation, Report, SignIn, StatusPage, Subscription, Team, User,
};

/// For transactional emails, the function reads their recipients and creates their links: to sign in, and to an
/// invitation, which is valid only as long as its team lists it. For subscribers of a status page, it reads what people
/// wrote about an incident, and records who has been sent it. For recipients of reports, it does the same with reports.
pub const LETTERS: Grant = Grant {
    get: &[Invitation, Report, StatusPage, Subscription, User],
    batch_get: &[Team],
    query: &[Report, Subscription],
    put: &[Invitation, SignIn, Subscription],
    update: &[Subscription],
    delete: &[Subscription],
    ..Grant::NONE
};
