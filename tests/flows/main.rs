//! Stories across routes, queues and time.

mod incident;
