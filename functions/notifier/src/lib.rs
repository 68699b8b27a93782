//! The notifier: tells channels what happens to issues.
//!
//! Each change of an issue is written together with an entry in the outbox. [`fan_out`] decides what each channel needs
//! to learn about the change. [`deliver`] sends to one channel what is due, and saves what the channel now knows.

mod deliver;
mod events;
mod execute;
mod fan_out;
mod grants;
mod owner;
mod rebuild_waits;
mod release;
pub mod send;
mod sync;
mod transport;
mod unchecked;

use tracing::info;
use vedette_domain::message::AlertMessage;
use vedette_runtime::App;
use vedette_store::{ChannelRef, MayConflict, StoreError};

pub use deliver::deliver;
pub use fan_out::fan_out;
pub use grants::NOTIFIER;
pub use rebuild_waits::rebuild_waits;
pub use release::{redeliver_held_mail, release};
pub use sync::{Rebuilt, rebuild, sync};
pub use transport::{Recipient, Transport};
pub use vedette_actions::wake;
pub use vedette_domain::alerts::delivery_run::Delivered;

/// Why something was not sent. No alert is lost: it is still in the table.
#[derive(Debug, thiserror::Error)]
pub enum NotifierError {
    /// The table does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A message that the notifier does not know.
    #[error("not a message of this queue")]
    Message(#[source] serde_json::Error),
}

impl MayConflict for NotifierError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_conflict())
    }
}

/// Does what a message asks for.
///
/// # Errors
///
/// When the table does not answer.
pub async fn handle(
    app: &App,
    transport: &impl Transport,
    message: &AlertMessage,
) -> Result<(), NotifierError> {
    match message {
        AlertMessage::Issue { team, issue } => fan_out(app, *team, *issue).await,
        AlertMessage::Channel { team, channel } => {
            let place = ChannelRef { team: *team, id: *channel };
            deliver(app, transport, place).await.map(drop)
        }
        AlertMessage::Unchecked { team, site } => unchecked::notify(app, *team, *site).await,
        AlertMessage::Team(team) => sync::sync(app, *team).await,
        AlertMessage::Rebuild(team) => {
            let Rebuilt { channels, missing, stray } = rebuild(app, *team).await?;
            info!(%team, channels, missing, stray, "rebuilt alerts");
            Ok(())
        }
    }
}

/// Does what the text of a message asks for.
///
/// # Errors
///
/// When the text is not a message, or the table does not answer.
pub async fn handle_body(
    app: &App,
    transport: &impl Transport,
    body: &str,
) -> Result<(), NotifierError> {
    let message = serde_json::from_str(body).map_err(NotifierError::Message)?;
    handle(app, transport, &message).await
}
