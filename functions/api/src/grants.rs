//! What routes may do with the table. Only the routes for a user's tokens and time zone, for a new team and for members
//! write what belongs to a user.

use vedette_store::Grant;
use vedette_store::keys::Prefix::{
    Audit, Channel, ChannelSecret, Delivery, Directory, Email, Heartbeats, Invitation, IssueIndex,
    PingKey, Publication, Published, Report, Site, StatusPage, Subscription, Team, Teams, Throttle,
    Token, TokenUse, User,
};

/// What every route that knows its callers does, and everything that reading routes do: look up the token and its user,
/// count the request, record the use of the token, and read the resource.
pub const EVERY_ROUTE: Grant = Grant {
    get: &[Site, StatusPage, Token, TokenUse],
    batch_get: &[Site, Team, User],
    query: &[Directory, IssueIndex, Site, StatusPage, User],
    update: &[Throttle, TokenUse],
    ..Grant::NONE
};

pub(crate) const READ_REPORTS: Grant = Grant { get: &[Report], query: &[Report], ..Grant::NONE };

pub(crate) const SAVE_MONITORING: Grant =
    Grant { put: &[Audit, Team], update: &[Delivery, Publication, Team], ..Grant::NONE };

pub(crate) const SAVE_TIME_ZONE: Grant =
    Grant { put: &[Audit], update: &[Delivery, Publication, Team], ..Grant::NONE };

pub(crate) const SAVE_USER_TIME_ZONE: Grant = Grant { update: &[Email, User], ..Grant::NONE };

/// A new window has delayed no reminder, so none becomes due.
pub(crate) const CREATE_WINDOW: Grant =
    Grant { put: &[Audit], update: &[Publication, Team], ..Grant::NONE };

pub(crate) const CHANGE_WINDOW: Grant =
    Grant { put: &[Audit], update: &[Delivery, Publication, Team], ..Grant::NONE };

pub(crate) const CHANGE_CALENDAR: Grant = Grant { put: &[Audit], update: &[Team], ..Grant::NONE };

pub(crate) const SAVE_SITE_GROUPS: Grant = Grant { put: &[Audit, Directory], ..Grant::NONE };

pub(crate) const EXPORT_CONFIGURATION: Grant =
    Grant { query: &[Channel, Heartbeats], ..Grant::NONE };

/// What each of the changes writes that a document can make, and the lease.
pub(crate) const APPLY_CONFIGURATION: Grant = Grant {
    get: &[Channel, Team],
    batch_get: &[Delivery],
    query: &[Channel, Delivery, Heartbeats],
    put: &[
        Audit,
        Channel,
        ChannelSecret,
        Delivery,
        Directory,
        Heartbeats,
        Publication,
        Published,
        Site,
        StatusPage,
        Team,
    ],
    update: &[ChannelSecret, Delivery, Directory, Publication, Team],
    delete: &[
        Channel,
        ChannelSecret,
        Directory,
        Heartbeats,
        IssueIndex,
        Published,
        Site,
        StatusPage,
    ],
    batch_delete: &[Delivery],
    ..Grant::NONE
};

pub(crate) const CREATE_SITE: Grant =
    Grant { get: &[Team], put: &[Audit, Directory, Site, Team], update: &[Team], ..Grant::NONE };

pub(crate) const UPDATE_SITE: Grant = Grant {
    put: &[Audit, Directory, Site],
    update: &[Directory, Publication],
    delete: &[Directory],
    ..Grant::NONE
};

pub(crate) const SAVE_EXPECTATIONS: Grant =
    Grant { put: &[Audit, Site], update: &[Publication], ..Grant::NONE };

pub(crate) const DELETE_SITE: Grant = Grant {
    get: &[Team],
    put: &[Audit, Directory, Site, Team],
    update: &[Publication, Team],
    delete: &[Directory, IssueIndex, Site],
    ..Grant::NONE
};

pub(crate) const READ_HEARTBEATS: Grant = Grant { query: &[Heartbeats], ..Grant::NONE };

pub(crate) const CREATE_HEARTBEAT: Grant =
    Grant { put: &[Audit, Heartbeats, Site], update: &[Team], ..Grant::NONE };

/// A heartbeat that is paused has its issues resolved.
pub(crate) const UPDATE_HEARTBEAT: Grant = Grant {
    put: &[Audit, Heartbeats, IssueIndex, Site],
    update: &[Publication],
    delete: &[Heartbeats, IssueIndex],
    ..Grant::NONE
};

pub(crate) const DELETE_HEARTBEAT: Grant = Grant {
    put: &[Audit, Site],
    update: &[Publication, Team],
    delete: &[Heartbeats, IssueIndex, Site],
    ..Grant::NONE
};

pub(crate) const READ_PING_KEY: Grant = Grant { get: &[Heartbeats], ..Grant::NONE };

pub(crate) const REPLACE_PING_KEY: Grant = Grant {
    get: &[Heartbeats, PingKey],
    put: &[Audit, Heartbeats, PingKey],
    delete: &[PingKey],
    ..Grant::NONE
};

