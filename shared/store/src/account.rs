//! Users, memberships and tokens.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use vedette_domain::accounts::account::{Membership, Role, Token, TokenHash, User};
use vedette_domain::accounts::team::Team;
use vedette_domain::id::{TeamId, UserId};
use vedette_domain::time_zone::NamedZone;

use crate::Audit;
use crate::StoreError;
use crate::item::{Item, Stored, expiring, item, number, stored, string};
use crate::keys::{self, Key, SELF};
use crate::table::{Change, Condition, Range, Sort, Store};
use crate::team::unchanged;
use crate::transaction::Transaction;

stored!(attributes: User, UserRef, Membership, MemberRow, Token, TokenUse);

/// A user with the teams they belong to.
#[derive(Debug, Clone)]
pub struct Account {
    /// The user.
    pub user: User,
    /// Where they belong.
    pub memberships: Vec<Membership>,
}

/// A member of a team.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct MemberRow {
    /// The user.
    pub user: UserId,
    /// What they may do.
    pub role: Role,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct UserRef {
    pub(crate) user: UserId,
    /// The user's time zone, which decides about times in email to the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<NamedZone>,
}

/// When a token was last used.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct TokenUse {
    last_used_at: Timestamp,
}

/// How often the use of a token is recorded at most.
const LAST_USE_RESOLUTION: SignedDuration = SignedDuration::from_hours(1);

/// The item that makes a token work, and the item with its last use.
fn of_token(hash: &TokenHash) -> [Key; 2] {
    [keys::token(hash), keys::token_use(hash)]
}

/// Marks the address as confirmed.
pub(crate) fn verified(at: Timestamp) -> Change {
    Change {
        expression: "SET email_verified_at = :at".into(),
        values: vec![(":at", string(at.to_string()))],
        ..Change::default()
    }
}

fn set_role(role: Role) -> Change {
    Change {
        expression: "SET #role = :role".into(),
        names: vec![("#role", "role".to_owned())],
        values: vec![(":role", string(role.as_str()))],
    }
}

/// The member still has this role. An owner who stays is written with the same role, so that two owners who leave at
/// the same time conflict.
pub(crate) fn has_role(role: Role) -> Condition {
    Condition::When("#role = :before", vec![(":before", string(role.as_str()))])
}

impl Store {
    /// Adds a user whose email address no other user has.
    ///
    /// # Errors
    ///
    /// A conflict at place 1 when the address is taken.
    pub async fn create_user(&self, user: &User) -> Result<(), StoreError> {
        let [account, address] = self.user_items(user)?;
        self.transaction()
            .put(account, Condition::Absent)
            .put(address, Condition::Absent)
            .commit(Audit::None)
            .await
    }

    /// The items that a new user is made of: the user, and the address that makes it unique.
    pub(crate) fn user_items(&self, user: &User) -> Result<[Item; 2], StoreError> {
        let address = keys::email(&user.email);
        let found = UserRef { user: user.id, zone: user.zone.clone() };
        Ok([item(&keys::user(user.id), user)?, item(&address, &found)?])
    }

    /// The user with this address.
    pub async fn user_by_email(&self, email: &str) -> Result<Option<User>, StoreError> {
        let Some(found) = self.get(&keys::email(email)).await? else {
            return Ok(None);
        };
        let UserRef { user, .. } = Stored::read(found)?;
        self.user(user).await
    }

    /// The user with this id.
    pub async fn user(&self, id: UserId) -> Result<Option<User>, StoreError> {
        self.get(&keys::user(id)).await?.map(Stored::read).transpose()
    }

    /// Users by id; unknown ones are left out.
    pub async fn users(
        &self,
        ids: impl IntoIterator<Item = UserId>,
    ) -> Result<BTreeMap<UserId, User>, StoreError> {
        let found = self.batch_get(ids.into_iter().map(keys::user)).await?;
        found.into_values().map(|item| User::read(item).map(|user| (user.id, user))).collect()
    }

    /// Marks a user's email address as confirmed.
    ///
    /// # Errors
    ///
    /// A conflict when there is no such user.
    pub async fn verify_email(&self, user: UserId, at: Timestamp) -> Result<(), StoreError> {
        self.update(&keys::user(user), verified(at), Some(Condition::Present)).await.map(drop)
    }

