//! How other locations vote: what they saw, compared with what home saw.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Answer, Location, NoVote, RemoteStatus};
use crate::checks::check::StatusResult;
use crate::issues::evaluate::is_down;

/// Codes with which a target refuses clients because of their location: from another location alone, they say nothing
/// about the site.
const REFUSALS: [u16; 4] = [401, 403, 429, 451];

/// What a vote counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vote {
    /// The site is down from there, too.
    Agrees,
    /// The site is up from there.
    Disagrees,
    /// The location does not vote.
    Missing(NoVote),
}

/// The vote of one location in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct LocationVote {
    /// The location.
    pub location: Location,
    /// What the vote counts as.
    pub vote: Vote,
    /// What the location saw, if it checked.
    pub status: Option<RemoteStatus>,
}

/// What home saw, and how codes are judged.
#[derive(Debug, Clone, Copy)]
pub struct HomeStatus<'a> {
    /// The code that home received; 0 for no answer.
    pub code: u16,
    /// The codes that the site's settings count as failed.
    pub incident_codes: &'a BTreeSet<u16>,
}

impl<'a> HomeStatus<'a> {
    /// What home saw, from its result and the settings of the site.
    pub const fn of(result: &StatusResult, incident_codes: &'a BTreeSet<u16>) -> Self {
        Self { code: result.code, incident_codes }
    }
}

impl LocationVote {
    /// What an answer means, compared with what home saw.
    pub fn new(location: Location, answer: Result<Answer, NoVote>, home: HomeStatus<'_>) -> Self {
        match answer {
            Err(no_vote) | Ok(Answer::NotChecked(no_vote)) => {
                Self { location, vote: Vote::Missing(no_vote), status: None }
            }
            Ok(Answer::Checked(saw)) => {
                let vote = match saw.code {
                    code if REFUSALS.contains(&code) && code != home.code => {
                        Vote::Missing(NoVote::Refused)
                    }
                    code if is_down(code, home.incident_codes) => Vote::Agrees,
                    _ => Vote::Disagrees,
                };
                Self { location, vote, status: Some(saw) }
            }
        }
    }

    /// The vote as stored in the context of an issue.
    fn stored(&self) -> Value {
        let mut stored = match self.vote {
            Vote::Agrees => json!({ "location": self.location, "vote": "down" }),
            Vote::Disagrees => json!({ "location": self.location, "vote": "up" }),
            Vote::Missing(no_vote) => {
                json!({ "location": self.location, "vote": "silent", "reason": no_vote.as_str() })
            }
        };
        if let Some(RemoteStatus { code, error, response_time }) = &self.status {
            stored["code"] = json!(code);
            stored["error"] = json!(error);
            stored["response_time"] = json!(response_time);
        }
        stored
    }

    /// Reads a vote from the context of an issue.
    fn read(stored: &Value) -> Option<Self> {
        let location = Location::parse(stored["location"].as_str()?).ok()?;
        let vote = match stored["vote"].as_str()? {
            "down" => Vote::Agrees,
            "up" => Vote::Disagrees,
            _ => Vote::Missing(NoVote::parse(stored["reason"].as_str()?)?),
        };
        let status =
            stored["code"].as_u64().and_then(|code| u16::try_from(code).ok()).map(|code| {
                RemoteStatus {
                    code,
                    error: stored["error"].as_str().map(str::to_owned),
                    response_time: stored["response_time"].as_f64().unwrap_or_default(),
                }
            });
        Some(Self { location, vote, status })
    }

    /// What the location saw, or why it saw nothing, as a clause: `HTTP 200 in 120 ms`.
    pub fn words(&self) -> String {
        match (&self.status, self.vote) {
            (Some(RemoteStatus { code: 0, error, .. }), _) => {
                error.clone().unwrap_or_else(|| "no answer".to_owned())
            }
            (Some(RemoteStatus { code, response_time, .. }), Vote::Missing(_)) => {
                format!("refused with HTTP {code} in {response_time:.0} ms")
            }
            (Some(RemoteStatus { code, response_time, .. }), _) => {
                format!("HTTP {code} in {response_time:.0} ms")
            }
            (None, Vote::Missing(no_vote)) => no_vote.words().to_owned(),
            (None, Vote::Agrees | Vote::Disagrees) => String::new(),
        }
    }
}

