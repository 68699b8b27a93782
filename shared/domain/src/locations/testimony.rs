//! What the witnesses said, compared with what home saw.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Answer, Location, Sighting, Silence};
use crate::checks::check::StatusResult;
use crate::issues::evaluate::is_down;

/// Codes with which a target refuses clients because of their location: from a witness alone, they say nothing about
/// the site.
const REFUSALS: [u16; 4] = [401, 403, 429, 451];

/// What a statement counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vote {
    /// The site is down from there, too.
    Agrees,
    /// The site is up from there.
    Dissents,
    /// The witness does not vote.
    Silent(Silence),
}

/// What one witness said in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The witness.
    pub location: Location,
    /// What the statement counts as.
    pub vote: Vote,
    /// What the witness saw, if it checked.
    pub saw: Option<Sighting>,
}

/// What home saw, and how codes are judged.
#[derive(Debug, Clone, Copy)]
pub struct HomeSaw<'a> {
    /// The code that home received; 0 for no answer.
    pub code: u16,
    /// The codes that the site's settings count as failed.
    pub incident_codes: &'a BTreeSet<u16>,
}

impl<'a> HomeSaw<'a> {
    /// What home saw, from its result and the settings of the site.
    pub const fn of(result: &StatusResult, incident_codes: &'a BTreeSet<u16>) -> Self {
        Self { code: result.code, incident_codes }
    }
}

impl Statement {
    /// What an answer means, compared with what home saw.
    pub fn new(location: Location, answer: Result<Answer, Silence>, home: HomeSaw<'_>) -> Self {
        match answer {
            Err(silence) | Ok(Answer::Silent(silence)) => {
                Self { location, vote: Vote::Silent(silence), saw: None }
            }
            Ok(Answer::Saw(saw)) => {
                let vote = match saw.code {
                    code if REFUSALS.contains(&code) && code != home.code => {
                        Vote::Silent(Silence::Refused)
                    }
                    code if is_down(code, home.incident_codes) => Vote::Agrees,
                    _ => Vote::Dissents,
                };
                Self { location, vote, saw: Some(saw) }
            }
        }
    }

    /// The statement as stored in the context of an issue.
    fn stored(&self) -> Value {
        let mut stored = match self.vote {
            Vote::Agrees => json!({ "location": self.location, "vote": "down" }),
            Vote::Dissents => json!({ "location": self.location, "vote": "up" }),
            Vote::Silent(silence) => {
                json!({ "location": self.location, "vote": "silent", "reason": silence.as_str() })
            }
        };
        if let Some(Sighting { code, error, response_time }) = &self.saw {
            stored["code"] = json!(code);
            stored["error"] = json!(error);
            stored["response_time"] = json!(response_time);
        }
        stored
    }

    /// Reads a statement from the context of an issue.
    fn read(stored: &Value) -> Option<Self> {
        let location = Location::parse(stored["location"].as_str()?).ok()?;
        let vote = match stored["vote"].as_str()? {
            "down" => Vote::Agrees,
            "up" => Vote::Dissents,
            _ => Vote::Silent(Silence::parse(stored["reason"].as_str()?)?),
        };
        let saw = stored["code"].as_u64().and_then(|code| u16::try_from(code).ok()).map(|code| {
            Sighting {
                code,
                error: stored["error"].as_str().map(str::to_owned),
                response_time: stored["response_time"].as_f64().unwrap_or_default(),
            }
        });
        Some(Self { location, vote, saw })
    }

    /// What the witness saw, or why it saw nothing, as a clause: `HTTP 200 in 120 ms`.
    pub fn words(&self) -> String {
        match (&self.saw, self.vote) {
            (Some(Sighting { code: 0, error, .. }), _) => {
                error.clone().unwrap_or_else(|| "no answer".to_owned())
            }
            (Some(Sighting { code, response_time, .. }), Vote::Silent(_)) => {
                format!("refused with HTTP {code} in {response_time:.0} ms")
            }
            (Some(Sighting { code, response_time, .. }), _) => {
                format!("HTTP {code} in {response_time:.0} ms")
            }
            (None, Vote::Silent(silence)) => silence.words().to_owned(),
            (None, Vote::Agrees | Vote::Dissents) => String::new(),
        }
    }
}

