//! The HTTP error of each refusal of `domain`: its status code, and the field that it is about.

use std::error::Error;

use vedette_actions::{ActionError, Fault};
use vedette_domain::accounts::access::AccessRefusal;
use vedette_domain::accounts::refusal::{AccountRefusal, SignInRefusal};
use vedette_domain::alerts::refusal::ChannelRefusal;
use vedette_domain::checks::on_demand::OnDemandRefusal;
use vedette_domain::heartbeats::refusal::HeartbeatRefusal;
use vedette_domain::issues::InvalidTransition;
use vedette_domain::maintenance::WindowRefusal;
use vedette_domain::rate_limit::retry_after;
use vedette_domain::sites::refusal::SiteRefusal;
use vedette_domain::status_pages::{IncidentRefusal, PageRefusal, SubscriptionRefusal};
use vedette_domain::wording::sentence;

use super::ApiError;

impl<R: Error + Into<Self> + 'static> From<ActionError<R>> for ApiError {
    fn from(error: ActionError<R>) -> Self {
        match error {
            ActionError::Refused(refusal) => refusal.into(),
            ActionError::Failed(fault) => fault.into(),
        }
    }
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Entropy(error) => Self::internal(error),
            Fault::Store(error) => Self::Store(error),
        }
    }
}

impl From<AccessRefusal> for ApiError {
    fn from(refusal: AccessRefusal) -> Self {
        match refusal {
            AccessRefusal::NotFound => Self::NotFound,
            AccessRefusal::PlanRequired => Self::PlanRequired,
            AccessRefusal::RoleLacks(_) | AccessRefusal::ScopeMissing(_) => {
                Self::Forbidden(refusal.to_string())
            }
        }
    }
}

impl From<SiteRefusal> for ApiError {
    fn from(refusal: SiteRefusal) -> Self {
        match refusal {
            SiteRefusal::Access(refusal) => refusal.into(),
            SiteRefusal::DuplicateUrl | SiteRefusal::SiteLimit => {
                Self::invalid("url", refusal.to_string())
            }
            SiteRefusal::TooManyTags(_) => Self::invalid("tags", refusal.to_string()),
            SiteRefusal::Objective(_) => Self::invalid("objective.percentage", refusal.to_string()),
            SiteRefusal::PostNotProven(_) => Self::invalid("method", refusal.to_string()),
            SiteRefusal::TextsTooLong { longest, .. } => {
                Self::invalid(longest.as_str(), refusal.to_string())
            }
        }
    }
}

impl From<OnDemandRefusal> for ApiError {
    fn from(refusal: OnDemandRefusal) -> Self {
        match refusal {
            OnDemandRefusal::NoneEnabled
            | OnDemandRefusal::NotAllowed(_)
            | OnDemandRefusal::NotEnabled(_)
            | OnDemandRefusal::Quota
            | OnDemandRefusal::Pending(_)
            | OnDemandRefusal::Cadence(_) => Self::invalid("tools", refusal.to_string()),
        }
    }
}

impl From<AccountRefusal> for ApiError {
    fn from(refusal: AccountRefusal) -> Self {
        let why = sentence(&refusal.to_string());
        match refusal {
            // For a team, a user who is not a member does not exist.
            AccountRefusal::NoMember(_) => Self::NotFound,
            AccountRefusal::OwnersOnly | AccountRefusal::OperatorCreatesTeams => {
                Self::Forbidden(why)
            }
            AccountRefusal::TooManyTeams | AccountRefusal::TooManyTokens => {
                Self::invalid("name", why)
            }
            AccountRefusal::ScopeMissing(_) => Self::invalid("scopes", why),
            AccountRefusal::LastOwner(_) => Self::invalid("role", why),
            AccountRefusal::MemberAlready { .. }
            | AccountRefusal::JoinedAlready(_)
            | AccountRefusal::NoSeat { .. }
            | AccountRefusal::NotSent(_)
            | AccountRefusal::AskedOften(_)
            | AccountRefusal::InvitedMany(_)
            | AccountRefusal::NotBacked(_)
            | AccountRefusal::InvitedAlready(_)
            | AccountRefusal::TooManyInvitations
            | AccountRefusal::AccountAlready(_) => Self::invalid("email", why),
        }
    }
}

