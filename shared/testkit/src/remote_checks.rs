//! Locations that give the answers of a test.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::sleep;
use vedette_domain::locations::{Answer, Location, NoVote, Question, RemoteStatus};
use vedette_runtime::{RemoteChecks, RemoteLocations};

/// Locations that answer as a test tells them to. Clones share the answers.
#[derive(Debug, Clone, Default)]
pub struct TestLocations(Arc<Mutex<Said>>);

#[derive(Debug, Default)]
struct Said {
    answers: BTreeMap<Location, (Result<Answer, NoVote>, Duration)>,
    questions: Vec<Question>,
}

impl TestLocations {
    /// Remote checks for an app.
    pub fn port(&self) -> RemoteChecks {
        RemoteChecks::new(Arc::new(self.clone()))
    }

    /// Makes another location see a code from now on, or stay silent, without any delay.
    pub fn sees(&self, name: &str, code: Result<u16, NoVote>) {
        self.sees_after(name, code, Duration::ZERO);
    }

    /// Like [`Self::sees`], with this delay between question and answer.
    pub fn sees_after(&self, name: &str, code: Result<u16, NoVote>, time: Duration) {
        let saw = |code| {
            let error = (code == 0).then(|| "timed out".to_owned());
            Answer::Checked(RemoteStatus { code, error, response_time: 41.0 })
        };
        let location = Location::parse(name).expect("a name");
        self.lock().answers.insert(location, (code.map(saw), time));
    }

    /// Takes the questions so far; a question to several other locations appears once per location.
    pub fn take_questions(&self) -> Vec<Question> {
        std::mem::take(&mut self.lock().questions)
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RemoteLocations for TestLocations {
    fn locations(&self) -> Vec<Location> {
        self.lock().answers.keys().cloned().collect()
    }

    fn ask<'a>(
        &'a self,
        location: &'a Location,
        question: &'a Question,
    ) -> BoxFuture<'a, Result<Answer, NoVote>> {
        let mut said = self.lock();
        said.questions.push(question.clone());
        let (answer, time) = said.answers[location].clone();
        Box::pin(async move {
            if !time.is_zero() {
                sleep(time).await;
            }
            answer
        })
    }
}
