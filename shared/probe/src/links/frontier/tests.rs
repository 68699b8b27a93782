//! The order of jobs, and what happens to links, without a network.

use std::sync::LazyLock;

use super::*;
use crate::links::visit::RobotsOutcome;

const PAUSE: Duration = Duration::from_millis(150);

static START_LINK: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Milliseconds after the start.
fn at(millis: u64) -> Instant {
    *START_LINK + Duration::from_millis(millis)
}

/// A deadline that no test comes near.
fn deadline() -> Instant {
    at(240_000)
}

fn frontier() -> Frontier {
    let scope = Scope {
        hosts: vec!["site.example".to_owned()],
        port: ":8080".to_owned(),
        ignore: IgnorePaths::new(["/ignored"]),
        ignore_external: false,
        ignore_redirects: false,
    };
    let limits = CrawlBounds { pages: 10, links: 60, depth: 3, links_per_domain: 30 };
    let mut frontier = Frontier::new(scope, limits, PAUSE);
    assert_eq!(frontier.start("http://site.example:8080/"), 0);
    frontier
}

fn link(url: &str, kind: Kind) -> PageLink<'_> {
    PageLink { url, kind, valid: true }
}

fn discover(frontier: &mut Frontier, url: &str, kind: Kind, page: LinkId) -> Option<LinkId> {
    frontier.discover(link(url, kind), Source::Link(page))
}

/// All jobs that can be done now, if there are no `robots.txt` files: `P` for pages, `C` for checks, and `G` for checks
/// by GET.
fn jobs_at(frontier: &mut Frontier, now: Instant) -> Vec<String> {
    let mut jobs = Vec::new();
    while let Some(job) = frontier.next_job(now) {
        match job {
            Job::Robots { origin, .. } => {
                frontier.set_rules(origin, RobotsOutcome::Known(None), now, deadline());
            }
            Job::Skipped => {}
            Job::Visit { url, by, .. } => {
                let letter = match by {
                    VisitKind::Search => 'P',
                    VisitKind::Head => 'C',
                    VisitKind::Get => 'G',
                };
                jobs.push(format!("{letter} {url}"));
            }
        }
    }
    jobs
}

fn jobs(frontier: &mut Frontier) -> Vec<String> {
    jobs_at(frontier, at(0))
}

fn rules(text: &str) -> RobotsOutcome {
    RobotsOutcome::Known(Robots::parse(text.as_bytes()))
}

#[test]
fn files_are_in_order() {
    assert!(FILES.is_sorted());
    for (path, file) in [
        ("/", false),
        ("/a", false),
        ("/a.html", false),
        ("/a.php?file=x.pdf", false),
        ("/a.PDF", true),
        ("/a.b.zip?x", true),
        ("/v1.0/", false),
        ("/a.pdf/b", false),
    ] {
        assert_eq!(is_file(&format!("https://example.com{path}")), file, "{path}");
    }
}

#[test]
fn links_are_visited_once_in_the_order_met_and_pages_of_the_site_searched() {
    let mut frontier = frontier();
    for (url, kind) in [
        ("http://site.example:8080/b", Kind::Page),
        ("http://site.example:8080/a", Kind::Page),
        ("http://site.example:8080/b", Kind::Page),
        ("http://site.example:8080/x.pdf", Kind::Page),
        ("http://site.example:8080/x.png", Kind::Part),
        ("http://site.example:8080/ignored/x", Kind::Page),
        ("http://site.example:9090/other-port", Kind::Page),
        ("https://site.example/default-port", Kind::Page),
        ("http://other.example/", Kind::Page),
    ] {
        discover(&mut frontier, url, kind, 0);
    }
    let mut jobs = jobs(&mut frontier);
    assert_eq!(frontier.progress.queued, 0);
    let (site, mut others): (Vec<_>, Vec<_>) =
        jobs.drain(..).partition(|job| job.contains("site.example:8080"));
    assert_eq!(
        site,
        [
            "P http://site.example:8080/",
            "P http://site.example:8080/b",
            "P http://site.example:8080/a",
            "C http://site.example:8080/x.pdf",
            "C http://site.example:8080/x.png",
        ]
    );
    others.sort();
    assert_eq!(
        others,
        [
            "C http://other.example/",
            "C http://site.example:9090/other-port",
            "P https://site.example/default-port",
        ]
    );
}

