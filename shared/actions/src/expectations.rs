//! Changes what the status checks of a site expect.

use vedette_domain::accounts::audit::By;
use vedette_domain::expectations::Expectations;
use vedette_domain::sites::site::Site;
use vedette_runtime::App;

use crate::access::SiteAccess;
use crate::{SiteError, save_site};

/// Saves what a site's status checks expect, if that changes anything. A check that runs meanwhile is discarded, because
/// it began with what was expected before. An issue about something that is no longer expected resolves with the next
/// check.
///
/// # Errors
///
/// A fault of the table; a conflict when the site has changed since it was read.
pub async fn change_expectations(
    app: &App,
    access: &mut SiteAccess,
    expectations: Expectations,
    by: By,
) -> Result<(), SiteError> {
    let wanted = Site { expectations, ..access.stored.site.clone() };
    save_site(app, access, wanted, by).await
}
