//! The command line.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use jiff::SignedDuration;
use vedette_domain::checks::schedule::TimeScale;
use vedette_embedded::Fsync;

use crate::hosts::HostName;
use crate::metrics::loopback;
use crate::operator::{OPERATOR_URL, Operator};

const ENVIRONMENT: &str = "\
Environment:
  VEDETTE_BASE_URL       Base address of links in responses, ending in /api/v1
                         [default: the host in the request]
  VEDETTE_THROTTLE       Requests per minute for each token; a user may make four times as many [default: 60]
  VEDETTE_TRUSTED_PROXIES
                         Networks of proxies in front of this process, whose X-Forwarded-For is trusted,
                         separated by commas [default: none]
  VEDETTE_ALLOW_TARGETS  Networks that checks may reach although they are not public,
                         separated by commas: 127.0.0.0/8,10.0.0.0/8
  VEDETTE_ALLOW_RECEIVERS  Networks that alerts may reach although they are not public
  VEDETTE_CONNECT_TO     Where checks connect instead, separated by commas: HOST:PORT:ADDRESS:PORT
  VEDETTE_EXTRA_ROOTS    PEM file with additional certificate authorities that checks trust
  VEDETTE_OIDC_ISSUER    OpenID provider through which people sign in, with VEDETTE_OIDC_CLIENT_ID,
                         VEDETTE_OIDC_CLIENT_SECRET and VEDETTE_OIDC_LABEL
  VEDETTE_LOG            Log filter: info, debug, vedette_checker=debug
  NO_COLOR               Set to anything: no colors on a terminal";

/// Run the whole service on this machine: API, dashboard, checks and alerts
///
/// Prints a link that works once. In an empty folder, the link leads to the setup of the first account and the first
/// site; later, it signs you in. All data is in the data folder and survives a crash.
#[derive(Debug, Clone, Args)]
#[command(after_help = ENVIRONMENT)]
pub struct Options {
    /// The folder for all data; created if it is missing
    #[arg(
        long,
        env = "VEDETTE_DATA",
        value_name = "DIR",
        default_value = "data",
        default_value_if("demo", "true", "data-demo")
    )]
    pub data: PathBuf,

    /// Where the service listens, unless systemd passes a socket to it; port 0 picks a free port [default:
    /// 127.0.0.1:8787]
    #[arg(long, env = "VEDETTE_LISTEN", value_name = "IP:PORT")]
    pub listen: Option<SocketAddr>,

    /// Where Prometheus reads the metrics of this process, at /metrics; the address must be one that only this machine
    /// can reach. `vedette metrics` and the Unix socket in the data folder also provide them
    #[arg(long, env = "VEDETTE_METRICS_LISTEN", value_name = "IP:PORT", value_parser = loopback)]
    pub metrics: Option<SocketAddr>,

    /// Host names of the service, separated by commas, in addition to IP addresses, localhost and the host in
    /// VEDETTE_BASE_URL; requests for other hosts are refused
    #[arg(long, env = "VEDETTE_HOSTS", value_name = "NAMES", value_delimiter = ',')]
    pub hosts: Vec<HostName>,

    /// How long a monitoring minute lasts: 60s, 1m, 500ms. With 1s, a check every five minutes runs every five seconds;
    /// stored times are real
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = time_scale)]
    pub minute: TimeScale,

    /// When writes wait for the disk: everysec or always. A killed process loses nothing either
    /// way; a power cut loses the last second, or nothing
    #[arg(long, value_name = "WHEN", default_value = "everysec", value_parser = fsync)]
    pub fsync: Fsync,

    /// Who is notified when the service cannot do its work: a webhook, https://…, or
    /// mailto:ADDRESS, which needs VEDETTE_SMTP
    #[arg(long, env = OPERATOR_URL, value_name = "URL", hide_env_values = true)]
    pub operator_url: Option<Operator>,

    /// Create an API token for scripts in the file `token` in the data folder, and print it if there is a terminal. In
    /// an empty folder, this also creates an owner and a team
    #[arg(long)]
    pub token: bool,

    /// Show a team with a month of made-up history, whose sites and alerts this process serves and receives itself; its
    /// data is in data-demo unless --data names another folder
    #[arg(long)]
    pub demo: bool,

    /// Do not show checks and issues as they happen
    #[arg(long)]
    pub quiet: bool,
}

