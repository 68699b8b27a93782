//! What the dashboard may do with the table.

use vedette_store::Grant;
use vedette_store::keys::Prefix::{
    Audit, Channel, ChannelSecret, Delivery, Directory, Email, Heartbeats, Invitation, IssueIndex,
    PingKey, Publication, Published, Report, Session, SignIn, Site, StatusPage, Subscription, Team,
    Teams, Throttle, Token, TokenUse, User,
};

/// What pages show. A signed-in user sees what the API shows, the team's channels, members and audit log, and their own
/// tokens. A visitor with the link from an email sees its channel or subscription, and an invited person sees the team.
/// Only request counts are written.
pub const READ_GRANT: Grant = Grant {
    get: &[
        Channel,
        Heartbeats,
        Invitation,
        Published,
        Report,
        Session,
        SignIn,
        Site,
        StatusPage,
        Subscription,
        User,
    ],
    batch_get: &[Delivery, Site, Team, Token, TokenUse, User],
    query: &[
        Audit,
        Channel,
        Delivery,
        Directory,
        Heartbeats,
        IssueIndex,
        Report,
        Session,
        Site,
        StatusPage,
        Subscription,
        Team,
        User,
    ],
    update: &[Throttle],
    ..Grant::NONE
};

/// What forms do: end sessions, create, change and delete sites, order checks, decide on issues, save settings, change
/// where alerts go, manage status pages and their incidents, and confirm or unsubscribe an address. No form here writes a
/// token or a user, lets anybody in, or reads a channel's secrets.
pub const WRITE_GRANT: Grant = Grant {
    get: &[Channel, Heartbeats, PingKey, Session, Site, StatusPage, Subscription, Team],
    batch_get: &[Delivery, Site, Team, User],
    query: &[Channel, Delivery, Directory, Heartbeats, IssueIndex, Site, StatusPage, User],
    put: &[
        Audit,
        Channel,
        ChannelSecret,
        Delivery,
        Directory,
        Heartbeats,
        IssueIndex,
        PingKey,
        Publication,
        Published,
        Site,
        StatusPage,
        Subscription,
        Team,
    ],
    update: &[ChannelSecret, Delivery, Directory, Publication, Subscription, Team, Throttle],
    delete: &[
        Channel,
        ChannelSecret,
        Directory,
        Heartbeats,
        IssueIndex,
        PingKey,
        Published,
        Site,
        StatusPage,
        Subscription,
    ],
    batch_delete: &[Delivery, Session],
    check: &[StatusPage],
};

/// What forms do that write users, members or tokens, that let somebody in, or that send an email to an address that
/// somebody types. Who may join depends on the role of the inviter. The only site that is read does not exist: the read
/// opens the connection to the table. So nothing that websites sent is read. Of a status page, the function reads what is
/// published, because that says whether the page offers subscriptions; of the directory, the groups that a report can be about.
pub const ACCOUNTS_GRANT: Grant = Grant {
    get: &[Email, Invitation, Published, Session, SignIn, Site, Subscription, User],
    batch_get: &[Email, Team, Throttle, Token, TokenUse, User],
    query: &[Directory, Subscription, Team, User],
    put: &[
        Audit,
        Email,
        Invitation,
        Session,
        SignIn,
        Subscription,
        Team,
        Teams,
        Throttle,
        Token,
        User,
    ],
    update: &[Email, Subscription, Team, Throttle, User],
    delete: &[Invitation, SignIn, Team, Token, TokenUse, User],
    check: &[Team],
    ..Grant::NONE
};
