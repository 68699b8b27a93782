//! What requests to the table cost, measured between the SDK and the table.

use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use serde_json::Value;

use crate::faults::operation;

/// Write units of a status check that is packed, because it is scheduled and uneventful.
pub const PACKED_CHECK: u32 = 1;

/// What requests to the table cost, according to the table.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// Read units.
    pub reads: f64,
    /// Write units, including those of the index.
    pub writes: f64,
    /// Requests, each with its answer.
    pub round_trips: u32,
    /// How many requests came one after another: a request comes after those whose answers had arrived when it was
    /// sent.
    pub rounds: u32,
}

/// Counts capacity units between the SDK and the table, from [`Meter::start`] to [`Meter::stop`].
///
/// Each request is changed to ask for its capacity, so that the store does not have to. The answer to a refused write
/// has none, although DynamoDB charges for it.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<Mutex<Option<Spent>>>);

impl Meter {
    /// Starts to count from zero.
    pub fn start(&self) {
        *self.0.lock().expect("a count") = Some(Spent::default());
    }

    /// Stops counting, and returns the cost since the start.
    pub fn stop(&self) -> Spent {
        self.0.lock().expect("a count").take().unwrap_or_default()
    }

    /// A client that counts the requests that it forwards.
    pub(crate) fn client(&self, inner: SharedHttpClient) -> SharedHttpClient {
        SharedHttpClient::new(MeteredClient { inner, meter: self.clone() })
    }

    fn is_counting(&self) -> bool {
        self.0.lock().expect("a count").is_some()
    }

    /// Rounds so far.
    fn rounds(&self) -> u32 {
        self.0.lock().expect("a count").map_or(0, |spent| spent.rounds)
    }

    fn count(&self, is_write: bool, units: f64, round: u32) {
        if let Some(spent) = self.0.lock().expect("a count").as_mut() {
            *(if is_write { &mut spent.writes } else { &mut spent.reads }) += units;
            spent.round_trips += 1;
            spent.rounds = spent.rounds.max(round);
        }
    }
}

#[derive(Debug)]
struct MeteredClient {
    inner: SharedHttpClient,
    meter: Meter,
}

impl HttpClient for MeteredClient {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(MeteredConnector { inner, meter: self.meter.clone() })
    }
}

#[derive(Debug)]
struct MeteredConnector {
    inner: SharedHttpConnector,
    meter: Meter,
}

impl HttpConnector for MeteredConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (inner, meter) = (self.inner.clone(), self.meter.clone());
        if !meter.is_counting() {
            return inner.call(request);
        }
        let round = meter.rounds() + 1;
        HttpConnectorFuture::new(async move {
            // Concurrent requests begin before this one is answered, however fast the table is.
            tokio::task::yield_now().await;
            let is_write =
                !matches!(operation(&request), Some("GetItem" | "BatchGetItem" | "Query"));
            let (answer, units) = read_units(inner.call(asking(request)?).await?).await?;
            meter.count(is_write, units, round);
            Ok(answer)
        })
    }
}

/// The request, changed to ask for its capacity. Its signature is no longer valid, but an embedded table does not check
/// it.
fn asking(mut request: HttpRequest) -> Result<HttpRequest, ConnectorError> {
    let body = request.body().bytes().unwrap_or_default();
    let mut body: Value =
        serde_json::from_slice(body).map_err(|error| ConnectorError::user(error.into()))?;
    body["ReturnConsumedCapacity"] = "TOTAL".into();
    let body = body.to_string();
    request.headers_mut().insert("content-length", body.len().to_string());
    *request.body_mut() = SdkBody::from(body);
    Ok(request)
}

/// The answer, and the units in it: for one table, or listed by table.
async fn read_units(mut answer: HttpResponse) -> Result<(HttpResponse, f64), ConnectorError> {
    let body = std::mem::replace(answer.body_mut(), SdkBody::taken());
    let bytes = ByteStream::new(body).collect().await;
    let bytes = bytes.map_err(|error| ConnectorError::io(error.into()))?.into_bytes();
    let told: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let units = |of: &Value| of["CapacityUnits"].as_f64().unwrap_or_default();
    let consumed = &told["ConsumedCapacity"];
    let tables = consumed.as_array().map(|tables| tables.iter().map(units).sum());
    *answer.body_mut() = SdkBody::from(bytes);
    Ok((answer, tables.unwrap_or_else(|| units(consumed))))
}
