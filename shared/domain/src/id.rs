//! Ids. The ids of checks and issues say where their records are.
//!
//! The ids of sites and heartbeats are random (UUIDv4). The key of a monitor's partition is the low 62 bits of its id.
//! Check and issue ids are UUIDv8 (RFC 9562 §5.8): 48 bits of milliseconds since the epoch, 12 bits for the kind and for
//! uniqueness, and the 62 bits of the monitor. So a record is found by its id alone, and an automatic run has the same id
//! however often its message is delivered. A ping key has the same layout, with a secret instead of the time.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::{Uuid, Variant};

use crate::checks::tool::{RunReason, Tool};
use crate::input::{TextKind, TextRule};
use crate::issues::Fingerprint;

const LOW_62_BITS: u128 = (1 << 62) - 1;

/// Reads only the 36-character form with hyphens, in any case.
fn parse_uuid(text: &str) -> Option<Uuid> {
    if text.len() == 36 { Uuid::try_parse(text).ok() } else { None }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// The UUID itself.
            pub const fn as_uuid(self) -> Uuid {
                self.0
            }

            /// Reads only the 36-character form with hyphens, in any case.
            pub fn parse(text: &str) -> Option<Self> {
                parse_uuid(text).map(Self)
            }

            /// The rule for ids that people enter.
            pub const RULE: TextRule<Self> = TextRule {
                min: 0,
                max: usize::MAX,
                kind: TextKind::Format("uuid"),
                parse: |text| Self::parse(text).ok_or_else(|| "must be a uuid".to_owned()),
            };
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

/// An id with a structure. Only ids that this service creates can be read.
macro_rules! structured_id {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
        #[serde(into = "Uuid", try_from = "Uuid")]
        pub struct $name {
            uuid: Uuid,
            $($field: $kind,)+
        }

        impl $name {
            /// The UUID itself.
            pub const fn as_uuid(self) -> Uuid {
                self.uuid
            }

            /// Reads only the 36-character form with hyphens, in any case; `None` if this service does not create such
            /// an id.
            pub fn parse(text: &str) -> Option<Self> {
                Self::try_from(parse_uuid(text)?).ok()
            }

            /// The partition of the monitor.
            pub const fn partition(self) -> Partition {
                Partition((self.uuid.as_u128() & LOW_62_BITS) as u64)
            }

            $($(#[$field_doc])*
            pub const fn $field(self) -> $kind {
                self.$field
            })+
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.uuid
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.uuid.fmt(f)
            }
        }
    };
}

id!(
    /// A user.
    UserId
);
id!(
    /// A team.
    TeamId
);
id!(
    /// A monitor: a site or a heartbeat.
    MonitorId
);
/// The id of a monitor that is a site. Both kinds of monitors share everything that ids are used for; which kind it is,
/// only the monitor's item says.
pub use self::MonitorId as SiteId;
/// The id of a monitor that is a heartbeat; see [`SiteId`].
pub use self::MonitorId as HeartbeatId;
id!(
    /// A channel of alerts.
    ChannelId
);
id!(
    /// A maintenance window.
    WindowId
);
id!(
    /// A status page.
    StatusPageId
);
id!(
    /// A component of a status page. Readers of the page see it; it says nothing about the site.
    ComponentId
);
id!(
    /// Readers who are sent the same emails: the subscribers of a status page, whose id it is, or the recipients of the
    /// reports of a team, whose id it is.
    ListId
);
id!(
    /// A reader's subscription to a status page or to reports.
    SubscriptionId
);
id!(
    /// An incident on a status page. Readers of the page see it.
    IncidentId
);
structured_id!(
    /// A check.
    CheckId {
        /// The tool.
        tool: Tool,
        /// What caused the run.
        trigger: Trigger,
    }
);
structured_id!(
    /// An issue.
    IssueId {
        /// The condition that it is about.
        fingerprint: Fingerprint,
    }
);

/// A UUID that is not the id of a check or an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an id of this service")]
pub struct ForeignId;

/// The 62 bits of a monitor's id that are the key of its partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Partition(pub u64);

impl MonitorId {
    /// The partition that contains everything about this monitor.
    pub const fn partition(self) -> Partition {
        Partition((self.0.as_u128() & LOW_62_BITS) as u64)
    }
}

/// What caused a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trigger {
    /// A request through the API or the dashboard.
    OnDemand,
    /// The service itself.
    Automatic(RunReason),
}

impl Trigger {
    /// All causes: the automatic ones in the order of the API's enumeration, then on-demand.
    pub const ALL: [Self; 4] = [
        Self::Automatic(RunReason::Scheduled),
        Self::Automatic(RunReason::ConfirmationRetry),
        Self::Automatic(RunReason::IncidentFollowUp),
        Self::OnDemand,
    ];

    /// Whether the service itself caused the run.
    pub const fn is_automatic(self) -> bool {
        matches!(self, Self::Automatic(_))
    }

    /// The reason of an automatic run.
    pub const fn reason(self) -> Option<RunReason> {
        match self {
            Self::OnDemand => None,
            Self::Automatic(reason) => Some(reason),
        }
    }

