//! Witnesses, as a process asks them: other locations. [`domain::locations`](vedette_domain::locations) explains the
//! terms.
//!
//! [`AskWitness`] has one implementation for AWS, which invokes outposts, and one for a single machine, to which agents
//! connect. Any error on the way counts as silence.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::{BoxFuture, join_all};
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;
use vedette_domain::checks::concurrency::{Handling, Places};
use vedette_domain::id::TeamId;
use vedette_domain::locations::{
    Answer, HomeSaw, Location, QUESTION_TIMEOUT, QUESTIONS_MAX, Question, Silence, Statement,
    Testimony, WITNESSES_MAX,
};

/// How witnesses are reached.
pub trait AskWitness: fmt::Debug + Send + Sync {
    /// The configured witnesses, whether or not they can be reached.
    fn locations(&self) -> Vec<Location>;

    /// Asks a witness, and waits for its answer. The caller waits no longer than [`QUESTION_TIMEOUT`].
    fn ask<'a>(
        &'a self,
        location: &'a Location,
        question: &'a Question,
    ) -> BoxFuture<'a, Result<Answer, Silence>>;
}

/// Knows the targets that only this deployment may reach.
pub trait PrivateTargets: Send + Sync {
    /// Whether a URL may lead to such a target.
    fn may_be_private<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, bool>;
}

/// The witnesses of a process. Clones share them.
#[derive(Clone, Default)]
pub struct Witnesses {
    form: Option<Arc<dyn AskWitness>>,
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

impl Witnesses {
    /// Witnesses that are reached in this way.
    pub fn new(form: Arc<dyn AskWitness>) -> Self {
        Self { form: Some(form), ..Self::default() }
    }

    /// The same witnesses, which are never asked about private targets.
    #[must_use]
    pub fn sparing(self, private: Arc<dyn PrivateTargets>) -> Self {
        Self { private: Some(private), ..self }
    }

    /// Whether there are any witnesses.
    pub fn are_configured(&self) -> bool {
        self.form.as_ref().is_some_and(|form| !form.locations().is_empty())
    }

    /// Asks all witnesses at once for a team, and compares the answers with what home saw. If [`QUESTIONS_MAX`]
    /// questions are already waiting, or the team has used up its share of them, no witness is asked, which counts as
    /// silence.
    pub async fn ask(&self, team: TeamId, question: &Question, home: HomeSaw<'_>) -> Testimony {
        let Some(form) = &self.form else { return Testimony::NoWitness };
        let mut locations = form.locations();
        locations.truncate(WITNESSES_MAX);
        if locations.is_empty() {
            return Testimony::NoWitness;
        }
        let deadline = Instant::now() + QUESTION_TIMEOUT;
        let place = self.questions.begin(team);
        if place.is_some() && self.is_spared(&question.url).await {
            return Testimony::NoWitness;
        }
        let statements = locations.into_iter().map(|location| {
            let has_place = place.is_some();
            async move {
                let answer = match has_place {
                    true => timeout_at(deadline, form.ask(&location, question)).await,
                    false => Ok(Err(Silence::Busy)),
                };
                Statement::new(location, answer.unwrap_or(Err(Silence::NoAnswer)), home)
            }
        });
        Testimony::Given(join_all(statements).await)
    }

    /// Whether a URL may lead to a private target; also true if that is not known in time.
    async fn is_spared(&self, url: &Url) -> bool {
        let Some(private) = &self.private else { return false };
        timeout(QUESTION_TIMEOUT / 5, private.may_be_private(url)).await.unwrap_or(true)
    }
}

impl fmt::Debug for Witnesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Witnesses").field(&self.form).finish()
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
    use vedette_domain::locations::{Sighting, Verdict};

    use super::*;

    /// Witnesses that answer after a while; those with `late` in their names answer when nothing waits any more.
    #[derive(Debug, Default)]
    struct Slow {
        names: Vec<&'static str>,
        asked: AtomicUsize,
    }