impl From<InvalidTransition> for ApiError {
    fn from(refusal: InvalidTransition) -> Self {
        Self::invalid("issue", sentence(&refusal.to_string()))
    }
}

impl From<ChannelRefusal> for ApiError {
    fn from(refusal: ChannelRefusal) -> Self {
        let field = match refusal {
            ChannelRefusal::NameTaken(_) => "name",
            ChannelRefusal::UrlTaken(_) => "url",
            ChannelRefusal::AskedOften(_) | ChannelRefusal::AskedMany => "address",
            ChannelRefusal::Full
            | ChannelRefusal::Disabled { .. }
            | ChannelRefusal::Unconfirmed(_)
            | ChannelRefusal::NotArrived(_)
            | ChannelRefusal::NotSent(_)
            | ChannelRefusal::HostIsFull => "channel",
        };
        Self::invalid(field, sentence(&refusal.to_string()))
    }
}

impl From<WindowRefusal> for ApiError {
    fn from(refusal: WindowRefusal) -> Self {
        let field = match refusal {
            WindowRefusal::TooMany | WindowRefusal::NotActive => "window",
            WindowRefusal::TooLong | WindowRefusal::UnknownSite => "sites",
            WindowRefusal::SitesAndSelector => "selector",
            WindowRefusal::Over | WindowRefusal::OffRule => "starts_at",
        };
        Self::invalid(field, refusal.to_string())
    }
}

impl From<HeartbeatRefusal> for ApiError {
    fn from(refusal: HeartbeatRefusal) -> Self {
        let field = match refusal {
            HeartbeatRefusal::Invalid(error) => return error.into(),
            HeartbeatRefusal::TooMany => "heartbeat",
            HeartbeatRefusal::SlugTaken => "slug",
            HeartbeatRefusal::KeyTaken => "ping_uuid",
            HeartbeatRefusal::TeamKeyTaken => "ping_key",
        };
        Self::invalid(field, refusal.to_string())
    }
}

impl From<PageRefusal> for ApiError {
    fn from(refusal: PageRefusal) -> Self {
        let field = match refusal {
            PageRefusal::TooMany => "status_page",
            PageRefusal::SlugTaken => "slug",
            PageRefusal::UnknownSite
            | PageRefusal::UnknownHeartbeat
            | PageRefusal::UnknownComponent => "groups",
        };
        Self::invalid(field, refusal.to_string())
    }
}

impl From<IncidentRefusal> for ApiError {
    fn from(refusal: IncidentRefusal) -> Self {
        let field = match refusal {
            IncidentRefusal::TooMany => "incident",
            IncidentRefusal::TooManyUpdates => "text",
            IncidentRefusal::UnknownComponent => "components",
            IncidentRefusal::StartsInFuture => "started_at",
        };
        Self::invalid(field, refusal.to_string())
    }
}

impl From<SubscriptionRefusal> for ApiError {
    fn from(refusal: SubscriptionRefusal) -> Self {
        match refusal {
            SubscriptionRefusal::AskedOften { wait } => {
                Self::TooManyRequests { retry_after: retry_after(wait) }
            }
            SubscriptionRefusal::NotSent => {
                Self::Unavailable("the queue of emails does not answer")
            }
            SubscriptionRefusal::Full
            | SubscriptionRefusal::ManyRecipients
            | SubscriptionRefusal::MailboxAskedOften => {
                Self::invalid("subscription", refusal.to_string())
            }
        }
    }
}

impl From<SignInRefusal> for ApiError {
    fn from(refusal: SignInRefusal) -> Self {
        match refusal {
            SignInRefusal::AskedOften { wait } => {
                Self::TooManyRequests { retry_after: retry_after(wait) }
            }
        }
    }
}
