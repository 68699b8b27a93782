//! Where the site's request header is sent.
