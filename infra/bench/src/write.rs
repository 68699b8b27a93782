//! Writes the tables that a measurement prints into the documentation.

use std::error::Error;
use std::{fs, io};

use clap::Args;

/// The page with the tables, relative to the folder in which `make` runs.
const PAGE: &str = "docs/explanation/measurements.md";
/// The end of the part of the page that belongs to a measurement.
const END: &str = "<!-- end of measurement -->\n";

/// What to write.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The measurement whose output is on standard input
    measurement: String,
}

/// Replaces the tables of a measurement.
pub(crate) fn write(options: &Options) -> Result<(), Box<dyn Error>> {
    let printed = io::read_to_string(io::stdin())?;
    let page = fs::read_to_string(PAGE)?;
    Ok(fs::write(PAGE, replaced(&page, &options.measurement, &printed)?)?)
}

/// Returns the page with the tables that a measurement has printed.
fn replaced(page: &str, measurement: &str, printed: &str) -> Result<String, String> {
    let begin = begin(measurement);
    let place = page.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = place.ok_or_else(|| format!("{PAGE} has no place for {measurement}"))?;
    let tables = tables(printed);
    if tables.is_empty() {
        return Err(format!("{measurement} printed no table"));
    }
    Ok(format!("{before}{begin}\n{}\n{END}{after}", tables.join("\n")))
}

/// Returns the beginning of the part of the page that belongs to a measurement.
fn begin(measurement: &str) -> String {
    format!("<!-- measurement: {measurement} -->\n")
}

/// Returns the Markdown tables in a text.
fn tables(text: &str) -> Vec<String> {
    let mut tables = Vec::new();
    let mut is_table = false;
    for line in text.lines() {
        let continues = is_table;
        is_table = line.starts_with('|');
        match tables.last_mut() {
            Some(table) if is_table && continues => *table = format!("{table}{line}\n"),
            _ if is_table => tables.push(format!("{line}\n")),
            _ => {}
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENTED: &str = include_str!("../../../docs/explanation/measurements.md");

    #[test]
    fn the_tables_of_a_measurement_are_replaced_and_nothing_else() {
        let page = format!("Before.\n\n{}\n| old |\n\n{END}\nAfter.\n", begin("rate"));
        let printed = "seeded\n| a | b |\n|---|---|\n| 1 | 2 |\ndone\n| c |\n|---|\n";
        let expected = format!(
            "Before.\n\n{}\n| a | b |\n|---|---|\n| 1 | 2 |\n\n| c |\n|---|\n\n{END}\nAfter.\n",
            begin("rate")
        );
        let replaced = replaced(&page, "rate", printed);
        assert_eq!(replaced.as_deref(), Ok(expected.as_str()));
        let again = super::replaced(&expected, "rate", printed);
        assert_eq!(again.as_deref(), Ok(expected.as_str()));
    }

    #[test]
    fn a_measurement_without_a_table_or_a_place_changes_nothing() {
        let page = format!("{}{END}", begin("rate"));
        for (measurement, printed) in [("rate", "it failed\n"), ("api", "| a |\n")] {
            assert!(replaced(&page, measurement, printed).is_err(), "{measurement}");
        }
    }

    #[test]
    fn every_measurement_of_make_bench_has_a_place() {
        let makefile = include_str!("../../../Makefile");
        let named = makefile.lines().find_map(|line| line.split_once("for measurement in "));
        let (named, _) =
            named.and_then(|(_, rest)| rest.split_once(';')).expect("the measurements");
        let mut places = 0;
        for measurement in named.split_whitespace() {
            assert!(replaced(DOCUMENTED, measurement, "| a |\n").is_ok(), "{measurement}");
            let (_, rest) = DOCUMENTED.split_once(&begin(measurement)).expect(measurement);
            assert!(rest.starts_with("\n|"), "{measurement} has no table");
            places += 1;
        }
        assert_eq!(DOCUMENTED.matches(END).count(), places, "and no other has one");
    }
}
