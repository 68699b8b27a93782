//! The service that a command calls over HTTP, and the token that it sends.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use lambda_http::http::HeaderMap;
use url::Url;
use vedette_agent::Connection;
use vedette_domain::accounts::account::Secret;
use vedette_runtime::config::environment;

use crate::api::{Api, Call};
use crate::given::read_line;
use crate::output::{Output, Record};
use crate::{Failure, args};

/// The variable with the token.
const TOKEN: &str = "VEDETTE_TOKEN";

/// The heading of the options for a service over HTTP.
pub const OVER_HTTP: &str = "Over HTTP";

/// Commands that call the API.
#[derive(Debug, Args)]
pub(crate) struct ApiCommand<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: C,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

/// A service to call over HTTP.
#[derive(Debug, Args)]
#[command(next_help_heading = OVER_HTTP)]
pub(crate) struct Remote {
    /// Call the API of this service, such as https://monitor.example.com, instead of working on a table
    #[arg(long, global = true, env = "VEDETTE_URL", hide_env_values = true)]
    url: Option<Url>,
    /// A file with the token; by default VEDETTE_TOKEN, or the token of `vedette login`
    #[arg(long = "api-token-file", global = true, value_name = "FILE")]
    api_token_file: Option<PathBuf>,
    /// A proxy for the requests
    #[arg(long, global = true, value_name = "URL")]
    proxy: Option<Url>,
    /// A PEM file with certificate authorities to trust in addition to the system's
    #[arg(long, global = true, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Allow http:// for a service on another machine. Anybody on the network between them can then read the token
    #[arg(long, global = true)]
    allow_http: bool,
}

impl Remote {
    /// The API of the service, if one is named.
    pub(crate) fn api(&self) -> Result<Option<Api<'static>>, Failure> {
        let Some(service) = &self.url else { return Ok(None) };
        let token = match (self.token_of_file()?, environment(TOKEN)) {
            (Some(token), _) | (None, Some(token)) => token,
            (None, None) => Logins::read()?.token(service)?,
        };
        self.with_token(service, &token).map(Some)
    }

    /// The token in the file that the command line names, if it names one.
    fn token_of_file(&self) -> Result<Option<String>, Failure> {
        let Some(file) = &self.api_token_file else { return Ok(None) };
        args::read_secret(file).map(Some).map_err(|error| Failure::unreadable(file, &error))
    }

    fn with_token(&self, service: &Url, token: &str) -> Result<Api<'static>, Failure> {
        let Self { proxy, ca_file, allow_http, .. } = self;
        let token = Secret::parse(token.trim())
            .ok_or_else(|| Failure::Usage("what was given is not a token".to_owned()))?;
        let connection = Connection {
            service: service.clone(),
            proxy: proxy.clone(),
            authorities: ca_file.clone(),
            allows_plaintext: *allow_http,
        };
        let client = connection.client(&token, HeaderMap::new());
        let client = client.map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(Api::There(client, service.clone()))
    }
}

/// `vedette login`: keeps a token for a service.
#[derive(Debug, Args)]
pub(crate) struct Login {
    #[command(flatten)]
    remote: Remote,
}

/// `vedette logout`: forgets it.
#[derive(Debug, Args)]
pub(crate) struct Logout {
    /// The service
    #[arg(long, env = "VEDETTE_URL", hide_env_values = true)]
    url: Url,
}

impl Login {
    /// Asks for a token, tries it, and keeps it.
    pub(crate) async fn run(&self, out: &mut Output<'_>) -> Result<(), Failure> {
        let service = self.remote.url.as_ref();
        let service =
            service.ok_or_else(|| Failure::Usage("--url must name a service".to_owned()))?;
        let token = match self.remote.token_of_file()? {
            Some(token) => token,
            None => read_line("token")?,
        };
        let api = self.remote.with_token(service, &token)?;
        let me = api.call(&Call::to("me.get")).await?;
        let mut logins = Logins::read()?;
        logins.tokens.insert(key(service), token.trim().to_owned());
        logins.write()?;
        let name = me["user"]["email"].as_str().unwrap_or_default();
        let file = logins.file.display();
        let said = format!("You are signed in to {service} as {name}. The token is in {file}.");
        Ok(out.show(&Record::of(me).saying(said))?)
    }
}

impl Logout {
    /// Removes the token from the file. The token stays valid.
    pub(crate) fn run(&self, out: &mut Output<'_>) -> Result<(), Failure> {
        let mut logins = Logins::read()?;
        logins.token(&self.url)?;
        logins.tokens.remove(&key(&self.url));
        logins.write()?;
        let text = format!(
            "This machine no longer has a token for {}. The token stays valid until it is revoked.",
            self.url
        );
        Ok(out.show(&Record::default().with("url", "", self.url.as_str()).saying(text))?)
    }
}

/// The tokens that `vedette login` keeps, by service.
struct Logins {
    file: PathBuf,
    tokens: BTreeMap<String, String>,
}

/// Where paths of a service begin.
fn key(service: &Url) -> String {
    service.origin().ascii_serialization()
}

impl Logins {
    fn read() -> Result<Self, Failure> {
        let file = Self::place().ok_or_else(|| {
            Failure::Usage("neither XDG_CONFIG_HOME nor HOME says where tokens are kept".to_owned())
        })?;
        let tokens = match fs::read(&file) {
            Ok(content) => serde_json::from_slice(&content).map_err(|_| {
                Failure::Usage(format!("{} is not a file of `vedette login`", file.display()))
            })?,
            Err(error) if error.kind() == ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(Failure::unreadable(&file, &error)),
        };
        Ok(Self { file, tokens })
    }

    fn place() -> Option<PathBuf> {
        let config = environment("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.or_else(|| Some(PathBuf::from(environment("HOME")?).join(".config")));
        Some(config?.join("vedette").join("tokens.json"))
    }

    fn token(&self, service: &Url) -> Result<String, Failure> {
        self.tokens.get(&key(service)).cloned().ok_or_else(|| {
            Failure::Usage(format!(
                "there is no token for {service}; set {TOKEN}, name a file with --api-token-file, or run `vedette login \
                 --url {service}`"
            ))
        })
    }

    /// Replaces the file, which only the user can read.
    fn write(&self) -> Result<(), Failure> {
        let failed = |error: io::Error| {
            Failure::refused(format!("{} cannot be written: {error}", self.file.display()))
        };
        if let Some(folder) = self.file.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        }
        let partial = self.file.with_extension("partial");
        let content = serde_json::to_vec_pretty(&self.tokens).map_err(Failure::because)?;
        match fs::remove_file(&partial) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&partial)
            .map_err(failed)?;
        file.write_all(&content).and_then(|()| file.sync_all()).map_err(failed)?;
        fs::rename(&partial, &self.file).map_err(failed)
    }
}
