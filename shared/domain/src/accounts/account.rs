//! Users, memberships, roles and access tokens.

use std::collections::BTreeSet;
use std::fmt;

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::id::{TeamId, UserId};
use crate::input::{IntegerRule, ListRule, input, line};
use crate::name::NAME_MAX;
use crate::time_zone::NamedZone;

/// A person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The user's id.
    pub id: UserId,
    /// Display name.
    pub name: String,
    /// The email address, which is unique regardless of case.
    pub email: String,
    /// When they confirmed the address; unconfirmed users are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email_verified_at: Option<Timestamp>,
    /// The time zone that they chose for pages and email. If they chose none, a team's pages use the team's zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<NamedZone>,
    /// Creation.
    pub created_at: Timestamp,
}

impl User {
    /// Whether the address is not confirmed yet.
    pub const fn is_unverified(&self) -> bool {
        self.email_verified_at.is_none()
    }
}

/// A user's place in a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The team.
    pub team: TeamId,
    /// The user.
    pub user: UserId,
    /// What the user may do there.
    pub role: Role,
}

/// A role in a team. Each role may do everything that the one before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sees everything, changes nothing.
    Viewer,
    /// Also manages sites and runs checks.
    Member,
    /// Also updates the team's monitoring and manages its channels.
    Admin,
    /// Like an admin; also manages owners. A team has at least one.
    Owner,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Role {
    /// All roles, from the fewest permissions to the most.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Member, Self::Admin, Self::Owner];

    /// The roles that a new member can get. A team's first owner is created with the team.
    pub const NEW: [Self; 3] = [Self::Viewer, Self::Member, Self::Admin];

    /// The value used by the command line and in storage.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Member => "member",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }

    /// The role with this value.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == value)
    }

    /// Whether a member with this role may give or take the role `other`. Only owners give and take the role of owner.
    pub fn governs(self, other: Self) -> bool {
        self.grants(Permission::ManageMembers) && (other != Self::Owner || self == Self::Owner)
    }

    /// Whether the role grants the permission.
    pub fn grants(self, permission: Permission) -> bool {
        self >= permission.least_role()
    }
}

input! {
    /// The new role of a member.
    NewRole {
        /// Their role.
        role: Required<Role> = Role::ALL;
    }
}

/// The permission that a route needs, in the words of the API's endpoint table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// `view` and `viewAny` of teams, sites, checks and issues.
    View,
    /// `create`, `update` and `delete` of sites.
    ManageSites,
    /// `createCheck` and `deleteCheck`.
    RunChecks,
    /// `updateMonitoring` of the team.
    UpdateMonitoring,
    /// Changes where the team's alerts go.
    ManageChannels,
    /// Creates, changes and deletes status pages.
    ManageStatusPages,
    /// Writes about incidents on status pages.
    WriteIncidents,
    /// Invites members, changes their roles and removes them.
    ManageMembers,
    /// Renames the team.
    RenameTeam,
}

impl Permission {
    const fn least_role(self) -> Role {
        match self {
            Self::View => Role::Viewer,
            Self::ManageSites | Self::RunChecks | Self::WriteIncidents => Role::Member,
            Self::UpdateMonitoring
            | Self::ManageChannels
            | Self::ManageStatusPages
            | Self::ManageMembers => Role::Admin,
            Self::RenameTeam => Role::Owner,
        }
    }
}

