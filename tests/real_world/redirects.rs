//! Redirects that no visitor can follow, and those that browsers follow.
