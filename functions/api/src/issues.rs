pub(crate) mod evidence;
pub(crate) mod get;
pub(crate) mod list;
mod show;
