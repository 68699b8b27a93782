//! Runs that end without an engine.

use ring::digest::{SHA256, digest};
use vedette_domain::checks::check::{Finish, StatusResult};
use vedette_domain::checks::evidence::{
    Evidence, EvidenceBody, EvidenceHeader, EvidenceRequest, Timing,
};
use vedette_domain::id::{CheckId, SiteId};
use vedette_runs::{Recorded, record_run};

use crate::TestApp;

impl TestApp {
    /// Ends a run at the current time, as an engine would.
    pub async fn end_run(&self, site: SiteId, check: CheckId, finish: Finish) -> Recorded {
        self.end_run_with(site, check, finish, None).await
    }

    /// Like [`TestApp::end_run`], with the evidence of a status check.
    pub async fn end_run_with(
        &self,
        site: SiteId,
        check: CheckId,
        finish: Finish,
        evidence: Option<&Evidence>,
    ) -> Recorded {
        let (store, tool) = (&self.app.store, check.tool());
        let found = store.site_tool(site.partition(), tool).await.expect("read");
        let team = found.expect("a site").0.team;
        let context = store.run_context(team, site, tool).await.expect("read");
        let (run, state) = context.expect("a site").begin(check, self.app.service.time_scale);
        // Boxed: without optimization, a test that awaits many of these futures would be too large
        // for its stack.
        Box::pin(record_run(&self.app, &run, state, &finish, evidence)).await.expect("recorded")
    }
}

/// The result of a status check of a URL that answers with this code (0 for no answer) after some milliseconds.
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
        phases: None,
        judged: None,
    }
}

/// The evidence of a status check; `status` is the response's code and reason.
pub fn status_evidence(
    StatusResult { code, url, response_time, .. }: &StatusResult,
    status: &str,
    body: &str,
) -> Evidence {
    let header =
        |name: &str, value: &str| EvidenceHeader { name: name.to_owned(), value: value.to_owned() };
    let mut sha256 = [0; 32];
    sha256.copy_from_slice(digest(&SHA256, body.as_bytes()).as_ref());
    let hundredths = (response_time * 100.0).round() as u32;
    Evidence {
        requests: vec![EvidenceRequest { url: url.clone(), code: Some(*code) }],
        address: Some(([203, 0, 113, 24], 443).into()),
        status_line: Some(format!("HTTP/1.1 {status}")),
        headers: vec![header("server", "nginx/1.27.2"), header("content-type", "text/html")],
        lacks_headers: false,
        body: Some(EvidenceBody {
            text: Some(body.to_owned()),
            is_cut: false,
            bytes: body.len() as u64,
            sha256: Some(sha256.into()),
        }),
        error: None,
        timing: Timing {
            lookup: Some(hundredths / 20),
            connect: Some(hundredths / 10),
            tls: Some(hundredths / 5),
            first_byte: Some(hundredths - hundredths / 20 - hundredths / 10 - hundredths / 5),
        },
    }
}
