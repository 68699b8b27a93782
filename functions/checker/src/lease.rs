//! The lease that a long run takes when many processes share a limit.

use std::time::Duration;

use tracing::warn;
use vedette_domain::ErrorChain;
use vedette_domain::message::{CheckMessage, Message};
use vedette_runtime::App;

use crate::CheckerError;

/// How long a message waits for a lease before it asks again.
const WAIT: Duration = Duration::from_secs(15);

/// Runs if the message's team may have one more run of the tool under way, and this one is not under
/// way already. Otherwise the message comes again.
pub(crate) async fn with_lease<T>(
    app: &App,
    message: &CheckMessage,
    is_outstanding: bool,
    run: impl Future<Output = T>,
) -> Result<Option<T>, CheckerError> {
    let CheckMessage { team, tool, .. } = *message;
    let Some(limit) = app.service.concurrency.filter(|_| tool.is_long()) else {
        return Ok(Some(run.await));
    };
    let check = message.check_id();
    if !app.store.acquire_lease(team, check, tool, limit, app.clock.now()).await? {
        postpone(app, message, is_outstanding).await?;
        return Ok(None);
    }
    let done = run.await;
    if let Err(error) = app.store.release_lease(team, check, tool).await {
        warn!(%team, %check, error = %ErrorChain(&error), "a lease is left to expire");
    }
    Ok(Some(done))
}

/// Puts off a message that cannot be handled yet: redelivery sends a run that the table asks for
/// (`is_outstanding`), and any other is enqueued again with a delay, since failing it would count towards its
/// dead-letter queue. If both were enqueued, copies would pile up until there is room.
pub(crate) async fn postpone(
    app: &App,
    message: &CheckMessage,
    is_outstanding: bool,
) -> Result<(), CheckerError> {
    if !is_outstanding {
        app.queue.send(&Message::Check(*message), WAIT).await?;
    }
    Ok(())
}
