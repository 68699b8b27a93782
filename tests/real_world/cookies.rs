//! Cookies within a chain of redirects and within a crawl.
