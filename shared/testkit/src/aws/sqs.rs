//! SQS: standard queues with visibility timeouts, receipt handles that end with them, and moving of dead letters.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::{Answer, AwsAccount, Call, REGION};

/// Its name in signatures.
pub(super) const SERVICE: &str = "sqs";
/// The URL of a queue, without its name.
pub const QUEUE_URL_PREFIX: &str = "https://sqs.eu-central-1.amazonaws.com/123456789012/vedette-";
const ARN_PREFIX: &str = "123456789012:vedette-";

/// A message in a queue.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Its id.
    pub id: String,
    /// Its body.
    pub body: String,
    /// Its group.
    pub group: Option<String>,
    /// Attributes from its sender.
    pub attributes: BTreeMap<String, String>,
    /// Milliseconds since the epoch.
    pub sent_at: i64,
    /// How often it was received.
    pub received: u32,
    /// The delay that the sender asked for. The message is visible all the same.
    pub delay: Duration,
    hidden_until: Option<Instant>,
    handle: String,
}

impl Sent {
    /// Whether it can be received.
    pub fn is_visible(&self) -> bool {
        self.hidden_until.is_none_or(|until| until <= Instant::now())
    }
}

impl AwsAccount {
    /// Makes queues of these names.
    pub fn make_queues<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        for name in names {
            self.queues.entry(name.to_owned()).or_default();
        }
    }

    /// Puts a message into a queue.
    pub fn put_message(&mut self, queue: &str, body: &str, group: Option<&str>) -> &mut Sent {
        self.drawn += 1;
        let sent = Sent {
            id: format!("message-{}", self.drawn),
            body: body.to_owned(),
            group: group.map(str::to_owned),
            attributes: BTreeMap::new(),
            sent_at: 1_795_168_440_000 + self.drawn * 1_000,
            received: 0,
            delay: Duration::ZERO,
            hidden_until: None,
            handle: String::new(),
        };
        let queue = self.queues.get_mut(queue).expect("a queue");
        queue.push(sent);
        queue.last_mut().expect("what was put")
    }

    /// Ends the visibility timeout of all messages.
    pub fn show_all(&mut self) {
        let all = self.queues.values_mut().flatten();
        all.for_each(|sent| sent.hidden_until = None);
    }

    pub(super) fn sqs(&mut self, call: &Call) -> (String, Answer) {
        let operation = call.target.rsplit('.').next().unwrap_or_default().to_owned();
        let answer = self.ask_sqs(&operation, &call.body).unwrap_or_else(|refusal| refusal);
        (operation, answer)
    }

    fn ask_sqs(&mut self, operation: &str, body: &Value) -> Result<Answer, Answer> {
        let url = body["QueueUrl"].as_str().unwrap_or_default();
        let arn = body["SourceArn"].as_str().unwrap_or_default();
        let of_arn = arn.split_once(ARN_PREFIX).map(|(_, name)| name);
        let name = url.strip_prefix(QUEUE_URL_PREFIX).or(of_arn).unwrap_or_default().to_owned();
        let can_move = self.moves_messages;
        let Some(queue) = self.queues.get_mut(&name) else {
            let message = "The specified queue does not exist.";
            return Err(Answer::refusal(400, "com.amazonaws.sqs#QueueDoesNotExist", message));
        };
        let answer = match operation {
            "GetQueueAttributes" => {
                let visible = queue.iter().filter(|sent| sent.is_visible()).count();
                let all = json!({
                    "QueueArn": format!("arn:aws:sqs:{REGION}:{ARN_PREFIX}{name}"),
                    "ApproximateNumberOfMessages": visible.to_string(),
                    "ApproximateNumberOfMessagesNotVisible": (queue.len() - visible).to_string(),
                });
                let asked = body["AttributeNames"].as_array().into_iter().flatten();
                let asked = asked.filter_map(|name| {
                    let name = name.as_str()?;
                    Some((name.to_owned(), all.get(name)?.clone()))
                });
                json!({ "Attributes": asked.collect::<Map<_, _>>() })
            }
            "ReceiveMessage" => {
                let most = body["MaxNumberOfMessages"].as_u64().unwrap_or(1);
                let hidden = Duration::from_secs(body["VisibilityTimeout"].as_u64().unwrap_or(30));
                let taken = queue.iter_mut().filter(|sent| sent.is_visible());
                let taken: Vec<_> = taken.take(usize::try_from(most).expect("few")).collect();
                let shown = taken.into_iter().map(|sent| {
                    sent.received += 1;
                    sent.hidden_until = Some(Instant::now() + hidden);
                    sent.handle = format!("{}/{}", sent.id, sent.received);
                    shown(sent)
                });
                json!({ "Messages": shown.collect::<Vec<_>>() })
            }
            "ChangeMessageVisibilityBatch" => {
                for entry in body["Entries"].as_array().into_iter().flatten() {
                    let seconds = entry["VisibilityTimeout"].as_u64().unwrap_or(0);
                    let until = Instant::now() + Duration::from_secs(seconds);
                    let held = held(queue, &entry["ReceiptHandle"])?;
                    queue[held].hidden_until = Some(until);
                }
                json!({ "Successful": [], "Failed": [] })
            }
            "DeleteMessage" => {
                let held = held(queue, &body["ReceiptHandle"])?;
                queue.remove(held);
                json!({})
            }
            "SendMessage" => {
                let text = body["MessageBody"].as_str().unwrap_or_default();
                let id = self.put_message(&name, text, body["MessageGroupId"].as_str()).id.clone();
                json!({ "MessageId": id, "MD5OfMessageBody": "" })
            }
            "SendMessageBatch" => {
                let entries = body["Entries"].as_array().expect("entries");
                assert!((1..=10).contains(&entries.len()), "{} entries", entries.len());
                for entry in entries {
                    let text = entry["MessageBody"].as_str().expect("a body");
                    let delay = entry["DelaySeconds"].as_u64().unwrap_or(0);
                    let group = entry["MessageGroupId"].as_str();
                    self.put_message(&name, text, group).delay = Duration::from_secs(delay);
                }
                json!({ "Successful": [], "Failed": [] })
            }
            "StartMessageMoveTask" if can_move => {
                let source = name.strip_suffix("-dlq").expect("a dead-letter queue");
                let moved = std::mem::take(queue);
                self.moved = moved.len();
                self.queues.get_mut(source).expect("a queue").extend(moved);
                json!({ "TaskHandle": "task" })
            }
            "ListMessageMoveTasks" if can_move => json!({ "Results": [{
                "Status": "COMPLETED",
                "ApproximateNumberOfMessagesMoved": self.moved,
                "SourceArn": arn,
            }] }),
            _ => {
                let code = "com.amazonaws.sqs#UnsupportedOperation";
                return Err(Answer::refusal(400, code, "This is not supported."));
            }
        };
        Ok(Answer::json(&answer))
    }
}

fn held(queue: &[Sent], handle: &Value) -> Result<usize, Answer> {
    let place = queue.iter().position(|sent| *handle == sent.handle);
    place.ok_or_else(|| {
        let code = "com.amazonaws.sqs#ReceiptHandleIsInvalid";
        Answer::refusal(404, code, "The input receipt handle is invalid.")
    })
}

fn shown(sent: &Sent) -> Value {
    let mut system = json!({
        "SentTimestamp": sent.sent_at.to_string(),
        "ApproximateReceiveCount": sent.received.to_string(),
    });
    if let Some(group) = &sent.group {
        system["MessageGroupId"] = json!(group);
    }
    let attributes = sent
        .attributes
        .iter()
        .map(|(name, value)| (name.clone(), json!({ "DataType": "String", "StringValue": value })));
    json!({
        "MessageId": sent.id,
        "ReceiptHandle": sent.handle,
        "Body": sent.body,
        "Attributes": system,
        "MessageAttributes": attributes.collect::<Map<_, _>>(),
    })
}
