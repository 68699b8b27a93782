//! Finds problems with a deployment. It examines the parts in the order in which they depend on each other.

use std::collections::BTreeMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName;
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use tokio::time::timeout;
use url::form_urlencoded;
use vedette_checker::Outposts;
use vedette_domain::checks::load::Load;
use vedette_domain::checks::tool::Tool;
use vedette_domain::locations::{Answer, NoVote, QUESTION_TIMEOUT, Question};
use vedette_ops::ErrorChain;
use vedette_reconciler::drift;
use vedette_runtime::config::{Schedules, environment};
use vedette_runtime::{App, Clock, Destination, RemoteLocations as _, aws};
use vedette_store::StoreError;

use super::Health;
use crate::Failure;
use crate::aws::stack::Stack;
use crate::aws::{Account, Call, Refusal};
use crate::dlq::{DeadLetters, is_missing};
use crate::output::moment;
use crate::target::{Deployed, NO_REGION, named_by_the_environment, no_credentials, no_stack};

/// Concurrent executions that must remain for the API's routes and for redelivery.
const PLACES_FOR_ROUTES: u64 = 10;

/// The least concurrency that Lambda allows an event source.
const PLACES_MIN: u64 = 2;

/// How late polled runs may be, which are sent every minute.
const DISPATCHED_WITHIN: SignedDuration = SignedDuration::from_mins(5);

const RENEW: &str = "sign in again (`aws sso login`), or choose a profile with AWS_PROFILE";
const DEPLOY: &str = "deploy the stack again with this version's template.yaml";

/// Examines a deployment, as far as it exists.
///
/// # Errors
///
/// If the environment should name the deployment, but does not.
pub(super) async fn examine(account: &Account, stack: Option<&str>) -> Result<Health, Failure> {
    let mut health = Health::default();
    let Some(region) = account.region() else {
        health.problem(NO_REGION, "set AWS_REGION to the region of the stack");
        return Ok(health);
    };
    if let Err(refusal) = account.credentials().await {
        health.problem(no_credentials(&refusal), RENEW);
        return Ok(health);
    }
    let clock = Clock::system();
    let (service, deployment, outposts) = match stack {
        None => {
            let (service, deployment) = named_by_the_environment()?;
            let outposts = Outposts::read(&environment, &account.sdk, clock);
            (service, deployment, outposts.map_err(|error| Failure::Usage(error.to_string()))?)
        }
        Some(name) => match Stack::find(account, name).await {
            Ok(Some(stack)) => {
                judge_stack(&mut health, name, &stack);
                let outposts = stack.outposts(account, &clock);
                match stack
                    .deployment()
                    .and_then(|(service, found)| Ok((service, found, outposts?)))
                {
                    Ok(found) => found,
                    Err(failure) => {
                        health.problem(failure.to_string(), DEPLOY);
                        return Ok(health);
                    }
                }
            }
            Ok(None) => {
                let remedy = "correct --stack or AWS_REGION, or deploy it";
                health.problem(no_stack(name, region), remedy);
                return Ok(health);
            }
            Err(refusal) => {
                refused(&mut health, &format!("the stack `{name}`"), &refusal);
                return Ok(health);
            }
        },
    };
    let app = aws::app(service, deployment.clone(), &account.sdk);
    let deployed = Deployed { account: account.clone(), deployment };
    let has_table = examine_table(&app, &mut health).await;
    let arns = examine_queues(&deployed, &mut health).await;
    examine_dead_letters(&deployed, &mut health).await;
    let places = examine_places(&app, account, &arns, &mut health).await;
    examine_outposts(&outposts, &mut health).await;
    if has_table {
        if let Some(load) = examine_schedules(&app, &mut health).await {
            judge_load(&load, &places, deployed.deployment.schedules, &mut health);
        }
        if deployed.deployment.schedules == Schedules::Polling {
            examine_dispatch(&app, &mut health).await;
        }
    }
    Ok(health)
}

/// Reports something that could not be examined.
fn refused(health: &mut Health, what: &str, refusal: &Refusal) {
    if refusal.is_of_credentials() {
        let problem = no_credentials(refusal);
        if !health.problems.iter().any(|told| told.what == problem) {
            health.problem(problem, RENEW);
        }
    } else if refusal.is_denial() {
        health.found().unseen.push(format!("{what} ({refusal})"));
    } else {
        let remedy = "check the state of the account, and run the command again";
        health.problem(format!("{what} cannot be examined: {refusal}"), remedy);
    }
}

