//! What a person at the terminal sees first: the address of the service, and how to get access.

use std::io::{self, IsTerminal as _};

use tracing::warn;
use vedette_runtime::terminal::Lines;

use crate::access::TokenAccess;
use crate::service::Service;

/// Prints the address of the service, and how to get access, on standard output.
///
/// If that is not a terminal, it is probably kept in a journal or in the log of a container, which others can read. Then
/// it gets no secret, except for the link that creates the first account.
pub(crate) fn announce(service: &Service) {
    let is_terminal = io::stdout().is_terminal();
    let api = service.base_url();
    let file = service.token_file();
    let file = file.display();
    let (token, bearer) = match service.token() {
        TokenAccess::Unwanted => (None, None),
        TokenAccess::Issued(secret) if is_terminal => {
            let token = format!("{}\n             also in {file}", secret.reveal());
            (Some(token), Some(secret.reveal().to_owned()))
        }
        TokenAccess::Issued(_) | TokenAccess::OnFile => {
            (Some(format!("in {file}")), Some(format!("$(cat '{file}')")))
        }
        TokenAccess::Unknown => (Some("`vedette token create` makes one".to_owned()), None),
    };
    let pages = match (service.setup_link(), service.sign_in_link()) {
        (Some(link), _) => {
            format!("{link}\n             creates the first account, once: open it in a browser")
        }
        (None, Some(link)) if is_terminal => {
            format!("{link}\n             signs in once, within 15 minutes")
        }
        (None, _) => {
            format!("{}\n             `vedette sign-in EMAIL` prints a link", service.pages_url())
        }
    };
    // A separate thread writes, because nothing may be reading the output; it may also be closed.
    let out = match Lines::start("stdout", io::stdout()) {
        Ok(out) => out,
        Err(error) => {
            return warn!(%error, "could not print the service's address: the system has no thread left");
        }
    };
    let notices = service.notices();
    let degraded: Vec<_> =
        notices.iter().map(|notice| format!("{} {}\n\n  ", notice.what, notice.remedy)).collect();
    let degraded = degraded.concat();
    let token = token.map(|token| format!("  Token      {token}\n")).unwrap_or_default();
    let metrics = service.metrics_listen();
    let metrics = metrics.map(|address| format!("  Metrics    http://{address}/metrics\n"));
    let metrics = metrics.unwrap_or_default();
    let call = bearer
        .map(|bearer| format!("\n  curl -H \"Authorization: Bearer {bearer}\" {api}/me\n"))
        .unwrap_or_default();
    out.say(format_args!(
        "\nVedette is running.\n\n  {degraded}\
         Dashboard  {pages}\n  \
         API        {api}\n\
         {metrics}{token}{call}"
    ));
}
