//! Responses before the final one.
