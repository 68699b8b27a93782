//! The HTTP client of the AWS SDK: HTTP/1.1, with TLS by rustls and ring.
//!
//! The services that are called speak nothing newer. The SDK's own client also has HTTP/2, proxies and other TLS
//! libraries, which make up a twentieth of a Lambda function and of its build time.

use std::sync::Arc;
use std::time::Duration;

use aws_smithy_runtime_api::client::connection::{CaptureSmithyConnection, ConnectionMetadata};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};

/// How long to wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a connection may be silent before it is kept alive. A called function may take minutes to answer, and
/// devices in between may forget a silent connection meanwhile.
const KEEPALIVE: Duration = Duration::from_secs(60);

type Tcp = hyper_util::client::legacy::connect::HttpConnector;

/// A client that trusts these authorities. All services share its connections.
pub(crate) fn http_client(roots: RootCertStore) -> SharedHttpClient {
    let mut tcp = Tcp::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_keepalive(Some(KEEPALIVE));
    let tls =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has the ciphers of TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
    let https = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    let client = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(https);
    let connector = SharedHttpConnector::new(Http1(client));
    http_client_fn(move |_, _| connector.clone())
}

#[derive(Debug)]
struct Http1(Client<HttpsConnector<Tcp>, SdkBody>);

impl HttpConnector for Http1 {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let mut request = match request.try_into_http1x() {
            Ok(request) => request,
            Err(error) => {
                return HttpConnectorFuture::ready(Err(ConnectorError::user(error.into())));
            }
        };
        let connection = capture_connection(&mut request);
        if let Some(capture) = request.extensions().get::<CaptureSmithyConnection>() {
            capture.set_connection_retriever(move || metadata(connection.clone()));
        }
        let answer = self.0.request(request);
        HttpConnectorFuture::new(async move {
            let answer = answer.await.map_err(|error| ConnectorError::io(error.into()))?;
            HttpResponse::try_from(answer.map(SdkBody::from_body_1_x))
                .map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

/// With this, the SDK closes the connection to a server that fails, so that the next attempt uses another one.
fn metadata(captured: CaptureConnection) -> Option<ConnectionMetadata> {
    captured.connection_metadata().as_ref()?;
    let poison = move || {
        if let Some(connection) = captured.connection_metadata().as_ref() {
            connection.poison();
        }
    };
    Some(ConnectionMetadata::builder().proxied(false).poison_fn(poison).build())
}

#[cfg(test)]
mod tests {
    use aws_credential_types::Credentials;
    use aws_sdk_sqs::config::retry::RetryConfig;
    use aws_sdk_sqs::config::{BehaviorVersion, Region};
    use rcgen::{CertifiedKey, generate_simple_self_signed};
    use rustls::ServerConfig;
    use rustls::pki_types::PrivateKeyDer;
    use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    /// A client of SQS that connects to this address.
    fn queues(endpoint: String, roots: RootCertStore) -> aws_sdk_sqs::Client {
        let retries = RetryConfig::standard().with_initial_backoff(Duration::from_millis(1));
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-west-1"))
            .credentials_provider(Credentials::new("id", "secret", None, None, "test"))
            .retry_config(retries)
            .endpoint_url(endpoint)
            .http_client(http_client(roots));
        aws_sdk_sqs::Client::from_conf(config.build())
    }

    async fn delete(queues: &aws_sdk_sqs::Client) -> Result<(), aws_sdk_sqs::Error> {
        queues.delete_message().queue_url("queue").receipt_handle("it").send().await?;
        Ok(())
    }

    /// Reads a request and answers it with this status.
    async fn answer<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, status: u16) -> Option<()> {
        let mut read = Vec::new();
        // The body of a deletion ends with its only `}`.
        while read.last() != Some(&b'}') {
            read.push(stream.read_u8().await.ok()?);
        }
        let head =
            format!("HTTP/1.1 {status} Said\r\ncontent-type: application/x-amz-json-1.0\r\n");
        let answer = format!("{head}content-length: 2\r\n\r\n{{}}");
        stream.write_all(answer.as_bytes()).await.ok()
    }

    #[tokio::test]
    async fn a_connection_is_kept_until_its_server_fails() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let server = tokio::spawn(async move {
            let mut requests = Vec::new();
            let mut statuses = [200, 500, 200, 200].into_iter().peekable();
            for connection in 1.. {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                while let Some(&status) = statuses.peek()
                    && answer(&mut stream, status).await.is_some()
                {
                    statuses.next();
                    requests.push((connection, status));
                }
                if statuses.peek().is_none() {
                    break;
                }
            }
            requests
        });
        let queues = queues(endpoint, RootCertStore::empty());
        for _ in 0..3 {
            delete(&queues).await.expect("deleted");
        }
        let requests = server.await.expect("requests");
        assert_eq!(requests, [(1, 200), (1, 500), (2, 200), (2, 200)]);
    }

    #[tokio::test]
    async fn only_the_given_authorities_are_trusted() {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
        let config =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .expect("versions")
                .with_no_client_auth()
                .with_single_cert(vec![cert.der().clone()], key)
                .expect("a configuration");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let endpoint =
            format!("https://localhost:{}", listener.local_addr().expect("an address").port());
        tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(Arc::new(config));
            while let Ok((stream, _)) = listener.accept().await {
                if let Ok(mut stream) = acceptor.accept(stream).await {
                    answer(&mut stream, 200).await;
                }
            }
        });
        let mut roots = RootCertStore::empty();
        roots.add(cert.der().clone()).expect("an authority");
        delete(&queues(endpoint.clone(), roots)).await.expect("trusted");
        let strangers = queues(endpoint, RootCertStore::empty());
        delete(&strangers).await.expect_err("an unknown authority");
    }
}
