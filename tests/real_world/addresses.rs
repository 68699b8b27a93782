//! Names with several addresses, of which some may not be reached.
