//! Encodings and lengths of bodies.