/// What other locations say about a failed run.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Votes {
    /// No other location is asked about this target, now or later: home decides alone.
    #[default]
    NoLocation,
    /// There are other locations, but none was asked.
    NotAsked,
    /// All other locations were asked, and these are their votes.
    Given(Vec<LocationVote>),
}

/// What the votes of a run amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    /// At least one other location agrees.
    Confirmed,
    /// None agrees, and at least one finds the site up.
    Denied,
    /// No other location votes.
    Unconfirmed,
}

impl Confirmation {
    /// The value that is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Denied => "denied",
            Self::Unconfirmed => "unconfirmed",
        }
    }
}

impl Votes {
    /// What the other locations said; empty if none was asked.
    pub fn given(&self) -> &[LocationVote] {
        match self {
            Self::NoLocation | Self::NotAsked => &[],
            Self::Given(votes) => votes,
        }
    }

    /// The confirmation; `None` if no other location was asked.
    pub fn confirmation(&self) -> Option<Confirmation> {
        let Self::Given(votes) = self else { return None };
        let has = |vote: Vote| votes.iter().any(|given| given.vote == vote);
        Some(match (has(Vote::Agrees), has(Vote::Disagrees)) {
            (true, _) => Confirmation::Confirmed,
            (false, true) => Confirmation::Denied,
            (false, false) => Confirmation::Unconfirmed,
        })
    }

    /// The other locations that find the site up.
    pub fn disagreeing(&self) -> impl Iterator<Item = &Location> {
        let disagrees = |vote: &&LocationVote| vote.vote == Vote::Disagrees;
        self.given().iter().filter(disagrees).map(|vote| &vote.location)
    }

    /// Adds the votes to the context of an issue that opens. If no other location was asked, the context stays the
    /// same.
    pub(crate) fn add_to(&self, context: &mut Value) {
        let Some(confirmation) = self.confirmation() else { return };
        context["confirmation"] = json!(confirmation.as_str());
        let stored: Vec<Value> = self.given().iter().map(LocationVote::stored).collect();
        context["witnesses"] = Value::Array(stored);
    }

    /// Reads the votes from the context of an issue.
    pub fn read(context: &Value) -> Self {
        let Some(stored) = context["witnesses"].as_array() else { return Self::NoLocation };
        Self::Given(stored.iter().filter_map(LocationVote::read).collect())
    }

