//! Status codes that are not among the selectable ones.