    const fn code(self) -> u128 {
        match self {
            Self::OnDemand => 0,
            Self::Automatic(RunReason::Scheduled) => 1,
            Self::Automatic(RunReason::ConfirmationRetry) => 2,
            Self::Automatic(RunReason::IncidentFollowUp) => 3,
        }
    }
}

impl CheckId {
    /// The id of the automatic run of a tool at a slot: always the same for the same run.
    pub fn automatic(monitor: MonitorId, tool: Tool, reason: RunReason, slot: Timestamp) -> Self {
        Self::pack(monitor.partition(), tool, Trigger::Automatic(reason), slot, 0)
    }

    /// Like [`CheckId::automatic`], for a scheduled run of the monitor with this partition.
    pub fn scheduled(partition: Partition, tool: Tool, slot: Timestamp) -> Self {
        Self::pack(partition, tool, Trigger::Automatic(RunReason::Scheduled), slot, 0)
    }

    /// The id of an on-demand run. The low 7 bits of `unique` distinguish runs of the same millisecond.
    pub fn on_demand(site: SiteId, tool: Tool, created: Timestamp, unique: u8) -> Self {
        Self::pack(site.partition(), tool, Trigger::OnDemand, created, unique)
    }

    fn pack(partition: Partition, tool: Tool, trigger: Trigger, at: Timestamp, unique: u8) -> Self {
        let kind =
            (u128::from(tool.code()) << 9) | (trigger.code() << 7) | u128::from(unique & 0x7f);
        Self { uuid: pack(at, kind, partition), tool, trigger }
    }

    /// Whether the service itself caused the run.
    pub const fn is_automatic(self) -> bool {
        self.trigger.is_automatic()
    }

    /// When the check was created. For an automatic run, this is its slot.
    pub fn created_at(self) -> Timestamp {
        instant(self.uuid)
    }

    /// Distinguishes on-demand checks of the same millisecond; 0 for automatic ones.
    pub const fn unique(self) -> u8 {
        ((self.uuid.as_u128() >> 64) & 0x7f) as u8
    }
}

impl IssueId {
    /// The id of the record for a fingerprint of a monitor, first opened by the run at `slot`.
    pub fn new(monitor: MonitorId, fingerprint: Fingerprint, slot: Timestamp) -> Self {
        let uuid = pack(slot, u128::from(fingerprint.code()) << 8, monitor.partition());
        Self { uuid, fingerprint }
    }
}

impl TryFrom<Uuid> for CheckId {
    type Error = ForeignId;

    fn try_from(uuid: Uuid) -> Result<Self, ForeignId> {
        let kind = kind(uuid).ok_or(ForeignId)?;
        let code = u8::try_from(kind >> 9).map_err(|_| ForeignId)?;
        let tool = Tool::from_code(code).ok_or(ForeignId)?;
        let has_code = |trigger: &Trigger| trigger.code() == u128::from(kind >> 7 & 0b11);
        let trigger = Trigger::ALL.into_iter().find(has_code).ok_or(ForeignId)?;
        Ok(Self { uuid, tool, trigger })
    }
}

impl TryFrom<Uuid> for IssueId {
    type Error = ForeignId;

    fn try_from(uuid: Uuid) -> Result<Self, ForeignId> {
        let code = kind(uuid).and_then(|kind| u8::try_from(kind >> 8).ok()).ok_or(ForeignId)?;
        let fingerprint = Fingerprint::from_code(code).ok_or(ForeignId)?;
        Ok(Self { uuid, fingerprint })
    }
}

/// What a job pings: a secret, which also says where its heartbeat is.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PingKey(Uuid);

impl PingKey {
    /// The key of a heartbeat with 60 random bits of these.
    pub fn new(heartbeat: HeartbeatId, random: u64) -> Self {
        let bits = u128::from(random);
        let millis_and_kind = ((bits >> 12) & ((1 << 48) - 1)) << 80 | (bits & 0xfff) << 64;
        let shape = (0x8 << 76) | (0b10 << 62);
        Self(Uuid::from_u128(millis_and_kind | shape | u128::from(heartbeat.partition().0)))
    }

    /// Reads only the 36-character form with hyphens, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        parse_uuid(text).map(Self)
    }

    /// The rule for keys that people bring along.
    pub const RULE: TextRule<Self> = TextRule {
        min: 0,
        max: usize::MAX,
        kind: TextKind::Pattern(
            "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-4[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}$",
        ),
        parse: |text| {
            let random = Self::parse(text).filter(|key| {
                key.0.get_version_num() == 4 && key.0.get_variant() == Variant::RFC4122
            });
            random.ok_or_else(|| "must be a uuid of version 4".to_owned())
        },
    };

    /// The id of the heartbeat with this key; the bits that are not in the key come from another id.
    pub fn heartbeat(self, random: HeartbeatId) -> HeartbeatId {
        let (own, others) = (u128::from(self.partition().0), random.0.as_u128());
        MonitorId(Uuid::from_u128(others & !LOW_62_BITS | own))
    }

    /// The partition of the heartbeat.
    pub const fn partition(self) -> Partition {
        Partition((self.0.as_u128() & LOW_62_BITS) as u64)
    }

    /// The form in addresses.
    pub fn reveal(self) -> String {
        self.0.to_string()
    }

    /// Whether a request has this key. The comparison takes the same time however much of it is right.
    pub const fn matches(self, given: Self) -> bool {
        self.0.as_u128() ^ given.0.as_u128() == 0
    }
}

