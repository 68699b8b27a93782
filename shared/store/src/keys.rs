//! Every key of the table. `docs/explanation/table.md` shows them side by side.

mod channel;
mod heartbeat;
mod machine;
mod opening;
mod owner;
mod prefix;
mod report;
mod status_page;
mod subscription;

use aws_sdk_dynamodb::types::AttributeValue;
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use jiff::civil::Date;
use vedette_domain::accounts::account::TokenHash;
use vedette_domain::accounts::audit::AuditEntry;
use vedette_domain::accounts::email::normalized;
use vedette_domain::accounts::session::SessionHash;
use vedette_domain::checks::history::Kind;
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::id::{CheckId, IssueId, Partition, SiteId, TeamId, Trigger, UserId};
use vedette_domain::issues::{Fingerprint, IssueStatus};
use vedette_domain::sites::site_url::SiteUrl;

pub(crate) use channel::{
    QUEUED, channel, channel_claim, channel_partition, channel_secret, channel_state, delivery,
    delivery_partition, host, is_channel_claim, notification, notification_partition,
    notification_prefix, queued, team_alerts,
};
pub(crate) use heartbeat::{HEARTBEAT, heartbeat, heartbeat_list, ping_key, slug, team_ping_key};
pub(crate) use machine::{agent, agents, clock, copy_mark, pauses, setup};
pub(crate) use opening::{evidence, evidence_prefix, opening, opening_prefix};
pub use owner::Owner;
pub(crate) use owner::owner;
pub use prefix::Prefix;
pub(crate) use report::{
    REPORT, report, report_part, report_part_prefix, report_partition, report_schedule,
};
pub(crate) use status_page::{
    STATUS_PAGE, incident, incident_prefix, publication, publication_partition, published,
    status_page, status_page_partition,
};
pub(crate) use subscription::{
    MAILING, mailing, subscription, subscription_count, subscription_partition, subscriptions_after,
};

/// Name of the partition key attribute.
pub const PK: &str = "pk";
/// Name of the sort key attribute.
pub const SK: &str = "sk";
/// Name of the attribute that tells DynamoDB when to delete an item, in seconds since the epoch.
pub const TTL: &str = "ttl";
/// The sparse index of outstanding work.
pub const WORK_INDEX: &str = "work";
/// Hash key of the work index: the shard.
pub const WORK_SHARD: &str = "w";
/// Range key of the work index: when to look, in milliseconds since the epoch.
pub const WORK_DUE: &str = "due";
/// Number of work shards, so that no index partition takes all writes.
pub const WORK_SHARDS: u64 = 16;

/// Sort key of the item that stands for the partition itself: site, user, team, token.
pub const SELF: &str = "A";

/// A primary key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Partition key.
    pub pk: String,
    /// Sort key.
    pub sk: String,
}

impl Key {
    pub(crate) fn new(pk: impl Into<String>, sk: impl Into<String>) -> Self {
        Self { pk: pk.into(), sk: sk.into() }
    }

    pub(crate) fn attributes(&self) -> [(String, AttributeValue); 2] {
        [
            (PK.to_owned(), AttributeValue::S(self.pk.clone())),
            (SK.to_owned(), AttributeValue::S(self.sk.clone())),
        ]
    }
}

pub(crate) fn site_partition(partition: Partition) -> String {
    Prefix::Site.key(format_args!("{:016x}", partition.0))
}

pub(crate) fn site(partition: Partition) -> Key {
    Key::new(site_partition(partition), SELF)
}

/// The state of a tool on a site.
pub fn tool(partition: Partition, tool: Tool) -> Key {
    Key::new(site_partition(partition), format!("{TOOL}{tool}"))
}

const TOOL: &str = "T#";

pub(crate) fn day(partition: Partition, tool: Tool, date: Date) -> Key {
    Key::new(site_partition(partition), day_sort(tool, date))
}

pub(crate) fn day_sort(tool: Tool, date: Date) -> String {
    format!("{TOOL}{tool}#{}", date.strftime("%Y%m%d"))
}

