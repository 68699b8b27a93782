//! Why a request gives no answer: the target's fault, or ours.

use serde_json::json;
use url::Url;
use vedette_domain::check::CheckError;

use crate::connect::ConnectError;
use crate::exchange::ExchangeError;
use crate::failure;
use crate::guard::{NotAdmitted, RESOLVER_UNAVAILABLE, without_credentials};

/// [`CheckError::code`] when all addresses of the target are IPv6, and this machine has no route
/// to them.
pub const NO_ROUTE: &str = "no_route";

/// [`CheckError::code`] when this machine is out of sockets, ports or memory.
pub const NO_SOCKET: &str = "no_socket";

/// Why a request ends without an answer.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It could not be made, which says nothing of the target.
    Failed(CheckError),
    /// The target gave none; in words for people.
    Unanswered(String),
}

impl Stop {
    pub(crate) fn from_admission(error: NotAdmitted, url: &Url) -> Self {
        match error {
            NotAdmitted::Refused(refusal) => Self::Failed(refusal.into()),
            NotAdmitted::Unresolved(unresolved) => Self::Unanswered(unresolved.to_string()),
            NotAdmitted::ResolverUnavailable(why) => {
                tracing::warn!(%why, "no name server can be reached");
                Self::failed("no name server can be reached", RESOLVER_UNAVAILABLE, url)
            }
        }
    }

    pub(crate) fn from_exchange(error: ExchangeError, url: &Url) -> Self {
        match error {
            ExchangeError::Unanswered(why) => Self::Unanswered(why),
            ExchangeError::Connect(error) => Self::from_connect(error, url),
        }
    }

    pub(crate) fn from_connect(error: ConnectError, url: &Url) -> Self {
        match error {
            ConnectError::Failed(error) => {
                Self::Unanswered(failure::of_connection(&error).to_owned())
            }
            ConnectError::NoRoute => Self::failed(
                "the target has IPv6 addresses only, and IPv6 is not available here",
                NO_ROUTE,
                url,
            ),
            ConnectError::NoSocket(error) => {
                tracing::warn!(%error, "out of sockets");
                Self::failed("this machine is out of sockets", NO_SOCKET, url)
            }
        }
    }

    fn failed(message: &str, code: &str, url: &Url) -> Self {
        Self::Failed(CheckError {
            message: message.to_owned(),
            code: code.to_owned(),
            data: json!({ "url": without_credentials(url).as_str() }),
        })
    }
}
