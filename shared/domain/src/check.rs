//! What a check produces: a tool's result, or the error of an engine that could not run.

use serde::{Deserialize, Serialize};

/// Why an engine could not run; the check is then `failed` and never an observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckError {
    /// For people.
    pub message: String,
    /// For programs, one of a small set per tool, such as `target_forbidden`.
    pub code: String,
    /// Facts behind the message, such as the refused address.
    #[serde(default)]
    pub data: serde_json::Value,
}

/// The result of a `status` check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusResult {
    /// True when the final answer's HTTP status is 2xx or 3xx.
    pub up: bool,
    /// HTTP status of the final answer; 0 when no answer came.
    pub code: u16,
    /// The monitored URL.
    pub url: String,
    /// The URL that gave the final answer, after redirects.
    pub effective_url: String,
    /// From the start of the first request to the head of the final answer, in milliseconds.
    pub response_time: f64,
    /// Whether any redirect was followed.
    pub redirected: bool,
    /// Redirects followed.
    pub redirect_count: u32,
    /// The URLs after the first, the last being `effective_url`; absent when there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<String>,
    /// Why no answer came; only with `code` 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
