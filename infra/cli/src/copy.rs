//! `vedette copy`: copies whole teams, with their history, from one table into another.

use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use vedette_actions::{CopyDone, CopyError, CopyOrder, CopyProgress, copy_teams};
use vedette_domain::id::TeamId;
use vedette_reconciler::reconcile;
use vedette_runtime::App;

use crate::Failure;
use crate::args;
use crate::aws::Account;
use crate::output::{Output, Record};
use crate::target::{self, Opened, open_deployment};

/// The prefix of a place that is the stack of a deployment.
const STACK: &str = "aws:";
/// The deployment that the environment names.
const DEPLOYMENT: &str = "aws";

#[derive(Debug, Args)]
pub(crate) struct Copy {
    /// The source: a data folder, aws:STACK, or aws for the deployment that environment variables name
    #[arg(value_parser = place)]
    from: Place,
    /// The destination; a folder that no service uses, which is created if it is missing
    #[arg(value_parser = place)]
    to: Place,
    /// Copy this team; may be given several times [default: all teams]
    #[arg(long = "team", value_name = "TEAM", value_parser = args::team_id)]
    teams: Vec<TeamId>,
}

/// Where a table is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Folder(PathBuf),
    Deployment(Option<String>),
}

fn place(text: &str) -> Result<Place, &'static str> {
    match text.strip_prefix(STACK) {
        Some("") => Err("expected the name of a stack after `aws:`"),
        Some(stack) => Ok(Place::Deployment(Some(stack.to_owned()))),
        None if text == DEPLOYMENT => Ok(Place::Deployment(None)),
        None => Ok(Place::Folder(text.into())),
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{}", path.display()),
            Self::Deployment(Some(stack)) => write!(f, "{STACK}{stack}"),
            Self::Deployment(None) => f.write_str(DEPLOYMENT),
        }
    }
}

/// A table that was opened.
pub(crate) struct Side {
    pub(crate) app: App,
    /// Whether a service uses the table while it is open.
    pub(crate) is_stopped: bool,
    opened: Option<Opened>,
}

impl Side {
    async fn open(place: &Place, account: &mut Option<Account>) -> Result<Self, Failure> {
        match place {
            Place::Folder(path) => {
                let opened = target::open_folder(path).await?;
                let is_stopped = opened.is_alone();
                Ok(Self { app: opened.app.clone(), is_stopped, opened: Some(opened) })
            }
            Place::Deployment(stack) => {
                let account = match account {
                    Some(account) => account.clone(),
                    None => account.insert(Account::load().await?).clone(),
                };
                let (app, _) = open_deployment(account, stack.as_deref()).await?;
                Ok(Self { app, is_stopped: false, opened: None })
            }
        }
    }

    async fn close(self) {
        if let Some(opened) = self.opened {
            opened.close().await;
        }
    }
}

impl Copy {
    /// Copies between the places. `account` is the account of their deployments; if it is `None`, the environment names
    /// it.
    pub(crate) async fn run(
        &self,
        mut account: Option<Account>,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let Self { from, to, .. } = self;
        if from == to {
            return Err(Failure::Usage("both places are the same".to_owned()));
        }
        let source = Side::open(from, &mut account).await?;
        if let Place::Folder(path) = to {
            target::make_folder(path).await?;
        }
        let target = Side::open(to, &mut account).await?;
        let copied = self.copy(&source, &target, out).await;
        target.close().await;
        source.close().await;
        copied
    }

    async fn copy(&self, from: &Side, to: &Side, out: &mut Output<'_>) -> Result<(), Failure> {
        let is_deployment = matches!(self.to, Place::Deployment(_));
        if !is_deployment && !to.is_stopped {
            let why = format!("a service runs on {}: stop it first", self.to);
            return Err(Failure::refused(why));
        }
        let order = CopyOrder {
            teams: self.teams.clone(),
            is_stopped: from.is_stopped,
            reason: format!("copied from {}", self.from),
        };
        let bar = progress_bar();
        let progress = |CopyProgress { done, total }: CopyProgress| {
            bar.set_length(total);
            bar.set_position(done);
        };
        let now = to.app.clock.now();
        let copied = copy_teams(&from.app.store, &to.app.store, &order, now, &progress).await;
        bar.finish_and_clear();
        let copied = copied.map_err(failure)?;
        // A service creates its schedules when it starts on the folder.
        if is_deployment {
            reconcile(&to.app, &|_| {}).await.map_err(Failure::because)?;
        }
        Ok(out.show(&shown(&copied))?)
    }
}

