//! Every HTTP route of the API
