//! The process of the service: how it starts and ends.

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use listenfd::ListenFd;
use tokio::signal::unix::{Signal, SignalKind, signal};
use vedette_checker::{Config, LIGHTHOUSE};
use vedette_dashboard::ProviderConfig;
use vedette_embedded::INSTALLED_LIGHTHOUSE;
use vedette_notifier::send::{MailTransport, SendConfig};
use vedette_ops::ErrorChain;
use vedette_ops::config::ConfigError;
use vedette_runtime::config::environment;
use vedette_runtime::telemetry;
use vedette_runtime::terminal::{self, Lines};

use crate::operator::{OPERATOR_URL, Operator};
use crate::options::Options;
use crate::service::Service;
use crate::{process, socket, supervisor, threads, welcome};

/// The same exit code as for invalid arguments.
const WRONG_CONFIGURATION: u8 = 2;

/// How long the last lines may wait for somebody to read them.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Runs the service until it is asked to stop. Returns how the process ends.
#[must_use]
pub fn serve(options: &Options) -> ExitCode {
    // Changes the environment, so it comes before the first thread.
    let passed = ListenFd::from_env();
    let runtime = match threads::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(1, &error),
    };
    // From here on, a separate thread writes all output.
    let lines = match terminal::stderr() {
        Ok(lines) => lines,
        Err(error) => return refuse(1, &error),
    };
    telemetry::init_behind(lines.clone());
    terminal::report_panics(lines.clone());
    process::prepare();
    let ended =
        configured(options).map(|configured| runtime.block_on(run(options, configured, passed)));
    // Threads that wait for the disk or the resolver are abandoned.
    runtime.shutdown_background();
    let code = match ended {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => refuse_behind(&lines, 1, error.as_ref()),
        Err(error) => refuse_behind(&lines, WRONG_CONFIGURATION, &error),
    };
    lines.flush(LAST_LINES);
    code
}

/// The whole configuration from the environment.
struct Configured {
    config: Config,
    send: SendConfig,
    provider: Option<ProviderConfig>,
}

fn configured(options: &Options) -> Result<Configured, ConfigError> {
    let installed = options.data.join(INSTALLED_LIGHTHOUSE);
    let config = Config::read(&|name| match name {
        LIGHTHOUSE => environment(name)
            .or_else(|| installed.is_dir().then(|| installed.to_string_lossy().into_owned())),
        _ => environment(name),
    })?;
    let send = SendConfig::read(&environment, MailTransport::Folder(options.data.join("mail")))?;
    if matches!(options.operator_url, Some(Operator::Mail(_))) && !send.mail.reaches_people() {
        let problem =
            "is an email address, but emails cannot be sent, because VEDETTE_SMTP is not set"
                .to_owned();
        return Err(ConfigError { name: OPERATOR_URL, problem });
    }
    let provider = ProviderConfig::read(&environment)?;
    Ok(Configured { config, send, provider })
}

async fn run(
    options: &Options,
    mut configured: Configured,
    passed: ListenFd,
) -> Result<(), Box<dyn Error>> {
    let mut signals = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    // Stays open while the service starts again.
    let mut socket = socket::passed(passed, options)?;
    loop {
        let Configured { config, send, provider } = configured;
        let service = tokio::select! {
            started = Service::start_on(&mut socket, options.clone(), config, send, provider) => started?,
            () = asked_to_stop(&mut signals) => return Ok(()),
        };
        welcome::announce(&service);
        supervisor::ready(service.listen());
        let starts_again = tokio::select! {
            () = asked_to_stop(&mut signals) => false,
            () = service.can_write_again() => true,
            never = supervisor::keep_alive(async || service.table_answers().await) => match never {},
        };
        if !starts_again {
            supervisor::stopping();
            socket = None;
        }
        tokio::select! {
            () = service.stop() => {}
            () = asked_to_stop(&mut signals) => return Err("stopped at once".into()),
        }
        if !starts_again {
            return Ok(());
        }
        configured = self::configured(options)?;
    }
}

async fn asked_to_stop((terminate, interrupt): &mut (Signal, Signal)) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Prints an error before there is a thread that writes output.
fn refuse(code: u8, error: &dyn Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "vedette: {}", ErrorChain(error));
    ExitCode::from(code)
}

fn refuse_behind(lines: &Lines, code: u8, error: &dyn Error) -> ExitCode {
    lines.say(format_args!("vedette: {}", ErrorChain(error)));
    ExitCode::from(code)
}
