//! Runs that end without an engine.

use vedette_domain::checks::check::{Finish, StatusResult};
use vedette_domain::id::{CheckId, SiteId};
use vedette_runs::{Recorded, record_run};

use crate::TestApp;

impl TestApp {
    /// Ends a run of now as an engine would end it.
    pub async fn end_run(&self, site: SiteId, check: CheckId, finish: Finish) -> Recorded {
        let (store, tool) = (&self.app.store, check.tool());
        let found = store.site_tool(site.partition(), tool).await.expect("read");
        let team = found.expect("a site").0.team;
        let context = store.run_context(team, site, tool).await.expect("read");
        let (run, state) = context.expect("a site").begin(check, self.app.service.time_scale);
        // Boxed: without optimization, a test that awaits many of these futures would be too large
        // for its stack.
        Box::pin(record_run(&self.app, &run, state, &finish)).await.expect("recorded")
    }
}

/// What a status check of a URL finds that answers with this code, 0 for no answer, after some
/// milliseconds.
pub fn status_result(url: &str, code: u16, response_time: f64) -> StatusResult {
    StatusResult {
        up: (200..400).contains(&code),
        code,
        url: url.to_owned(),
        effective_url: url.to_owned(),
        response_time,
        redirected: false,
        redirect_count: 0,
        redirects: Vec::new(),
        error: (code == 0).then(|| "connection refused".to_owned()),
    }
}