fn failure(error: CopyError) -> Failure {
    match error {
        CopyError::Store(error) => error.into(),
        other => Failure::because(other),
    }
}

/// Draws progress on standard error if that is a terminal, and otherwise nothing.
fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} parts, {eta} left");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn shown(done: &CopyDone) -> Record {
    let CopyDone { teams, users, compared, written, resumed } = done;
    let begun = match resumed {
        true => " (the rest was already there from an interrupted copy)",
        false => "",
    };
    Record::default()
        .with("teams", "Teams", *teams)
        .with("users", "Users", *users)
        .with("sites", "Sites", compared.sites)
        .with("issues", "Issues", compared.issues)
        .with("checks", "Rows of checks", compared.checks)
        .worded("items", "Items compared", compared.items, format!("{}, all equal", compared.items))
        .worded("written", "Items written", *written, format!("{written}{begun}"))
        .with("resumed", "", *resumed)
        .with("channels", "Channels", "disabled; enable them with `vedette channel enable`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Ran;

    async fn copied(words: &str, account: Option<Account>) -> Ran {
        use clap::Parser as _;
        let cli =
            crate::Cli::try_parse_from(["vedette", "--json"].into_iter().chain(words.split(' ')));
        let crate::Command::Copy(copy) = cli.expect("arguments").command else {
            panic!("another command")
        };
        let mut out = Vec::new();
        let done = copy.run(account, &mut Output::new(&mut out, true)).await;
        Ran::of(done, out)
    }

    async fn folder_with_a_team() -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().expect("a folder");
        target::make_folder(folder.path()).await.expect("made");
        let opened = target::open_folder(folder.path()).await.expect("opened");
        let bench = crate::testing::Bench::over(opened.app.clone());
        bench.user("ada").await;
        let team = bench.team("ada", "growth").await;
        opened.close().await;
        (folder, team)
    }

    #[test]
    fn a_place_is_a_folder_or_a_deployment() {
        assert_eq!(place("data"), Ok(Place::Folder("data".into())));
        assert_eq!(place("aws"), Ok(Place::Deployment(None)));
        assert_eq!(place("aws:shop"), Ok(Place::Deployment(Some("shop".to_owned()))));
        assert!(place("aws:").is_err());
    }

    #[tokio::test]
    async fn a_team_moves_to_a_deployment_and_back_and_is_never_there_twice() {
        let (folder, team) = folder_with_a_team().await;
        let home = folder.path().display();
        let deployment = crate::testing::Deployment::start().await;
        let account = Some(deployment.account.clone());
        let stack = vedette_testkit::aws::STACK;
        let there = format!("copy {home} aws:{stack} --team {team}");
        let ran = copied(&there, account.clone()).await;
        assert_eq!((ran.code, ran.said.as_str()), (0, ""));
        let shown: serde_json::Value = serde_json::from_str(&ran.out).expect("a document");
        assert_eq!((&shown["teams"], &shown["users"]), (&1.into(), &1.into()));
        let known = deployment.store().user_by_email("ada@example.com").await.expect("read");
        assert!(known.is_some());

        let again = copied(&there, account.clone()).await;
        assert_eq!(again.code, 1);
        assert!(again.said.contains(&format!("the team {team}, the user")), "{}", again.said);

        let other = tempfile::tempdir().expect("a folder");
        let back = format!("copy aws:{stack} {}", other.path().display());
        let active = copied(&back, account.clone()).await;
        assert_eq!(active.code, 1);
        assert!(active.said.contains("is active: stop the service, or pause"), "{}", active.said);
        deployment.json(&format!("plan deactivate {team}")).await;
        let ran = copied(&back, account).await;
        assert_eq!((ran.code, ran.said.as_str()), (0, ""));
        let opened = target::open_folder(other.path()).await.expect("opened");
        let shown = crate::testing::Bench::over(opened.app.clone()).json("team list").await;
        assert_eq!((&shown[0]["uuid"], &shown[0]["plan_active"]), (&team.into(), &false.into()));
        opened.close().await;
    }

    #[tokio::test]
    async fn a_copy_needs_an_existing_source_that_is_not_the_target() {
        let folder = tempfile::tempdir().expect("a folder");
        let nowhere = folder.path().join("missing");
        let words = format!("copy {} {}", nowhere.display(), folder.path().display());
        assert_eq!(copied(&words, None).await.code, 3);
        assert_eq!(copied("copy data data", None).await.code, 2);
    }
}
