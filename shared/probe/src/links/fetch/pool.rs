//! The idle connections of a crawl.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use crate::http::Connection;

/// Connections kept while nothing is asked of them, of all origins together.
const MAX_IDLE: usize = 64;

/// Where a connection leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Peer {
    /// Of its origin.
    pub(super) place: u32,
    /// The one address of the origin that it was made to.
    pub(super) address: IpAddr,
}

/// Connections on which nothing is under way, the longest unused first. Dropping it closes them.
#[derive(Default)]
pub(super) struct Pool(Mutex<VecDeque<(Peer, Connection)>>);

impl Pool {
    /// A connection to the place that was used before.
    pub(super) fn take(&self, place: u32) -> Option<(Peer, Connection)> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().rposition(|(peer, _)| peer.place == place)?;
        let (peer, connection) = &mut idle[at];
        if !connection.is_closed()
            && let Some(shared) = connection.share()
        {
            return Some((*peer, shared));
        }
        idle.remove(at)
    }

    /// Keeps a connection on which nothing is under way.
    pub(super) fn keep(&self, peer: Peer, connection: Connection) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One is enough where one carries many requests, and the last used is the one that works.
        if connection.is_multiplexed() {
            idle.retain(|(of, other)| of.place != peer.place || !other.is_multiplexed());
        }
        if idle.len() == MAX_IDLE {
            idle.pop_front();
        }
        idle.push_back((peer, connection));
    }
}
