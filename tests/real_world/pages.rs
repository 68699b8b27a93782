//! Requests for pages.
