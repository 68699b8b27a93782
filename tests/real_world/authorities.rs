//! Certificate authorities and self-signed certificates that the operator trusts.
