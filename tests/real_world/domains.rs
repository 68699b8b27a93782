//! Registrations, and registries below another registry.
