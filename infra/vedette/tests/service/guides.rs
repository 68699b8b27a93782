//! Runs the commands of the how-to guides as they are written.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tokio::process::Command;
use vedette_local::Service;

use crate::tutorial::WebServer;
use crate::{config, mail, options};

/// Guides whose commands need more than a service on this machine. `make test-aws` runs those of this one that restore a
/// table.
const ELSEWHERE: [&str; 1] = ["aws.md"];
/// Guides without commands that a test can run.
const WITHOUT_COMMANDS: [&str; 3] = ["reports.md", "reverse-proxy.md", "upgrade.md"];

#[tokio::test]
async fn every_command_of_the_guides_does_what_it_should() {
    let guides = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides");
    let (mut pages, mut without) = (0, Vec::new());
    for entry in fs::read_dir(guides).expect("the guides") {
        let path = entry.expect("an entry").path();
        if ELSEWHERE.iter().any(|page| path.ends_with(page)) {
            continue;
        }
        pages += 1;
        let page = fs::read_to_string(&path).expect("a page");
        let commands = commands(&page);
        if commands.is_empty() {
            without.push(path.file_name().expect("a name").to_owned());
        } else {
            replay(&path, &commands).await;
        }
    }
    without.sort();
    assert_eq!(without, WITHOUT_COMMANDS);
    assert!(pages > 7, "{pages} pages");
}

/// The commands of a page, except those in blocks with `sh,ignore`.
fn commands(page: &str) -> String {
    let blocks = page.split("```").skip(1).step_by(2);
    blocks.filter_map(|block| block.strip_prefix("sh\n")).collect()
}

/// Runs the commands of a page while a service for them is running.
async fn replay(page: &Path, commands: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let service = Service::start(options(&data), config(), mail(&data), None).await;
    let service = service.expect("started");
    let server = WebServer::start().await;

    let programs = folder.path().join("programs");
    fs::create_dir(&programs).expect("a folder");
    symlink(env!("CARGO_BIN_EXE_vedette"), programs.join("vedette")).expect("a link");

    let script = commands
        .replace("127.0.0.1:8787", &service.listen().to_string())
        .replace("127.0.0.1:9000", &server.address().to_string());
    let mut bash = Command::new("bash");
    let script = format!("PATH=\"$PWD/programs:$PATH\"\n{script}");
    bash.args(["-euxo", "pipefail", "-c", &script]).current_dir(folder.path());
    bash.env("XDG_CONFIG_HOME", folder.path().join("config"));
    let output = bash.output().await.expect("bash");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}:\n{}", page.display(), String::from_utf8_lossy(&said));
    service.stop().await;
}