impl std::fmt::Debug for PingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PingKey(…)")
    }
}

/// `unix_ts_ms | 8 | kind | 10 | partition`, the bit layout of RFC 9562 §5.8.
fn pack(at: Timestamp, kind: u128, partition: Partition) -> Uuid {
    let millis = u128::try_from(at.as_millisecond()).unwrap_or(0) & ((1 << 48) - 1);
    Uuid::from_u128(
        (millis << 80)
            | (0x8 << 76)
            | ((kind & 0xfff) << 64)
            | (0b10 << 62)
            | u128::from(partition.0),
    )
}

/// The 12 bits after the version, if this is a UUIDv8.
fn kind(id: Uuid) -> Option<u16> {
    let bits = id.as_u128();
    let is_v8 = (bits >> 76) & 0xf == 0x8 && (bits >> 62) & 0b11 == 0b10;
    is_v8.then_some(((bits >> 64) & 0xfff) as u16)
}

fn instant(id: Uuid) -> Timestamp {
    let millis = (id.as_u128() >> 80) as i64;
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH)
}

impl From<StatusPageId> for ListId {
    fn from(page: StatusPageId) -> Self {
        Self(page.0)
    }
}

impl From<TeamId> for ListId {
    fn from(team: TeamId) -> Self {
        Self(team.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> SiteId {
        SiteId::parse("0B2C7A52-9F1D-4E43-8A55-6C1F3B7D9E01").expect("a site id")
    }

    #[test]
    fn a_check_id_contains_the_key_of_its_record() {
        let slot: Timestamp = "2026-11-20T09:54:00Z".parse().expect("a timestamp");
        for tool in Tool::WITH_HEARTBEAT {
            for reason in RunReason::ALL {
                let id = CheckId::automatic(site(), tool, reason, slot);
                assert_eq!(id, CheckId::automatic(site(), tool, reason, slot));
                assert_eq!(id.tool(), tool);
                assert_eq!(id.trigger(), Trigger::Automatic(reason));
                assert_eq!(CheckId::parse(&id.to_string()), Some(id));
                assert_eq!(id.created_at(), slot);
                assert_eq!(id.partition(), site().partition());
                assert_eq!(id.as_uuid().get_version_num(), 8);
            }
            let id = CheckId::on_demand(site(), tool, slot, 0x7f);
            let said = (id.tool(), id.trigger(), id.unique());
            assert_eq!(said, (tool, Trigger::OnDemand, 0x7f));
        }
    }

    #[test]
    fn an_issue_id_says_its_fingerprint() {
        for fingerprint in Fingerprint::ALL {
            let id = IssueId::new(site(), fingerprint, Timestamp::UNIX_EPOCH);
            assert_eq!(id.fingerprint(), fingerprint);
            assert_eq!(IssueId::parse(&id.to_string()), Some(id));
            assert_eq!(id.partition(), site().partition());
        }
    }

    #[test]
    fn a_ping_key_says_where_its_heartbeat_is_and_is_a_secret() {
        let key = PingKey::new(site(), u64::MAX);
        assert_eq!(key.partition(), site().partition());
        assert_eq!(key.reveal(), "ffffffff-ffff-8fff-8a55-6c1f3b7d9e01");
        assert_eq!(PingKey::parse(&key.reveal().to_uppercase()), Some(key));
        assert!(key.matches(key));
        for bit in 0..60 {
            let other = PingKey::new(site(), u64::MAX ^ 1 << bit);
            assert!(!key.matches(other), "bit {bit}");
        }
        assert_eq!(format!("{key:?}"), "PingKey(…)");
    }

    #[test]
    fn ids_of_others_are_not_read() {
        let foreign = site().as_uuid();
        assert_eq!(CheckId::try_from(foreign), Err(ForeignId));
        assert_eq!(CheckId::parse(&foreign.to_string()), None);
        assert_eq!(IssueId::try_from(Uuid::nil()), Err(ForeignId));
        let tool_seven = Uuid::from_u128((0x8 << 76) | (0xfff << 64) | (0b10 << 62));
        assert_eq!(CheckId::try_from(tool_seven), Err(ForeignId));
        assert!(serde_json::from_value::<CheckId>(serde_json::json!(foreign)).is_err());
    }

    #[test]
    fn only_the_hyphenated_form_is_read() {
        let text = "0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01";
        assert_eq!(SiteId::parse(&text.to_uppercase()).map(|id| id.to_string()), Some(text.into()));
        for other in [
            "0b2c7a529f1d4e438a556c1f3b7d9e01",
            "{0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01}",
            "urn:uuid:0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01",
            "0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e0",
            "0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e0g",
            "",
        ] {
            assert_eq!(SiteId::parse(other), None, "{other}");
        }
    }
}
