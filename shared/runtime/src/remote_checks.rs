//! Remote checks, as a process requests them from other locations. [`domain::locations`](vedette_domain::locations)
//! explains the terms.
//!
//! [`RemoteLocations`] has one implementation for AWS, which invokes outposts, and one for a single machine, to which
//! agents connect. After any error on the way, the location does not vote.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::{BoxFuture, join_all};
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;
use vedette_domain::checks::concurrency::{Handling, Places};
use vedette_domain::id::TeamId;
use vedette_domain::locations::{
    Answer, HomeStatus, Location, LocationVote, NoVote, QUESTION_TIMEOUT, QUESTIONS_MAX, Question,
    REMOTE_LOCATIONS_MAX, Votes,
};

/// How other locations are reached.
pub trait RemoteLocations: fmt::Debug + Send + Sync {
    /// The configured locations, whether or not they can be reached.
    fn locations(&self) -> Vec<Location>;

    /// Asks another location, and waits for its answer. The caller waits no longer than [`QUESTION_TIMEOUT`].
    fn ask<'a>(
        &'a self,
        location: &'a Location,
        question: &'a Question,
    ) -> BoxFuture<'a, Result<Answer, NoVote>>;
}

/// Knows the targets that only this deployment may reach.
pub trait PrivateTargets: Send + Sync {
    /// Whether a URL may lead to such a target.
    fn may_be_private<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, bool>;
}

/// The remote checks of a process. Clones share them.
#[derive(Clone, Default)]
pub struct RemoteChecks {
    form: Option<Arc<dyn RemoteLocations>>,
    private: Option<Arc<dyn PrivateTargets>>,
    questions: Questions,
}

/// The questions that wait for an answer. Clones share them.
#[derive(Clone, Default)]
struct Questions(Arc<Mutex<Handling>>);

/// A team's question, until this is dropped.
struct Asking<'a>(&'a Questions, TeamId);

impl Questions {
    /// Begins a question, if there is room for another one and the team has less than its share.
    fn begin(&self, team: TeamId) -> Option<Asking<'_>> {
        let (mut waiting, places) = (self.lock(), Places::running(QUESTIONS_MAX));
        let sender = team.as_uuid();
        let has_room = waiting.has_room(places) && waiting.has_room_for(sender, places);
        has_room.then(|| {
            waiting.begin(sender);
            Asking(self, team)
        })
    }

    fn lock(&self) -> MutexGuard<'_, Handling> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let Self(questions, team) = self;
        questions.lock().end(team.as_uuid(), false);
    }
}

impl RemoteChecks {
    /// Remote checks at locations that are reached in this way.
    pub fn new(form: Arc<dyn RemoteLocations>) -> Self {
        Self { form: Some(form), ..Self::default() }
    }

    /// The same, but never requested for private targets.
    #[must_use]
    pub fn sparing(self, private: Arc<dyn PrivateTargets>) -> Self {
        Self { private: Some(private), ..self }
    }

    /// Whether there are any other locations.
    pub fn are_configured(&self) -> bool {
        self.form.as_ref().is_some_and(|form| !form.locations().is_empty())
    }

    /// Asks all other locations at once for a team, and compares the answers with what home saw. If [`QUESTIONS_MAX`]
    /// questions are already waiting, or the team has used up its share of them, no other location is asked, so
    /// none votes.
    pub async fn ask(&self, team: TeamId, question: &Question, home: HomeStatus<'_>) -> Votes {
        let Some(form) = &self.form else { return Votes::NoLocation };
        let mut locations = form.locations();
        locations.truncate(REMOTE_LOCATIONS_MAX);
        if locations.is_empty() {
            return Votes::NoLocation;
        }
        let deadline = Instant::now() + QUESTION_TIMEOUT;
        let place = self.questions.begin(team);
        if place.is_some() && self.is_spared(&question.url).await {
            return Votes::NoLocation;
        }
        let statements = locations.into_iter().map(|location| {
            let has_place = place.is_some();
            async move {
                let answer = match has_place {
                    true => timeout_at(deadline, form.ask(&location, question)).await,
                    false => Ok(Err(NoVote::Busy)),
                };
                LocationVote::new(location, answer.unwrap_or(Err(NoVote::NoAnswer)), home)
            }
        });
        Votes::Given(join_all(statements).await)
    }

    /// Whether a URL may lead to a private target; also true if that is not known in time.
    async fn is_spared(&self, url: &Url) -> bool {
        let Some(private) = &self.private else { return false };
        timeout(QUESTION_TIMEOUT / 5, private.may_be_private(url)).await.unwrap_or(true)
    }
}