/// The stream that keeps checks of this kind. Automatic checks never change their state, so each state has a stream of
/// its own. An on-demand check that completes stays where it was pending, and a tool has at most one pending check.
/// Checks that fail or are skipped go to another stream.
pub(crate) fn stream(tool: Tool, kind: Kind) -> String {
    match kind.trigger {
        Trigger::Automatic(_) => format!("{ROW}{tool}#{}#", kind.code()),
        Trigger::OnDemand if is_shared(kind) => format!("{ROW}{tool}#d#"),
        Trigger::OnDemand => format!("{ROW}{tool}#{}#", kind.code()),
    }
}

/// Whether the kind's stream also has checks of another kind.
pub(crate) fn is_shared(kind: Kind) -> bool {
    kind.trigger == Trigger::OnDemand
        && matches!(kind.status, CheckStatus::Pending | CheckStatus::Completed)
}

/// Sort key within a stream: 13 digits of milliseconds, then a byte that distinguishes checks of the same millisecond.
pub(crate) fn stream_place(at: Timestamp, unique: u8) -> String {
    format!("{}{unique:02x}", millis(at))
}

fn millis(at: Timestamp) -> String {
    format!("{:013}", at.as_millisecond().max(0))
}

/// A closed block of packed checks, by the slot of its first one.
pub fn block(partition: Partition, tool: Tool, first: Timestamp) -> Key {
    Key::new(site_partition(partition), block_sort(tool, first))
}

/// Sort key of a closed block, by the slot of its first check.
pub(crate) fn block_sort(tool: Tool, first: Timestamp) -> String {
    format!("{ROW}{tool}#b#{}", millis(first))
}

/// A block that was set aside because the version that found it could not read it.
pub(crate) fn unreadable_block(partition: Partition, tool: Tool, at: Timestamp) -> Key {
    Key::new(site_partition(partition), format!("{ROW}{tool}#bx#{}", millis(at)))
}

/// The row of a check in a state.
pub fn check(id: CheckId, status: CheckStatus) -> Key {
    let stream = stream(id.tool(), Kind { trigger: id.trigger(), status });
    let place = stream_place(id.created_at(), id.unique());
    Key::new(site_partition(id.partition()), format!("{stream}{place}"))
}

/// The whole result of a check whose row holds only its short form.
pub(crate) fn body(id: CheckId, status: CheckStatus) -> Key {
    let row = check(id, status);
    Key { sk: row.sk.replacen(ROW, BODY, 1), ..row }
}

pub(crate) const ROW: &str = "H#";
const BODY: &str = "B#";

pub(crate) const ISSUE: &str = "I#";

pub(crate) fn issue(partition: Partition, fingerprint: Fingerprint) -> Key {
    Key::new(site_partition(partition), format!("{ISSUE}{fingerprint}"))
}

pub(crate) const OUTBOX: &str = "O#";

/// Prefix of the changes of an issue that channels do not know yet.
pub(crate) fn outbox_prefix(fingerprint: Fingerprint) -> String {
    format!("{OUTBOX}{fingerprint}#")
}

/// A change that channels do not know yet: of an issue to a `rev`, or after that of its site to a `rev` of its own.
pub(crate) fn outbox(issue: IssueId, rev: u64, site_rev: Option<u64>) -> Key {
    let after = site_rev.map(|rev| format!("#{rev:010}")).unwrap_or_default();
    let sort = format!("{}{rev:010}{after}", outbox_prefix(issue.fingerprint()));
    Key::new(site_partition(issue.partition()), sort)
}

pub(crate) fn issue_index_partition(team: TeamId) -> String {
    Prefix::IssueIndex.key(team)
}

/// Prefix of a team's active or resolved issues in its index.
pub(crate) const fn issue_index_prefix(is_active: bool) -> &'static str {
    if is_active { "A#" } else { "R#" }
}

pub(crate) fn issue_index(team: TeamId, issue: IssueId, status: IssueStatus) -> Key {
    let prefix = issue_index_prefix(status.is_active());
    Key::new(issue_index_partition(team), format!("{prefix}{issue}"))
}

/// Prefix of a team's failing sites. They follow the active issues, so one query reads both.
const FAILING: &str = "F#";

/// Says that a site is failing, next to the issues of its team.
pub(crate) fn failing(team: TeamId, site: SiteId) -> Key {
    Key::new(issue_index_partition(team), format!("{FAILING}{site}"))
}

