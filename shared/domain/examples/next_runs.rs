//! Says when cron jobs run, for `make cron`. Each line of the input is `expression|zone|from|to|count`, with instants in
//! seconds since 1970. Each line of the output has the runs after `from` and before `to`, at most so many, or the reason
//! why the expression is refused.

use std::error::Error;
use std::io::{self, BufRead as _, BufWriter, Write as _};
use std::iter::successors;

use jiff::Timestamp;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::heartbeats::schedule::{CronExpression, JobSchedule};
use vedette_domain::time_zone::NamedZone;

fn main() -> Result<(), Box<dyn Error>> {
    let mut output = BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line = line?;
        let parts: Vec<_> = line.split('|').collect();
        let [expression, zone, from, to, count] = parts[..] else { return Err(line.into()) };
        let zone = NamedZone::parse(zone).ok_or(zone)?;
        let expression = match CronExpression::parse(expression) {
            Ok(expression) => expression,
            Err(error) => {
                writeln!(output, "refused: {error}")?;
                continue;
            }
        };
        let schedule = JobSchedule::Cron { expression, zone };
        let next = |after| schedule.next_after(after, TimeScale::default());
        let [from, to] =
            [Timestamp::from_second(from.parse()?)?, Timestamp::from_second(to.parse()?)?];
        let runs: Vec<_> = successors(next(from), |run| next(*run))
            .take_while(|run| *run < to)
            .take(count.parse()?)
            .map(|run| run.as_second().to_string())
            .collect();
        writeln!(output, "{}", runs.join(" "))?;
    }
    Ok(output.flush()?)
}
