//! Stories across routes, queues and time.

mod alerts;
mod buckets;
mod budget;
mod census;
mod clock;
mod concurrency;
mod cost;
mod deletion;
mod delivery;
mod domain_expiry;
mod events;
mod faults;
mod first_runs;
mod forgetting;
mod incident;
mod mail_server;
mod midnight;
mod monitoring;
mod own_outage;
mod rebuilding;
mod reconciliation;
mod records;
mod results;
mod scene;
mod schedules;
mod timing;
