//! The pool of idle connections of a crawl.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use crate::http::Connection;

/// Idle connections kept, for all origins together.
const MAX_IDLE: usize = 64;

/// The remote end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Peer {
    /// The id of its origin.
    pub(super) origin: u32,
    /// The address of the origin that it is connected to.
    pub(super) address: IpAddr,
}

/// Idle connections, the least recently used first. Dropping it closes them.
#[derive(Default)]
pub(super) struct Pool(Mutex<VecDeque<(Peer, Connection)>>);

impl Pool {
    /// Takes the most recently used connection to an origin.
    pub(super) fn take(&self, origin: u32) -> Option<(Peer, Connection)> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().rposition(|(peer, _)| peer.origin == origin)?;
        let (peer, connection) = &mut idle[at];
        if !connection.is_closed()
            && let Some(shared) = connection.share()
        {
            return Some((*peer, shared));
        }
        idle.remove(at)
    }

    /// Keeps an idle connection.
    pub(super) fn keep(&self, peer: Peer, connection: Connection) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One HTTP/2 connection is enough, and the last used is the one that works.
        if connection.is_multiplexed() {
            idle.retain(|(of, other)| of.origin != peer.origin || !other.is_multiplexed());
        }
        if idle.len() == MAX_IDLE {
            idle.pop_front();
        }
        idle.push_back((peer, connection));
    }
}