/// What witnesses say about a failed run.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Testimony {
    /// No witness is asked about this target, now or later: home decides alone.
    #[default]
    NoWitness,
    /// There are witnesses, but none was asked.
    NotAsked,
    /// All witnesses were asked, and these are their statements.
    Given(Vec<Statement>),
}

/// What the statements of a run amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// At least one witness agrees.
    Confirmed,
    /// None agrees, and at least one finds the site up.
    Denied,
    /// No witness votes.
    Unconfirmed,
}

impl Verdict {
    /// The value that is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Denied => "denied",
            Self::Unconfirmed => "unconfirmed",
        }
    }
}

impl Testimony {
    /// What the witnesses said; empty if none was asked.
    pub fn statements(&self) -> &[Statement] {
        match self {
            Self::NoWitness | Self::NotAsked => &[],
            Self::Given(statements) => statements,
        }
    }

    /// The verdict; `None` if no witness was asked.
    pub fn verdict(&self) -> Option<Verdict> {
        let Self::Given(statements) = self else { return None };
        let has = |vote: Vote| statements.iter().any(|statement| statement.vote == vote);
        Some(match (has(Vote::Agrees), has(Vote::Dissents)) {
            (true, _) => Verdict::Confirmed,
            (false, true) => Verdict::Denied,
            (false, false) => Verdict::Unconfirmed,
        })
    }

    /// The witnesses that find the site up.
    pub fn dissenters(&self) -> impl Iterator<Item = &Location> {
        let dissents = |statement: &&Statement| statement.vote == Vote::Dissents;
        self.statements().iter().filter(dissents).map(|statement| &statement.location)
    }

    /// Adds the testimony to the context of an issue that opens. If no witness was asked, the context stays the same.
    pub(crate) fn add_to(&self, context: &mut Value) {
        let Some(verdict) = self.verdict() else { return };
        context["confirmation"] = json!(verdict.as_str());
        let stored: Vec<Value> = self.statements().iter().map(Statement::stored).collect();
        context["witnesses"] = Value::Array(stored);
    }

    /// Reads the testimony from the context of an issue.
    pub fn read(context: &Value) -> Self {
        let Some(stored) = context["witnesses"].as_array() else { return Self::NoWitness };
        Self::Given(stored.iter().filter_map(Statement::read).collect())
    }

