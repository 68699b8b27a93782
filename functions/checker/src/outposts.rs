//! The other locations of a deployment on AWS: a function in each of a few other regions, which may only write its log.

use std::collections::BTreeMap;

use aws_smithy_runtime_api::client::result::SdkError;
use aws_types::SdkConfig;
use futures::future::BoxFuture;
use tracing::warn;
use vedette_domain::locations::{Answer, Location, NoVote, Question, REMOTE_LOCATIONS_MAX};
use vedette_ops::ErrorChain;
use vedette_ops::config::{ConfigError, Read, list, required};
use vedette_runtime::{Clock, RemoteLocations};

use crate::lambda::{Called, LambdaFunction, Outcome, TOO_MANY_REQUESTS};

/// The argument with which an outpost is started, where other functions name their tool.
pub const OUTPOST: &str = "outpost";

/// The variable with the regions that have an outpost.
const REGIONS: &str = "VEDETTE_OUTPOSTS";

/// The variable with the name of the function in each of them.
const FUNCTION: &str = "VEDETTE_OUTPOST_FUNCTION";

/// The outposts.
#[derive(Debug, Clone)]
pub struct Outposts {
    functions: BTreeMap<Location, LambdaFunction>,
    clock: Clock,
}

impl Outposts {
    /// The outposts in the environment.
    ///
    /// # Errors
    ///
    /// The first variable that is invalid or missing. More regions than a run may ask are invalid, too.
    pub fn read(read: Read<'_>, sdk: &SdkConfig, clock: Clock) -> Result<Self, ConfigError> {
        let regions: Vec<Location> = list(read, REGIONS)?;
        if regions.len() > REMOTE_LOCATIONS_MAX {
            let problem = format!("names more than {REMOTE_LOCATIONS_MAX} regions");
            return Err(ConfigError { name: REGIONS, problem });
        }
        let name = if regions.is_empty() { String::new() } else { required(read, FUNCTION)? };
        let functions = regions.into_iter().map(|region| {
            let function = LambdaFunction::in_region(sdk, region.as_str(), &name);
            (region, function)
        });
        Ok(Self { functions: functions.collect(), clock })
    }
}

impl RemoteLocations for Outposts {
    fn locations(&self) -> Vec<Location> {
        self.functions.keys().cloned().collect()
    }

    fn ask<'a>(
        &'a self,
        location: &'a Location,
        question: &'a Question,
    ) -> BoxFuture<'a, Result<Answer, NoVote>> {
        Box::pin(async move {
            let function = self.functions.get(location).ok_or(NoVote::NoAnswer)?;
            let body = serde_json::to_string(question).map_err(|_| NoVote::Failed)?;
            let called = function.call(body, self.clock.now().into()).await.map_err(|error| {
                let is_busy = matches!(&error, SdkError::ServiceError(refused)
                    if refused.err().status == TOO_MANY_REQUESTS);
                warn!(%location, error = %ErrorChain(&error), "an outpost does not answer");
                if is_busy { NoVote::Busy } else { NoVote::NoAnswer }
            })?;
            let Called { request_id, outcome } = called;
            match outcome {
                Outcome::Answer(answer) => Answer::parse(&answer).map_err(|error| {
                    warn!(%location, outpost_request_id = request_id, %error, "an outpost's answer was refused");
                    NoVote::Unreadable
                }),
                Outcome::Crash(error) => {
                    warn!(%location, outpost_request_id = request_id, error, "an outpost failed");
                    Err(NoVote::NoAnswer)
                }
            }
        })
    }
}

#[cfg(test)]
mod tests;
