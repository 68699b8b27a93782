//! What engines do for another service: they check a target once, as another location.

use std::pin::pin;

use futures::future::BoxFuture;
use tokio::time::timeout;
use url::Url;
use vedette_domain::checks::browser_job::JobHeader;
use vedette_domain::locations::{Answer, NoVote, PROTOCOL_VERSION, Question};
use vedette_probe::status::{self, StatusProbe};
use vedette_runtime::{PrivateTargets, uninterrupted};

use crate::Engines;

impl Engines {
    /// Checks the target of a question. If this process may not reach the target, has lost its own connection, or did
    /// not run for a while, the answer is a reason why it does not vote.
    pub async fn look_for(&self, question: &Question) -> Answer {
        if question.version != PROTOCOL_VERSION {
            return Answer::NotChecked(NoVote::Unreadable);
        }
        let deadline = question.deadline();
        let probe = StatusProbe {
            url: &question.url,
            method: question.method,
            post: None,
            header: question.header.as_ref().map(JobHeader::pair),
            // The rest of the time is for finding out whether our own connection failed.
            deadline: deadline * 2 / 3,
            connectivity: self.connectivity.as_ref(),
            expected: None,
        };
        match uninterrupted(pin!(timeout(deadline, status::probe(&self.guard, &probe)))).await {
            Some(Ok(checked)) => Answer::of(checked),
            Some(Err(_)) => Answer::NotChecked(NoVote::NoAnswer),
            None => Answer::NotChecked(NoVote::Failed),
        }
    }
}

impl PrivateTargets for Engines {
    fn may_be_private<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, bool> {
        Box::pin(self.guard.may_be_private(url))
    }
}