/// Whether an item of the issue index is a failing site rather than an issue.
pub(crate) fn is_failing(key: &Key) -> bool {
    key.sk.starts_with(FAILING)
}

/// Prefix of a team's sites that can't be checked. They follow the failing ones, so that the same query reads them.
const UNCHECKED: &str = "G#";

/// Says that a site can't be checked, next to the issues of its team.
pub(crate) fn unchecked(team: TeamId, site: SiteId) -> Key {
    Key::new(issue_index_partition(team), format!("{UNCHECKED}{site}"))
}

/// Whether an item of the issue index is a site that can't be checked.
pub(crate) fn is_unchecked(key: &Key) -> bool {
    key.sk.starts_with(UNCHECKED)
}

/// Sort key of what the owners of a site that can't be checked must hear of.
pub(crate) const UNCHECKED_NOTICE: &str = "U";

/// Says that the owners of a site's team must hear that the site can't be checked.
pub(crate) fn unchecked_notice(partition: Partition) -> Key {
    Key::new(site_partition(partition), UNCHECKED_NOTICE)
}

/// Prefix of a team's outages. They follow these sites, so the query of what is wrong now does not read them.
pub(crate) const OUTAGE: &str = "O#";

/// An outage, by the time at which its issue opened.
pub(crate) fn outage(team: TeamId, opened_at: Timestamp, site: Partition) -> Key {
    let sort = format!("{OUTAGE}{}{}", millis(opened_at), outage_site(site));
    Key::new(issue_index_partition(team), sort)
}

/// The end of the keys of a site's outages.
pub(crate) fn outage_site(site: Partition) -> String {
    format!("#{:016x}", site.0)
}

/// The first and the last sort key of the outages that opened between two instants.
pub(crate) fn outage_range(from: Timestamp, to: Timestamp) -> (String, String) {
    (format!("{OUTAGE}{}#", millis(from)), format!("{OUTAGE}{}$", millis(to)))
}

/// The first and the last sort key of a team's active issues, its failing sites, and those that can't be checked.
pub(crate) fn trouble_range() -> (String, String) {
    (issue_index_prefix(true).to_owned(), "G$".to_owned())
}

pub(crate) fn directory_partition(team: TeamId) -> String {
    Prefix::Directory.key(team)
}

/// The row that lists a site and makes its URL unique in the team. The URL is hashed because it may be longer than a
/// sort key.
pub(crate) fn directory(team: TeamId, url: &SiteUrl) -> Key {
    Key::new(directory_partition(team), HEXLOWER.encode(&url.hash()))
}

/// The part of a directory with the newest checks.
pub(crate) const NEWEST: &str = "n#";

/// The item with the newest check of each tool of a site, in the partition of the directory.
pub(crate) fn newest(team: TeamId, site: SiteId) -> Key {
    Key::new(directory_partition(team), format!("{NEWEST}{site}"))
}

/// The tags of a team, in the partition of its directory. They sort after its rows, so reading these does not read them.
pub(crate) fn tags(team: TeamId) -> Key {
    Key::new(directory_partition(team), "tags")
}

/// The groups of a team's sites. They sort after the rows of its directory, as its tags do.
pub(crate) fn site_groups(team: TeamId) -> Key {
    Key::new(directory_partition(team), "site-groups")
}

/// The lease of whoever applies a document to a team. It sorts after the rows of the directory, as the tags do.
pub(crate) fn configuration_lease(team: TeamId) -> Key {
    Key::new(directory_partition(team), "lease")
}

pub(crate) fn team_partition(team: TeamId) -> String {
    Prefix::Team.key(team)
}

pub(crate) fn team(team: TeamId) -> Key {
    Key::new(team_partition(team), SELF)
}

pub(crate) fn team_settings(team: TeamId) -> Key {
    Key::new(team_partition(team), "M")
}

/// A month's usage of the on-demand quota; months are in UTC.
pub(crate) fn usage(team: TeamId, month: Date) -> Key {
    Key::new(team_partition(team), format!("Q#{}", month.strftime("%Y-%m")))
}

/// What new sites of a team cannot get again yet.
pub(crate) fn cooldowns(team: TeamId) -> Key {
    Key::new(team_partition(team), "C")
}