    /// The testimony in sentences, for alerts and pages: `Confirmed from eu-west-1: HTTP 503 in 41 ms.`
    pub fn sentences(&self) -> Vec<String> {
        let Some(verdict) = self.verdict() else { return Vec::new() };
        let said = |statement: &Statement| {
            let (location, words) = (&statement.location, statement.words());
            match (statement.vote, &statement.saw) {
                (Vote::Agrees, _) => format!("Down from {location}: {words}."),
                (Vote::Dissents, _) => format!("Up from {location}: {words}."),
                (Vote::Silent(_), Some(_)) => format!("{location} was {words}."),
                (Vote::Silent(_), None) => format!("{location} {words}."),
            }
        };
        let unconfirmed = (verdict == Verdict::Unconfirmed)
            .then(|| "Unconfirmed: no other location could check the site.".to_owned());
        unconfirmed.into_iter().chain(self.statements().iter().map(said)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(name: &str) -> Location {
        Location::parse(name).expect("a location")
    }

    fn saw(code: u16) -> Result<Answer, Silence> {
        let error = (code == 0).then(|| "timed out".to_owned());
        Ok(Answer::Saw(Sighting { code, error, response_time: 41.4 }))
    }

    fn vote(home: u16, answer: Result<Answer, Silence>) -> Vote {
        let incident_codes = &BTreeSet::from([403, 500, 503]);
        Statement::new(location("eu-west-1"), answer, HomeSaw { code: home, incident_codes }).vote
    }

    fn given(votes: &[(&str, Result<Answer, Silence>)]) -> Testimony {
        let incident_codes = &BTreeSet::from([503]);
        let home = HomeSaw { code: 0, incident_codes };
        let statement = |(name, answer): &(&str, Result<Answer, Silence>)| {
            Statement::new(location(name), answer.clone(), home)
        };
        Testimony::Given(votes.iter().map(statement).collect())
    }

    #[test]
    fn an_answer_is_judged_like_a_check_of_home() {
        for (home, answer, expected) in [
            (503, saw(503), Vote::Agrees),
            (503, saw(500), Vote::Agrees),
            (503, saw(520), Vote::Agrees),
            (503, saw(402), Vote::Dissents),
            (503, saw(101), Vote::Agrees),
            (0, saw(0), Vote::Agrees),
            (503, saw(200), Vote::Dissents),
            (0, saw(404), Vote::Dissents),
            // A witness that is refused because of its location says nothing, unless home is refused in the same way.
            (503, saw(403), Vote::Silent(Silence::Refused)),
            (0, saw(401), Vote::Silent(Silence::Refused)),
            (0, saw(429), Vote::Silent(Silence::Refused)),
            (0, saw(451), Vote::Silent(Silence::Refused)),
            (403, saw(403), Vote::Agrees),
            (403, saw(429), Vote::Silent(Silence::Refused)),
            (503, Err(Silence::NoAnswer), Vote::Silent(Silence::NoAnswer)),
            (503, Ok(Answer::Silent(Silence::Offline)), Vote::Silent(Silence::Offline)),
        ] {
            assert_eq!(vote(home, answer.clone()), expected, "{home} {answer:?}");
        }
    }

    #[test]
    fn one_that_agrees_confirms_and_silence_is_no_vote() {
        let silent = || Err(Silence::Busy);
        for (votes, verdict) in [
            (vec![], Some(Verdict::Unconfirmed)),
            (vec![("a", silent()), ("b", silent())], Some(Verdict::Unconfirmed)),
            (vec![("a", silent()), ("b", saw(200))], Some(Verdict::Denied)),
            (vec![("a", saw(503)), ("b", saw(200)), ("c", silent())], Some(Verdict::Confirmed)),
        ] {
            assert_eq!(given(&votes).verdict(), verdict);
        }
        assert_eq!((Testimony::NoWitness.verdict(), Testimony::NotAsked.verdict()), (None, None));
    }

    #[test]
    fn the_context_keeps_what_was_said() {
        let all = given(&[
            ("a", saw(503)),
            ("b", saw(200)),
            ("c", saw(403)),
            ("d", Err(Silence::Offline)),
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
        assert_eq!(Testimony::read(&context), all);
        assert_eq!(Testimony::read(&json!({ "failures": 2 })), Testimony::NoWitness);
        assert_eq!(
            all.sentences(),
            [
                "Down from a: HTTP 503 in 41 ms.",
                "Up from b: HTTP 200 in 41 ms.",
                "c was refused with HTTP 403 in 41 ms.",
                "d had no connection of its own.",
            ]
        );
        let nobody = given(&[("a", Err(Silence::NoAnswer))]);
        let said =
            ["Unconfirmed: no other location could check the site.", "a did not answer in time."];
        assert_eq!(nobody.sentences(), said);

        let mut unchanged = json!({ "failures": 2 });
        Testimony::NotAsked.add_to(&mut unchanged);
        Testimony::NoWitness.add_to(&mut unchanged);
        assert_eq!(unchanged, json!({ "failures": 2 }));
    }
}
