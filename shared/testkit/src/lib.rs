//! Test support: an App on embedded DynamoDB, builders, target servers, faults
