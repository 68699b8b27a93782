//! Sites as people really run them: each module has the inputs of one kind on which monitors give a wrong verdict.

mod addresses;
mod authorities;
mod bodies;
mod certificates;
mod cookies;
mod crawls;
mod domains;
mod http2;
mod inputs;
mod interim_responses;
mod pages;
mod records;
mod redirects;
mod request_header;
mod status_codes;
mod tls;
mod uptime;
