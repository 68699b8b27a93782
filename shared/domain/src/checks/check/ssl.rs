//! The result of an `ssl` check.

mod certificate;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use self::certificate::{
    AlternativeNames, CertificateExtension, CertificateFingerprints, CertificateInfo,
    CertificateKey, CertificateSummary, NameAttribute,
};

/// The result of an `ssl` check: the contents of the certificate on port 443 of a site's host, or on the port that its
/// settings name, and whether a browser would accept it.
///
/// Fields about the certificate are null if none was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SslResult {
    /// The host that the certificate was requested for, as in URLs (lower case, punycode). An IPv6 address has no
    /// brackets.
    pub domain: String,
    /// The address of the connection; null if there was no connection.
    pub ip: Option<String>,
    /// An addition to the specification: the port that was checked; omitted for 443.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u16"))]
    pub port: Option<u16>,
    /// True only if the certificate is within its validity period, matches the host and chains to a trusted root.
    pub is_valid: bool,
    /// What is wrong; null if valid. If there are several problems, it is the first in the order of the values.
    pub failure_type: Option<SslFailure>,
    /// Everything that is wrong, for people; null if valid.
    pub failure_message: Option<String>,
    /// Common name of the certificate's issuer, or its organization if it has no common name.
    pub issuer: Option<String>,
    /// Common name of the certificate; null if it has none. That is not an error, because clients match hosts only
    /// against its alternative names.
    pub issued_to: Option<String>,
    /// The first instant of validity, UTC: `YYYY-MM-DD HH:MM:SS`.
    pub valid_from: Option<String>,
    /// The last instant of validity, UTC: `YYYY-MM-DD HH:MM:SS`.
    pub valid_to: Option<String>,
    /// Whole days until `valid_to`, rounded down: 0 on the last day, negative from the first second after it. 0 if no
    /// certificate was read.
    pub days_left: i64,
    /// An addition to the specification: the certificate of the chain that expires before the server's own and ends its
    /// validity; omitted if there is none. A renewal of the server's certificate alone does not help then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "FirstToExpire"))]
    pub first_to_expire: Option<FirstToExpire>,
    /// The certificate's subject: `CN=example.com, O=Example`; empty if it has none.
    pub subject: Option<String>,
    /// The certificate's serial number in hexadecimal.
    pub serial_number: Option<String>,
    /// SHA-256 of the certificate in hexadecimal.
    pub fingerprint: Option<String>,
    /// Whether the chain leads to a trusted root and the server holds the certificate's key, regardless of the
    /// certificate's dates and names. `is_valid` requires those too.
    pub verified: bool,
    /// Everything read from the certificate; null in lists, and if no certificate was read.
    pub info: Option<CertificateInfo>,
}

impl SslResult {
    /// The last instant of the certificate's validity.
    pub fn ends_at(&self) -> Option<Timestamp> {
        certificate_instant(self.valid_to.as_deref()?)
    }
}

/// A certificate of a chain after whose end no path leads to a trusted root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirstToExpire {
    /// The certificate's subject: `CN=R12, O=Example`.
    pub subject: String,
    /// The last instant of its validity, UTC: `YYYY-MM-DD HH:MM:SS`.
    pub valid_to: String,
}

impl FirstToExpire {
    /// The last instant of its validity.
    pub fn ends_at(&self) -> Option<Timestamp> {
        certificate_instant(&self.valid_to)
    }
}

/// Why a certificate is not valid, most severe first. If there are several reasons, the first counts.
///
/// The order puts the most useful reason first. An expired certificate has to be replaced whatever else is wrong with
/// it. A certificate for another host is usually the default certificate of a server that does not know the site, so it
/// does not matter that it is self-signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SslFailure {
    /// The current time is after the certificate's validity period, or before it.
    Expired,
    /// The certificate is for other hosts.
    HostnameMismatch,
    /// The certificate does not lead to a trusted root, an intermediate certificate has expired, or its key has a type
    /// or size that is not accepted.
    UntrustedChain,
    /// The server was reached, but did not present a readable certificate of its own.
    NoCertificate,
    /// The server was not reached, or gave no answer.
    ConnectionFailed,
}

impl SslFailure {
    /// All failures, most severe first.
    pub const ALL: [Self; 5] = [
        Self::Expired,
        Self::HostnameMismatch,
        Self::UntrustedChain,
        Self::NoCertificate,
        Self::ConnectionFailed,
    ];

    /// The value in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::HostnameMismatch => "hostname_mismatch",
            Self::UntrustedChain => "untrusted_chain",
            Self::NoCertificate => "no_certificate",
            Self::ConnectionFailed => "connection_failed",
        }
    }

    /// A phrase for people.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Expired => "the certificate is not valid today",
            Self::HostnameMismatch => "the certificate is for another host",
            Self::UntrustedChain => "the certificate is not trusted",
            Self::NoCertificate => "the server presents no certificate",
            Self::ConnectionFailed => "no connection",
        }
    }
}