#[test]
fn a_part_that_turns_out_a_page_is_searched_after_all() {
    for visited in [false, true] {
        let mut frontier = frontier();
        let url = "http://site.example:8080/a";
        let id = discover(&mut frontier, url, Kind::Part, 0).expect("new");
        if visited {
            assert_eq!(jobs(&mut frontier).len(), 2);
            frontier.record_visit(id, State::Answered(200, false), false);
        }
        assert_eq!(discover(&mut frontier, url, Kind::Page, 0), Some(id));
        assert_eq!(jobs(&mut frontier).pop().expect("a job"), format!("P {url}"));
        frontier.record_visit(id, State::Answered(404, false), false);
        assert_eq!((frontier.progress.links, frontier.progress.found), (1, 1), "counted once");
        assert_eq!(discover(&mut frontier, url, Kind::Page, 0), Some(id));
        assert_eq!(jobs(&mut frontier), [""; 0]);
    }
}

#[test]
fn nothing_is_asked_of_the_site_before_its_rules_are_known() {
    let mut frontier = frontier();
    discover(&mut frontier, "http://site.example:8080/no", Kind::Page, 0);
    let Some(Job::Robots { origin, url }) = frontier.next_job(at(0)) else {
        panic!("rules first");
    };
    assert_eq!(url, "http://site.example:8080/");
    assert_eq!(frontier.next_job(at(0)), None);
    frontier.set_rules(origin, rules("User-agent: *\nDisallow: /no\n"), at(0), deadline());
    assert_eq!(jobs(&mut frontier), ["P http://site.example:8080/"]);
    assert_eq!(frontier.skipped().robots, 1);
}

#[test]
fn links_that_are_left_out_are_reported_one_by_one() {
    let mut frontier = frontier();
    for number in 0..3 {
        discover(&mut frontier, &format!("http://site.example:8080/no{number}"), Kind::Page, 0);
    }
    assert!(matches!(frontier.next_job(at(0)), Some(Job::Robots { .. })));
    frontier.set_rules(0, rules("User-agent: *\nDisallow: /no\n"), at(0), deadline());
    assert!(matches!(frontier.next_job(at(0)), Some(Job::Visit { link: 0, .. })));
    for left_out in 1..=3 {
        assert_eq!(frontier.next_job(at(0)), Some(Job::Skipped));
        assert_eq!(frontier.skipped().robots, left_out);
    }
    assert_eq!(frontier.next_job(at(0)), None);
}

/// Finds this many links to another host on the site's first page.
fn meet_elsewhere(frontier: &mut Frontier, host: &str, numbers: std::ops::Range<u32>) {
    for number in numbers {
        discover(frontier, &format!("http://{host}/{number}"), Kind::Page, 0);
    }
}

fn elsewhere(letter: char, number: u32) -> String {
    format!("{letter} http://other.example/{number}")
}

#[test]
fn a_host_elsewhere_is_asked_two_things_at_a_time_with_pauses() {
    let mut frontier = frontier();
    jobs(&mut frontier);
    meet_elsewhere(&mut frontier, "other.example", 0..6);
    assert_eq!(jobs_at(&mut frontier, at(0)), [elsewhere('C', 0)]);
    assert_eq!(frontier.due(at(0)), Some(at(150)));
    assert_eq!(jobs_at(&mut frontier, at(149)), [""; 0]);
    assert_eq!(jobs_at(&mut frontier, at(150)), [elsewhere('C', 1)]);
    assert_eq!(jobs_at(&mut frontier, at(1_000)), [""; 0], "no third");
    assert_eq!(frontier.due(at(1_000)), None, "it waits for an answer, not for a time");
    frontier.record_visit(1, State::Answered(200, false), false);
    assert_eq!(jobs_at(&mut frontier, at(1_000)), [elsewhere('C', 2)]);
    frontier.retry_by_get(2);
    assert_eq!(jobs_at(&mut frontier, at(1_149)), [""; 0], "also for the same link by GET");
    assert_eq!(jobs_at(&mut frontier, at(1_150)), [elsewhere('G', 1)]);
}

#[test]
fn ports_and_dots_make_no_other_host() {
    let mut frontier = frontier();
    jobs(&mut frontier);
    for host in ["other.example", "other.example:81", "other.example.", "other.example.:82"] {
        meet_elsewhere(&mut frontier, host, 0..2);
    }
    for (time, count) in [(0, 1), (150, 1), (300, 0), (10_000, 0)] {
        assert_eq!(jobs_at(&mut frontier, at(time)).len(), count, "{time}");
    }
}

