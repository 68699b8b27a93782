//! Tests only: see `routes`, `flows` and `tidy`.