/// What a token may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Scope {
    /// Read teams, the user and team monitoring.
    #[serde(rename = "teams:read")]
    TeamsRead,
    /// Update team monitoring.
    #[serde(rename = "teams:write")]
    TeamsWrite,
    /// Read sites and reports.
    #[serde(rename = "sites:read")]
    SitesRead,
    /// Create and update sites.
    #[serde(rename = "sites:write")]
    SitesWrite,
    /// Delete sites.
    #[serde(rename = "sites:delete")]
    SitesDelete,
    /// Read checks.
    #[serde(rename = "checks:read")]
    ChecksRead,
    /// Run checks on demand.
    #[serde(rename = "checks:run")]
    ChecksRun,
    /// Delete on-demand checks.
    #[serde(rename = "checks:delete")]
    ChecksDelete,
    /// Read issues.
    #[serde(rename = "issues:read")]
    IssuesRead,
    /// Read the metrics of a team.
    #[serde(rename = "metrics:read")]
    MetricsRead,
    /// Acknowledge, resolve and snooze issues, and write notes about them.
    #[serde(rename = "issues:write")]
    IssuesWrite,
    /// Read audit logs and events.
    #[serde(rename = "audit:read")]
    AuditRead,
    /// Create and rename teams.
    #[serde(rename = "teams:manage")]
    TeamsManage,
    /// List the user's tokens.
    #[serde(rename = "tokens:read")]
    TokensRead,
    /// Create and revoke tokens of the user.
    #[serde(rename = "tokens:write")]
    TokensWrite,
    /// Read a team's channels, their deliveries and what waits for them.
    #[serde(rename = "channels:read")]
    ChannelsRead,
    /// Add, change, test and delete channels.
    #[serde(rename = "channels:write")]
    ChannelsWrite,
    /// Read the members of teams and their invitations.
    #[serde(rename = "members:read")]
    MembersRead,
    /// Invite people to teams, change the roles of members, and remove them.
    #[serde(rename = "members:write")]
    MembersWrite,
    /// Read a document of everything that a team has.
    #[serde(rename = "configuration:read")]
    ConfigurationRead,
    /// Apply documents to a team: create, change and delete everything that a document can have.
    #[serde(rename = "configuration:write")]
    ConfigurationWrite,
    /// Read heartbeats, their runs and the addresses that jobs ping.
    #[serde(rename = "heartbeats:read")]
    HeartbeatsRead,
    /// Create, change, pause and delete heartbeats, and give the team another ping key.
    #[serde(rename = "heartbeats:write")]
    HeartbeatsWrite,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Scope {
    /// The scopes of a new token whose creator chooses none. Every other scope must be chosen.
    pub const DEFAULT: [Self; 10] = [
        Self::TeamsRead,
        Self::TeamsWrite,
        Self::SitesRead,
        Self::SitesWrite,
        Self::SitesDelete,
        Self::ChecksRead,
        Self::ChecksRun,
        Self::ChecksDelete,
        Self::IssuesRead,
        Self::MetricsRead,
    ];

    /// All scopes.
    pub const ALL: [Self; 23] = [
        Self::TeamsRead,
        Self::TeamsWrite,
        Self::TeamsManage,
        Self::MembersRead,
        Self::MembersWrite,
        Self::SitesRead,
        Self::SitesWrite,
        Self::SitesDelete,
        Self::ChecksRead,
        Self::ChecksRun,
        Self::ChecksDelete,
        Self::HeartbeatsRead,
        Self::HeartbeatsWrite,
        Self::IssuesRead,
        Self::IssuesWrite,
        Self::ChannelsRead,
        Self::ChannelsWrite,
        Self::TokensRead,
        Self::TokensWrite,
        Self::ConfigurationRead,
        Self::ConfigurationWrite,
        Self::AuditRead,
        Self::MetricsRead,
    ];

    /// The value used on the wire and in storage.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TeamsRead => "teams:read",
            Self::TeamsWrite => "teams:write",
            Self::SitesRead => "sites:read",
            Self::SitesWrite => "sites:write",
            Self::SitesDelete => "sites:delete",
            Self::ChecksRead => "checks:read",
            Self::ChecksRun => "checks:run",
            Self::ChecksDelete => "checks:delete",
            Self::IssuesRead => "issues:read",
            Self::MetricsRead => "metrics:read",
            Self::IssuesWrite => "issues:write",
            Self::AuditRead => "audit:read",
            Self::TeamsManage => "teams:manage",
            Self::TokensRead => "tokens:read",
            Self::TokensWrite => "tokens:write",
            Self::ChannelsRead => "channels:read",
            Self::ChannelsWrite => "channels:write",
            Self::MembersRead => "members:read",
            Self::MembersWrite => "members:write",
            Self::ConfigurationRead => "configuration:read",
            Self::ConfigurationWrite => "configuration:write",
            Self::HeartbeatsRead => "heartbeats:read",
            Self::HeartbeatsWrite => "heartbeats:write",
        }
    }
}

/// What is stored about a personal access token. The secret itself is shown once and never stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// SHA-256 of the secret.
    pub hash: TokenHash,
    /// The owner.
    pub user: UserId,
    /// The owner's name for it.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// When it stops working.
    pub expires_at: Timestamp,
    /// Creation.
    pub created_at: Timestamp,
}

/// How long a new token works, in days: six months.
pub const TOKEN_LIFETIME_DAYS: u32 = 183;
/// The longest that a token can work, in days: ten years.
pub const TOKEN_DAYS_MAX: u32 = 3_650;
/// The most tokens that a user may create.
pub const TOKENS_MAX: usize = 100;