#[test]
fn hosts_elsewhere_together_leave_room_for_the_site() {
    let mut frontier = frontier();
    jobs(&mut frontier);
    for number in 0..40 {
        meet_elsewhere(&mut frontier, &format!("{number}.example"), 0..1);
    }
    assert_eq!(jobs(&mut frontier).len(), MAX_EXTERNAL_REQUESTS);
    discover(&mut frontier, "http://site.example:8080/a", Kind::Page, 0);
    assert_eq!(jobs(&mut frontier), ["P http://site.example:8080/a"]);
    frontier.record_visit(1, State::Answered(200, false), false);
    assert_eq!(jobs(&mut frontier).len(), 1);
}

#[test]
fn links_to_a_domain_elsewhere_are_limited_under_all_its_names() {
    let mut frontier = frontier();
    for number in 0..20 {
        for host in [format!("a{number}.victim.co.uk"), "victim.co.uk:81".to_owned()] {
            meet_elsewhere(&mut frontier, &host, number..number + 1);
        }
    }
    meet_elsewhere(&mut frontier, "127.0.0.1", 0..1);
    meet_elsewhere(&mut frontier, "127.0.0.1", 0..1);
    discover(&mut frontier, "http://site.example:9090/own", Kind::Page, 0);
    let skipped = frontier.skipped();
    assert_eq!((skipped.over_limit, skipped.unchecked), (10, 1 + 30 + 1 + 1));
    let before = frontier.links.len();
    meet_elsewhere(&mut frontier, "victim.co.uk:81", 19..20);
    assert_eq!((frontier.links.len(), frontier.skipped().over_limit), (before, 10), "once each");
    assert_eq!(frontier.progress.found, 0);
}

#[test]
fn rules_elsewhere_are_asked_for_where_there_are_many_links() {
    let mut frontier = frontier();
    jobs(&mut frontier);
    meet_elsewhere(&mut frontier, "other.example", 0..10);
    assert_eq!(jobs_at(&mut frontier, at(0)), [elsewhere('C', 0)]);
    frontier.record_visit(1, State::Answered(404, false), false);
    assert_eq!(jobs_at(&mut frontier, at(150)), [elsewhere('C', 1)]);
    assert_eq!((frontier.progress.links, frontier.progress.found), (1, 1));
    meet_elsewhere(&mut frontier, "other.example:81", 10..12);
    let Some(Job::Robots { origin, url }) = frontier.next_job(at(300)) else {
        panic!("rules before the next visit");
    };
    assert_eq!(url, "http://other.example/");
    frontier.set_rules(origin, rules("User-agent: *\nDisallow: /\n"), at(300), deadline());
    frontier.record_visit(2, State::Answered(404, false), false);
    assert_eq!(frontier.skipped().robots, 2, "also what was visited before, or was under way");
    assert_eq!((frontier.progress.links, frontier.progress.found), (0, 0));
    let left = [450, 600].map(|time| {
        std::iter::from_fn(|| frontier.next_job(at(time)))
            .filter(|job| *job != Job::Skipped)
            .count()
    });
    assert_eq!((left, frontier.skipped().robots), ([1, 0], 10), "the rules of the other port");
}

#[test]
fn rules_that_are_withheld_allow_all_of_the_site_and_nothing_elsewhere() {
    for (pause, unchecked, rate_limited) in [(None, 11, 0), (Some(Duration::from_secs(1)), 0, 11)] {
        let mut frontier = frontier();
        meet_elsewhere(&mut frontier, "other.example", 0..11);
        assert!(matches!(frontier.next_job(at(0)), Some(Job::Robots { origin: 0, .. })));
        frontier.set_rules(0, RobotsOutcome::Unavailable(None), at(0), deadline());
        assert!(matches!(frontier.next_job(at(0)), Some(Job::Visit { link: 0, .. })));
        frontier.record_visit(0, State::Answered(200, false), true);
        let Some(Job::Robots { origin, .. }) = frontier.next_job(at(0)) else {
            panic!("rules first");
        };
        frontier.set_rules(origin, RobotsOutcome::Unavailable(pause), at(0), deadline());
        assert_eq!(jobs_at(&mut frontier, at(10_000)), [""; 0]);
        assert_eq!(frontier.progress.found, 0);
        let expected = SkippedLinks { unchecked, rate_limited, ..SkippedLinks::default() };
        assert_eq!(frontier.skipped(), expected, "no rule disallows them");
    }
}