/// The leases that runs of a tool hold for a team. They are not stored with the team because a checker, which reads
/// content from strangers, may write leases but not the team's plan.
pub(crate) fn leases(team: TeamId, tool: Tool) -> Key {
    Key::new(Prefix::Leases.key(team), tool.to_string())
}

pub(crate) const MEMBER: &str = "U#";
pub(crate) const MEMBERSHIP: &str = "T#";

pub(crate) fn member(team: TeamId, user: UserId) -> Key {
    Key::new(team_partition(team), format!("{MEMBER}{user}"))
}

pub(crate) fn user_partition(user: UserId) -> String {
    Prefix::User.key(user)
}

pub(crate) fn user(user: UserId) -> Key {
    Key::new(user_partition(user), SELF)
}

pub(crate) fn membership(user: UserId, team: TeamId) -> Key {
    Key::new(user_partition(user), format!("{MEMBERSHIP}{team}"))
}

pub(crate) const USER_TOKEN: &str = "Z#";

/// A user's list of tokens. It sorts after memberships, so a query can read memberships alone.
pub(crate) fn user_token(user: UserId, hash: &TokenHash) -> Key {
    Key::new(user_partition(user), format!("{USER_TOKEN}{}", hash.0))
}

/// Makes an address unique, ignoring the case of ASCII letters.
pub(crate) fn email(email: &str) -> Key {
    Key::new(Prefix::Email.key(normalized(email)), SELF)
}

pub(crate) fn token(hash: &TokenHash) -> Key {
    Key::new(Prefix::Token.key(&hash.0), SELF)
}

/// When a token was last used. It is not stored with the token, so that permission to write it does not give anybody
/// access.
pub(crate) fn token_use(hash: &TokenHash) -> Key {
    Key::new(Prefix::TokenUse.key(&hash.0), SELF)
}

pub(crate) fn sign_in(hash: &SessionHash) -> Key {
    Key::new(Prefix::SignIn.key(&hash.0), SELF)
}

/// Says that a sign-in at an OpenID provider has succeeded. It has the hash where a link would be.
pub(crate) fn used_attempt(hash: &SessionHash) -> Key {
    Key::new(Prefix::SignIn.key(&hash.0), "U")
}

/// A user's sessions. They are not stored with the user, so that a process that writes sessions cannot write users.
pub(crate) fn session_partition(user: UserId) -> String {
    Prefix::Session.key(user)
}

pub(crate) fn session(user: UserId, hash: &SessionHash) -> Key {
    Key::new(session_partition(user), &hash.0)
}

/// What an invitation grants. It is not stored with the team, so that a process that may write teams cannot invite
/// anybody.
pub(crate) fn invitation(hash: &SessionHash) -> Key {
    Key::new(Prefix::Invitation.key(&hash.0), SELF)
}

pub(crate) fn audit_partition(team: TeamId) -> String {
    Prefix::Audit.key(team)
}

/// An entry of a team's audit log. It is not stored with the team, so that a process that writes entries need not write
/// teams.
pub(crate) fn audit(entry: &AuditEntry) -> Key {
    let place =
        format!("{:013}#{}", entry.at.as_millisecond().max(0), HEXLOWER.encode(&entry.digest()));
    Key::new(audit_partition(entry.team), place)
}

/// What is counted for a subject in a window of time, such as a user's requests.
pub(crate) fn throttle(subject: &str, window: i64) -> Key {
    Key::new(Prefix::Throttle.key(format_args!("{subject}#{window}")), SELF)
}

/// The bucket of a rate limit.
pub(crate) fn rate_limit(subject: &str) -> Key {
    Key::new(Prefix::Throttle.key(subject), SELF)
}

/// The partition that lists all teams.
pub(crate) const TEAMS: &str = Prefix::Teams.as_str();

pub(crate) fn team_listing(team: TeamId) -> Key {
    Key::new(TEAMS, format!("{MEMBERSHIP}{team}"))
}

pub(crate) fn polled_partition(tool: Tool, cadence_minutes: u32) -> String {
    Prefix::PolledRun.key(format_args!("{tool}#{cadence_minutes}"))
}

pub(crate) fn polled_run(tool: Tool, cadence_minutes: u32, offset: u32, site: SiteId) -> Key {
    Key::new(polled_partition(tool, cadence_minutes), format!("{offset:05}#{site}"))
}

