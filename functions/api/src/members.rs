pub(crate) mod list;
pub(crate) mod remove;
pub(crate) mod update;
