//! How a Lambda function handles a batch of SQS messages.

use std::error::Error;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use futures::future::join_all;
use jiff::Timestamp;
use tracing::error;
use vedette_domain::ErrorChain;

/// A message of a batch.
#[derive(Debug, Clone)]
pub struct SqsBody {
    /// Its id, which the log tells.
    pub id: String,
    /// What was sent.
    pub text: String,
    /// When it was sent; `None` if the queue does not say.
    pub sent_at: Option<Timestamp>,
}

/// Handles all messages of a batch at once. Those that fail are delivered again, one by one.
pub async fn consume<F, E>(event: SqsEvent, handle: impl Fn(SqsBody) -> F) -> SqsBatchResponse
where
    F: Future<Output = Result<(), E>>,
    E: Into<Box<dyn Error>>,
{
    let outcomes = event.records.into_iter().map(|message| {
        let sent_at = message.attributes.get("SentTimestamp");
        let sent_at =
            sent_at.and_then(|millis| Timestamp::from_millisecond(millis.parse().ok()?).ok());
        let id = message.message_id.unwrap_or_default();
        let text = message.body.unwrap_or_default();
        let handled = handle(SqsBody { id: id.clone(), text, sent_at });
        async move {
            let error = handled.await.err()?.into();
            error!(message = id, error = %ErrorChain(&*error), "message failed");
            // An empty id would fail the whole batch.
            Some(id).filter(|id| !id.is_empty())
        }
    });
    let mut response = SqsBatchResponse::default();
    for id in join_all(outcomes).await.into_iter().flatten() {
        response.add_failure(id);
    }
    response
}

#[cfg(test)]
mod tests {
    use aws_lambda_events::event::sqs::SqsMessage;

    use super::*;

    fn message(id: Option<&str>, body: &str, sent: Option<&str>) -> SqsMessage {
        let mut message = SqsMessage::default();
        message.message_id = id.map(str::to_owned);
        message.body = Some(body.to_owned());
        if let Some(sent) = sent {
            message.attributes.insert("SentTimestamp".to_owned(), sent.to_owned());
        }
        message
    }

    #[tokio::test]
    async fn messages_fail_one_by_one() {
        let mut event = SqsEvent::default();
        event.records = vec![
            message(Some("one"), "good", Some("1795168440000")),
            message(Some("two"), "bad", Some("soon")),
            message(None, "bad", None),
            message(Some("four"), "bad", None),
        ];
        let handled = std::sync::Mutex::new(Vec::new());
        let response = consume(event, |body| {
            handled.lock().expect("no panic").push((body.text.clone(), body.sent_at));
            async move { if body.text == "good" { Ok(()) } else { Err("not good") } }
        })
        .await;
        let failed: Vec<_> =
            response.batch_item_failures.iter().map(|one| one.item_identifier.as_str()).collect();
        assert_eq!(failed, ["two", "four"], "what has no id cannot be named");
        let sent_at = Timestamp::from_second(1_795_168_440).ok();
        let expected = [("good", sent_at), ("bad", None), ("bad", None), ("bad", None)];
        assert_eq!(
            handled.into_inner().expect("no panic"),
            expected.map(|(text, sent_at)| (text.to_owned(), sent_at))
        );
    }
}