impl Options {
    /// The address on which the service listens if systemd passes no socket.
    pub(crate) fn address(&self) -> SocketAddr {
        self.listen.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, 8787).into())
    }
}

fn fsync(text: &str) -> Result<Fsync, &'static str> {
    match text {
        "always" => Ok(Fsync::Always),
        "everysec" => Ok(Fsync::EverySecond),
        _ => Err("expected `always` or `everysec`"),
    }
}

fn time_scale(text: &str) -> Result<TimeScale, String> {
    let length = text
        .parse::<SignedDuration>()
        .ok()
        .and_then(|length| Duration::try_from(length).ok())
        .ok_or("not a duration such as 60s, 1m or 500ms")?;
    TimeScale::new(length).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches as _};

    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options, clap::Error> {
        let command = Options::augment_args(Command::new("serve"));
        let matches = command.try_get_matches_from(["serve"].iter().chain(arguments))?;
        Options::from_arg_matches(&matches)
    }

    #[test]
    fn every_option_has_a_default() {
        let options = parse(&[]).expect("defaults");
        assert_eq!(options.data, PathBuf::from("data"));
        assert_eq!(options.address().to_string(), "127.0.0.1:8787");
        assert!(!options.quiet && !options.token && !options.demo);
        assert_eq!(options.minute.minute(), Duration::from_secs(60));
        assert_eq!(options.fsync, Fsync::EverySecond);
    }

    #[test]
    fn a_demo_has_a_folder_of_its_own() {
        let options = parse(&["--demo"]).expect("defaults");
        assert_eq!(options.data, PathBuf::from("data-demo"));
        let options = parse(&["--demo", "--data", "elsewhere"]).expect("a folder");
        assert_eq!(options.data, PathBuf::from("elsewhere"));
    }

    #[test]
    fn a_minute_has_many_spellings() {
        for (text, millis) in
            [("1s", 1_000), ("500ms", 500), ("60s", 60_000), ("1m", 60_000), ("1h", 3_600_000)]
        {
            let options = parse(&["--minute", text]).expect(text);
            assert_eq!(options.minute.minute(), Duration::from_millis(millis), "{text}");
        }
        for text in ["", "60", "0s", "-1s", "1ns", "25h", "soon"] {
            let refused = parse(&[&format!("--minute={text}")]).expect_err(text);
            assert_eq!(refused.exit_code(), 2, "{text}");
        }
    }

    #[test]
    fn an_operator_is_a_webhook_or_an_address() {
        let options = parse(&["--operator-url", "mailto:ada@example.com"]).expect("an address");
        assert_eq!(options.operator_url, Some(Operator::Mail("ada@example.com".to_owned())));
        assert_eq!(parse(&["--operator-url", "ftp://x"]).expect_err("no way").exit_code(), 2);
    }

    #[test]
    fn the_service_may_have_host_names() {
        let options = parse(&["--hosts", "monitor.test,box.lan"]).expect("names");
        assert_eq!(options.hosts.len(), 2);
        assert!(parse(&["--hosts", "http://monitor.test"]).is_err());
    }

    #[test]
    fn metrics_are_for_this_machine() {
        let options = parse(&["--metrics", "[::1]:9464"]).expect("an address");
        assert_eq!(options.metrics.map(|address| address.port()), Some(9464));
        for wrong in ["0.0.0.0:9464", "192.0.2.1:9464", "localhost:9464", "9464"] {
            assert_eq!(parse(&["--metrics", wrong]).expect_err(wrong).exit_code(), 2, "{wrong}");
        }
    }

    #[test]
    fn the_disk_is_waited_for_as_said() {
        for (text, fsync) in [("always", Fsync::Always), ("everysec", Fsync::EverySecond)] {
            assert_eq!(parse(&["--fsync", text]).expect(text).fsync, fsync);
        }
        assert!(parse(&["--fsync", "never"]).is_err());
    }
}
