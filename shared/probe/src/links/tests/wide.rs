//! A site of 2,000 pages with 30 links each, 200 of which are broken.

use hyper::body::Bytes;

use super::*;

const PAGES: u64 = 2_000;
const BROKEN: u64 = 200;

/// The page with this number: 29 links to others by a fixed rule, and one that may be broken.
fn page(number: u64) -> String {
    let mut random = number + 1;
    let mut links = anchors((0..29).map(|_| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("/page/{}", (random >> 33) % PAGES)
    }));
    links += &anchors([format!("/gone/{}", number % BROKEN)]);
    links + &"<p>Some text between the links, as pages have it.</p>".repeat(80)
}

#[expect(clippy::print_stderr, reason = "the time is to be seen, and is no rule")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wide_site_is_counted_exactly() {
    let pages: Vec<Bytes> = (0..PAGES).map(|number| page(number).into()).collect();
    let site = Site::start(move |asked| {
        let number = asked.target.strip_prefix("/page/").and_then(|number| number.parse().ok());
        match (asked.target.as_str(), number) {
            ("/", _) => Reply::html(pages[0].clone()),
            (_, Some(number)) => Reply::html(pages.get::<usize>(number).cloned().expect("a page")),
            _ => Reply::new(404),
        }
    })
    .await;
    let started = Instant::now();
    let result = crawl(&site.url("/")).await;
    eprintln!("{} pages in {:?}", result.crawled, started.elapsed());
    assert_eq!((result.found, result.crawled), (BROKEN as u32, PAGES as u32 + 1));
    assert_eq!(result.crawl.finish_reason, FinishReason::Completed);
    assert_eq!(site.visits().len() as u64, PAGES + 1 + BROKEN);
}