/// A ping reads a heartbeat with its state and its team, and saves what it reports, with the issues that open or resolve.
/// The first one, or one that resumes a heartbeat, also requests publications of status pages. A ping to a slug that is
/// unknown may create its heartbeat.
pub const PING: Grant = Grant {
    get: &[Heartbeats, PingKey, Site],
    batch_get: &[Site, Team],
    query: &[Site],
    put: &[Heartbeats, IssueIndex, Site],
    update: &[Publication, Team, Throttle],
    delete: &[IssueIndex],
    ..Grant::NONE
};

pub(crate) const CREATE_STATUS_PAGE: Grant =
    Grant { put: &[Audit, Publication, Published, StatusPage], update: &[Team], ..Grant::NONE };

/// A page that moves to another address gives up the previous one.
pub(crate) const UPDATE_STATUS_PAGE: Grant = Grant {
    put: &[Audit, Published, StatusPage],
    update: &[Publication],
    delete: &[Published],
    ..Grant::NONE
};

pub(crate) const DELETE_STATUS_PAGE: Grant = Grant {
    put: &[Audit],
    update: &[Publication, Team],
    delete: &[Published, StatusPage],
    ..Grant::NONE
};

pub(crate) const WRITE_INCIDENT: Grant =
    Grant { put: &[Audit, StatusPage, Subscription], update: &[Publication], ..Grant::NONE };

pub(crate) const DELETE_INCIDENT: Grant =
    Grant { put: &[Audit], update: &[Publication], delete: &[StatusPage], ..Grant::NONE };

pub(crate) const READ_AUDIT_LOG: Grant = Grant { query: &[Audit], ..Grant::NONE };

pub(crate) const READ_TOKENS: Grant = Grant { batch_get: &[Token, TokenUse], ..Grant::NONE };

pub(crate) const CREATE_TOKEN: Grant =
    Grant { batch_get: &[Token, TokenUse], put: &[Audit, Token, User], ..Grant::NONE };

pub(crate) const REVOKE_TOKEN: Grant = Grant {
    batch_get: &[Token, TokenUse],
    put: &[Audit],
    delete: &[Token, TokenUse, User],
    ..Grant::NONE
};

pub(crate) const READ_MEMBERS: Grant = Grant { query: &[Team], ..Grant::NONE };

/// A member is stored with the team and with the user.
pub(crate) const CHANGE_ROLE: Grant =
    Grant { get: &[User], query: &[Team], put: &[Audit], update: &[Team, User], ..Grant::NONE };

pub(crate) const REMOVE_MEMBER: Grant = Grant {
    get: &[User],
    query: &[Team],
    put: &[Audit],
    update: &[Team],
    delete: &[Team, User],
    ..Grant::NONE
};

/// Before an email is requested, the inviter's membership is read again.
pub(crate) const INVITE: Grant = Grant {
    get: &[User],
    query: &[Team],
    put: &[Audit, Invitation],
    update: &[Team],
    ..Grant::NONE
};

pub(crate) const WITHDRAW_INVITATION: Grant =
    Grant { put: &[Audit], update: &[Team], delete: &[Invitation], ..Grant::NONE };

/// The team has no plan of its own, because only operators may write plans.
pub(crate) const CREATE_TEAM: Grant =
    Grant { put: &[Team, Teams, User], update: &[User], ..Grant::NONE };

pub(crate) const RENAME_TEAM: Grant = Grant { put: &[Audit], update: &[Team], ..Grant::NONE };

/// How fast the channels of a team are notified.
pub(crate) const READ_METRICS: Grant =
    Grant { batch_get: &[Delivery], query: &[Channel, Heartbeats], ..Grant::NONE };

pub(crate) const READ_CHANNELS: Grant =
    Grant { get: &[Channel], query: &[Channel, Delivery], ..Grant::NONE };

/// The email that asks for a confirmation waits among the deliveries.
pub(crate) const ADD_CHANNEL: Grant = Grant {
    query: &[Channel],
    put: &[Audit, Channel, ChannelSecret, Delivery],
    update: &[Delivery],
    ..Grant::NONE
};

pub(crate) const CHANGE_CHANNEL: Grant = Grant {
    get: &[Channel],
    batch_get: &[Delivery],
    query: &[Delivery],
    put: &[Audit, Channel, Delivery],
    update: &[Delivery],
    ..Grant::NONE
};

/// A channel that leads elsewhere claims its new URL and gives up the one before. Its secret is changed without being
/// read.
pub(crate) const EDIT_CHANNEL: Grant = Grant {
    get: &[Channel],
    batch_get: &[Delivery],
    query: &[Channel, Delivery],
    put: &[Audit, Channel, Delivery],
    update: &[ChannelSecret, Delivery],
    delete: &[Channel],
    ..Grant::NONE
};

pub(crate) const DELETE_CHANNEL: Grant = Grant {
    get: &[Channel],
    query: &[Delivery],
    put: &[Audit],
    delete: &[Channel, ChannelSecret],
    batch_delete: &[Delivery],
    ..Grant::NONE
};

/// Resolving moves the issue's row in the index.
pub(crate) const DECIDE_ISSUE: Grant = Grant {
    put: &[Audit, IssueIndex, Site],
    update: &[Publication],
    delete: &[IssueIndex],
    ..Grant::NONE
};

pub(crate) const ORDER_CHECKS: Grant =
    Grant { put: &[Site], update: &[Directory, Team], ..Grant::NONE };

pub(crate) const DELETE_CHECK: Grant =
    Grant { put: &[Site], update: &[Directory], delete: &[Site], ..Grant::NONE };
