//! Where browsers keep their files: in the data folder, so that a killed service does not leave them behind for long.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use tracing::{debug, warn};
use vedette_probe::browser::Chromium;

/// The folder's name in the data folder.
const NAME: &str = "browser";

/// Access for the owner only.
const PRIVATE: u32 = 0o700;

/// Empties the folder for browsers' files in the data folder of this process. Returns `None` if browsers could not use
/// it; they then keep their files in the system's temporary folder.
pub(crate) fn prepare(data: &Path) -> Option<PathBuf> {
    match emptied(data) {
        Ok(folder) => is_usable(&folder).then_some(folder),
        Err(error) => {
            warn!(%error, "the folder for browsers' files cannot be emptied; they are kept elsewhere");
            None
        }
    }
}

fn emptied(data: &Path) -> io::Result<PathBuf> {
    // Browsers run in their own folders, so they need the absolute path.
    let folder = fs::canonicalize(data)?.join(NAME);
    match fs::symlink_metadata(&folder) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(&folder)?,
        Ok(_) => fs::remove_file(&folder)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    DirBuilder::new().mode(PRIVATE).create(&folder)?;
    Ok(folder)
}

/// Whether a browser can use the folder.
fn is_usable(folder: &Path) -> bool {
    if folder.as_os_str().as_bytes().len() > Chromium::MAX_HOMES_PATH {
        debug!(
            folder = %folder.display(), longest = Chromium::MAX_HOMES_PATH,
            "the path is too long for browsers; they keep their files in the temporary folder"
        );
        return false;
    }
    // As root, Chromium starts in a user namespace, where root has no rights to other users' folders.
    let lets_pass = |folder: &Path| fs::metadata(folder).is_ok_and(|found| lets_root_pass(&found));
    if geteuid().is_root() && !folder.ancestors().all(lets_pass) {
        warn!(
            folder = %folder.display(),
            "a browser started by root cannot reach the folder; it keeps its files in the temporary folder"
        );
        return false;
    }
    true
}

/// Whether root can enter a folder without root's privileges.
fn lets_root_pass(folder: &Metadata) -> bool {
    let (owner, group, others) = (0o100, 0o010, 0o001);
    let bit = match (folder.uid(), folder.gid()) {
        (0, _) => owner,
        (_, 0) => group,
        _ => others,
    };
    folder.mode() & bit != 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

    use super::*;

    #[test]
    fn profiles_of_killed_processes_are_removed_and_no_others() {
        let temporary = tempfile::tempdir().expect("a folder");
        let (data, elsewhere) = (temporary.path().join("data"), temporary.path().join("elsewhere"));
        for folder in [data.join("browser/a/profile"), elsewhere.join("kept")] {
            fs::create_dir_all(folder).expect("made");
        }
        symlink(&elsewhere, data.join("browser/link")).expect("a link");
        let folder = prepare(&data).expect("usable");
        assert_eq!(folder, fs::canonicalize(&data).expect("there").join("browser"));
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0);
        assert_eq!(fs::metadata(&folder).expect("there").mode() & 0o777, PRIVATE);
        assert!(elsewhere.join("kept").is_dir(), "no link is followed");

        fs::remove_dir(&folder).expect("removed");
        symlink(&elsewhere, &folder).expect("a link");
        prepare(&data).expect("usable");
        assert!(elsewhere.join("kept").is_dir(), "no link is followed");
        assert!(fs::symlink_metadata(&folder).expect("there").is_dir());
    }

    #[test]
    fn a_path_that_browsers_cannot_use_is_refused() {
        let temporary = tempfile::tempdir().expect("a folder");
        let deep = temporary.path().join("a".repeat(Chromium::MAX_HOMES_PATH));
        fs::create_dir(&deep).expect("made");
        assert_eq!(prepare(&deep), None);

        // Only root can change the owner of a folder.
        if geteuid().is_root() {
            let home = temporary.path().join("h");
            fs::create_dir_all(home.join("d")).expect("made");
            chown(&home, Some(12_345), Some(12_345)).expect("given away");
            assert!(prepare(&home.join("d")).is_some());
            fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).expect("shut");
            assert_eq!(prepare(&home.join("d")), None);
        }
    }
}
