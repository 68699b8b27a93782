//! Timing of requests, and the codes of their responses.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use vedette_domain::checks::evidence::Timing;

/// What a request is waiting for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Phase {
    Lookup,
    Connect,
    Tls,
    FirstByte,
}

/// Timing and codes of a check's requests. It outlives the requests, so it also tells in which phase a check timed out.
#[derive(Debug, Default)]
pub(crate) struct Trace(Mutex<Traced>);

#[derive(Debug, Default)]
struct Traced {
    now: Option<(Phase, Instant)>,
    phases: [Option<Duration>; 4],
    address: Option<SocketAddr>,
    codes: Vec<u16>,
}

impl Traced {
    fn end_phase(&mut self) {
        if let Some((phase, since)) = self.now.take() {
            *self.phases[phase as usize].get_or_insert_default() += since.elapsed();
        }
    }
}

impl Trace {
    fn traced(&self) -> MutexGuard<'_, Traced> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a phase, and ends the previous one.
    pub(crate) fn enter(&self, phase: Phase) {
        let mut traced = self.traced();
        traced.end_phase();
        traced.now = Some((phase, Instant::now()));
    }

    /// Ends the phase. What follows belongs to none, until the next one begins.
    pub(crate) fn pause(&self) {
        self.traced().end_phase();
    }

    /// Records the address of a connection.
    pub(super) fn connected(&self, address: Option<SocketAddr>) {
        self.traced().address = address;
    }

    /// Records the head of a response.
    pub(crate) fn responded(&self, code: u16) {
        let mut traced = self.traced();
        traced.end_phase();
        traced.codes.push(code);
    }

    /// The address of the last connection.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.traced().address
    }

    /// The codes of the responses, one per request.
    pub(crate) fn codes(&self) -> Vec<u16> {
        self.traced().codes.clone()
    }

    /// How long each phase took; a phase that is still running ends now.
    pub(crate) fn timing(&self) -> Timing {
        let mut traced = self.traced();
        traced.end_phase();
        let [lookup, connect, tls, first_byte] = traced.phases.map(|phase| {
            // At most half a day.
            phase.map(|phase| u32::try_from(phase.as_micros() / 10).unwrap_or(u32::MAX))
        });
        Timing { lookup, connect, tls, first_byte }
    }
}
