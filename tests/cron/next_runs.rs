//! Prints next runs. Each line of the input is `engine|expression|zone|from|to|count`, with instants in seconds since
//! 1970, and the engine `ours` or `croner`. Each line of the output has the instants before `to`, or `refused: …`.
//! With the argument `time`, it measures the slowest calls instead.

use std::io::{BufRead as _, Write as _};
use std::time::Instant;

use cron_schedule::schedule::{CronExpression, Schedule};
use cron_schedule::time_zone::NamedZone;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;

type Next = Box<dyn Fn(Timestamp) -> Option<Timestamp>>;

fn ours(expression: &str, zone: NamedZone) -> Result<Next, String> {
    let expression = CronExpression::parse(expression).map_err(|error| error.to_string())?;
    let schedule = Schedule::Cron { expression, zone };
    Ok(Box::new(move |after| schedule.next_after(after)))
}

fn croner(expression: &str, zone: NamedZone) -> Result<Next, String> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    let cron = parser.parse(expression).map_err(|error| error.to_string())?;
    Ok(Box::new(move |after| {
        cron.find_next_occurrence(&zone.local(after), false).ok().map(|next| next.timestamp())
    }))
}

fn measure() {
    let zones = [
        "UTC",
        "Europe/Berlin",
        "Africa/Casablanca",
        "Pacific/Apia",
        "Australia/Lord_Howe",
        "Pacific/Kwajalein",
    ];
    let list = |to: u32| (0..=to).map(|it| it.to_string()).collect::<Vec<_>>().join(",");
    let minutes = list(32);
    let expressions = [
        "* * * * *",
        "30 2 * * *",
        "0 0 29 2 */7",
        "59 23 29 2 */7",
        "*/59 23 29 2 */7",
        "59 23 */28 2 MON#5",
        "*/59 */23 29 2 */7",
        "0 0 * 2 1#5",
        "59 23 31 12 */7",
        "0-59 0-23 * * *",
        "0-59 0-23 30 12 *",
        "* 0-23 30 12 *",
        &format!("{minutes} 2 * * *"),
    ];
    let mut worst = Vec::new();
    for zone in zones {
        for expression in expressions {
            let schedule =
                ours(expression, NamedZone::parse(zone).expect("a zone")).expect("an expression");
            for from in [
                "2026-11-20T10:00:00Z",
                "2026-10-25T00:59:00Z",
                "2026-10-25T01:01:00Z",
                "2026-03-29T00:59:00Z",
                "2011-12-30T09:59:00Z",
                "1969-09-30T12:59:00Z",
                "1969-09-30T13:01:00Z",
                "1969-09-30T12:59:00Z",
                "1969-09-30T13:01:00Z",
                "2088-03-01T00:00:00Z",
                "2096-02-29T23:59:59Z",
                "2128-03-01T00:00:00Z",
                "9990-01-01T00:00:00Z",
                "-009000-01-01T00:00:00Z",
            ] {
                let from: Timestamp = from.parse().expect("an instant");
                let start = Instant::now();
                for _ in 0..20 {
                    std::hint::black_box(schedule(from));
                }
                worst.push((start.elapsed() / 20, expression, zone, from));
            }
        }
    }
    worst.sort();
    println!("median: {:?}", worst[worst.len() / 2]);
    for it in worst.iter().rev().take(4) {
        println!("next_after: {it:?}");
    }
    for text in [
        "30 2 * * *",
        "0 0 29 2 */7",
        "0 0 30 2 *",
        "0 0 */40 * MON#2",
        "0 0 */40 * MON#2,TUE#2,WED#2,1#3",
    ] {
        let start = Instant::now();
        for _ in 0..20 {
            let _ = std::hint::black_box(CronExpression::parse(text));
        }
        println!("parse: {text}: {:?}", start.elapsed() / 20);
    }
    for text in ["30 2 * * *", "0 0 30 2 *", "0 0 31 4,6,9,11 *"] {
        let next =
            croner(text, NamedZone::parse("Europe/Berlin").expect("a zone")).expect("it parses");
        let start = Instant::now();
        let found = next("2026-11-20T10:00:00Z".parse().expect("an instant"));
        println!("croner: {text}: {:?}, {found:?}", start.elapsed());
    }
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("time") {
        return measure();
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        let parts: Vec<_> = line.split('|').collect();
        let [engine, expression, zone, from, to, count] = parts[..] else { panic!("{line}") };
        let zone = NamedZone::parse(zone).expect("a zone");
        let make = if engine == "ours" { ours } else { croner };
        let next = match make(expression, zone) {
            Ok(next) => next,
            Err(error) => {
                writeln!(out, "refused: {error}").expect("writable");
                continue;
            }
        };
        let instant = |text: &str| {
            Timestamp::from_second(text.parse().expect("a number")).expect("an instant")
        };
        let to = instant(to);
        let runs: Vec<_> = std::iter::successors(next(instant(from)), |run| next(*run))
            .take_while(|run| *run < to)
            .take(count.parse().expect("a number"))
            .map(|run| run.as_second().to_string())
            .collect();
        writeln!(out, "{}", runs.join(" ")).expect("writable");
    }
}
