//! A data folder whose files are not as the service left them: what a service does when it starts, and while it is
//! running.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt as _, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use vedette_cli::Failure;
use vedette_embedded::{Reached, Report, reach};

use crate::client::Client;
use crate::operator::vedette;
use crate::pages::{browse, sign_in};
use crate::process::{announced, command};
use crate::start;

const PATIENCE: Duration = Duration::from_secs(30);

/// Only root can change the owner of a file.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A folder in which a service has run.
async fn used() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    start(folder.path()).await.0.stop().await;
    folder
}

/// The output of a service that stops immediately after its start.
async fn refused(data: &Path) -> String {
    let ended = timeout(PATIENCE, command(data).arg("--quiet").output()).await;
    let ended = ended.expect("in time").expect("ended");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

/// Checks that the service refuses to start, with these words.
async fn is_refused_with(data: &Path, words: &[&str]) {
    let said = refused(data).await;
    for word in words {
        assert!(said.contains(word), "`{word}` is missing: {said}");
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("text").to_owned()
}

#[tokio::test]
async fn a_table_without_its_newest_changes_is_left_as_it_is() {
    let folder = used().await;
    let data = folder.path();
    fs::write(data.join("vedette.db-shm"), "").expect("written");
    is_refused_with(data, &["vedette.db-wal is missing"]).await;
    let backup = data.with_extension("backup");
    let refused = vedette(data, &format!("backup {}", text(&backup))).await;
    let why = refused.expect_err("refused").to_string();
    assert!(why.contains("vedette.db-wal is missing"), "{why}");
    is_refused_with(data, &["vedette.db-wal is missing"]).await;
    assert!(!data.join("vedette.db-wal").exists() && !backup.exists());
}

#[tokio::test]
async fn a_lost_table_is_not_replaced_by_an_empty_one() {
    let folder = used().await;
    let data = folder.path();
    fs::rename(data.join("vedette.db"), data.join("elsewhere")).expect("moved");
    let token = fs::read(data.join("token")).expect("a token");
    let table = text(&data.join("vedette.db"));
    is_refused_with(data, &[&table, "is missing", "backup", "format", "token", "empty table"])
        .await;
    assert!(!data.join("vedette.db").exists(), "nothing was made");
    assert_eq!(fs::read(data.join("token")).expect("a token"), token);

    // Both remedies work.
    fs::rename(data.join("elsewhere"), data.join("vedette.db")).expect("put back");
    start(data).await.0.stop().await;
    for name in ["vedette.db", "format", "token"] {
        fs::remove_file(data.join(name)).expect("removed");
    }
    start(data).await.0.stop().await;
    assert_ne!(fs::read(data.join("token")).expect("a token"), token);
}

#[tokio::test]
async fn a_missing_format_file_is_named_in_the_error() {
    let folder = used().await;
    let format = folder.path().join("format");
    for left in [None, Some("")] {
        match left {
            None => fs::remove_file(&format).expect("removed"),
            Some(left) => fs::write(&format, left).expect("written"),
        }
        is_refused_with(folder.path(), &[&text(&format), "backup", "echo 5 >"]).await;
    }
    fs::write(&format, "1000").expect("written");
    is_refused_with(folder.path(), &["by a newer version of Vedette"]).await;
    fs::write(&format, "4\n").expect("written");
    start(folder.path()).await.0.stop().await;
}

#[tokio::test]
async fn a_damaged_table_is_named_with_the_way_out() {
    let folder = used().await;
    let table = folder.path().join("vedette.db");
    let whole = fs::read(&table).expect("a table");
    let (page, name) = (8_192, text(&table));
    let mut noise = whole.clone();
    noise[2 * page..3 * page].fill(0x5a);
    let cases: [(&str, Vec<u8>, &str); 7] = [
        ("empty", Vec::new(), "is empty"),
        ("cut within the header", whole[..50].to_vec(), "is damaged"),
        ("cut within the first page", whole[..1_000].to_vec(), "is damaged"),
        ("half of it", whole[..whole.len() / 2 / page * page].to_vec(), "is damaged"),
        ("without the last page", whole[..whole.len() - page].to_vec(), "is damaged"),
        ("a page of noise", noise, "is damaged"),
        ("something else", b"<!doctype html>".repeat(1_000), "is not a database"),
    ];
    for (case, bytes, what) in cases {
        fs::write(&table, &bytes).expect("written");
        is_refused_with(folder.path(), &[&name, what, "backup", "empty table"]).await;
        assert_eq!(fs::read(&table).expect("a file"), bytes, "{case}: untouched");
    }
}

#[tokio::test]
async fn the_doctor_finds_what_an_interrupted_restore_left() {
    let folder = used().await;
    vedette(folder.path(), "doctor").await.expect("nothing is wrong");
    fs::write(folder.path().join("vedette.db.new"), "half").expect("written");
    let failure = vedette(folder.path(), "doctor").await.expect_err("a problem");
    assert_eq!((failure.exit_code(), &*failure.to_string()), (1, "there is a problem"));
    start(folder.path()).await.0.stop().await;
}

#[tokio::test]
async fn a_database_of_another_program_is_left_alone() {
    let folder = used().await;
    let table = folder.path().join("vedette.db");
    fs::remove_file(&table).expect("removed");
    let other = rusqlite::Connection::open(&table).expect("a database");
    other.execute_batch("CREATE TABLE notes (body TEXT)").expect("written");
    drop(other);
    let before = fs::read(&table).expect("a file");
    let words = [&*text(&table), "another program", "backup"];
    is_refused_with(folder.path(), &words).await;
    assert_eq!(fs::read(&table).expect("a file"), before);
}

#[tokio::test]
async fn damage_that_only_a_full_check_finds_is_found_at_the_start() {
    let folder = used().await;
    let table = folder.path().join("vedette.db");
    let file = OpenOptions::new().write(true).open(&table).expect("a table");
    // The last page belongs to an item, which nothing else reads when the service starts.
    let length = file.metadata().expect("its size").len();
    file.write_all_at(&[0x5a; 8_192], length - 8_192).expect("written");
    is_refused_with(folder.path(), &[&text(&table), "is damaged", ".recover"]).await;
}

#[tokio::test]
async fn no_link_is_followed_but_the_folder_may_be_one() {
    let folder = used().await;
    let outside = tempfile::tempdir().expect("a folder");
    for name in ["vedette.db", "format", "token", "lock"] {
        let (path, target) = (folder.path().join(name), outside.path().join(name));
        fs::rename(&path, &target).expect("moved");
        symlink(&target, &path).expect("a link");
        is_refused_with(folder.path(), &[&text(&path), "is a symbolic link"]).await;
        fs::rename(&target, &path).expect("moved back");
    }
    let path = folder.path().join("lock");
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("made");
    is_refused_with(folder.path(), &[&text(&path), "is not a regular file"]).await;
    fs::remove_dir(&path).expect("removed");

    let link = outside.path().join("data");
    symlink(folder.path(), &link).expect("a link");
    let (service, client) = start(&link).await;
    assert_eq!(client.get("/api/v1/me").await.status, 200);
    service.stop().await;
}

#[tokio::test]
async fn a_file_of_another_user_is_refused() {
    if !is_root() {
        return;
    }
    let folder = used().await;
    // After a crash, the socket is still there. After a clean stop, it must be gone.
    let socket = folder.path().join("vedette.sock");
    if !socket.exists() {
        drop(UnixListener::bind(&socket).expect("a socket"));
    }
    for name in ["vedette.db", "format", "token", "lock", "vedette.sock"] {
        let path = folder.path().join(name);
        chown(&path, Some(12_345), None).expect("given away");
        let words = [&*text(&path), "belongs to another user (uid 12345)", "chown 0"];
        is_refused_with(folder.path(), &words).await;
        chown(&path, Some(0), None).expect("taken back");
    }
}

#[tokio::test]
async fn a_second_service_is_kept_out_also_without_the_lock_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let lock = folder.path().join("lock");
    for replaced in [false, true] {
        let _ = fs::remove_file(&lock);
        if replaced {
            File::create(&lock).expect("made");
        }
        is_refused_with(folder.path(), &["in use by another process"]).await;
    }
    assert_eq!(client.get("/api/v1/me").await.status, 200);
    service.stop().await;
}

#[tokio::test]
async fn profiles_of_a_killed_service_are_gone_with_the_next_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let profile = folder.path().join("browser/left/profile");
    fs::create_dir_all(&profile).expect("made");
    fs::write(profile.join("Cookies"), "of a page").expect("written");
    let mut starting = command(folder.path());
    starting.env("TMPDIR", "/nonexistent");
    let (child, client): (_, Client) = announced(starting, folder.path()).await;
    assert_eq!(client.get("/api/v1/me").await.status, 200);
    let left = fs::read_dir(folder.path().join("browser")).expect("a folder").count();
    assert_eq!(left, 0);
    drop(child);
}

