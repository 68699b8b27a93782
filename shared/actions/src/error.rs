//! Why an action was not carried out.

use std::error::Error;

use vedette_domain::accounts::access::AccessRefusal;
use vedette_domain::accounts::refusal::{AccountRefusal, SignInRefusal};
use vedette_domain::alerts::refusal::ChannelRefusal;
use vedette_domain::checks::on_demand::OnDemandRefusal;
use vedette_domain::heartbeats::refusal::HeartbeatRefusal;
use vedette_domain::issues::InvalidTransition;
use vedette_domain::maintenance::WindowRefusal;
use vedette_domain::sites::refusal::SiteRefusal;
use vedette_domain::status_pages::{IncidentRefusal, PageRefusal, SubscriptionRefusal};
use vedette_runtime::EntropyError;
use vedette_store::{MayConflict, StoreError};

/// Why an action was not carried out: it was refused, or it failed.
#[derive(Debug, thiserror::Error)]
pub enum ActionError<R: Error + 'static> {
    /// It was refused, and would be refused again.
    #[error(transparent)]
    Refused(R),
    /// It failed; the caller may try again.
    #[error(transparent)]
    Failed(Fault),
}

/// What caused an action to fail.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// There is no randomness for ids and secrets.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The table does not answer, or a conflict: another process has changed the same item.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why the caller may not work with a team or with what belongs to it.
pub type AccessError = ActionError<AccessRefusal>;
/// Why an action on users, members, invitations or tokens was not carried out.
pub type AccountError = ActionError<AccountRefusal>;
/// Why an action on a channel was not carried out.
pub type ChannelError = ActionError<ChannelRefusal>;
/// Why a decision about an issue was not carried out.
pub type DecisionError = ActionError<InvalidTransition>;
/// Why a heartbeat was not saved.
pub type HeartbeatError = ActionError<HeartbeatRefusal>;
/// Why an incident was not saved.
pub type IncidentError = ActionError<IncidentRefusal>;
/// Why checks were not ordered.
pub type OrderError = ActionError<OnDemandRefusal>;
/// Why a status page was not saved.
pub type PageError = ActionError<PageRefusal>;
/// Why no sign-in link is sent.
pub type SignInError = ActionError<SignInRefusal>;
/// Why a site was not created or changed.
pub type SiteError = ActionError<SiteRefusal>;
/// Why a subscription to a status page was not requested or confirmed.
pub type SubscriptionError = ActionError<SubscriptionRefusal>;
/// Why a maintenance window was not saved.
pub type WindowError = ActionError<WindowRefusal>;

/// A reason to refuse an action. `?` turns it into an [`ActionError`].
pub trait Refusal: Error + 'static {}

impl Refusal for AccessRefusal {}
impl Refusal for AccountRefusal {}
impl Refusal for ChannelRefusal {}
impl Refusal for HeartbeatRefusal {}
impl Refusal for IncidentRefusal {}
impl Refusal for InvalidTransition {}
impl Refusal for OnDemandRefusal {}
impl Refusal for PageRefusal {}
impl Refusal for SignInRefusal {}
impl Refusal for SiteRefusal {}
impl Refusal for SubscriptionRefusal {}
impl Refusal for WindowRefusal {}

impl<R: Refusal> From<R> for ActionError<R> {
    fn from(refusal: R) -> Self {
        Self::Refused(refusal)
    }
}

impl<R: Error + 'static> From<StoreError> for ActionError<R> {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl<R: Error + 'static> From<EntropyError> for ActionError<R> {
    fn from(error: EntropyError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<AccessError> for SiteError {
    fn from(error: AccessError) -> Self {
        match error {
            ActionError::Refused(refusal) => Self::Refused(refusal.into()),
            ActionError::Failed(fault) => Self::Failed(fault),
        }
    }
}

impl MayConflict for Fault {
    fn is_conflict(&self) -> bool {
        match self {
            Self::Entropy(_) => false,
            Self::Store(error) => error.is_conflict(),
        }
    }
}

impl<R: Error + 'static> MayConflict for ActionError<R> {
    fn is_conflict(&self) -> bool {
        match self {
            Self::Refused(_) => false,
            Self::Failed(fault) => fault.is_conflict(),
        }
    }
}
