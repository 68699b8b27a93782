//! The whole service in one process
