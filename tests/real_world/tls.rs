//! TLS that Vedette does not support.
