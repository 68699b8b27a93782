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

/// A resource for programs, and its fields in words for people.
#[derive(Default)]
pub(crate) struct Record<T = RecordFields> {
    resource: T,
    /// The fields for people, each with its label.
    fields: Vec<(&'static str, String)>,
    details: String,
    instead: Option<String>,
}

/// What the API does not show, or shows with more than a command reads: fields with their names.
#[derive(Default)]
pub(crate) struct RecordFields(Vec<(&'static str, Value)>);

impl<T> Record<T> {
    /// A resource as the API shows it. People see the fields that are added.
    pub(crate) const fn of(resource: T) -> Self {
        Self { resource, fields: Vec::new(), details: String::new(), instead: None }
    }

    /// Adds a field that only people see.
    pub(crate) fn labeled(mut self, label: &'static str, text: impl Into<String>) -> Self {
        self.fields.push((label, text.into()));
        self
    }

    /// The same with a text below the fields.
    pub(crate) fn with_details(self, details: impl Into<String>) -> Self {
        Self { details: details.into(), ..self }
    }

    /// The same for programs, and another text for people.
    pub(crate) fn saying(self, text: String) -> Self {
        Self { instead: Some(text), ..self }
    }
}

impl Record<Value> {
    /// Adds a field of the resource, which a JSON pointer names, for people.
    pub(crate) fn field(self, label: &'static str, pointer: &str) -> Self {
        let text = text_at(&self.resource, pointer);
        self.labeled(label, text)
    }

    /// Adds a field that only programs see.
    pub(crate) fn adding(mut self, name: &str, value: &str) -> Self {
        self.resource[name] = value.into();
        self
    }

    /// Adds an instant.
    pub(crate) fn instant(self, label: &'static str, pointer: &str) -> Self {
        let at = instant_at(&self.resource, pointer);
        self.labeled(label, moment_or_dash(at))
    }
}

/// A field of a resource in words.
pub(crate) fn text_at(resource: &Value, pointer: &str) -> String {
    match resource.pointer(pointer) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(entries)) if entries.is_empty() => "-".to_owned(),
        Some(Value::Array(entries)) => {
            entries.iter().map(|entry| text_at(entry, "")).collect::<Vec<_>>().join(" ")
        }
        Some(other) => other.to_string(),
    }
}

/// A field of a resource that is an instant.
pub(crate) fn instant_at(resource: &Value, pointer: &str) -> Option<Timestamp> {
    resource.pointer(pointer)?.as_str()?.parse().ok()
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
        self.resource.0.push((name, value.into()));
        if label.is_empty() { self } else { self.labeled(label, text) }
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
}

impl Serialize for RecordFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<T: Serialize> Serialize for Record<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.resource.serialize(serializer)
    }
}

impl<T: Serialize> Show for Record<T> {
    fn text(&self) -> String {
        let fields = || format!("{}{}", record(self.fields.iter().cloned()), self.details);
        self.instead.clone().unwrap_or_else(fields)
    }
}

/// A list of records, with some of their fields for people.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Records<T: Serialize = RecordFields> {
    records: Vec<Record<T>>,
    /// What is said if there is none.
    #[serde(skip)]
    none: &'static str,
    /// The labels of the fields for people.
    #[serde(skip)]
    listed: &'static [&'static str],
}

impl<T: Serialize> Records<T> {
    pub(crate) fn new(
        none: &'static str,
        listed: &'static [&'static str],
        records: impl IntoIterator<Item = Record<T>>,
    ) -> Self {
        Self { records: records.into_iter().collect(), none, listed }
    }
}

impl<T: Serialize> Show for Records<T> {
    /// A row for each record, with the fields that have these labels.
    fn text(&self) -> String {
        if self.records.is_empty() {
            return self.none.to_owned();
        }
        let rows = self.records.iter().map(|record| {
            let listed = record.fields.iter().filter(|(label, _)| self.listed.contains(label));
            listed.map(|(_, value)| value.clone()).collect::<Vec<_>>()
        });
        table(self.listed.iter().map(|label| label.to_uppercase()), rows)
    }
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