input! {
    /// A new token.
    NewToken {
        /// Name of the token.
        #[form("Name", "What you will use it for.")]
        name: Required<String> = line(NAME_MAX);
        /// Days until it expires.
        #[form("Expires after (days)")]
        days: Optional<u32> = IntegerRule { min: 1, max: TOKEN_DAYS_MAX }, or TOKEN_LIFETIME_DAYS;
        /// Scopes, repeated or separated by commas. If left out, all that the API has for sites, checks and metrics, and
        /// for reading teams and issues.
        #[form("Permissions")]
        #[option("scope", "SCOPE")]
        scopes: Optional<BTreeSet<Scope>> = ListRule::new(1, Scope::ALL.len(), Scope::ALL);
    }
}

/// SHA-256 of a token's secret, in lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenHash(pub String);

impl TokenHash {
    /// Its first digits, which are enough for people to tell their tokens apart.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

/// The secret that a client sends: `vdt_`, 34 random base62 characters and their CRC-32 in 6 more.
///
/// With the checksum, a mistyped token is recognized without reading the table. There is neither `Debug` nor `Display`,
/// so that a secret does not slip into a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

const SECRET_PREFIX: &str = "vdt_";
const SECRET_RANDOM: usize = 34;
const SECRET_CHECKSUM: usize = 6;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

impl Secret {
    /// How many random bytes [`Secret::from_random`] needs; 34 base62 characters hold 202 bits.
    pub const RANDOM_BYTES: usize = SECRET_RANDOM;

    /// Makes a secret from random bytes.
    ///
    /// Each byte becomes a character modulo 62. The bias costs 0.06 bits a character and leaves far more than the
    /// necessary 128 bits.
    pub fn from_random(random: [u8; Self::RANDOM_BYTES]) -> Self {
        let body = random.map(|byte| BASE62[usize::from(byte) % BASE62.len()] as char);
        let body: String = body.iter().collect();
        let checksum = checksum(&body);
        Self(format!("{SECRET_PREFIX}{body}{checksum}"))
    }

    /// Reads what a client sent; `None` if its form or its checksum is wrong.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(SECRET_PREFIX)?;
        if rest.len() != SECRET_RANDOM + SECRET_CHECKSUM
            || !rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            return None;
        }
        let (body, sum) = rest.split_at(SECRET_RANDOM);
        (sum == checksum(body)).then(|| Self(text.to_owned()))
    }

    /// What is stored and looked up instead of the secret.
    pub fn hash(&self) -> TokenHash {
        TokenHash(HEXLOWER.encode(&Sha256::digest(self.0.as_bytes())))
    }

    /// The secret, to show to its owner once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

fn checksum(body: &str) -> String {
    let mut rest = crc32fast::hash(body.as_bytes());
    let mut digits = [b'0'; SECRET_CHECKSUM];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(rest % 62) as usize];
        rest /= 62;
    }
    digits.iter().map(|&digit| digit as char).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_back_and_one_wrong_character_is_not() {
        let secret = Secret::from_random(std::array::from_fn(|i| (i * 37) as u8));
        let text = secret.reveal();
        assert_eq!(text.len(), 44);
        assert!(Secret::parse(text).is_some_and(|read| read == secret));
        assert_eq!(secret.hash().0.len(), 64);
        for at in 0..text.len() {
            let mut garbled: Vec<u8> = text.bytes().collect();
            garbled[at] = if garbled[at] == b'x' { b'y' } else { b'x' };
            let garbled = String::from_utf8(garbled).expect("ascii");
            assert!(Secret::parse(&garbled).is_none(), "{garbled}");
        }
        for other in ["", "vdt_", "vdt_é", &text[..43], &format!("{text}0")] {
            assert!(Secret::parse(other).is_none(), "{other}");
        }
    }

    #[test]
    fn roles_grant_what_the_endpoint_table_says() {
        use Permission::{
            ManageChannels, ManageMembers, ManageSites, RenameTeam, RunChecks, UpdateMonitoring,
            View,
        };
        let granted = |role: Role| {
            let rising =
                [View, ManageSites, RunChecks, UpdateMonitoring, ManageChannels, ManageMembers];
            (rising.map(|permission| role.grants(permission)), role.grants(RenameTeam))
        };
        assert_eq!(granted(Role::Viewer), ([true, false, false, false, false, false], false));
        assert_eq!(granted(Role::Member), ([true, true, true, false, false, false], false));
        assert_eq!(granted(Role::Admin), ([true; 6], false));
        assert_eq!(granted(Role::Owner), ([true; 6], true));
    }

    #[test]
    fn every_enumeration_reads_its_own_values() {
        for role in Role::ALL {
            assert_eq!(Role::parse(role.as_str()), Some(role));
            assert_eq!(serde_json::to_value(role).expect("json"), role.as_str());
        }
        for scope in Scope::ALL {
            assert_eq!(serde_json::to_value(scope).expect("json"), scope.as_str());
        }
    }
}
