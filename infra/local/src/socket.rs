//! The socket that systemd passes to the service.

use std::io;
use std::net::{SocketAddr, TcpListener};

use listenfd::ListenFd;
use rustix::net::{Shutdown, shutdown};
use vedette_runtime::config::environment;

use crate::gateway;
use crate::options::Options;
use crate::supervisor::{self, KEPT};

/// Why the service does not listen on what systemd passes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SocketError {
    /// The socket unit has several addresses, for example.
    #[error("systemd passes {0} sockets, but the service listens on only one")]
    Several(usize),
    /// It is a file or a socket of another kind.
    #[error("what systemd passes is not a TCP socket")]
    Kind(#[source] io::Error),
    /// It is a connection: the socket unit says `Accept=yes`, for example.
    #[error("the TCP socket that systemd passes cannot listen")]
    Connection(#[source] io::Error),
    /// The address was changed in one place.
    #[error(
        "the socket that systemd passes listens on {passed}, but --listen or VEDETTE_LISTEN says {chosen}"
    )]
    Contradiction {
        /// The address of the socket.
        passed: SocketAddr,
        /// The address in the options.
        chosen: SocketAddr,
    },
    /// The socket is unusable.
    #[error("the socket that systemd passes is unusable")]
    Unusable(#[from] io::Error),
}

/// The socket on which the service should listen, if systemd passes one.
///
/// The socket of a socket unit is always used. One that systemd has [kept](supervisor::keep) is used if the service
/// still listens on the same address; otherwise, its address becomes free.
pub(crate) fn passed(
    mut passed: ListenFd,
    options: &Options,
) -> Result<Option<TcpListener>, SocketError> {
    if passed.len() > 1 {
        return Err(SocketError::Several(passed.len()));
    }
    let Some(socket) = passed.take_tcp_listener(0).map_err(SocketError::Kind)? else {
        return Ok(None);
    };
    gateway::listen(&socket).map_err(SocketError::Connection)?;
    let address = socket.local_addr()?;
    if environment("LISTEN_FDNAMES").as_deref() == Some(KEPT) {
        if address != options.address() {
            supervisor::keep_no_longer();
            // Frees the address at once, although systemd still has the socket.
            shutdown(&socket, Shutdown::Both).map_err(io::Error::from)?;
            return Ok(None);
        }
    } else if let Some(chosen) = options.listen.filter(|chosen| *chosen != address) {
        return Err(SocketError::Contradiction { passed: address, chosen });
    }
    socket.set_nonblocking(true)?;
    Ok(Some(socket))
}
