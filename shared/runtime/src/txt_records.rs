//! TXT records, as a process looks them up.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use vedette_domain::expectations::{NotProven, OwnershipRecord};
use vedette_domain::sites::site::Site;

/// Returns the TXT records of a name, or why there is no answer.
type Lookup = dyn Fn(String) -> BoxFuture<'static, Result<Vec<String>, String>> + Send + Sync;

/// How a process looks up TXT records. Clones share it.
#[derive(Clone, Default)]
pub struct TxtRecords(Option<Arc<Lookup>>);

impl TxtRecords {
    /// Looks them up with this function, which returns in time.
    pub fn from_fn(
        lookup: impl Fn(String) -> BoxFuture<'static, Result<Vec<String>, String>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self(Some(Arc::new(lookup)))
    }

    /// Looks up whether the owner of a site's host agrees to POSTs of the site's team.
    ///
    /// # Errors
    ///
    /// Why that is not known.
    pub async fn prove(&self, site: &Site) -> Result<(), NotProven> {
        let record = OwnershipRecord::of(site).ok_or(NotProven::NoRecord)?;
        let found = match &self.0 {
            Some(lookup) => lookup(record.name.clone()).await,
            None => Err("this process looks up no names".to_owned()),
        };
        record.judge(found)
    }
}

impl fmt::Debug for TxtRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TxtRecords").finish_non_exhaustive()
    }
}
