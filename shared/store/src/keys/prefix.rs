//! What the partitions of the table hold.

/// The prefix of a partition key, which says what the partition holds. IAM policies distinguish partitions by it; see
/// [`Grant`](crate::Grant).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Prefix {
    /// A site with its tools, checks and issues.
    Site,
    /// The index of a team's issues and failing sites.
    IssueIndex,
    /// The directory of a team's sites.
    Directory,
    /// A team with its settings, usage, members and cooldowns.
    Team,
    /// The leases that a team's crawls or audits hold.
    Leases,
    /// A user with memberships and the list of tokens.
    User,
    /// The address of a user.
    Email,
    /// A token.
    Token,
    /// The last use of a token.
    TokenUse,
    /// The requests of a subject in a minute.
    Throttle,
    /// The list of teams.
    Teams,
    /// A shard of the work index.
    Work,
    /// The recurring runs of a tool at one cadence, where the polling scheduler sends them.
    PolledRun,
    /// The channels of a team, and which URLs they lead to.
    Channel,
    /// The secrets of a team's channels: URLs and keys.
    ChannelSecret,
    /// How much was sent to a host in a minute.
    Host,
    /// What is outstanding for a channel.
    Delivery,
    /// A link that signs in to the dashboard.
    SignIn,
    /// The sessions of a user.
    Session,
    /// An invitation to a team.
    Invitation,
    /// The audit log of a team.
    Audit,
    /// The machine that the table is on, if it is not in AWS.
    Machine,
    /// The status pages of a team, with their incidents.
    StatusPage,
    /// What is outstanding for the status pages of a team.
    Publication,
    /// A published status page, by its address.
    Published,
    /// The readers who have subscribed to a status page or to the reports of a team, and what they still have to be
    /// sent.
    Subscription,
    /// The list of a team's heartbeats, with their slugs and the team's ping key.
    Heartbeats,
    /// The team with a ping key.
    PingKey,
    /// The reports of a team.
    Report,
}

impl Prefix {
    /// All of them.
    pub const ALL: [Self; 29] = [
        Self::Site,
        Self::IssueIndex,
        Self::Directory,
        Self::Team,
        Self::Leases,
        Self::User,
        Self::Email,
        Self::Token,
        Self::TokenUse,
        Self::Throttle,
        Self::Teams,
        Self::Work,
        Self::PolledRun,
        Self::Channel,
        Self::ChannelSecret,
        Self::Host,
        Self::Delivery,
        Self::SignIn,
        Self::Session,
        Self::Invitation,
        Self::Audit,
        Self::Machine,
        Self::StatusPage,
        Self::Publication,
        Self::Published,
        Self::Subscription,
        Self::Heartbeats,
        Self::PingKey,
        Self::Report,
    ];

    /// The text in the key.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Site => "S#",
            Self::IssueIndex => "N#",
            Self::Directory => "L#",
            Self::Team => "T#",
            Self::Leases => "P#",
            Self::User => "U#",
            Self::Email => "E#",
            Self::Token => "K#",
            Self::TokenUse => "V#",
            Self::Throttle => "R#",
            Self::Teams => "G",
            Self::Work => "W#",
            Self::PolledRun => "B#",
            Self::Channel => "C#",
            Self::ChannelSecret => "Z#",
            Self::Host => "H#",
            Self::Delivery => "D#",
            Self::SignIn => "X#",
            Self::Session => "Y#",
            Self::Invitation => "J#",
            Self::Audit => "A#",
            Self::Machine => "M#",
            Self::StatusPage => "O#",
            Self::Publication => "I#",
            Self::Published => "Q#",
            Self::Subscription => "F#",
            Self::Heartbeats => "HB#",
            Self::PingKey => "PK#",
            Self::Report => "RP#",
        }
    }

    /// The prefix of a partition key.
    pub fn of(pk: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|prefix| pk.starts_with(prefix.as_str()))
    }

    pub(crate) fn key(self, rest: impl std::fmt::Display) -> String {
        format!("{}{rest}", self.as_str())
    }
}
