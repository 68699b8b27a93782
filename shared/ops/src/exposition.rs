//! Prometheus's text exposition format, version 0.0.4.

use std::fmt::Write as _;

use jiff::Timestamp;

/// The media type of the format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The path at which Prometheus expects metrics.
pub const PATH: &str = "/metrics";

/// Metrics as text, with one line for each series.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    /// Begins a metric whose values rise and fall.
    pub fn gauge(&mut self, name: &'static str, help: &str) -> SeriesWriter<'_> {
        self.metric(name, "gauge", help)
    }

    /// Begins a metric whose values only grow while the process runs. Its name ends in `_total`.
    pub fn counter(&mut self, name: &'static str, help: &str) -> SeriesWriter<'_> {
        self.metric(name, "counter", help)
    }

    /// Begins a metric of which only sum and count are known.
    pub fn summary(&mut self, name: &'static str, help: &str) -> Summary<'_> {
        Summary(self.metric(name, "summary", help))
    }

    /// All series of a metric follow each other, as the format demands: they can only be written before the next metric
    /// begins.
    fn metric(&mut self, name: &'static str, kind: &str, help: &str) -> SeriesWriter<'_> {
        let help = help.replace('\\', r"\\").replace('\n', r"\n");
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        SeriesWriter { text: &mut self.text, name }
    }

    /// The text.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// A metric whose series are being written.
#[derive(Debug)]
pub struct SeriesWriter<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl SeriesWriter<'_> {
    /// Writes a series. The labels distinguish it from the metric's other series.
    pub fn series(&mut self, labels: &[(&str, &str)], value: impl Value) {
        self.write("", labels, value);
    }

    fn write(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Value) {
        self.text.push_str(self.name);
        self.text.push_str(suffix);
        for (number, (label, value)) in labels.iter().enumerate() {
            let _ = write!(self.text, "{}{label}=\"", if number == 0 { '{' } else { ',' });
            for character in value.chars() {
                match character {
                    '\\' => self.text.push_str(r"\\"),
                    '"' => self.text.push_str("\\\""),
                    '\n' => self.text.push_str(r"\n"),
                    other => self.text.push(other),
                }
            }
            self.text.push('"');
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = match value.number() {
            f64::INFINITY => writeln!(self.text, " +Inf"),
            number => writeln!(self.text, " {number}"),
        };
    }
}

/// A summary whose series are being written.
#[derive(Debug)]
pub struct Summary<'a>(SeriesWriter<'a>);

impl Summary<'_> {
    /// Writes the two series with these labels.
    pub fn series(&mut self, labels: &[(&str, &str)], sum: impl Value, count: impl Value) {
        self.0.write("_sum", labels, sum);
        self.0.write("_count", labels, count);
    }
}

/// The value of a series.
pub trait Value {
    /// As a number in the metric's base unit.
    fn number(&self) -> f64;
}

impl Value for f64 {
    fn number(&self) -> f64 {
        *self
    }
}

/// True is 1, and false is 0.
impl Value for bool {
    fn number(&self) -> f64 {
        f64::from(u8::from(*self))
    }
}

impl Value for u32 {
    fn number(&self) -> f64 {
        f64::from(*self)
    }
}

impl Value for u64 {
    fn number(&self) -> f64 {
        *self as f64
    }
}

impl Value for usize {
    fn number(&self) -> f64 {
        *self as f64
    }
}

/// Seconds since the epoch.
impl Value for Timestamp {
    fn number(&self) -> f64 {
        self.as_millisecond() as f64 / 1_000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_its_help_its_type_and_a_line_for_each_series() {
        let mut exposition = Exposition::default();
        let mut up = exposition.gauge("up", "Whether it\nworks: \\o/");
        up.series(&[("site", "a")], true);
        up.series(&[("site", "b"), ("name", "say \"hi\"\n\\o/")], false);
        let at = Timestamp::from_millisecond(1_795_168_447_312).expect("a timestamp");
        exposition.gauge("at_seconds", "When.").series(&[], at);
        exposition.counter("sent_total", "How many.").series(&[], 3_u32);
        exposition.summary("lag_seconds", "How late.").series(&[("tool", "ssl")], 0.25, 2_u64);
        assert_eq!(
            exposition.into_text(),
            r#"# HELP up Whether it\nworks: \\o/
# TYPE up gauge
up{site="a"} 1
up{site="b",name="say \"hi\"\n\\o/"} 0
# HELP at_seconds When.
# TYPE at_seconds gauge
at_seconds 1795168447.312
# HELP sent_total How many.
# TYPE sent_total counter
sent_total 3
# HELP lag_seconds How late.
# TYPE lag_seconds summary
lag_seconds_sum{tool="ssl"} 0.25
lag_seconds_count{tool="ssl"} 2
"#
        );
    }
}
