//! Why an action on users, members or invitations is refused.

use jiff::SignedDuration;

use crate::accounts::account::{Role, Scope, TOKENS_MAX};
use crate::accounts::invitation::INVITATIONS_MAX;
use crate::accounts::plan::Plan;
use crate::accounts::team::Team;

/// Why an action on users, members or tokens is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountRefusal {
    /// The user to add already belongs to the team.
    #[error("{email} is already a member, with the role {}", .role.as_str())]
    MemberAlready {
        /// The user's address.
        email: String,
        /// What they may do.
        role: Role,
    },
    /// The user who accepts an invitation already belongs to the team.
    #[error("{0} is already a member of the team")]
    JoinedAlready(String),
    /// The user to change does not belong to the team.
    #[error("{0} is not a member of the team")]
    NoMember(String),
    /// Only owners manage owners.
    #[error("only an owner can add, change or remove owners")]
    OwnersOnly,
    /// A team always keeps an owner.
    #[error("{0} is the team's last owner; make another member an owner first")]
    LastOwner(String),
    /// Members and pending invitations have taken the plan's seats.
    #[error(
        "the {plan} plan has {seats} seats, and all are taken; remove a member or withdraw an invitation first"
    )]
    NoSeat {
        /// The plan.
        plan: Plan,
        /// How many seats it has.
        seats: u32,
    },
    /// The invitation is valid, but its email was not sent.
    #[error("{0} is invited, but the email was not sent; send it again")]
    NotSent(String),
    /// The address has reached its daily limit.
    #[error("{0} was sent too many emails today; try again tomorrow")]
    AskedOften(String),
    /// The team has reached its limit for invitations.
    #[error(
        "{0} is invited, but the team has sent all the invitations that it may send in a day; send it again tomorrow"
    )]
    InvitedMany(String),
    /// The sender of the invitation can no longer give the role.
    #[error("the invitation of {0} is no longer valid; renew it")]
    NotBacked(String),
    /// The address already has a valid invitation.
    #[error("{0} is already invited")]
    InvitedAlready(String),
    /// The team has the most invitations that it may have.
    #[error(
        "the team has {INVITATIONS_MAX} pending invitations, which is the most that a team can have; withdraw one first"
    )]
    TooManyInvitations,
    /// The user has created the most teams that a user may create.
    #[error(
        "you have already created {} teams; the operator of this service can create more",
        Team::CREATED_MAX
    )]
    TooManyTeams,
    /// The user has the most tokens that a user may have.
    #[error("you have {TOKENS_MAX} tokens, the most that a user can have; revoke one first")]
    TooManyTokens,
    /// A token cannot create a token that may do more.
    #[error("the access token lacks the {0} scope")]
    ScopeMissing(Scope),
    /// Users may not create teams here.
    #[error("only the operator of this service creates teams")]
    OperatorCreatesTeams,
    /// The invited address has an account by now.
    #[error("{0} has an account")]
    AccountAlready(String),
}

/// Why no sign-in link is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignInRefusal {
    /// The source has requested too many, for all addresses together.
    #[error("too many sign-in links were requested from this address; try again later")]
    AskedOften {
        /// How long until it may request another one.
        wait: SignedDuration,
    },
}
