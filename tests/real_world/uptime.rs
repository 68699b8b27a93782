//! How uptime is rounded.
