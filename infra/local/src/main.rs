//! The whole service in one process.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use vedette_checker::Config;
use vedette_dashboard::ProviderConfig;
use vedette_domain::ErrorChain;
use vedette_local::{Options, Service, process, welcome};
use vedette_notifier::send::{MailConfig, MailWay};
use vedette_runtime::config::environment;
use vedette_runtime::telemetry;

/// Half of what a check costs is small allocations: items of the table on their way through JSON.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// As for wrong arguments.
const WRONG_CONFIGURATION: u8 = 2;

fn main() -> ExitCode {
    let options = Options::parse();
    telemetry::init();
    process::prepare();
    let config = match Config::read(&environment) {
        Ok(config) => config,
        Err(error) => return refuse(WRONG_CONFIGURATION, &error),
    };
    let mail = MailWay::Folder(options.data.join("mail"));
    let mail = match MailConfig::read(&environment, mail) {
        Ok(mail) => mail,
        Err(error) => return refuse(WRONG_CONFIGURATION, &error),
    };
    let provider = match ProviderConfig::read(&environment) {
        Ok(provider) => provider,
        Err(error) => return refuse(WRONG_CONFIGURATION, &error),
    };
    let ended = Runtime::new().map_err(Into::into).and_then(|runtime| {
        let ended = runtime.block_on(run(options, config, mail, provider));
        // Whatever still waits for the disk or the resolver is not waited for.
        runtime.shutdown_background();
        ended
    });
    ended.map_or_else(|error| refuse(1, error.as_ref()), |()| ExitCode::SUCCESS)
}

async fn run(
    options: Options,
    config: Config,
    mail: MailConfig,
    provider: Option<ProviderConfig>,
) -> Result<(), Box<dyn Error>> {
    let mut signals = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let service = tokio::select! {
        started = Service::start(options, config, mail, provider) => started?,
        () = asked_to_stop(&mut signals) => return Ok(()),
    };
    welcome::announce(&service);
    asked_to_stop(&mut signals).await;
    tokio::select! {
        () = service.stop() => Ok(()),
        () = asked_to_stop(&mut signals) => Err("stopped at once".into()),
    }
}

async fn asked_to_stop((terminate, interrupt): &mut (Signal, Signal)) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

fn refuse(code: u8, error: &dyn Error) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "vedette-local: {}", ErrorChain(error));
    ExitCode::from(code)
}
