//! Why something is not done with users, members and invitations.

use jiff::SignedDuration;

use crate::accounts::account::Role;
use crate::accounts::invitation::INVITATIONS_MAX;
use crate::accounts::plan::Plan;

/// Why something was not done with users, members or tokens.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountRefusal {
    /// Who is to be added belongs to the team.
    #[error("{email} is a member already, with the role {}", .role.as_str())]
    MemberAlready {
        /// The user's address.
        email: String,
        /// What they may do.
        role: Role,
    },
    /// Whoever accepts an invitation already belongs to the team.
    #[error("{0} is a member of the team already")]
    JoinedAlready(String),
    /// Who is to be changed does not.
    #[error("{0} is not a member of the team")]
    NoMember(String),
    /// Owners stand above the others.
    #[error("only an owner can add, change or remove owners")]
    OwnersOnly,
    /// A team keeps an owner.
    #[error("{0} is the team's last owner; make another member an owner first")]
    LastOwner(String),
    /// Members and pending invitations have taken the plan's seats.
    #[error("the {plan} plan has {seats} seats, and all are taken")]
    NoSeat {
        /// The plan.
        plan: Plan,
        /// How many seats it has.
        seats: u32,
    },
    /// An invitation stands, and its letter was not sent.
    #[error("{0} is invited, but the mail was not sent; send it again")]
    NotSent(String),
    /// Nobody is to be pestered.
    #[error("{0} was asked too often today; ask again tomorrow")]
    AskedOften(String),
    /// A team has an allowance of invitations, too.
    #[error(
        "{0} is invited, but the team has sent all the invitations that it may send in a day; send it again tomorrow"
    )]
    InvitedMany(String),
    /// The sender of the invitation can no longer give the role.
    #[error("the invitation of {0} is not valid any more; renew it")]
    NotBacked(String),
    /// The address has an invitation that can be accepted.
    #[error("{0} is invited already")]
    InvitedAlready(String),
    /// A team may have so many invitations.
    #[error(
        "the team has {INVITATIONS_MAX} pending invitations, which is the most that a team can have"
    )]
    TooManyInvitations,
    /// Who is invited has an account by now.
    #[error("{0} has an account")]
    AccountAlready(String),
}

/// Why no link that signs in is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignInRefusal {
    /// The source has asked for too many, whatever the addresses.
    #[error("the source has asked for too many links")]
    AskedOften {
        /// How long until it may ask again.
        wait: SignedDuration,
    },
}