impl std::fmt::Display for SslFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An instant of a certificate, given in seconds since the Unix epoch: `YYYY-MM-DD HH:MM:SS`, UTC.
///
/// This does not use [`Timestamp`], which ends a day before 9999-12-31 23:59:59, the time with which certificates say
/// that they never expire (RFC 5280, section 4.1.2.5). Years that a certificate cannot hold, before 0 and after 9999,
/// become the nearest possible year.
pub fn certificate_time(seconds: i64) -> String {
    let (first, last) = (DateTime::constant(0, 1, 1, 0, 0, 0, 0), DateTime::MAX);
    let epoch = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
    let time = epoch.saturating_add(SignedDuration::from_secs(seconds)).clamp(first, last);
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Reads what [`certificate_time`] writes; `None` if the text is not an instant.
pub fn certificate_instant(text: &str) -> Option<Timestamp> {
    let time: DateTime = text.parse().ok()?;
    TimeZone::UTC.to_timestamp(time).ok()
}

/// Whole days from `now` until `end`, in seconds since the Unix epoch, rounded down. The number is negative exactly if
/// a certificate that is valid until `end` has expired: the second of `end` is its last.
pub fn days_left(end: i64, now: Timestamp) -> i64 {
    end.saturating_sub(now.as_second()).div_euclid(86_400)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn instants_are_written_in_utc_without_an_offset() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00"),
            (-1, "1969-12-31 23:59:59"),
            (1_795_169_100, "2026-11-20 10:05:00"),
            (253_402_300_799, "9999-12-31 23:59:59"), // "no well-defined expiration date"
            (253_402_300_800, "9999-12-31 23:59:59"),
            (-62_167_219_200, "0000-01-01 00:00:00"),
            (i64::MIN, "0000-01-01 00:00:00"),
            (i64::MAX, "9999-12-31 23:59:59"),
        ] {
            assert_eq!(certificate_time(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn days_are_rounded_down() {
        const DAY: i64 = 86_400;
        let now: Timestamp = "2026-11-20T10:05:00Z".parse().expect("a timestamp");
        let in_seconds = |seconds| days_left(now.as_second() + seconds, now);
        for (seconds, days) in [
            (14 * DAY, 14),
            (14 * DAY - 1, 13),
            (DAY, 1),
            (DAY - 1, 0),
            (DAY / 2, 0),
            (0, 0), // the last second
            (-1, -1),
            (-DAY, -1),
            (-DAY - 1, -2),
        ] {
            assert_eq!(in_seconds(seconds), days, "{seconds} s");
        }
        // A certificate is valid until the end of its last second.
        let within: Timestamp = "2026-11-20T10:05:00.999Z".parse().expect("a timestamp");
        assert_eq!(days_left(now.as_second(), within), 0);
        assert_eq!(days_left(i64::MIN, now), -106_751_991_167_301);
        assert_eq!(days_left(i64::MAX, Timestamp::MIN), 106_751_991_167_300);
    }

    #[test]
    fn failures_are_what_clients_know() {
        let known = [
            "expired",
            "hostname_mismatch",
            "untrusted_chain",
            "no_certificate",
            "connection_failed",
        ];
        for (failure, value) in SslFailure::ALL.into_iter().zip(known) {
            assert_eq!(serde_json::to_value(failure).expect("json"), json!(value));
            assert_eq!(failure.to_string(), value);
        }
        assert!(SslFailure::ALL.is_sorted(), "the gravest is the least");
    }

    #[test]
    fn a_result_without_a_certificate_has_every_field() {
        let result = SslResult {
            domain: "example.com".to_owned(),
            ip: None,
            port: None,
            is_valid: false,
            failure_type: Some(SslFailure::ConnectionFailed),
            failure_message: Some("connection refused".to_owned()),
            issuer: None,
            issued_to: None,
            valid_from: None,
            valid_to: None,
            days_left: 0,
            first_to_expire: None,
            subject: None,
            serial_number: None,
            fingerprint: None,
            verified: false,
            info: None,
        };
        let expected = json!({
            "domain": "example.com",
            "ip": null,
            "is_valid": false,
            "failure_type": "connection_failed",
            "failure_message": "connection refused",
            "issuer": null,
            "issued_to": null,
            "valid_from": null,
            "valid_to": null,
            "days_left": 0,
            "subject": null,
            "serial_number": null,
            "fingerprint": null,
            "verified": false,
            "info": null,
        });
        assert_eq!(serde_json::to_value(&result).expect("json"), expected);
        assert_eq!(serde_json::from_value::<SslResult>(expected).expect("readable"), result);
    }

    proptest! {
        /// The days that clients see never contradict the certificate's end.
        #[test]
        fn days_left_are_negative_once_expired(
            end in -62_167_219_200_i64..=253_402_300_799,
            now in 0..=Timestamp::MAX.as_second(),
            nanoseconds in 0..1_000_000_000_i32,
        ) {
            let now = Timestamp::new(now, nanoseconds).expect("in range");
            let days = days_left(end, now);
            prop_assert_eq!(days < 0, now.as_second() > end);
            prop_assert!(days * 86_400 <= end - now.as_second());
            prop_assert!(end - now.as_second() < (days + 1) * 86_400);
        }

        /// They sort in the order of the instants.
        #[test]
        fn instants_sort_as_texts(first: i64, second: i64) {
            let written = [first, second].map(certificate_time);
            prop_assert_eq!(written[0].len(), "0000-00-00 00:00:00".len());
            prop_assert!((first <= second) == (written[0] <= written[1]) || written[0] == written[1]);
        }
    }
}