fn unseen(health: &mut Health, what: &str, error: &dyn std::error::Error) {
    health.problem(format!("{what} cannot be examined: {}", ErrorChain(error)), DEPLOY);
}

fn judge_stack(health: &mut Health, name: &str, stack: &Stack) {
    let status = stack.status.as_str();
    health.found().stack = Some(format!("{name}, {status}"));
    health.found().blocks = match (stack.blocks().as_deref(), stack.is_complete()) {
        (Some("2"), _) => Some("on"),
        (Some("true"), _) => Some(
            "on, without phases; once every function has the version of this command, you can deploy `Blocks=2`",
        ),
        (Some("false"), true) => Some(
            "off; once every function has the version of this command, you can deploy `Blocks=2`",
        ),
        (Some("false"), false) => Some("off; wait for a complete deployment before `Blocks=2`"),
        (Some(_) | None, _) => None,
    };
    let why = stack.reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    let events = "the stack's events in CloudFormation say why";
    if status == "ROLLBACK_COMPLETE" {
        let problem = format!("the stack could not be created{why}");
        health.problem(problem, format!("delete it and deploy again; {events}"));
    } else if status == "UPDATE_ROLLBACK_COMPLETE" {
        let problem = format!("the stack's last update failed and was rolled back{why}");
        health.problem(problem, format!("fix the cause and deploy again; {events}"));
    } else if status.ends_with("_FAILED") {
        let problem = format!("the stack is in a failed state, {status}{why}");
        health.problem(problem, format!("fix it before anything else; {events}"));
    }
}

/// Examines the table. Returns whether there is one.
async fn examine_table(app: &App, health: &mut Health) -> bool {
    match super::examine(app, health).await {
        Ok(true) => {}
        Ok(false) => return false,
        Err(failure) => {
            health.problem(format!("the table cannot be read: {failure}"), DEPLOY);
            return false;
        }
    }
    let off = "the table's time to live is off, so expired checks stay and cost money";
    let remedy = "turn it on for the attribute `ttl`";
    judge_switch(health, "the time to live", app.store.forgets_expired().await, off, remedy);
    let off = "point-in-time recovery is off, so items that are deleted by mistake are lost";
    let remedy = "turn it on for the table";
    judge_switch(health, "the backups", app.store.is_recoverable().await, off, remedy);
    true
}

fn judge_switch(
    health: &mut Health,
    what: &str,
    is_on: Result<bool, StoreError>,
    off: &str,
    remedy: &str,
) {
    match is_on {
        Ok(true) => {}
        Ok(false) => health.problem(off, remedy),
        Err(error) => unseen(health, what, &error),
    }
}

/// Looks for the queues. Returns the ARNs of those that exist.
async fn examine_queues(deployed: &Deployed, health: &mut Health) -> Vec<(Destination, String)> {
    let client = Client::new(&deployed.account.sdk);
    let asked = Destination::ALL.map(|queue| {
        let url = format!("{}{}", deployed.deployment.queue_url_prefix, queue.name());
        let arn = QueueAttributeName::QueueArn;
        let request = client.get_queue_attributes().queue_url(url).attribute_names(arn);
        async move { (queue, request.send().await.map_err(Refusal::of)) }
    });
    let mut arns = Vec::new();
    for (queue, answer) in join_all(asked).await {
        let name = queue.name();
        match answer {
            Ok(answer) => {
                let mut attributes = answer.attributes.unwrap_or_default();
                arns.extend(
                    attributes.remove(&QueueAttributeName::QueueArn).map(|arn| (queue, arn)),
                );
            }
            Err(refusal) if is_missing(&refusal) => {
                health.problem(format!("the queue `{name}` does not exist"), DEPLOY);
            }
            Err(refusal) => refused(health, &format!("the queue `{name}`"), &refusal),
        }
    }
    arns
}

