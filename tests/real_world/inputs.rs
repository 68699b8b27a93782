//! What operators and teams enter.
