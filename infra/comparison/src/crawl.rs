//! Crawls of the same site by Vedette's check for broken links and by other link checkers.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use crate::crawler::{Crawled, Crawler, Options, Site};
use crate::report::{goal, line, median};
use crate::target::{BROKEN, LINKS, PAGES, TargetProcess};

/// All crawls by one crawler.
struct Side {
    crawler: Crawler,
    version: String,
    crawls: Vec<Crawled>,
}

/// Has all crawlers crawl in turn.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let authority = folder.path().join("authority.pem");
    let target = TargetProcess::start(&authority).await?;
    let site = site(&target, authority, folder.path())?;

    let mut sides = Vec::new();
    for crawler in Crawler::ALL {
        match crawler.version(options).await {
            Some(version) => sides.push(Side { crawler, version, crawls: Vec::new() }),
            None => line(&format!("{} does not run here: left out", crawler.name()))?,
        }
    }
    for _ in 0..options.rounds {
        for side in &mut sides {
            let crawled = side.crawler.crawl(options, &site).await?;
            if crawled.broken != site.broken() {
                let (name, found) = (side.crawler.name(), crawled.broken.len());
                return Err(format!("{name} finds {found} links, not the {BROKEN} broken").into());
            }
            side.crawls.push(crawled);
        }
    }
    report(&sides)
}

fn site(target: &TargetProcess, authority: PathBuf, folder: &Path) -> Result<Site, Box<dyn Error>> {
    let url = format!("http://{}/", target.plain);
    let pages = folder.join("pages");
    let all: Vec<_> = (0..PAGES).map(|page| format!("{url}page/{page}\n")).collect();
    fs::write(&pages, all.concat())?;
    Ok(Site { url, pages, authority, folder: folder.to_owned() })
}

impl Site {
    /// The broken links.
    fn broken(&self) -> std::collections::BTreeSet<String> {
        (0..BROKEN).map(|number| format!("{}broken/{number}", self.url)).collect()
    }
}

impl Side {
    fn wall(&self) -> f64 {
        self.median(|crawl| crawl.wall_seconds)
    }

    fn cpu(&self) -> f64 {
        self.median(|crawl| crawl.cpu_seconds)
    }

    fn memory(&self) -> f64 {
        self.median(|crawl| crawl.megabytes)
    }

    fn median(&self, value: impl Fn(&Crawled) -> f64) -> f64 {
        median(&self.crawls.iter().map(value).collect::<Vec<_>>())
    }
}

fn report(sides: &[Side]) -> Result<(), Box<dyn Error>> {
    let [ours, peers @ ..] = sides else { return Err("our own crawl does not run".into()) };
    line(&format!(
        "crawl of {PAGES} pages with {LINKS} links each, {BROKEN} links broken, all found by all; \
         medians, and how many times ours"
    ))?;
    for side in sides {
        line(&format!(
            "{:<12} {:>6.2} s {:>5.1}x   {:>6.2} s CPU {:>5.1}x   {:>4.0} MB {:>5.1}x   {}",
            side.crawler.name(),
            side.wall(),
            side.wall() / ours.wall(),
            side.cpu(),
            side.cpu() / ours.cpu(),
            side.memory(),
            side.memory() / ours.memory(),
            side.version,
        ))?;
    }
    for peer in peers {
        let name = peer.crawler.name();
        if peer.crawler == Crawler::Lychee {
            goal("less processor time than lychee", peer.cpu() / ours.cpu(), 5.0)?;
        }
        goal(&format!("faster than {name}"), peer.wall() / ours.wall(), 1.0)?;
    }
    Ok(())
}