async fn examine_dead_letters(deployed: &Deployed, health: &mut Health) {
    let counted = DeadLetters::of(deployed)
        .map(|queue| async move { (queue.name, queue.count().await) })
        .collect::<Vec<_>>();
    let mut all = 0;
    for (name, count) in join_all(counted).await {
        match count {
            Ok(0) => {}
            Ok(count) => {
                all += count;
                health.problem(
                    format!("messages of `{name}` that were given up: {count}"),
                    format!(
                        "see what they are with `vedette dlq show {name}`, fix the cause, then \
                         `vedette dlq redrive {name}`"
                    ),
                );
            }
            Err(refusal) if is_missing(&refusal) => {
                health.problem(format!("the dead-letter queue of `{name}` does not exist"), DEPLOY);
            }
            Err(refusal) => {
                refused(health, &format!("the dead-letter queue of `{name}`"), &refusal);
            }
        }
    }
    health.found().dead_letters = Some(all);
}

/// An event source of a function, as Lambda returns it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EventSource {
    state: String,
    scaling_config: Option<Scaling>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Scaling {
    maximum_concurrency: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EventSources {
    #[serde(default)]
    event_source_mappings: Vec<EventSource>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Settings {
    account_limit: AccountLimit,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AccountLimit {
    /// Executions that no function has reserved.
    unreserved_concurrent_executions: u64,
}

async fn lambda<T: for<'a> Deserialize<'a>>(account: &Account, path: String) -> Result<T, Refusal> {
    let answer = account.call(Call { service: "lambda", path, form: None }).await?;
    serde_json::from_str(&answer).map_err(Refusal::silence)
}

/// Checks whether functions receive messages from the queues, and whether the account's concurrency is enough for them.
/// Returns how many functions may run for each queue at once.
async fn examine_places(
    app: &App,
    account: &Account,
    arns: &[(Destination, String)],
    health: &mut Health,
) -> BTreeMap<&'static str, u64> {
    let asked = arns.iter().map(|(queue, arn)| async move {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("EventSourceArn", arn)
            .finish();
        let path = format!("/2015-03-31/event-source-mappings?{query}");
        (*queue, lambda::<EventSources>(account, path).await)
    });
    let mut taken = BTreeMap::new();
    for (queue, answer) in join_all(asked).await {
        let name = queue.name();
        let runs = |tool| app.service.tools.contains(&tool);
        let is_needed = matches!(queue, Destination::Tool(tool) if runs(tool))
            || matches!(queue, Destination::Reconcile | Destination::Alerts | Destination::Mailer);
        match answer {
            Ok(EventSources { event_source_mappings: sources }) => {
                let off = ["Disabled", "Disabling", "Deleting"];
                let on = sources.iter().filter(|source| !off.contains(&source.state.as_str()));
                let on: Vec<_> = on.collect();
                if on.is_empty() && is_needed {
                    health.problem(
                        format!(
                            "no function receives from the queue `{name}`: its event source is off"
                        ),
                        "turn on the event source mapping, or deploy the stack again",
                    );
                }
                let most = on
                    .iter()
                    .filter_map(|source| source.scaling_config.as_ref()?.maximum_concurrency);
                taken.insert(name, most.sum());
            }
            Err(refusal) => refused(health, &format!("the event source of `{name}`"), &refusal),
        }
    }
    match lambda::<Settings>(account, "/2016-08-19/account-settings".to_owned()).await {
        Ok(Settings { account_limit }) => {
            let places = account_limit.unreserved_concurrent_executions;
            health.found().places = Some(places);
            let taken: u64 = taken.values().sum();
            if places < taken + PLACES_FOR_ROUTES {
                health.problem(
                    format!(
                        "the account may run {places} functions at once, and checks, alerts and reconciling \
                         alone may take {taken}: while they do, the API answers 503 to some \
                         requests, and checks come late"
                    ),
                    "raise Lambda's quota `Concurrent executions` (a new account has 10), or deploy \
                     with less concurrency",
                );
            }
        }
        Err(refusal) => refused(health, "the account's limit of concurrent executions", &refusal),
    }
    taken
}

/// Compares the recurring checks of all sites with how many functions may run them, and says which kind of schedules
/// costs less.
fn judge_load(
    load: &Load,
    places: &BTreeMap<&'static str, u64>,
    schedules: Schedules,
    health: &mut Health,
) {
    for tool in Tool::ALL {
        let needed = load.places(tool).max(PLACES_MIN);
        let Some(most) = places.get(tool.as_str()).copied().filter(|most| *most < needed) else {
            continue;
        };
        health.problem(
            format!("at most {most} functions run {tool} checks at once, and the sites need {needed}: checks come late"),
            format!(
                "deploy with `{tool:?}Concurrency={needed}`, after you have raised Lambda's quota if that is less"
            ),
        );
    }
    let found = health.found();
    found.checks_per_month = Some(load.runs_per_month());
    let dollars = load.saved_by_buckets();
    found.schedules_cost = (dollars > 0.0).then(|| match schedules {
        Schedules::Each => format!(
            "`Schedules=buckets` costs less from the first check on, here ${dollars:.2} a month; to \
             change, deploy it and run `vedette reconcile`"
        ),
        Schedules::Polling => {
            format!("buckets cost ${dollars:.2} a month less than `Schedules=each`")
        }
    });
}

/// Asks each outpost once, about an address that every outpost must refuse, so that it connects to nothing.
async fn examine_outposts(outposts: &Outposts, health: &mut Health) {
    const REFUSED_EVERYWHERE: &str = "http://169.254.169.254/";
    let Ok(url) = REFUSED_EVERYWHERE.parse() else { return };
    let question = &Question::new(url, None, QUESTION_TIMEOUT);
    let asked = outposts.locations().into_iter().map(|region| async move {
        let answer = timeout(QUESTION_TIMEOUT, outposts.ask(&region, question)).await;
        (region, answer.unwrap_or(Err(NoVote::NoAnswer)))
    });
    for (region, answer) in join_all(asked).await {
        let problem = match answer {
            Ok(Answer::NotChecked(NoVote::Forbidden)) => {
                health.found().outposts.push(region.to_string());
                continue;
            }
            Ok(Answer::NotChecked(NoVote::Unreadable)) | Err(NoVote::Unreadable) => {
                "has another version: outages are confirmed without it".to_owned()
            }
            Err(NoVote::NoAnswer) => "does not answer".to_owned(),
            Ok(Answer::NotChecked(reason)) | Err(reason) => {
                format!("{}: outages are confirmed without it", reason.words())
            }
            Ok(Answer::Checked(_)) => "connects to an address that it must refuse".to_owned(),
        };
        health.problem(
            format!("the outpost in {region} {problem}"),
            format!(
                "deploy it with `make outpost REGION={region}`, look at its log there, check that these credentials \
                 may call it, or take the region out of the parameter `Outposts`"
            ),
        );
    }
}

/// Compares the schedules with the table. Returns what they have to run.
async fn examine_schedules(app: &App, health: &mut Health) -> Option<Load> {
    let drift = match drift(app).await {
        Ok(drift) => drift,
        Err(error) => {
            unseen(health, "the schedules", &error);
            return None;
        }
    };
    let found = health.found();
    (found.sites, found.schedules) = (Some(drift.sites), Some(drift.wanted));
    let reconcile = "run `vedette reconcile` to rebuild them from the table";
    if drift.missing > 0 {
        health.problem(
            format!("schedules that are missing: {} of {}", drift.missing, drift.wanted),
            reconcile,
        );
    }
    if drift.stray > 0 {
        let problem =
            format!("schedules of tools that do not run or of deleted sites: {}", drift.stray);
        health.problem(problem, reconcile);
    }
    if drift.unreadable > 0 {
        health.problem(
            format!("entries of the table that cannot be read: {}", drift.unreadable),
            "VEDETTE_LOG=error names them; restore them from a backup, or delete them",
        );
    }
    Some(drift.load)
}

/// Finds out since when polled runs have not been sent.
async fn examine_dispatch(app: &App, health: &mut Health) {
    let remedy = "look in the log of the function `dispatch` for why it fails, and check that the \
                  schedule that calls it every minute is enabled";
    let last = match app.store.sent_minute().await {
        Ok(minute) => {
            minute.and_then(|minute| Timestamp::from_second(minute.checked_mul(60)?).ok())
        }
        Err(error) => return unseen(health, "the runs of the polling scheduler", &error),
    };
    match last {
        None => health.problem("the polling scheduler has never sent any runs", remedy),
        Some(last) if app.clock.now().duration_since(last) > DISPATCHED_WITHIN => {
            let problem = format!("the polling scheduler has sent no runs since {}", moment(last));
            health.problem(problem, remedy);
        }
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests;