#[test]
fn rules_elsewhere_are_kept_within_bounds() {
    let mut frontier = frontier();
    jobs(&mut frontier);
    let robots = |size| {
        let mut robots = Robots::parse(b"").expect("readable");
        robots.size = size;
        RobotsOutcome::Known(Some(robots))
    };
    for (host, size, visits) in
        [("one.example", RULES_LIMIT, 1), ("two.example", 1, 0), ("three.example", 0, 1)]
    {
        meet_elsewhere(&mut frontier, host, 0..11);
        let Some(Job::Robots { origin, .. }) = frontier.next_job(at(0)) else {
            panic!("rules first");
        };
        frontier.set_rules(origin, robots(size), at(0), deadline());
        assert_eq!(jobs_at(&mut frontier, at(150)).len(), visits, "{host}");
    }
}

#[test]
fn an_origin_elsewhere_that_gives_no_answer_is_given_up() {
    for (first, found, unchecked) in [(0, 9, 0), (200, 3, 5)] {
        let mut frontier = frontier();
        jobs(&mut frontier);
        frontier.record_visit(0, State::Answered(200, false), false);
        meet_elsewhere(&mut frontier, "other.example", 0..9);
        let visits = if first == 0 { 3 } else { 4 };
        for link in 1..=visits {
            assert_eq!(jobs_at(&mut frontier, at(1_000 * u64::from(link))).len(), 1);
            let status = if link == 1 { first } else { 0 };
            frontier.record_visit(link, State::Answered(status, false), false);
        }
        assert_eq!(jobs_at(&mut frontier, at(10_000)), [""; 0]);
        assert_eq!(frontier.progress.found, found, "and is broken if it never gave one");
        assert_eq!(frontier.skipped().unchecked, unchecked);
    }
}

#[test]
fn the_site_is_asked_to_the_end() {
    let mut frontier = frontier();
    jobs(&mut frontier);
    for number in 0..4 {
        let url = format!("http://site.example:8080/{number}");
        let link = discover(&mut frontier, &url, Kind::Page, 0).expect("new");
        assert_eq!(jobs(&mut frontier).len(), 1);
        frontier.record_visit(link, State::Answered(0, false), false);
    }
}

#[test]
fn links_that_had_to_wait_are_requested_later() {
    let mut frontier = frontier();
    jobs(&mut frontier);
    meet_elsewhere(&mut frontier, "other.example", 0..1);
    for second in 0..9 {
        assert_eq!(jobs_at(&mut frontier, at(1_000 * second)), [elsewhere('C', 0)]);
        frontier.throttle(1, at(1_000 * second));
        assert_eq!(jobs_at(&mut frontier, at(1_000 * second + 999)), [""; 0]);
    }
    meet_elsewhere(&mut frontier, "other.example", 1..11);
    for second in 9..12 {
        let Some(Job::Robots { origin, .. }) = frontier.next_job(at(1_000 * second)) else {
            panic!("rules first");
        };
        frontier.set_rules(origin, RobotsOutcome::Throttled, at(1_000 * second), deadline());
        assert_eq!(frontier.next_job(at(1_000 * second + 999)), None);
    }
    assert_eq!((frontier.skipped().unchecked, frontier.progress.found), (12, 0));
}

/// Postpones a visit to this link that is in progress.
fn postpone(frontier: &mut Frontier, link: LinkId, seconds: u64, now: Instant) {
    frontier.postpone(link, 429, Duration::from_secs(seconds), now, deadline());
}

#[test]
fn a_host_rests_as_long_as_it_asks_for() {
    for host in ["site.example:8080", "other.example"] {
        let mut frontier = frontier();
        jobs(&mut frontier);
        meet_elsewhere(&mut frontier, host, 0..3);
        while frontier.next_job(at(0)).is_some() {}
        while frontier.next_job(at(150)).is_some() {}
        postpone(&mut frontier, 2, 7, at(1_000));
        postpone(&mut frontier, 1, 5, at(1_000));
        assert_eq!(jobs_at(&mut frontier, at(7_999)), [""; 0], "{host}");
        assert_eq!(frontier.due(at(7_999)), Some(at(8_000)));
        let again = jobs_at(&mut frontier, at(8_000));
        assert!(again[0].ends_with(&format!("http://{host}/0")), "{again:?}");
        assert_eq!(frontier.skipped().rate_limited, 0);
    }
}

