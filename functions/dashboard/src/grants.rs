//! What the pages may do with the table. None may write a token or a user.

use vedette_store::Grant;
use vedette_store::keys::Prefix::{
    Channel, Delivery, Directory, IssueIndex, Session, SignIn, Site, Team, Throttle, User,
};

/// What pages show: to who is signed in, what the API shows; to who has the link from a mail, its channel.
/// Requests are counted, and nothing else is written.
pub const READ_GRANT: Grant = Grant {
    get: &[Channel, Session, SignIn, Site],
    batch_get: &[Site, Team, User],
    query: &[Directory, IssueIndex, Session, Site, User],
    update: &[Throttle],
    ..Grant::NONE
};

/// What forms do: begin and end sessions, create, change and delete sites, order checks, decide on issues, save
/// settings, and confirm or unsubscribe an address.
pub const WRITE_GRANT: Grant = Grant {
    get: &[Channel, Session, SignIn, Site, Team],
    batch_get: &[Site, Team, User],
    query: &[Site, User],
    put: &[Channel, Directory, IssueIndex, Session, Site, Team],
    update: &[Delivery, Directory, Team, Throttle],
    delete: &[Directory, IssueIndex, SignIn, Site],
    batch_delete: &[Session],
};
