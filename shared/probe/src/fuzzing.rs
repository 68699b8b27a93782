//! The parsers of untrusted bytes, for the fuzz targets in `fuzz/` and the test below.
//!
//! Each function takes arbitrary bytes, and asserts what must hold for the result. Not part of the
//! crate's interface.

use vedette_domain::checks::check::lighthouse;

pub use crate::dns::fuzzing::answer;
pub use crate::links::fuzzing::{page, reference, robots, sitemap};
pub use crate::ssl::fuzzing::certificate;

/// Parses a Lighthouse report, also inside a response of PageSpeed Insights.
pub fn report(data: &[u8]) {
    let Ok(value) = serde_json::from_slice(data) else {
        return;
    };
    for metrics in [lighthouse::report(&value), lighthouse::pagespeed(&value)] {
        match metrics {
            Ok(metrics) => assert!(serde_json::to_string(&metrics).is_ok()),
            Err(error) => assert_eq!(error.code, lighthouse::AUDIT_FAILED),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    type Target = (&'static str, fn(&[u8]));

    #[test]
    fn the_seeds_are_taken() {
        let targets: [Target; 7] = [
            ("answer", super::answer),
            ("certificate", super::certificate),
            ("page", super::page),
            ("reference", super::reference),
            ("report", super::report),
            ("robots", super::robots),
            ("sitemap", super::sitemap),
        ];
        let seeds = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds"));
        for (name, target) in targets {
            let files = std::fs::read_dir(seeds.join(name)).expect("a folder of seeds");
            let mut count = 0;
            for file in files {
                target(&std::fs::read(file.expect("a seed").path()).expect("a seed"));
                count += 1;
            }
            assert!(count > 1, "{name} has too few seeds");
            for bytes in [&b""[..], b"\0", b"\xff\xff", &[b'{'; 1_000]] {
                target(bytes);
            }
        }
    }
}
