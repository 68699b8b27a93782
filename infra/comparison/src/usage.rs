//! The resources that processes use, as Linux reports them.

use std::fs;
use std::io;

/// Clock ticks a second in `/proc/<pid>/stat`. This is `USER_HZ`, which is 100 on every Linux.
const TICKS: f64 = 100.0;

/// Positions of fields in `/proc/<pid>/stat`, counted after the command's name.
const OWN_TIMES: usize = 11;
const CHILDREN_TIMES: usize = 13;

/// Processor seconds that a process has used so far.
pub(crate) fn cpu_seconds(pid: u32) -> io::Result<f64> {
    times(&format!("/proc/{pid}/stat"), OWN_TIMES)
}

/// Processor seconds that this process has used so far.
pub(crate) fn own_cpu_seconds() -> io::Result<f64> {
    times("/proc/self/stat", OWN_TIMES)
}

/// Processor seconds of this process's children that have ended, including their own children.
pub(crate) fn ended_children_cpu_seconds() -> io::Result<f64> {
    times("/proc/self/stat", CHILDREN_TIMES)
}

/// User and system time, which are next to each other.
fn times(path: &str, place: usize) -> io::Result<f64> {
    let stat = fs::read_to_string(path)?;
    // The name may contain any characters, even closing parentheses.
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = after_name.split_whitespace().skip(place).take(2);
    Ok(fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / TICKS)
}

/// The peak memory of a process so far, in megabytes. `None` if it has ended.
pub(crate) fn peak_megabytes(process: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}
