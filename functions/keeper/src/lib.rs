//! Sweeps overdue work, syncs schedules, purges deleted sites
