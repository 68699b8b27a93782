//! How to reach a data folder: this process holds it, or sends requests to the service that does.

use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::{Folder, FolderError, Socket, files};

/// Who holds a data folder.
#[derive(Debug)]
pub enum Reached {
    /// This process, from now on.
    Free(Folder),
    /// A running service, which is reached through its socket.
    Served(Socket),
}

/// How long to wait for a folder that another process holds but does not serve: a service that
/// starts or stops, or a command that works on the file itself.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause before the next attempt.
const AGAIN: Duration = Duration::from_millis(20);

/// Takes an existing data folder, or connects to the service that holds it.
///
/// # Errors
///
/// When another process holds the folder for too long without serving it, or the system refuses.
pub async fn reach(path: &Path) -> Result<Reached, FolderError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match Folder::lock(path) {
            Err(FolderError::InUse(_)) if Socket::of(path).answers().await => {
                files::judge_socket(path).map_err(FolderError::File)?;
                return Ok(Reached::Served(Socket::of(path)));
            }
            Err(FolderError::InUse(_)) if Instant::now() < until => sleep(AGAIN).await,
            Err(FolderError::InUse(path)) if files::is_read_only(&path) => {
                return Err(FolderError::ReadOnly(path));
            }
            locked => return locked.map(Reached::Free),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use rustix::process::geteuid;

    use super::*;

    impl Folder {
        /// Takes a folder that nobody else holds.
        pub(crate) async fn alone(path: &Path) -> Self {
            match reach(path).await.expect("a folder") {
                Reached::Free(folder) => folder,
                Reached::Served(socket) => panic!("{socket:?}"),
            }
        }
    }

    #[tokio::test]
    async fn a_process_that_waits_for_the_folder_gets_it() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = Folder::alone(temporary.path()).await;
        let path = temporary.path().to_owned();
        let waiting = tokio::spawn(async move { reach(&path).await });
        while Socket::of(temporary.path()).answers().await || waiting.is_finished() {
            tokio::task::yield_now().await;
        }
        drop(folder);
        assert!(matches!(waiting.await.expect("no panic"), Ok(Reached::Free(_))));
    }

    #[tokio::test]
    async fn a_socket_of_another_user_is_not_asked() {
        let temporary = tempfile::tempdir().expect("a folder");
        let _folder = Folder::alone(temporary.path()).await;
        let socket = temporary.path().join(files::SOCKET);
        let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        assert!(matches!(reach(temporary.path()).await, Ok(Reached::Served(_))));
        // Only root can change the owner.
        if !geteuid().is_root() {
            return;
        }
        chown(&socket, Some(12_345), None).expect("given away");
        let refused = reach(temporary.path()).await.expect_err("not ours").to_string();
        assert!(refused.contains("vedette.sock belongs to another user (uid 12345)"), "{refused}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_folder_in_use_by_another_process_is_refused() {
        let temporary = tempfile::tempdir().expect("a folder");
        let _folder = Folder::alone(temporary.path()).await;
        let refused = reach(temporary.path()).await.expect_err("in use");
        assert!(refused.to_string().ends_with("is in use by another process"), "{refused}");
    }
}
