//! Consumes the check queues
