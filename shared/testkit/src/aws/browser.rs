//! The browser function, simulated by a test.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;

use super::{Answer, AwsAccount};

type StubAnswer = Pin<Box<dyn Future<Output = (u16, String)> + Send>>;

/// What the function does with a job.
#[derive(Clone)]
pub struct Browser(Arc<dyn Fn(Value) -> StubAnswer + Send + Sync>);

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Browser")
    }
}

impl Browser {
    pub(super) async fn call(&self, job: Value) -> Answer {
        let (status, body) = (self.0)(job).await;
        Answer { status, body }
    }
}

impl AwsAccount {
    /// Makes the function answer each job with a Lambda status and a body.
    pub fn play_browser<F>(&mut self, does: impl Fn(Value) -> F + Send + Sync + 'static)
    where
        F: Future<Output = (u16, String)> + Send + 'static,
    {
        self.browser = Some(Browser(Arc::new(move |job| Box::pin(does(job)))));
    }
}