    impl AskWitness for Slow {
        fn locations(&self) -> Vec<Location> {
            self.names.iter().map(|name| Location::parse(name).expect("a name")).collect()
        }

        fn ask<'a>(
            &'a self,
            location: &'a Location,
            _: &'a Question,
        ) -> BoxFuture<'a, Result<Answer, Silence>> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let seconds = if location.as_str().contains("late") { 11 } else { 9 };
            Box::pin(async move {
                sleep(Duration::from_secs(seconds)).await;
                Ok(Answer::Saw(Sighting { code: 503, error: None, response_time: 1.0 }))
            })
        }
    }

    struct Intranet;

    impl PrivateTargets for Intranet {
        fn may_be_private<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, bool> {
            Box::pin(async { url.host_str() != Some("example.com") })
        }
    }

    async fn ask(witnesses: &Witnesses, url: &str) -> Testimony {
        ask_for(witnesses, TEAM, url).await
    }

    async fn ask_for(witnesses: &Witnesses, team: TeamId, url: &str) -> Testimony {
        let question = Question::new(url.parse().expect("a URL"), None, QUESTION_TIMEOUT);
        let incident_codes = &BTreeSet::from([503]);
        witnesses.ask(team, &question, HomeSaw { code: 503, incident_codes }).await
    }

    const URL: &str = "https://example.com";
    const TEAM: TeamId = TeamId(Uuid::nil());

    #[tokio::test(start_paused = true)]
    async fn all_are_asked_at_once_and_late_ones_are_silent() {
        let witnesses =
            Witnesses::new(Arc::new(Slow { names: vec!["a", "b", "late"], ..Slow::default() }));
        let begun = Instant::now();
        let testimony = ask(&witnesses, URL).await;
        assert_eq!(begun.elapsed(), QUESTION_TIMEOUT);
        assert_eq!(testimony.verdict(), Some(Verdict::Confirmed));
        assert_eq!(testimony.statements()[2].saw, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_sites_suspected_at_once_hold_nobody_up() {
        let slow = Arc::new(Slow { names: vec!["a"], ..Slow::default() });
        let witnesses = Witnesses::new(Arc::clone(&slow) as Arc<dyn AskWitness>);
        let begun = Instant::now();
        let asked = (0..1_000).map(|_| async {
            let verdict = ask(&witnesses, URL).await.verdict();
            (verdict, begun.elapsed())
        });
        let other = ask_for(&witnesses, TeamId(Uuid::max()), URL);
        let (answered, other) = tokio::join!(join_all(asked), other);
        assert_eq!(other.verdict(), Some(Verdict::Confirmed), "another team can ask");
        let at_once = answered.iter().filter(|(verdict, after)| {
            *verdict == Some(Verdict::Unconfirmed) && *after == Duration::ZERO
        });
        let share = team_share(QUESTIONS_MAX);
        assert_eq!(at_once.count(), 1_000 - share);
        assert_eq!(slow.asked.load(Ordering::Relaxed), share + 1);
        // Their places are free again.
        assert_eq!(ask(&witnesses, URL).await.verdict(), Some(Verdict::Confirmed));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_asked_about_private_targets_or_where_there_is_nobody() {
        let slow = Arc::new(Slow { names: vec!["a"], ..Slow::default() });
        let witnesses =
            Witnesses::new(Arc::clone(&slow) as Arc<dyn AskWitness>).sparing(Arc::new(Intranet));
        assert_eq!(ask(&witnesses, "http://intranet.test").await, Testimony::NoWitness);
        assert_eq!(slow.asked.load(Ordering::Relaxed), 0);
        assert_ne!(ask(&witnesses, URL).await, Testimony::NoWitness);
        let nobody = Witnesses::new(Arc::new(Slow::default()));
        assert!(!nobody.are_configured() && !Witnesses::default().are_configured());
        assert_eq!(ask(&nobody, URL).await, Testimony::NoWitness);
        assert_eq!(ask(&Witnesses::default(), URL).await, Testimony::NoWitness);
    }
}
