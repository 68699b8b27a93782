use super::*;

fn frontier() -> Frontier {
    let scope = Scope {
        hosts: vec!["site.example".to_owned()],
        port: ":8080".to_owned(),
        ignore: IgnorePaths::new(["/ignored"]),
        ignore_external: false,
        ignore_redirects: false,
    };
    let mut frontier = Frontier::new(scope, Limits { pages: 10, links: 20, depth: 3 });
    assert_eq!(frontier.start("http://site.example:8080/"), 0);
    frontier
}

fn link(url: &str, kind: Kind) -> PageLink<'_> {
    PageLink { url, kind, valid: true }
}

fn meet(frontier: &mut Frontier, url: &str, kind: Kind, page: LinkId) -> Option<LinkId> {
    frontier.meet(link(url, kind), Source::Link(page))
}

/// All that can be done now, `robots.txt` files being absent, as `P` for pages and `C` for checks.
fn jobs(frontier: &mut Frontier) -> Vec<String> {
    let mut jobs = Vec::new();
    while let Some(job) = frontier.next_job() {
        match job {
            Job::Robots { origin, .. } => frontier.ruled(origin, None),
            Job::LeftOut => {}
            Job::Visit { url, search, .. } => {
                jobs.push(format!("{} {url}", if search { 'P' } else { 'C' }));
            }
        }
    }
    jobs
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
        meet(&mut frontier, url, kind, 0);
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
        let id = meet(&mut frontier, url, Kind::Part, 0).expect("new");
        if visited {
            assert_eq!(jobs(&mut frontier).len(), 2);
            frontier.visited(id, State::Answered(200, false), false);
        }
        assert_eq!(meet(&mut frontier, url, Kind::Page, 0), Some(id));
        assert_eq!(jobs(&mut frontier).pop().expect("a job"), format!("P {url}"));
        frontier.visited(id, State::Answered(404, false), false);
        assert_eq!((frontier.progress.links, frontier.progress.found), (1, 1), "counted once");
        assert_eq!(meet(&mut frontier, url, Kind::Page, 0), Some(id));
        assert_eq!(jobs(&mut frontier), [""; 0]);
    }
}

#[test]
fn nothing_is_asked_of_the_site_before_its_rules_are_known() {
    let mut frontier = frontier();
    meet(&mut frontier, "http://site.example:8080/no", Kind::Page, 0);
    let Some(Job::Robots { origin, url }) = frontier.next_job() else {
        panic!("rules first");
    };
    assert_eq!(url, "http://site.example:8080/");
    assert_eq!(frontier.next_job(), None);
    let robots = Robots::parse(b"User-agent: *\nDisallow: /no\n");
    frontier.ruled(origin, robots);
    assert_eq!(jobs(&mut frontier), ["P http://site.example:8080/"]);
    assert_eq!(frontier.skipped().robots, 1);
}

#[test]
fn links_that_are_left_out_are_told_one_by_one() {
    let mut frontier = frontier();
    for number in 0..3 {
        meet(&mut frontier, &format!("http://site.example:8080/no{number}"), Kind::Page, 0);
    }
    assert!(matches!(frontier.next_job(), Some(Job::Robots { .. })));
    frontier.ruled(0, Robots::parse(b"User-agent: *\nDisallow: /no\n"));
    assert!(matches!(frontier.next_job(), Some(Job::Visit { link: 0, .. })));
    for left_out in 1..=3 {
        assert_eq!(frontier.next_job(), Some(Job::LeftOut));
        assert_eq!(frontier.skipped().robots, left_out);
    }
    assert_eq!(frontier.next_job(), None);
}

#[test]
fn a_place_is_free_again_after_a_visit() {
    let mut frontier = frontier();
    for number in 0..6 {
        meet(&mut frontier, &format!("http://other.example/{number}"), Kind::Page, 0);
    }
    assert_eq!(jobs(&mut frontier).len(), 1 + OTHER_REQUESTS);
    assert_eq!(jobs(&mut frontier).len(), 0);
    frontier.visited(1, State::Answered(200, false), false);
    assert_eq!(jobs(&mut frontier), ["C http://other.example/4"]);
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