/// The doctor's output, as soon as it reports a problem, or no longer reports one.
async fn doctor(data: &Path, finds: bool) -> Result<(), Failure> {
    let asked = Instant::now();
    loop {
        let said = vedette(data, "doctor").await;
        if said.is_err() == finds {
            return said;
        }
        assert!(asked.elapsed() < PATIENCE, "{said:?}");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_doctor_and_the_pages_tell_of_a_file_that_was_deleted_under_the_service() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let cookie = sign_in(&service, &client).await;
    doctor(folder.path(), false).await.expect("well");
    let lock = folder.path().join("lock");
    let aside = folder.path().join("aside");
    fs::rename(&lock, &aside).expect("moved");
    let problem = doctor(folder.path(), true).await.expect_err("a problem");
    assert_eq!(problem.exit_code(), 1);
    let Ok(Reached::Served(socket)) = reach(folder.path()).await else { panic!("it is served") };
    let said = socket.report(Report::Health).await.expect("an answer").expect("a report");
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("lock was deleted while the service was running"), "{said}");
    assert!(said.contains("estart the service"), "{said}");
    let page = browse(&client, "GET", "/", &cookie, "").await.text;
    assert!(page.contains("lock was deleted while the service was running"), "{page}");
    fs::rename(&aside, &lock).expect("moved back");
    doctor(folder.path(), false).await.expect("well again");
    service.stop().await;
}

