//! What a person at the terminal sees first: where the service is and how to come in.

use std::io;

use tracing::warn;
use vedette_runtime::terminal::Lines;

use crate::demo::Access;
use crate::service::Service;

/// Says on standard output where the service is and how to come in.
pub(crate) fn announce(service: &Service) {
    let api = service.base_url();
    let file = service.token_file();
    let file = file.display();
    let (token, bearer) = match service.access() {
        Access::Issued(secret) => {
            (format!("{}\n           also in {file}", secret.reveal()), secret.reveal().to_owned())
        }
        Access::OnFile => (format!("in {file}"), format!("$(cat '{file}')")),
        Access::Unknown => ("one of your own".to_owned(), "$TOKEN".to_owned()),
    };
    let pages = service.sign_in_link().map_or_else(
        || format!("{}\n           vedette sign-in makes a link", service.pages_url()),
        |link| format!("{link}\n           signs in once, within 15 minutes"),
    );
    // Written behind, as nobody may read it; it may be closed as well.
    let out = match Lines::start("stdout", io::stdout()) {
        Ok(out) => out,
        Err(error) => {
            return warn!(%error, "the system has no thread left to print where the service is");
        }
    };
    let notices = service.notices();
    let degraded: Vec<_> =
        notices.iter().map(|notice| format!("{} {}\n\n  ", notice.what, notice.remedy)).collect();
    let degraded = degraded.concat();
    out.say(format_args!(
        "\nVedette is running.\n\n  {degraded}\
         Pages    {pages}\n  \
         API      {api}\n  \
         Token    {token}\n\n  \
         curl -H \"Authorization: Bearer {bearer}\" {api}/me\n"
    ));
}
