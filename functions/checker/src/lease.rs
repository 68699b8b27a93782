//! The lease that a long run takes where many processes share a limit.

use std::time::Duration;

use tracing::warn;
use vedette_domain::message::{CheckMessage, Message};
use vedette_ops::ErrorChain;
use vedette_runtime::App;

use crate::CheckerError;

/// How long a message waits before it tries to get a lease again.
const WAIT: Duration = Duration::from_secs(15);

/// Runs the check if the team may start one more run of the tool, and if this run is not in progress already. Otherwise
/// the message is sent again later.
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
        warn!(%team, %check, error = %ErrorChain(&error), "could not release a lease, which will expire");
    }
    Ok(Some(done))
}

/// Postpones a message that cannot be handled yet. If the table asks for its run (`is_outstanding`), redelivery sends
/// the message again. Any other message is enqueued again with a delay, because a failure would count toward its
/// dead-letter queue. If both happened, copies would pile up until a lease is free.
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
