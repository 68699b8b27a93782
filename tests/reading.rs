//! What people read: the text of an alert as its channel shows it, and what a reader learns from it.

use mail_parser::MessageParser;
use serde_json::Value;
use vedette_domain::alerts::channel::{
    PublicTarget, discord, google_chat, gotify, matrix, mattermost, ntfy, pushover, slack, teams,
    telegram,
};
use vedette_domain::alerts::mail::{self, Envelope};
use vedette_domain::alerts::{Alert, AlertKind};

/// An alert as its reader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// State and name: `DOWN: Example Shop`.
    pub title: String,
    /// The lines below it.
    pub lines: Vec<String>,
}

impl Reading {
    /// Reads an alert as a channel with this target shows it.
    pub fn of(target: &PublicTarget, alert: &Alert) -> Self {
        match target {
            PublicTarget::Email { .. } => of_mail(alert),
            PublicTarget::Slack { .. } => of_slack(&json(&slack::message(alert))),
            PublicTarget::Discord { .. } => of_discord(&json(&discord::message(alert))),
            PublicTarget::Teams { .. } => of_teams(&json(&teams::message(alert))),
            PublicTarget::Ntfy { .. } => of_ntfy(&json(&ntfy::message(alert, "alerts"))),
            PublicTarget::GoogleChat { .. } => of_google_chat(&json(&google_chat::message(alert))),
            PublicTarget::Mattermost { .. } => of_mattermost(&json(&mattermost::message(alert))),
            PublicTarget::Matrix { .. } => of_text(&json(&matrix::body(alert, None))["body"]),
            PublicTarget::Telegram { .. } => {
                of_text(&json(&telegram::body(alert, "-100", None))["text"])
            }
            PublicTarget::Pushover { .. } => of_ntfy(&pushover::message(alert)),
            PublicTarget::Gotify { .. } => of_ntfy(&json(&gotify::message(alert))),
            PublicTarget::PagerDuty { .. }
            | PublicTarget::Alertmanager { .. }
            | PublicTarget::Webhook { .. } => {
                panic!("nobody reads it")
            }
        }
    }

    /// The kind of news that it announces.
    pub fn kind(&self) -> AlertKind {
        let (state, _) = self.parts();
        match state.split(' ').next().unwrap_or_default() {
            "RESOLVED" | "MONITORING" | "CLOSED" => AlertKind::Resolved,
            "WAS" => AlertKind::Missed,
            "STILL" => AlertKind::Reminder,
            "CHANNEL" | "ALERTS" => AlertKind::Notice,
            "TEST" => AlertKind::Test,
            _ if state.ends_with(" AND RESOLVED") => AlertKind::Missed,
            _ => AlertKind::Opened,
        }
    }

    /// The sites and heartbeats that it names, each with what it says about it.
    pub fn named(&self) -> Vec<(&str, String)> {
        let (state, name) = self.parts();
        let mut words = name.split(' ');
        let counts =
            words.next().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        let of = words.next().unwrap_or_default().trim_end_matches('s');
        if !counts || !["site", "heartbeat", "monitor", "issue", "more"].contains(&of) {
            return vec![(name, format!("{state} {}", self.lines.join(" ")))];
        }
        // An empty line separates the issues from facts, which have names, too.
        let lines = self.lines.iter().skip_while(|line| line.is_empty());
        let lines = lines.take_while(|line| !line.is_empty());
        let named = lines.filter_map(|line| line.split_once(": "));
        named.map(|(name, said)| (name, format!("{state} {said}"))).collect()
    }

    fn parts(&self) -> (&str, &str) {
        self.title.split_once(": ").expect("a state and a name")
    }
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn of_mail(alert: &Alert) -> Reading {
    let envelope = Envelope {
        from: "alerts@example.com".to_owned(),
        to: "ada@example.com".to_owned(),
        message_id: "1@example.com".to_owned(),
        at: alert.at,
        unsubscribe_url: None,
        host: "example.com".to_owned(),
    };
    let bytes = mail::message(alert, &envelope).expect("a mail").formatted();
    let mail = MessageParser::default().parse(&bytes).expect("a mail");
    let mut lines = lines(&mail.body_text(0).expect("plain text"));
    Reading { title: lines.remove(0), lines }
}

fn of_slack(message: &Value) -> Reading {
    let shown = |text: &str| text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let of_kind = |kind: &'static str| {
        let blocks = message["blocks"].as_array().expect("blocks").iter();
        let blocks = blocks.filter(move |block| block["type"] == kind);
        blocks.map(move |block| shown(text(&block["text"]["text"])))
    };
    let title = of_kind("header").next().expect("a header");
    Reading { title, lines: of_kind("section").flat_map(|section| lines(&section)).collect() }
}

fn of_discord(message: &Value) -> Reading {
    let embed = &message["embeds"][0];
    let shown = |value: &Value| text(value).replace('\\', "");
    Reading { title: shown(&embed["title"]), lines: lines(&shown(&embed["description"])) }
}

fn of_google_chat(message: &Value) -> Reading {
    let shown = |text: &str| text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let of = &message["cardsV2"][0]["card"]["sections"][0]["widgets"][0]["textParagraph"]["text"];
    let all = shown(&text(of).replace("<br>", "\n"));
    Reading { title: text(&message["text"]).to_owned(), lines: lines(&all) }
}

fn of_mattermost(message: &Value) -> Reading {
    let shown = text(&message["attachments"][0]["text"]).replace(['\\', '\u{2060}'], "");
    let mut all = lines(&shown).into_iter();
    let title = all.next().expect("a title").replace("**", "");
    Reading { title, lines: all.collect() }
}

/// A text whose first line is the title.
fn of_text(message: &Value) -> Reading {
    let mut all = lines(&text(message).replace('\u{2060}', "")).into_iter();
    Reading { title: all.next().expect("a title"), lines: all.collect() }
}

fn of_teams(message: &Value) -> Reading {
    let body = &message["attachments"][0]["content"]["body"];
    let runs = |block: &Value| -> String {
        block["inlines"].as_array().into_iter().flatten().map(|run| text(&run["text"])).collect()
    };
    let blocks = body.as_array().expect("a body");
    let title = runs(&blocks[0]["items"][0]);
    Reading { title, lines: blocks[1..].iter().map(runs).collect() }
}

fn of_ntfy(message: &Value) -> Reading {
    Reading { title: text(&message["title"]).to_owned(), lines: lines(text(&message["message"])) }
}
