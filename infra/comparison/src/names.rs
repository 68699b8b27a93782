//! The target's DNS over HTTPS, which answers with the same records for every name.

use std::error::Error;

use hickory_resolver::proto::op::Message;
use hickory_resolver::proto::rr::rdata::{A, AAAA, MX, NS, TXT};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response};

/// Answers a question that was sent by POST.
pub(crate) async fn answer(
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Box<dyn Error + Send + Sync>> {
    let query = Message::from_vec(&request.into_body().collect().await?.to_bytes())?;
    let question = query.queries.first().cloned().ok_or("no question")?;
    let mut message = query.into_response();
    if let Some(data) = data(question.query_type(), question.name()) {
        message.add_answer(Record::from_rdata(question.name().clone(), 300, data));
    }
    let mut response = Response::new(Full::from(message.to_vec()?));
    let media_type = HeaderValue::from_static("application/dns-message");
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    Ok(response)
}

/// A record of each type that can exist beside the others. The addresses are reserved for documentation, so that no
/// check asks a registry about them.
fn data(kind: RecordType, name: &Name) -> Option<RData> {
    match kind {
        RecordType::A => Some(RData::A(A::new(192, 0, 2, 1))),
        RecordType::AAAA => Some(RData::AAAA(AAAA::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))),
        RecordType::MX => Some(RData::MX(MX::new(10, name.clone()))),
        RecordType::NS => Some(RData::NS(NS(name.clone()))),
        RecordType::TXT => Some(RData::TXT(TXT::new(vec!["v=spf1 -all".to_owned()]))),
        _ => None,
    }
}
