//! Maps operations of DynamoDB's protocol to functions of the database.

use dynoxide::DynoxideError;
use dynoxide::actions::transact_write_items::TransactWriteItemsRequest;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::lookup::Opened;

/// The operations that read and write items, and the one that shows whether the table exists: another process may
/// request these.
const OF_ITEMS: [&str; 9] = [
    "BatchGetItem",
    "BatchWriteItem",
    "DeleteItem",
    "DescribeTable",
    "GetItem",
    "PutItem",
    "Query",
    "TransactWriteItems",
    "UpdateItem",
];

/// Whether another process may request an operation.
pub(crate) fn is_of_items(operation: &str) -> bool {
    OF_ITEMS.contains(&operation)
}

/// What a job does with the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// What an operation does with the database. Only tests request a `Scan`, and they may wait for it.
pub(crate) fn access(operation: &str) -> Access {
    match operation {
        "BatchGetItem" | "DescribeTable" | "GetItem" | "Query" => Access::Read,
        _ => Access::Write,
    }
}

/// Carries out an operation, and returns the answer's status and body.
pub(crate) fn answer(opened: &Opened, operation: &str, body: &[u8]) -> (u16, String) {
    let Opened { dynoxide: database, lookup } = opened;
    let looked_up = lookup.as_ref().filter(|_| operation == "BatchGetItem");
    if let Some(found) = looked_up.and_then(|lookup| lookup.batch_get(body)) {
        return (200, found);
    }
    let answered = match operation {
        "BatchGetItem" => run(body, |request| database.batch_get_item(request)),
        "BatchWriteItem" => run(body, |request| database.batch_write_item(request)),
        "CreateTable" => run(body, |request| database.create_table(request)),
        "DeleteItem" => run(body, |request| database.delete_item(request)),
        "DescribeTable" => run(body, |request| database.describe_table(request)),
        "GetItem" => run(body, |request| database.get_item(request)),
        "PutItem" => run(body, |request| database.put_item(request)),
        "Query" => run(body, |request| database.query(request)),
        "Scan" => run(body, |request| database.scan(request)),
        "TransactWriteItems" => run(body, |request| {
            // The SDK gives every transaction a token. Our writes have conditions, so a transaction that is sent twice
            // is refused without a token; and to recognize a token, the database would search all tokens of the last
            // ten minutes.
            database.transact_write_items(TransactWriteItemsRequest {
                client_request_token: None,
                ..request
            })
        }),
        "UpdateItem" => run(body, |request| database.update_item(request)),
        "UpdateTimeToLive" => run(body, |request| database.update_time_to_live(request)),
        _ => Err(DynoxideError::ValidationException(format!("no operation `{operation}` here"))),
    };
    match answered {
        Ok(body) => (200, body),
        Err(error) => (error.status_code(), error.to_json()),
    }
}

fn run<Request: DeserializeOwned, Response: Serialize>(
    body: &[u8],
    work: impl FnOnce(Request) -> dynoxide::Result<Response>,
) -> dynoxide::Result<String> {
    let malformed =
        |error: serde_json::Error| DynoxideError::SerializationException(error.to_string());
    let response = work(serde_json::from_slice(body).map_err(malformed)?)?;
    serde_json::to_string(&response).map_err(malformed)
}
