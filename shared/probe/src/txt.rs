//! Looks up TXT records with the machine's name servers.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::BoxFuture;
use hickory_resolver::config::{ResolverConfig, ResolverOpts};
use tokio::time::timeout;

use crate::ssrf_guard::SsrfGuardError;
use crate::ssrf_guard::resolver::{LookupError, Resolver};

/// How long a lookup may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest text that is returned, in bytes, and how many there are at most, because the target controls both.
const TEXT_MAX: usize = 255;
/// See [`TEXT_MAX`].
const TEXTS_MAX: usize = 100;

/// Looks up TXT records. Nothing is cached here, so a record that was withdrawn is gone as soon as the name servers say
/// so.
pub struct TxtResolver {
    resolver: OnceLock<Result<Resolver, SsrfGuardError>>,
}

impl TxtResolver {
    /// A resolver according to `/etc/resolv.conf`, which is read with the first lookup.
    pub const fn of_the_system() -> Self {
        Self { resolver: OnceLock::new() }
    }

    /// A resolver that asks the given name servers, for tests and unusual networks.
    pub fn new(config: ResolverConfig, options: ResolverOpts) -> Self {
        Self { resolver: OnceLock::from(Resolver::without_cache(config, options)) }
    }

    /// The TXT records of a name, which is taken as absolute, each as one text. A name that does not exist has none.
    /// Texts that are long are left out.
    ///
    /// # Errors
    ///
    /// Why there is no answer, for people.
    pub async fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let resolver = self.resolver.get_or_init(Resolver::of_the_system_without_cache);
        let resolver = resolver.as_ref().map_err(ToString::to_string)?;
        let found = match timeout(LOOKUP_TIMEOUT, resolver.texts(name)).await {
            Ok(found) => found,
            Err(_) => return Err("name lookup timed out".to_owned()),
        };
        let mut texts = found.map_err(|error| match error {
            LookupError::Unresolved(unresolved) => unresolved.to_string(),
            LookupError::Unavailable(why) => {
                tracing::warn!(%why, "no name server can be reached");
                "no name server can be reached".to_owned()
            }
        })?;
        texts.retain(|text| text.len() <= TEXT_MAX);
        texts.truncate(TEXTS_MAX);
        Ok(texts)
    }

    /// The same as a function.
    pub fn into_fn(
        self,
    ) -> impl Fn(String) -> BoxFuture<'static, Result<Vec<String>, String>> + Send + Sync + 'static
    {
        let resolver = Arc::new(self);
        move |name| {
            let resolver = Arc::clone(&resolver);
            Box::pin(async move { resolver.texts(&name).await })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loopback::names::{Entry, NameServer};

    async fn texts(entry: Entry) -> Result<Vec<String>, String> {
        let server = NameServer::start([("_challenge.site.example", entry)]).await;
        server.txt_resolver().texts("_challenge.Site.example").await
    }

    #[tokio::test]
    async fn the_texts_of_a_name_are_found() {
        let two = Entry::Texts(vec!["v=spf1 -all".to_owned(), "key=value".to_owned()]);
        let mut found = texts(two).await.expect("an answer");
        found.sort();
        assert_eq!(found, ["key=value", "v=spf1 -all"]);
        assert_eq!(texts(Entry::addresses(&["192.0.2.1"])).await, Ok(vec![]));
    }

    #[tokio::test]
    async fn a_name_that_does_not_exist_has_none_and_a_failure_is_reported() {
        let server = NameServer::start([("alias.example", Entry::Alias("text.example"))]).await;
        let resolver = server.txt_resolver();
        assert_eq!(resolver.texts("nowhere.example").await, Ok(vec![]));
        assert_eq!(texts(Entry::Fails).await, Err("name lookup failed: SERVFAIL".to_owned()));
        assert_eq!(texts(Entry::Silent).await, Err("name lookup timed out".to_owned()));
        assert_eq!(resolver.texts("a..b").await, Err("not a valid domain name".to_owned()));
    }

    #[tokio::test]
    async fn every_lookup_asks_again() {
        let text = Entry::Texts(vec!["key=value".to_owned()]);
        let server = NameServer::start([("site.example", text)]).await;
        let resolver = server.txt_resolver();
        for queries in 1..=3 {
            assert_eq!(resolver.texts("site.example").await, Ok(vec!["key=value".to_owned()]));
            assert_eq!(server.queries("site.example."), queries);
        }
    }

    #[tokio::test]
    async fn a_hostile_answer_is_bounded() {
        // 60 KB in one record, and more records than anybody needs: both arrive over TCP.
        let long = texts(Entry::Texts(vec!["x".repeat(60_000)])).await;
        assert_eq!(long, Ok(vec![]));
        let many = (0..500).map(|number| format!("text {number}")).collect();
        assert_eq!(texts(Entry::Texts(many)).await.map(|texts| texts.len()), Ok(TEXTS_MAX));
    }
}
