//! Reads by keys on a file give the same answers as dynoxide on the same file.

use std::path::Path;
use std::slice;

use serde_json::{Value, json};
use vedette_embedded::{Database, Fsync, Reached, TABLE, reach};

fn key(pk: &str, sk: &str) -> Value {
    json!({ "pk": { "S": pk }, "sk": { "S": sk } })
}

async fn ask(database: &Database, operation: &str, request: &Value) -> (u16, Value) {
    let body = request.to_string().into_bytes();
    let (status, body) = database.answer(operation.to_owned(), body).await.expect("open");
    (status, serde_json::from_str(&body).expect("JSON"))
}

/// A table on a file, and the same file opened by dynoxide alone.
async fn tables(folder: &Path) -> (Database, Database) {
    let Ok(Reached::Free(alone)) = reach(folder).await else { panic!("nobody has it") };
    let table = Database::open(&alone, Fsync::EverySecond).await.expect("opened");
    let file = folder.join("vedette.db");
    let dynoxide = dynoxide::Database::new(file.to_str().expect("Unicode")).expect("opened");
    (table, Database::on(dynoxide).expect("a thread"))
}

fn wanted(keys: &[Value], more: &Value) -> Value {
    let mut wanted = json!({ "Keys": keys });
    wanted.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
    json!({ "RequestItems": { TABLE: wanted } })
}

#[tokio::test]
async fn items_are_those_that_dynoxide_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let (table, dynoxide) = tables(folder.path()).await;
    let odd = "Ü \"'\\\n🦀";
    for (pk, sk) in [("S#1", "A"), ("S#1", "T#status"), (odd, "A"), ("L", "x")] {
        let mut item = key(pk, sk);
        item["doc"] = json!({ "B": "AAECAwQ=" });
        item["n"] = json!({ "N": "12345678901234567890.5" });
        item["of"] = json!({ "M": { "all": { "L": [{ "BOOL": true }, { "NULL": true }] } } });
        item["text"] = json!({ "S": "</script> \u{1}\u{2028} 🦀" });
        let put = json!({ "TableName": TABLE, "Item": item });
        assert_eq!(ask(&table, "PutItem", &put).await.0, 200);
    }
    let none = json!({});
    let (one, tool, gone) = (key("S#1", "A"), key("S#1", "T#status"), key("S#1", "B"));
    let many: Vec<Value> = (0..101).map(|number| key("S#1", &number.to_string())).collect();
    let mut counted = wanted(slice::from_ref(&one), &none);
    counted["ReturnConsumedCapacity"] = "TOTAL".into();
    let mut other = wanted(slice::from_ref(&one), &none);
    other["RequestItems"]["other"] = json!({ "Keys": [one.clone()] });
    let read = [
        wanted(slice::from_ref(&one), &none),
        wanted(&[tool.clone(), gone.clone(), key(odd, "A"), one.clone()], &none),
        wanted(slice::from_ref(&tool), &json!({ "ConsistentRead": true })),
        wanted(slice::from_ref(&gone), &none),
        wanted(&many[1..], &none),
        wanted(slice::from_ref(&one), &json!({ "ProjectionExpression": "pk" })),
        counted,
    ];
    for request in read {
        let answer = ask(&table, "BatchGetItem", &request).await;
        assert_eq!(answer, ask(&dynoxide, "BatchGetItem", &request).await, "{request}");
        assert_eq!(answer.0, 200, "{request}: {answer:?}");
    }
    let refused = [
        other,
        wanted(&many, &none),
        wanted(&[], &none),
        wanted(&[one.clone(), one.clone()], &none),
        wanted(&[key("S#1", "")], &none),
        wanted(&[key("S#1", &"x".repeat(1_025))], &none),
        wanted(&[json!({ "pk": { "S": "S#1" } })], &none),
        wanted(&[json!({ "pk": { "S": "S#1" }, "sk": { "N": "1" } })], &none),
        wanted(&[one], &json!({ "No": "such" , "ProjectionExpression": "" })),
        json!({ "RequestItems": { "other": { "Keys": [tool] } } }),
        json!({}),
    ];
    for request in refused {
        let answer = ask(&table, "BatchGetItem", &request).await;
        assert_eq!(answer, ask(&dynoxide, "BatchGetItem", &request).await, "{request}");
        assert_ne!(answer.0, 200, "{request}: {answer:?}");
    }
    table.close().await;
}

#[tokio::test]
async fn an_item_is_read_as_it_was_written_last_by_whomever() {
    let folder = tempfile::tempdir().expect("a folder");
    let (table, dynoxide) = tables(folder.path()).await;
    let request = wanted(&[key("S#1", "A")], &json!({}));
    for number in 0..20 {
        let mut item = key("S#1", "A");
        item["n"] = json!({ "N": number.to_string() });
        let put = json!({ "TableName": TABLE, "Item": item });
        let writer = if number % 2 == 0 { &table } else { &dynoxide };
        assert_eq!(ask(writer, "PutItem", &put).await.0, 200);
        let (_, found) = ask(&table, "BatchGetItem", &request).await;
        assert_eq!(found["Responses"][TABLE], json!([item]));
    }
    table.close().await;
}
