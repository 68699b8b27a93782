//! Requests that an HTTP/2 server did not process.
