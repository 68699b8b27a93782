//! Pages that crawls read.