#[tokio::test]
async fn a_folder_that_was_deleted_under_the_service_is_told_on_its_pages() {
    let temporary = tempfile::tempdir().expect("a folder");
    let data = temporary.path().join("data");
    let (service, client) = start(&data).await;
    let cookie = sign_in(&service, &client).await;
    fs::remove_dir_all(&data).expect("removed");
    let asked = Instant::now();
    let page = loop {
        let page = browse(&client, "GET", "/", &cookie, "").await.text;
        if page.contains("was deleted while the service was running") {
            break page;
        }
        assert!(asked.elapsed() < PATIENCE, "{page}");
        sleep(Duration::from_millis(20)).await;
    };
    assert!(page.contains(data.to_str().expect("text")), "{page}");
    assert!(page.contains("will be lost when it stops"), "{page}");
    service.stop().await;
    assert!(!data.exists(), "nothing is made in its place");
}

#[tokio::test]
async fn the_doctor_examines_the_file_of_a_running_service() {
    let folder = used().await;
    let table = folder.path().join("vedette.db");
    let filler = rusqlite::Connection::open(&table).expect("a table");
    // Pages at the end of the file, which the service does not use.
    let fill = "INSERT INTO _stream_records (table_name, event_name, keys_json, new_image, sequence_number, shard_id, \
                created_at) VALUES ('', '', '', zeroblob(100000), '', '', 0)";
    filler.execute_batch(fill).expect("written");
    drop(filler);
    let (service, client) = start(folder.path()).await;
    doctor(folder.path(), false).await.expect("well");
    assert_eq!(client.get("/api/v1/me").await.status, 200);

    let file = OpenOptions::new().write(true).open(&table).expect("a table");
    let length = file.metadata().expect("its size").len();
    file.write_all_at(&[0x5a; 8_192], length - 8_192).expect("written");
    doctor(folder.path(), true).await.expect_err("damaged");
    service.stop().await;
    // Closing the file releases the locks that SQLite has on it in this process.
    drop(file);
}

#[tokio::test]
async fn a_clean_stop_saves_what_was_in_a_deleted_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let (service, client) = start(folder.path()).await;
    let before = client.add_site("https://192.0.2.1/").await;
    for name in ["vedette.db-wal", "vedette.db-shm"] {
        fs::remove_file(folder.path().join(name)).expect("removed");
    }
    let after = client.add_site("https://192.0.2.2/").await;
    service.stop().await;
    let (service, client) = start(folder.path()).await;
    for site in [before, after] {
        assert_eq!(client.get(&format!("/api/v1/sites/{site}")).await.status, 200);
    }
    service.stop().await;
}
