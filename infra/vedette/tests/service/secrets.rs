//! Secrets are not in the log, even at the most verbose level.

use std::convert::Infallible;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::Child;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use vedette_domain::alerts::channel::ChannelKind;
use vedette_runtime::Clock;
use vedette_testkit::channels::SecretDestination;
use vedette_testkit::open_id::{CLIENT_ID, CLIENT_SECRET, Lies, OpenIdProvider, ProviderAnswer};

use crate::client::Client;
use crate::process::{announced, command, signal};
use crate::tools::{tls, web};

const SECRET: &str = "s3cret-of-the-shop";

/// A web server that speaks HTTP/2 and accepts requests that contain the secret.
async fn modern(acceptor: TlsAcceptor) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            let service = service_fn(|request: hyper::Request<_>| async move {
                let known = request.headers().get("x-shop").is_some_and(|value| value == SECRET);
                let is_modern = request.version() == Version::HTTP_2;
                let code = if known && is_modern { 200 } else { 500 };
                let body = http_body_util::Full::new(Bytes::from("shop"));
                let answer = Response::builder().status(code).body(body);
                Ok::<_, Infallible>(answer.expect("an answer"))
            });
            let connection = http2::Builder::new(TokioExecutor::new());
            tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
        }
    });
    port
}

async fn check(client: &Client, url: &str) {
    let header = json!({ "name": "X-Shop", "value": SECRET });
    let body = json!({ "url": url, "monitoring_settings": { "request_header": header } });
    let path = client.sites_path().await;
    let created = client.send("POST", &path, body.to_string().as_bytes()).await;
    let site = created.body["data"]["uuid"].as_str().expect("an id").to_owned();
    let ended = client.ended_checks(&site, 1).await;
    assert_eq!(ended[0]["result"]["code"], 200, "{}", ended[0]);
}

/// Adds a channel, tests it until the outcome is known, changes it, and deletes it. Returns its signing key, if it has one.
async fn try_channel(client: &Client, body: &Value) -> Option<String> {
    let list = client.sites_path().await.replace("/sites", "/channels");
    let added = client.send("POST", &list, body.to_string().as_bytes()).await;
    assert_eq!(added.status, 201, "{}", added.text);
    let data = &added.body["data"];
    let path = format!("{list}/{}", data["uuid"].as_str().expect("an id"));
    let queued = client.send("POST", &format!("{path}/test"), b"{}").await;
    assert_eq!(queued.status, 200, "{}", queued.text);
    let mut shown = String::new();
    for _ in 0..600 {
        let channel = client.get(&path).await;
        shown = channel.text;
        if channel.body["data"]["last_test"].is_object() {
            let url = body["url"].as_str().expect("a URL");
            let mut other = json!({ "url": format!("{}9", &url[..url.len() - 1]) });
            if let Some(token) = body.get("token") {
                other["token"] = token.clone();
            }
            let moved = client.send("PATCH", &path, other.to_string().as_bytes()).await;
            assert_eq!(moved.status, 200, "{}", moved.text);
            // A team can have fewer channels than are tried.
            let deleted = client.send("DELETE", &path, b"").await;
            assert_eq!(deleted.status, 204, "{}", deleted.text);
            return data["signing_key"].as_str().map(str::to_owned);
        }
        sleep(Duration::from_millis(100)).await;
    }
    panic!("it was not tested: {shown}");
}

/// Uses a channel of each kind that has a URL at receivers on this machine. Returns everything that is secret about them.
async fn use_channels(client: &Client, receivers: [String; 2]) -> Vec<String> {
    let mut secrets = Vec::new();
    for (digit, receiver) in (0..).zip(&receivers) {
        let kinds = ChannelKind::ALL.into_iter().filter(|kind| *kind != ChannelKind::Email);
        for kind in kinds {
            let SecretDestination { path, secret, token } = SecretDestination::new(kind, digit);
            let url = format!("{receiver}/{path}");
            let name = format!("{kind} {digit}");
            let mut body = json!({ "kind": kind.as_str(), "url": url, "name": name });
            if let Some(token) = token {
                body["token"] = json!(token);
                secrets.push(token.to_owned());
            }
            let key = try_channel(client, &body).await;
            assert_eq!(key.is_some(), kind == ChannelKind::Webhook);
            // Only the digits: in other places, the key has no prefix.
            secrets.extend(key.map(|key| key.trim_start_matches("whsec_").to_owned()));
            // The change replaces the digit at its end.
            secrets.push(secret.trim_end_matches(['0', '1']).to_owned());
        }
    }
    secrets
}

/// Stops a process, and returns everything that it has logged.
async fn whole_log(child: &mut Child, log: &Path) -> String {
    signal(child, "-TERM").await;
    fs::read_to_string(log).expect("a log")
}