    /// Saves a user's name.
    ///
    /// # Errors
    ///
    /// A conflict when there is no such user.
    pub async fn save_user_name(&self, user: UserId, name: &str) -> Result<(), StoreError> {
        let change = Change {
            expression: "SET #name = :name".into(),
            names: vec![("#name", "name".to_owned())],
            values: vec![(":name", string(name))],
        };
        self.update(&keys::user(user), change, Some(Condition::Present)).await.map(drop)
    }

    /// Saves a user's time zone, or removes it.
    ///
    /// # Errors
    ///
    /// A conflict when there is no such user.
    pub async fn save_user_zone(
        &self,
        user: &User,
        zone: Option<&NamedZone>,
    ) -> Result<(), StoreError> {
        let change = || Change {
            expression: if zone.is_some() { "SET #zone = :zone" } else { "REMOVE #zone" }.into(),
            names: vec![("#zone", "zone".to_owned())],
            values: zone.map(|zone| (":zone", string(zone.name()))).into_iter().collect(),
        };
        self.transaction()
            .update(&keys::user(user.id), change(), Condition::Present)
            .update(&keys::email(&user.email), change(), Condition::Present)
            .commit(Audit::None)
            .await
    }

    /// The time zone that the user with this address has chosen, if there is one.
    pub async fn zone_at(&self, email: &str) -> Result<Option<NamedZone>, StoreError> {
        let found = self.get(&keys::email(email)).await?.map(UserRef::read).transpose()?;
        Ok(found.and_then(|found| found.zone))
    }

    /// A user with their memberships: one query.
    pub async fn account(&self, user: UserId) -> Result<Option<Account>, StoreError> {
        let pk = keys::user_partition(user);
        // Tokens sort after memberships.
        let sort = Sort::Between(SELF.to_owned(), format!("{}~", keys::MEMBERSHIP));
        let mut found = None;
        let mut memberships = Vec::new();
        for item in self.query(Range::new(&pk, sort)).await? {
            if crate::item::key_of(&item)?.sk == SELF {
                found = Some(User::read(item)?);
            } else {
                memberships.push(Membership::read(item)?);
            }
        }
        Ok(found.map(|user| Account { user, memberships }))
    }

    /// A user's place in a team, if they belong to it.
    pub async fn membership(
        &self,
        user: UserId,
        team: TeamId,
    ) -> Result<Option<Membership>, StoreError> {
        self.get(&keys::membership(user, team)).await?.map(Stored::read).transpose()
    }

    /// Stores a new token.
    ///
    /// # Errors
    ///
    /// A conflict when the token already exists.
    pub async fn create_token(&self, token: &Token, audit: Audit<'_>) -> Result<(), StoreError> {
        let listing = keys::user_token(token.user, &token.hash);
        let row = expiring(item(&keys::token(&token.hash), token)?, token.expires_at);
        self.transaction()
            .put(row, Condition::Absent)
            .put(expiring(item(&listing, token)?, token.expires_at), Condition::Absent)
            .commit(audit)
            .await
    }

    /// The token with this hash.
    pub async fn token(&self, hash: &TokenHash) -> Result<Option<Token>, StoreError> {
        self.get(&keys::token(hash)).await?.map(Stored::read).transpose()
    }

    /// A user's tokens, including the expired ones, newest first, each with its last use.
    pub async fn tokens_of(
        &self,
        user: UserId,
    ) -> Result<Vec<(Token, Option<Timestamp>)>, StoreError> {
        let pk = keys::user_partition(user);
        let range = Range::new(&pk, Sort::Prefix(keys::USER_TOKEN.to_owned()));
        let listed: Vec<Token> =
            self.query(range).await?.into_iter().map(Stored::read).collect::<Result<_, _>>()?;
        let keys = listed.iter().flat_map(|token| of_token(&token.hash));
        let mut found = self.batch_get(keys).await?;
        let mut tokens = Vec::with_capacity(listed.len());
        for Token { hash, .. } in listed {
            let [token, last_use] = of_token(&hash).map(|key| found.remove(&key));
            // A listed token that has lost its own item does not work.
            let Some(token) = token else { continue };
            let last_use = last_use.map(TokenUse::read).transpose()?;
            tokens.push((Token::read(token)?, last_use.map(|used| used.last_used_at)));
        }
        tokens.sort_by_key(|(token, _)| std::cmp::Reverse(token.created_at));
        Ok(tokens)
    }

