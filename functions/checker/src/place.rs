//! The place that a long run takes where many processes share them.

use std::time::Duration;

use tracing::warn;
use vedette_domain::message::{CheckMessage, Message};
use vedette_runtime::App;

use crate::CheckerError;

/// How long a message waits for a place before it asks again.
const WAIT: Duration = Duration::from_secs(15);

/// Runs where the message's team may have one more run of the tool under way, and not this one
/// already. Otherwise the message comes again. Where the table asks for the run too
/// (`is_outstanding`), redelivery is its clock; any other is sent anew, for later, since
/// failing it would count towards its dead-letter queue. Were both sent, copies would pile up for as
/// long as there is no place.
pub(crate) async fn in_place<T>(
    app: &App,
    message: &CheckMessage,
    is_outstanding: bool,
    run: impl Future<Output = T>,
) -> Result<Option<T>, CheckerError> {
    let CheckMessage { team, tool, .. } = *message;
    let Some(places) = app.service.places.filter(|_| tool.is_long()) else {
        return Ok(Some(run.await));
    };
    let check = message.check_id();
    if !app.store.take_place(team, check, tool, places, app.clock.now()).await? {
        if !is_outstanding {
            app.queue.send(&Message::Check(*message), WAIT).await?;
        }
        return Ok(None);
    }
    let done = run.await;
    if let Err(error) = app.store.give_back_place(team, check, tool).await {
        warn!(%team, %check, %error, "a place is free again in time only");
    }
    Ok(Some(done))
}