#[test]
fn a_link_is_put_off_a_few_times() {
    for (host, counted) in [("site.example:8080", (1, 1, 0)), ("other.example", (0, 0, 1))] {
        let mut frontier = frontier();
        jobs(&mut frontier);
        meet_elsewhere(&mut frontier, host, 0..2);
        let mut time = 0;
        for _ in 0..=MAX_RETRIES {
            time += 1_000;
            while frontier.next_job(at(time)).is_some() {}
            postpone(&mut frontier, 1, 0, at(time));
        }
        let Progress { links, found, .. } = frontier.progress;
        assert_eq!((links, found, frontier.skipped().rate_limited), counted, "{host}");
    }
}

#[test]
fn a_host_whose_retry_after_exceeds_the_deadline_is_left_alone() {
    for (seconds, left_out) in [(30, 0), (31, 3)] {
        let mut frontier = frontier();
        jobs(&mut frontier);
        meet_elsewhere(&mut frontier, "other.example", 0..3);
        while frontier.next_job(at(0)).is_some() {}
        postpone(&mut frontier, 1, seconds, at(0));
        assert_eq!(jobs_at(&mut frontier, at(1_000)), [""; 0]);
        assert_eq!(frontier.skipped().rate_limited, left_out);
        assert_eq!(frontier.progress.found, 0);
    }
}

#[test]
fn a_site_that_asks_for_more_rest_than_there_is_time_for_is_asked_slowly() {
    let mut frontier = frontier();
    jobs(&mut frontier);
    meet_elsewhere(&mut frontier, "site.example:8080", 0..6);
    assert_eq!(jobs(&mut frontier).len(), 6);
    postpone(&mut frontier, 1, 31, at(0));
    postpone(&mut frontier, 2, 31, at(0));
    assert_eq!((frontier.skipped().rate_limited, frontier.progress.found), (2, 0));
    for link in 3..=6 {
        frontier.record_visit(link, State::Answered(429 - link as u16, false), false);
    }
    assert_eq!(frontier.progress.found, 4, "other answers count");
    postpone(&mut frontier, 0, 31, at(0));
    assert_eq!(frontier.progress.found, 5, "and that to the site's URL");
    meet_elsewhere(&mut frontier, "site.example:8080", 6..9);
    assert_eq!(jobs_at(&mut frontier, at(999)), [""; 0]);
    for (time, link) in [(1_000, 7), (2_000, 8), (3_000, 9)] {
        assert_eq!(jobs_at(&mut frontier, at(time)).len(), 1, "{time}");
        assert_eq!(jobs_at(&mut frontier, at(time + 5_000)), [""; 0], "one at a time");
        frontier.record_visit(link, State::Answered(200, false), false);
        assert_eq!(jobs_at(&mut frontier, at(time + 999)), [""; 0]);
    }
}

#[test]
fn a_site_that_had_all_the_rest_there_is_is_asked_slowly() {
    let mut frontier = frontier();
    jobs(&mut frontier);
    meet_elsewhere(&mut frontier, "site.example:8080", 0..1);
    for time in [0, 30_000] {
        assert_eq!(jobs_at(&mut frontier, at(time)), ["P http://site.example:8080/0"]);
        postpone(&mut frontier, 1, 30, at(time));
    }
    assert_eq!(jobs_at(&mut frontier, at(60_000)).len(), 1);
    postpone(&mut frontier, 1, 1, at(60_000));
    assert_eq!((frontier.skipped().rate_limited, frontier.progress.found), (1, 0));
}

#[test]
fn www_is_the_same_name() {
    for (host, url, own) in [
        ("site.example", "http://www.site.example/", true),
        ("www.site.example", "http://site.example/", true),
        ("site.example", "http://shop.site.example/", false),
        ("site.example", "http://www.other.example/", false),
        ("www.example", "http://www.www.example/", false),
    ] {
        let mut scope = Scope {
            hosts: vec![host.to_owned()],
            port: String::new(),
            ignore: IgnorePaths::new([]),
            ignore_external: true,
            ignore_redirects: false,
        };
        scope.adopt(url);
        assert_eq!(scope.is_own(url), own, "{host} {url}");
        assert_eq!(scope.hosts.len(), 1 + usize::from(own));
    }
}