    /// The votes in sentences, for alerts and pages: `Confirmed from eu-west-1: HTTP 503 in 41 ms.`
    pub fn sentences(&self) -> Vec<String> {
        let Some(confirmation) = self.confirmation() else { return Vec::new() };
        let said = |vote: &LocationVote| {
            let (location, words) = (&vote.location, vote.words());
            match (vote.vote, &vote.status) {
                (Vote::Agrees, _) => format!("Down from {location}: {words}."),
                (Vote::Disagrees, _) => format!("Up from {location}: {words}."),
                (Vote::Missing(_), Some(_)) => format!("{location} was {words}."),
                (Vote::Missing(_), None) => format!("{location} {words}."),
            }
        };
        let unconfirmed = (confirmation == Confirmation::Unconfirmed)
            .then(|| "Unconfirmed: no other location could check the site.".to_owned());
        unconfirmed.into_iter().chain(self.given().iter().map(said)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(name: &str) -> Location {
        Location::parse(name).expect("a location")
    }

    fn saw(code: u16) -> Result<Answer, NoVote> {
        let error = (code == 0).then(|| "timed out".to_owned());
        Ok(Answer::Checked(RemoteStatus { code, error, response_time: 41.4 }))
    }

    fn vote(home: u16, answer: Result<Answer, NoVote>) -> Vote {
        let incident_codes = &BTreeSet::from([403, 500, 503]);
        LocationVote::new(location("eu-west-1"), answer, HomeStatus { code: home, incident_codes })
            .vote
    }

    fn given(votes: &[(&str, Result<Answer, NoVote>)]) -> Votes {
        let incident_codes = &BTreeSet::from([503]);
        let home = HomeStatus { code: 0, incident_codes };
        let vote = |(name, answer): &(&str, Result<Answer, NoVote>)| {
            LocationVote::new(location(name), answer.clone(), home)
        };
        Votes::Given(votes.iter().map(vote).collect())
    }

    #[test]
    fn an_answer_is_judged_like_a_check_of_home() {
        for (home, answer, expected) in [
            (503, saw(503), Vote::Agrees),
            (503, saw(500), Vote::Agrees),
            (503, saw(520), Vote::Agrees),
            (503, saw(402), Vote::Disagrees),
            (503, saw(101), Vote::Agrees),
            (0, saw(0), Vote::Agrees),
            (503, saw(200), Vote::Disagrees),
            (0, saw(404), Vote::Disagrees),
            // Another location that is refused because of its location says nothing, unless home is refused in the same
            // way.
            (503, saw(403), Vote::Missing(NoVote::Refused)),
            (0, saw(401), Vote::Missing(NoVote::Refused)),
            (0, saw(429), Vote::Missing(NoVote::Refused)),
            (0, saw(451), Vote::Missing(NoVote::Refused)),
            (403, saw(403), Vote::Agrees),
            (403, saw(429), Vote::Missing(NoVote::Refused)),
            (503, Err(NoVote::NoAnswer), Vote::Missing(NoVote::NoAnswer)),
            (503, Ok(Answer::NotChecked(NoVote::Offline)), Vote::Missing(NoVote::Offline)),
        ] {
            assert_eq!(vote(home, answer.clone()), expected, "{home} {answer:?}");
        }
    }

    #[test]
    fn one_agreeing_location_confirms_and_a_missing_answer_does_not_count() {
        let silent = || Err(NoVote::Busy);
        for (votes, confirmation) in [
            (vec![], Some(Confirmation::Unconfirmed)),
            (vec![("a", silent()), ("b", silent())], Some(Confirmation::Unconfirmed)),
            (vec![("a", silent()), ("b", saw(200))], Some(Confirmation::Denied)),
            (
                vec![("a", saw(503)), ("b", saw(200)), ("c", silent())],
                Some(Confirmation::Confirmed),
            ),
        ] {
            assert_eq!(given(&votes).confirmation(), confirmation);
        }
        assert_eq!(
            (Votes::NoLocation.confirmation(), Votes::NotAsked.confirmation()),
            (None, None)
        );
    }

    #[test]
    fn the_context_keeps_what_was_said() {
        let all = given(&[
            ("a", saw(503)),
            ("b", saw(200)),
            ("c", saw(403)),
            ("d", Err(NoVote::Offline)),
        ]);
        let mut context = json!({ "failures": 2 });
        all.add_to(&mut context);
        assert_eq!(
            context,
            json!({
                "failures": 2,
                "confirmation": "confirmed",
                "witnesses": [
                    { "location": "a", "vote": "down", "code": 503, "error": null, "response_time": 41.4 },
                    { "location": "b", "vote": "up", "code": 200, "error": null, "response_time": 41.4 },
                    { "location": "c", "vote": "silent", "reason": "refused", "code": 403, "error": null, "response_time": 41.4 },
                    { "location": "d", "vote": "silent", "reason": "offline" },
                ],
            })
        );
        assert_eq!(Votes::read(&context), all);
        assert_eq!(Votes::read(&json!({ "failures": 2 })), Votes::NoLocation);
        assert_eq!(
            all.sentences(),
            [
                "Down from a: HTTP 503 in 41 ms.",
                "Up from b: HTTP 200 in 41 ms.",
                "c was refused with HTTP 403 in 41 ms.",
                "d had no connection of its own.",
            ]
        );
        let nobody = given(&[("a", Err(NoVote::NoAnswer))]);
        let said =
            ["Unconfirmed: no other location could check the site.", "a did not answer in time."];
        assert_eq!(nobody.sentences(), said);

        let mut unchanged = json!({ "failures": 2 });
        Votes::NotAsked.add_to(&mut unchanged);
        Votes::NoLocation.add_to(&mut unchanged);
        assert_eq!(unchanged, json!({ "failures": 2 }));
    }
}
