//! The sites of the demo, and what happens to them.

use jiff::{SignedDuration, Timestamp};
use vedette_domain::checks::evidence::Timing;
use vedette_domain::sites::tag::{Tag, Tags};

/// A site of the demo and of the pictures in the documentation.
#[derive(Debug)]
pub struct DemoSite {
    /// Its display name.
    pub name: &'static str,
    /// Its URL. Names under `example` belong to nobody (RFC 2606).
    pub url: &'static str,
    /// Its usual response time in milliseconds.
    pub usual: f64,
    /// How many days its certificate is still valid.
    pub certificate: i64,
    tags: &'static str,
}

const fn site(
    name: &'static str,
    url: &'static str,
    (usual, certificate): (f64, i64),
    tags: &'static str,
) -> DemoSite {
    DemoSite { name, url, usual, certificate, tags }
}

/// The sites.
pub const SITES: [DemoSite; 12] = [
    site("Shop", "https://shop.example/", (182.0, 83), "team:shop tier:1"),
    site("Checkout", "https://pay.shop.example/", (240.0, 61), "team:payments tier:1"),
    site("Search", "https://search.shop.example/", (95.0, 61), "team:shop tier:2"),
    site("Blog", "https://blog.shop.example/", (310.0, 61), "team:web tier:3"),
    site("Docs", "https://docs.shop.example/", (120.0, 61), "team:web tier:2"),
    site("Orders API", "https://api.shop.example/health", (64.0, 61), "team:payments tier:1"),
    site("Newsletter", "https://news.shop.example/", (205.0, 61), "team:web tier:3"),
    site("Careers", "https://careers.shop.example/", (150.0, 120), "team:web tier:3"),
    site("Partner portal", "https://partners.shop.example/", (318.0, 6), "team:shop tier:2"),
    site(
        "Help center",
        "https://help.shop.example/customers/eu-central",
        (402.0, 61),
        "team:web tier:2",
    ),
    site("Image CDN", "https://img.shop.example/", (38.0, 44), "team:shop tier:1"),
    site("Old CRM", "https://crm-old.shop.example/", (150.0, 61), "legacy"),
];

/// The places of some sites in [`SITES`].
pub(super) mod place {
    pub(crate) const SHOP: usize = 0;
    pub(crate) const CHECKOUT: usize = 1;
    pub(crate) const SEARCH: usize = 2;
    pub(crate) const BLOG: usize = 3;
    pub(crate) const DOCS: usize = 4;
    pub(crate) const API: usize = 5;
    pub(crate) const HELP: usize = 9;
    pub(crate) const CRM: usize = 11;
}

/// When sites did not work: from and until this many minutes before the start. What lasts until 0 goes on.
pub(super) const OUTAGES: [(usize, i64, i64); 8] = [
    (place::BLOG, 38_420, 37_810),
    (place::CHECKOUT, 24_312, 24_251),
    (place::SHOP, 12_664, 12_487),
    (place::API, 5_768, 5_746),
    (place::API, 5_405, 5_352),
    (place::HELP, 3_305, 3_262),
    (place::CHECKOUT, 27, 0),
    (place::SEARCH, 9, 0),
];

/// How many checks of the search have to fail before an issue opens.
pub(super) const TOLERATED: u32 = 30;
/// One of so many requests to the search succeeds. So it goes on failing, and no issue opens.
pub(super) const SUCCEEDS: usize = 12;

impl DemoSite {
    /// Its host.
    pub(super) fn host(&self) -> &'static str {
        self.url.split('/').nth(2).unwrap_or_default()
    }

    /// Its tags.
    pub fn tags(&self) -> Tags {
        self.tags.split(' ').filter_map(|tag| Tag::parse(tag).ok()).collect()
    }

    /// Its response time at an instant: longer by day than by night, and a little different each time.
    pub(super) fn response_time(&self, at: Timestamp) -> SignedDuration {
        let second = at.as_second();
        let of_day = (second.rem_euclid(86_400) as f64 / 86_400.0 * std::f64::consts::TAU).cos();
        let mixed = (second as u64 ^ self.usual.to_bits()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let noise = (mixed >> 40) as f64 / f64::from(1 << 24);
        let time = self.usual * (1.0 - 0.25 * of_day + 0.3 * noise * noise);
        // Blocks keep hundredths of a millisecond.
        SignedDuration::from_micros(10 * (time * 100.0) as i64)
    }

    /// The phases of a response time. The longer it is, the larger is the part of the server.
    pub(super) fn timing(&self, at: Timestamp) -> Timing {
        let all = (self.response_time(at).as_micros() / 10) as u32;
        let network = (self.usual * 100.0) as u32;
        let [lookup, connect, tls] = [20, 8, 5].map(|part| network / part + all % 97);
        let first_byte = all.saturating_sub(lookup + connect + tls);
        let [lookup, connect, tls, first_byte] = [lookup, connect, tls, first_byte].map(Some);
        Timing { lookup, connect, tls, first_byte }
    }
}

/// Whether a site did not work so long before the start.
pub(super) fn was_down(place: usize, before: SignedDuration) -> bool {
    let minutes = SignedDuration::from_mins;
    OUTAGES.iter().any(|(of, from, until)| {
        *of == place && minutes(*until) <= before && before < minutes(*from)
    })
}