/// The first and the last sort key of an offset in its partition.
pub(crate) fn polled_range(offset: u32) -> (String, String) {
    (format!("{offset:05}#"), format!("{offset:05}$"))
}

/// The time up to which the polling scheduler has sent runs.
pub(crate) fn polled_until() -> Key {
    Key::new(Prefix::PolledRun.key("sent"), SELF)
}

pub(crate) fn site_shard(partition: Partition) -> String {
    shard(partition.0 % WORK_SHARDS)
}

/// The shard of the work index that lists blocks that were set aside. The reconciler does not read it.
pub(crate) fn unreadable_shard() -> String {
    Prefix::Work.key("unreadable")
}

pub(crate) fn team_shard(team: TeamId) -> String {
    shard((team.as_uuid().as_u128() % u128::from(WORK_SHARDS)) as u64)
}

pub(crate) fn shard(number: u64) -> String {
    Prefix::Work.key(number)
}

/// A key without an item, for a read that only checks whether the table answers.
pub(crate) fn nothing() -> Key {
    Key::new(Prefix::Site.key(0), SELF)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use vedette_domain::checks::evidence::EvidenceKind;
    use vedette_domain::checks::tool::RunReason;
    use vedette_domain::id::SiteId;

    use super::*;

    fn slot() -> Timestamp {
        "2026-11-20T09:54:00Z".parse().expect("a timestamp")
    }

    #[test]
    fn keys_are_those_of_the_architecture_page() {
        let id = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let slot = slot();
        let partition = id.partition();
        let automatic = CheckId::automatic(id, Tool::Status, RunReason::Scheduled, slot);
        let on_demand = CheckId::on_demand(id, Tool::BrokenLinks, slot, 0x2a);
        let sorts = [
            site(partition).sk,
            tool(partition, Tool::BrokenLinks).sk,
            day(partition, Tool::Dns, date(2026, 11, 20)).sk,
            check(automatic, CheckStatus::Completed).sk,
            check(on_demand, CheckStatus::Pending).sk,
            body(on_demand, CheckStatus::Completed).sk,
            issue(partition, Fingerprint::StatusDown).sk,
            evidence(partition, Fingerprint::StatusDown, EvidenceKind::Newest).sk,
            opening(partition, Fingerprint::StatusDown, slot).sk,
        ];
        assert_eq!(site(partition).pk, "S#0a556c1f3b7d9e01");
        assert_eq!(
            sorts,
            [
                "A",
                "T#broken-links",
                "T#dns#20261120",
                "H#status#sc#179516844000000",
                "H#broken-links#d#17951684400002a",
                "B#broken-links#d#17951684400002a",
                "I#status:down",
                "V#status:down#newest",
                "E#status:down#1795168440000",
            ]
        );
    }

    #[test]
    fn one_range_holds_the_active_issues_and_the_failing_sites() {
        let site_id = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let team_id = TeamId(site_id.0);
        let issue_id = IssueId::new(site_id, Fingerprint::StatusDown, Timestamp::UNIX_EPOCH);
        let [active, resolved] = [IssueStatus::Acknowledged, IssueStatus::Resolved]
            .map(|status| issue_index(team_id, issue_id, status));
        let site = failing(team_id, site_id);
        assert_eq!(site.sk, "F#0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01");
        assert_eq!([&active, &site, &resolved].map(is_failing), [false, true, false]);
        let unchecked = unchecked(team_id, site_id);
        assert_eq!([&site, &unchecked].map(is_unchecked), [false, true]);
        let outage = outage(team_id, slot(), site_id.partition());
        assert_eq!(outage.sk, "O#1795168440000#0a556c1f3b7d9e01");
        let (from, to) = outage_range(slot(), slot());
        assert!((from..=to).contains(&outage.sk));
        let (from, to) = trouble_range();
        let holds = |key: &Key| (&from..=&to).contains(&&key.sk);
        assert!([&active, &site, &unchecked].into_iter().all(holds));
        assert!(![&resolved, &outage].into_iter().any(holds));
    }

    #[test]
    fn no_prefix_begins_with_another() {
        for prefix in Prefix::ALL {
            assert_eq!(Prefix::of(&prefix.key("x")), Some(prefix));
        }
        assert_eq!(Prefix::of("0"), None);
    }
}
