//! What the pages may do with the table.

use vedette_store::Grant;
use vedette_store::keys::Prefix::{
    Audit, Channel, ChannelSecret, Delivery, Directory, Email, Invitation, IssueIndex, Session,
    SignIn, Site, Team, Throttle, Token, TokenUse, User,
};

/// What pages show: to who is signed in, what the API shows, the team's channels, members and audit log, and
/// their own tokens; to who has the link from a mail, its channel; to who is invited, the team. Requests are
/// counted, and nothing else is written.
pub const READ_GRANT: Grant = Grant {
    get: &[Channel, Invitation, Session, SignIn, Site, User],
    batch_get: &[Delivery, Site, Team, Token, TokenUse, User],
    query: &[Audit, Channel, Delivery, Directory, IssueIndex, Session, Site, Team, User],
    update: &[Throttle],
    ..Grant::NONE
};

/// What forms do: end sessions, create, change and delete sites, order checks, decide on issues, save
/// settings, say where alerts go, and confirm or unsubscribe an address. None writes a token or a user, or
/// lets anybody in, and none reads a channel's secrets.
pub const WRITE_GRANT: Grant = Grant {
    get: &[Channel, Session, Site, Team],
    batch_get: &[Delivery, Site, Team, User],
    query: &[Channel, Delivery, Site, User],
    put: &[Audit, Channel, ChannelSecret, Delivery, Directory, IssueIndex, Site, Team],
    update: &[Delivery, Directory, Team, Throttle],
    delete: &[Channel, ChannelSecret, Directory, IssueIndex, Site],
    batch_delete: &[Delivery, Session],
    ..Grant::NONE
};

/// What forms do that write users, members or tokens, and what lets somebody in. Who joins depends on the role of who
/// invited them. A site is read only to try the connection, and none that exists: nothing that strangers wrote is read.
pub const ACCOUNTS_GRANT: Grant = Grant {
    get: &[Email, Invitation, Session, SignIn, Site, User],
    batch_get: &[Email, Team, Throttle, Token, TokenUse, User],
    query: &[Team, User],
    put: &[Audit, Email, Invitation, Session, SignIn, Team, Throttle, Token, User],
    update: &[Team, Throttle, User],
    delete: &[Invitation, SignIn, Team, Token, TokenUse, User],
    check: &[Team],
    ..Grant::NONE
};
