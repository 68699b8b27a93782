//! DNS records: pools, and hosts without an address.