impl fmt::Debug for RemoteChecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteChecks").field(&self.form).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::time::{Instant, sleep};
    use uuid::Uuid;
    use vedette_domain::checks::concurrency::team_share;
    use vedette_domain::locations::{Confirmation, RemoteStatus};

    use super::*;

    /// Locations that answer after a while; those with `late` in their names answer when nothing waits any more.
    #[derive(Debug, Default)]
    struct Slow {
        names: Vec<&'static str>,
        asked: AtomicUsize,
    }

    impl RemoteLocations for Slow {
        fn locations(&self) -> Vec<Location> {
            self.names.iter().map(|name| Location::parse(name).expect("a name")).collect()
        }

        fn ask<'a>(
            &'a self,
            location: &'a Location,
            _: &'a Question,
        ) -> BoxFuture<'a, Result<Answer, NoVote>> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let seconds = if location.as_str().contains("late") { 11 } else { 9 };
            Box::pin(async move {
                sleep(Duration::from_secs(seconds)).await;
                Ok(Answer::Checked(RemoteStatus { code: 503, error: None, response_time: 1.0 }))
            })
        }
    }

    struct Intranet;

    impl PrivateTargets for Intranet {
        fn may_be_private<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, bool> {
            Box::pin(async { url.host_str() != Some("example.com") })
        }
    }

    async fn ask(remote_checks: &RemoteChecks, url: &str) -> Votes {
        ask_for(remote_checks, TEAM, url).await
    }

    async fn ask_for(remote_checks: &RemoteChecks, team: TeamId, url: &str) -> Votes {
        let question = Question::new(url.parse().expect("a URL"), None, QUESTION_TIMEOUT);
        let incident_codes = &BTreeSet::from([503]);
        remote_checks.ask(team, &question, HomeStatus { code: 503, incident_codes }).await
    }

    const URL: &str = "https://example.com";
    const TEAM: TeamId = TeamId(Uuid::nil());

    #[tokio::test(start_paused = true)]
    async fn all_are_asked_at_once_and_late_ones_are_silent() {
        let remote_checks =
            RemoteChecks::new(Arc::new(Slow { names: vec!["a", "b", "late"], ..Slow::default() }));
        let begun = Instant::now();
        let votes = ask(&remote_checks, URL).await;
        assert_eq!(begun.elapsed(), QUESTION_TIMEOUT);
        assert_eq!(votes.confirmation(), Some(Confirmation::Confirmed));
        assert_eq!(votes.given()[2].status, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_simultaneous_questions_delay_no_check() {
        let slow = Arc::new(Slow { names: vec!["a"], ..Slow::default() });
        let remote_checks = RemoteChecks::new(Arc::clone(&slow) as Arc<dyn RemoteLocations>);
        let begun = Instant::now();
        let asked = (0..1_000).map(|_| async {
            let confirmation = ask(&remote_checks, URL).await.confirmation();
            (confirmation, begun.elapsed())
        });
        let other = ask_for(&remote_checks, TeamId(Uuid::max()), URL);
        let (answered, other) = tokio::join!(join_all(asked), other);
        assert_eq!(other.confirmation(), Some(Confirmation::Confirmed), "another team can ask");
        let at_once = answered.iter().filter(|(confirmation, after)| {
            *confirmation == Some(Confirmation::Unconfirmed) && *after == Duration::ZERO
        });
        let share = team_share(QUESTIONS_MAX);
        assert_eq!(at_once.count(), 1_000 - share);
        assert_eq!(slow.asked.load(Ordering::Relaxed), share + 1);
        // Their places are free again.
        assert_eq!(ask(&remote_checks, URL).await.confirmation(), Some(Confirmation::Confirmed));
    }

    #[tokio::test(start_paused = true)]
    async fn private_targets_and_services_without_locations_ask_no_location() {
        let slow = Arc::new(Slow { names: vec!["a"], ..Slow::default() });
        let remote_checks = RemoteChecks::new(Arc::clone(&slow) as Arc<dyn RemoteLocations>)
            .sparing(Arc::new(Intranet));
        assert_eq!(ask(&remote_checks, "http://intranet.test").await, Votes::NoLocation);
        assert_eq!(slow.asked.load(Ordering::Relaxed), 0);
        assert_ne!(ask(&remote_checks, URL).await, Votes::NoLocation);
        let nobody = RemoteChecks::new(Arc::new(Slow::default()));
        assert!(!nobody.are_configured() && !RemoteChecks::default().are_configured());
        assert_eq!(ask(&nobody, URL).await, Votes::NoLocation);
        assert_eq!(ask(&RemoteChecks::default(), URL).await, Votes::NoLocation);
    }
}
