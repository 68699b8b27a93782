//! The output of a command: one JSON document for programs, aligned text for people.

use std::io::{self, ErrorKind, Write};

use comfy_table::{Cell, Table, presets};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Serialize, Serializer};
use serde_json::Value;
use vedette_domain::text::escaped_json;
pub(crate) use vedette_domain::text::printable;
use vedette_domain::time::wire;

/// The output of a command.
pub(crate) trait Show: Serialize {
    /// The text for people.
    fn text(&self) -> String;
}

/// A resource that is shown by itself, with all fields, or in a list, with some of them.
pub(crate) trait View: Serialize {
    /// What is said if there is none.
    const NONE: &'static str;
    /// The labels of the fields in a list.
    const LISTED: &'static [&'static str];

    /// All fields, each with its label.
    fn fields(&self) -> Vec<(&'static str, String)>;

    /// What is shown below the fields.
    fn details(&self) -> String {
        String::new()
    }
}

impl<T: View> Show for T {
    fn text(&self) -> String {
        format!("{}{}", record(self.fields()), self.details())
    }
}

impl<T: View> Show for Vec<T> {
    fn text(&self) -> String {
        listing(T::NONE, T::LISTED, self.iter().map(View::fields))
    }
}

/// What the API does not show, or shows with more than a command reads. Each field is there once, for programs and for
/// people.
#[derive(Default)]
pub(crate) struct Record {
    fields: Vec<RecordField>,
    details: String,
    instead: Option<String>,
}

struct RecordField {
    name: &'static str,
    label: &'static str,
    value: Value,
    text: String,
}

impl Record {
    /// Adds a field with its name for programs, its label for people, and its value. People see no field without a
    /// label.
    pub(crate) fn with(
        self,
        name: &'static str,
        label: &'static str,
        value: impl Into<Value>,
    ) -> Self {
        let value = value.into();
        let text = match &value {
            Value::Null => "-".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        self.worded(name, label, value, text)
    }

    /// Adds a field that people see in other words.
    pub(crate) fn worded(
        mut self,
        name: &'static str,
        label: &'static str,
        value: impl Into<Value>,
        text: impl Into<String>,
    ) -> Self {
        self.fields.push(RecordField { name, label, value: value.into(), text: text.into() });
        self
    }

    /// Adds an instant.
    pub(crate) fn at(
        self,
        name: &'static str,
        label: &'static str,
        at: impl Into<Option<Timestamp>>,
    ) -> Self {
        let at = at.into();
        self.worded(name, label, at.map(wire), moment_or_dash(at))
    }

    /// The same with a text below the fields.
    pub(crate) fn with_details(self, details: impl Into<String>) -> Self {
        Self { details: details.into(), ..self }
    }

    /// The same for programs, and another text for people.
    pub(crate) fn saying(self, text: String) -> Self {
        Self { instead: Some(text), ..self }
    }

    fn fields(&self) -> Vec<(&'static str, String)> {
        let shown = self.fields.iter().filter(|field| !field.label.is_empty());
        shown.map(|field| (field.label, field.text.clone())).collect()
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.fields.iter().map(|field| (field.name, &field.value)))
    }
}

impl Show for Record {
    fn text(&self) -> String {
        let fields = || format!("{}{}", record(self.fields()), self.details);
        self.instead.clone().unwrap_or_else(fields)
    }
}

/// A list of records, with some of their fields for people.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Records {
    records: Vec<Record>,
    /// What is said if there is none.
    #[serde(skip)]
    none: &'static str,
    /// The labels of the fields for people.
    #[serde(skip)]
    listed: &'static [&'static str],
}

impl Records {
    pub(crate) fn new(
        none: &'static str,
        listed: &'static [&'static str],
        records: impl IntoIterator<Item = Record>,
    ) -> Self {
        Self { records: records.into_iter().collect(), none, listed }
    }
}

impl Show for Records {
    fn text(&self) -> String {
        listing(self.none, self.listed, self.records.iter().map(Record::fields))
    }
}

/// A row for each resource, with the fields that have these labels.
fn listing(
    none: &str,
    labels: &[&str],
    resources: impl ExactSizeIterator<Item = Vec<(&'static str, String)>>,
) -> String {
    if resources.len() == 0 {
        return none.to_owned();
    }
    let rows = resources.map(|fields| {
        let listed = fields.into_iter().filter(|(label, _)| labels.contains(label));
        listed.map(|(_, value)| value).collect::<Vec<_>>()
    });
    table(labels.iter().map(|label| label.to_uppercase()), rows)
}

/// Where output goes.
pub(crate) struct Output<'a> {
    writer: &'a mut dyn Write,
    json: bool,
}

impl<'a> Output<'a> {
    pub(crate) fn new(writer: &'a mut dyn Write, json: bool) -> Self {
        Self { writer, json }
    }

    pub(crate) fn show(&mut self, answer: &(impl Show + ?Sized)) -> io::Result<()> {
        match self.write(answer) {
            // The reader, a pager or `head`, has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    fn write(&mut self, answer: &(impl Show + ?Sized)) -> io::Result<()> {
        if self.json {
            let document = serde_json::to_string_pretty(answer).map_err(io::Error::other)?;
            // A program reads the same from it, and on a terminal, no name in it can pass for something else.
            writeln!(self.writer, "{}", escaped_json(&document))?;
        } else {
            for line in answer.text().lines() {
                writeln!(self.writer, "{}", printable(line))?;
            }
        }
        self.writer.flush()
    }
}

/// Rows under their headings.
pub(crate) fn table(
    headings: impl IntoIterator<Item = impl Into<Cell>>,
    rows: impl IntoIterator<Item = impl IntoIterator<Item = String>>,
) -> String {
    let mut table = aligned();
    table.set_header(headings);
    rows.into_iter().for_each(|row| {
        table.add_row(row.into_iter().map(|cell| printable(&cell)));
    });
    lines(&table)
}

/// The fields of one thing, one per line.
pub(crate) fn record<'a>(lines_of: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut table = aligned();
    for (label, value) in lines_of {
        table.add_row([label.to_owned(), printable(&value)]);
    }
    lines(&table)
}

fn aligned() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

fn lines(table: &Table) -> String {
    // The preset pads every cell on both sides.
    let trimmed = table.lines().map(|line| {
        let line = line.trim_end();
        format!("{}\n", line.strip_prefix(' ').unwrap_or(line))
    });
    trimmed.collect()
}

/// An instant for people.
pub(crate) fn moment(instant: Timestamp) -> String {
    TimeZone::UTC.to_datetime(instant).strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// An instant for people, or a dash.
pub(crate) fn moment_or_dash(instant: Option<Timestamp>) -> String {
    instant.map_or_else(|| "-".to_owned(), moment)
}

/// `yes` or `no`.
pub(crate) fn yes_no(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[derive(Serialize)]
    struct Word(&'static str);

    impl Show for Word {
        fn text(&self) -> String {
            self.0.to_owned()
        }
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        assert!(Output::new(&mut Closed, true).show(&Word("answer")).is_ok());
    }

    #[test]
    fn columns_are_aligned_and_cells_cannot_steer_a_terminal() {
        let rows = [["a", "first"], ["longer", "\u{1b}[31mred"]].map(|row| row.map(str::to_owned));
        insta::assert_snapshot!(table(["NAME", "WHAT"], rows), @r"
        NAME    WHAT
        a       first
        longer  �[31mred
        ");
    }
}