    /// Removes a token; it stops working at once.
    ///
    /// # Errors
    ///
    /// A conflict when another transaction writes the token at the same time.
    pub async fn revoke_token(&self, token: &Token, audit: Audit<'_>) -> Result<(), StoreError> {
        let [works, last_use] = of_token(&token.hash);
        self.transaction()
            .delete(&works, Condition::Always)
            .delete(&last_use, Condition::Always)
            .delete(&keys::user_token(token.user, &token.hash), Condition::Always)
            .commit(audit)
            .await
    }

    /// Records that a token was used, at most once an hour.
    pub async fn note_use(&self, token: &Token, now: Timestamp) -> Result<(), StoreError> {
        let key = keys::token_use(&token.hash);
        if let Some(found) = self.get(&key).await? {
            let TokenUse { last_used_at } = Stored::read(found)?;
            if now.duration_since(last_used_at) < LAST_USE_RESOLUTION {
                return Ok(());
            }
        }
        let change = Change {
            expression: "SET last_used_at = :at, #ttl = :ttl".into(),
            names: vec![("#ttl", keys::TTL.to_owned())],
            values: vec![
                (":at", string(now.to_string())),
                (":ttl", number(token.expires_at.as_second())),
            ],
        };
        self.update(&key, change, None).await.map(drop)
    }

    /// Adds a member to a team. With `counted`, the team must be as it was when its seats were counted.
    ///
    /// # Errors
    ///
    /// A conflict when the user is already a member, or when members or invitations changed since the team was read.
    pub async fn put_member(
        &self,
        membership: &Membership,
        counted: Option<&Team>,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let Membership { team, user, .. } = *membership;
        let member = keys::member(team, user);
        let place = keys::membership(user, team);
        let count = Change {
            expression: "ADD members :one".into(),
            values: vec![(":one", number(1))],
            ..Change::default()
        };
        let condition = counted.map_or(Condition::Present, unchanged);
        self.transaction()
            .put(item(&member, membership)?, Condition::Absent)
            .put(item(&place, membership)?, Condition::Absent)
            .update(&keys::team(team), count, condition)
            .commit(audit)
            .await
    }

    /// Gives a member another role.
    ///
    /// # Errors
    ///
    /// A conflict when the user is not a member, or has another role than `before`.
    pub async fn change_role(
        &self,
        membership: &Membership,
        before: Role,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        self.change_of_role(membership, before).commit(audit).await
    }

    /// Gives an owner a lesser role while another owner stays an owner.
    ///
    /// # Errors
    ///
    /// A conflict when one of them is no longer an owner.
    pub async fn demote_owner(
        &self,
        membership: &Membership,
        staying: UserId,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let owner = keys::member(membership.team, staying);
        let change = self.change_of_role(membership, Role::Owner);
        change.update(&owner, set_role(Role::Owner), has_role(Role::Owner)).commit(audit).await
    }

    fn change_of_role(
        &self,
        &Membership { team, user, role }: &Membership,
        before: Role,
    ) -> Transaction<'_> {
        self.transaction()
            .update(&keys::member(team, user), set_role(role), has_role(before))
            .update(&keys::membership(user, team), set_role(role), Condition::Present)
    }

    /// Removes a member who is not an owner from a team.
    ///
    /// # Errors
    ///
    /// A conflict when the user is not a member, or has another role than `before`.
    pub async fn remove_member(
        &self,
        team: TeamId,
        user: UserId,
        before: Role,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        self.removal(team, user, before).commit(audit).await
    }

    /// Removes an owner from a team that has another owner.
    ///
    /// # Errors
    ///
    /// A conflict when one of them is no longer an owner.
    pub async fn remove_owner(
        &self,
        team: TeamId,
        user: UserId,
        staying: UserId,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let owner = keys::member(team, staying);
        let removal = self.removal(team, user, Role::Owner);
        removal.update(&owner, set_role(Role::Owner), has_role(Role::Owner)).commit(audit).await
    }

    fn removal(&self, team: TeamId, user: UserId, before: Role) -> Transaction<'_> {
        let count = Change {
            expression: "ADD members :less".into(),
            values: vec![(":less", number(-1))],
            ..Change::default()
        };
        self.transaction()
            .delete(&keys::member(team, user), has_role(before))
            .delete(&keys::membership(user, team), Condition::Present)
            .update(&keys::team(team), count, Condition::Present)
    }

    /// A team's members.
    pub async fn members(&self, team: TeamId) -> Result<Vec<MemberRow>, StoreError> {
        let pk = keys::team_partition(team);
        let range = Range::new(&pk, Sort::Prefix(keys::MEMBER.to_owned()));
        self.query(range).await?.into_iter().map(Stored::read).collect()
    }
}