#[tokio::test]
async fn a_log_of_everything_tells_no_token_no_header_of_a_site_and_no_secret_of_a_channel() {
    let folder = tempfile::tempdir().expect("a folder");
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
    let certified = certified.expect("a certificate");
    let root = folder.path().join("root.pem");
    fs::write(&root, certified.cert.pem()).expect("written");
    let plain = web(None).await;
    let secure = modern(TlsAcceptor::from(Arc::new(tls(&certified, &[b"h2"])))).await;

    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let mut command = command(&data);
    command
        .env("VEDETTE_LOG", "trace,h2=trace,aws_smithy_runtime=trace")
        .env("VEDETTE_ALLOW_TARGETS", "127.0.0.0/8")
        .envs([("VEDETTE_ALLOW_RECEIVERS", "127.0.0.0/8"), ("VEDETTE_THROTTLE", "100000")])
        .env("VEDETTE_EXTRA_ROOTS", &root)
        .env("VEDETTE_DOH", "nobody=https://127.0.0.1:1/dns-query")
        .envs([("VEDETTE_RDAP", "none"), ("VEDETTE_AUDITOR", "none")])
        .stderr(File::create(&log).expect("a file"));
    let (mut child, client) = announced(command, &data).await;
    check(&client, &format!("http://{plain}/")).await;
    check(&client, &format!("https://127.0.0.1:{secure}/")).await;
    let receivers = [format!("http://{plain}"), format!("https://127.0.0.1:{secure}")];
    let mut secrets = use_channels(&client, receivers).await;

    let said = whole_log(&mut child, &log).await;
    let token = fs::read_to_string(data.join("token")).expect("a token");
    secrets.extend([SECRET, token.trim()].map(str::to_owned));
    for secret in secrets {
        let line = said.lines().find(|line| line.contains(&secret));
        assert_eq!(line, None, "{secret}");
    }
}

/// Signs in at the provider. Returns the final status, and the secrets of the sign-in.
async fn sign_in(client: &Client, provider: &OpenIdProvider, email: &str) -> (u16, [String; 2]) {
    let begun = client.get("/oidc").await;
    assert_eq!(begun.status, 303, "{begun:?}");
    let cookie = begun.headers["set-cookie"].split(';').next().expect("a cookie").to_owned();
    let now = Clock::system().now();
    let back = provider.sign_in(&begun.headers["location"], email, now);
    let path = format!("{}?{}", back.path(), back.query().expect("a query"));
    let request = client.head("GET", &path, &format!("Cookie: {cookie}\r\n"));
    let answer = client.send_raw(request.as_bytes()).await.expect("an answer");
    let secret = cookie.rsplit('.').next().expect("a secret").to_owned();
    (answer.status, [secret, path.rsplit('=').next().expect("a state").to_owned()])
}

#[tokio::test]
async fn a_log_of_everything_tells_nothing_of_a_sign_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let provider = OpenIdProvider::start().await;
    let mut command = command(&data);
    command
        .env("VEDETTE_LOG", "trace,h2=trace,openidconnect=trace,oauth2=trace")
        .env("VEDETTE_OIDC_ISSUER", &provider.issuer)
        .envs([("VEDETTE_OIDC_CLIENT_ID", CLIENT_ID), ("VEDETTE_OIDC_LABEL", "Keycloak")])
        .env("VEDETTE_OIDC_CLIENT_SECRET", CLIENT_SECRET)
        .envs([("VEDETTE_DOH", "none"), ("VEDETTE_RDAP", "none"), ("VEDETTE_AUDITOR", "none")])
        .stderr(File::create(&log).expect("a file"));
    let (mut child, client) = announced(command, &data).await;
    let me = client.get("/api/v1/me").await.body;
    let email = me["data"]["user"]["email"].as_str().expect("an address");
    let answer = |body: &str| ProviderAnswer::Status(200, body.to_owned());
    let mut secrets = vec![CLIENT_SECRET.to_owned(), "secret%3A+of".to_owned()];
    // In the forms in which it is sent: in the header, in the body, and in the tokens.
    secrets.extend(
        ["dmVkZXR0ZTph", "an access token", "eyJhbGciOi", "code-0", SECRET].map(str::to_owned),
    );
    for (lies, status) in [
        (Lies::default(), 303),
        (Lies { claims: json!({ "nonce": SECRET, "aud": SECRET }), ..Lies::default() }, 502),
        (Lies { claims: json!({ "exp": SECRET }), ..Lies::default() }, 502),
        (
            Lies {
                answers: [("/token", answer(&format!("\"{SECRET}\"")))].into(),
                ..Lies::default()
            },
            502,
        ),
        (
            Lies {
                answers: [("/token", ProviderAnswer::Status(500, SECRET.to_owned()))].into(),
                ..Lies::default()
            },
            502,
        ),
    ] {
        provider.lie(lies);
        let (ended, sent) = sign_in(&client, &provider, email).await;
        assert_eq!(ended, status);
        secrets.extend(sent);
    }
    let said = whole_log(&mut child, &log).await;
    assert_eq!(said.matches("a sign-in at the OpenID provider failed").count(), 4, "{said}");
    for secret in secrets {
        let line = said.lines().find(|line| line.contains(&secret));
        assert_eq!(line, None, "{secret}");
    }
}
