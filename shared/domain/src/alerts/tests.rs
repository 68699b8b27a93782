//! What each channel shows of an alert, and that no text can change anything but itself.

use mail_parser::{HeaderValue, MessageParser};
use proptest::prelude::*;
use serde_json::{Value, json};
use twilight_model::channel::message::Embed;
use uuid::Uuid;

use super::channel::pushover::Pushover;
use super::channel::{
    ChannelAnswer, ChannelKind, Chat as _, ChatMessage, EventKind, discord, google_chat, gotify,
    matrix, mattermost, ntfy, pushover, slack, teams, telegram, webhook,
};
use super::handle::Handle;
use super::mail::{Asker, Envelope, TransactionalMail, TransactionalMailKind};
use super::send_outcome::SendOutcome;
use super::*;
use crate::id::{IncidentId, SiteId};
use crate::issues::Fingerprint;
use crate::status_pages::{IncidentNews, IncidentStatus};

fn at(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

fn issue() -> IssueId {
    let site = SiteId(Uuid::from_u128(0x0b2c_7a52_9f1d_4e43_8a55_6c1f_3b7d_9e01));
    IssueId::new(site, Fingerprint::StatusDown, at("2026-11-21T12:01:00Z"))
}

fn down() -> Alert {
    Alert {
        kind: AlertKind::Opened,
        state: "DOWN".to_owned(),
        name: "Example Shop".to_owned(),
        lines: vec!["HTTP 503; 2 checks in a row.".to_owned()],
        facts: vec![
            Fact { label: "Severity", value: "critical".to_owned() },
            Fact { label: "Since", value: "2026-11-21 12:01 UTC".to_owned() },
            Fact { label: "Team", value: "Web & Mobile".to_owned() },
        ],
        severity: Some(Severity::Critical),
        site_url: Some("https://shop.example.com/a_b".to_owned()),
        link: Some(Link {
            text: "Open issue",
            url: "https://vedette.example.com/issues/01".to_owned(),
        }),
        respond: None,
        runbook: Some("Call the *host*.\nThen wait.".to_owned()),
        thread: Some(Thread { issue: issue(), opened_at: at("2026-11-21T12:01:00Z") }),
        at: at("2026-11-21T12:01:00Z"),
    }
}

fn respond() -> Link {
    let issue = issue();
    let url = format!(
        "https://vedette.example.com/channels/7e0c1d4a-3b52-4f86-9c1e-2a5d8f604b13/\
         0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01/issues/{issue}?opening=1795262460000&\
         expires=1795867260&signature=AAECAwQFBgcICQoLDA0ODw"
    );
    Link { text: "Acknowledge or snooze", url }
}

fn collection() -> Alert {
    Alert {
        kind: AlertKind::Resolved,
        state: "RESOLVED".to_owned(),
        name: "2 sites".to_owned(),
        lines: vec!["Resolved: Shop.".to_owned(), "Resolved: Blog.".to_owned()],
        facts: Vec::new(),
        severity: None,
        site_url: None,
        link: None,
        respond: None,
        runbook: None,
        thread: None,
        at: at("2026-11-21T12:13:00Z"),
    }
}

fn envelope() -> Envelope {
    Envelope {
        from: "Vedette <alerts@vedette.example.com>".to_owned(),
        to: "ada@example.com".to_owned(),
        message_id: "1@vedette.example.com".to_owned(),
        at: at("2026-11-21T12:01:03Z"),
        unsubscribe_url: Some("https://vedette.example.com/unsubscribe/2".to_owned()),
        host: "vedette.example.com".to_owned(),
    }
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

fn mail(alert: &Alert) -> Vec<u8> {
    mail::message(alert, &envelope()).expect("a mail").formatted()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("text").replace("\r\n", "\n")
}

#[test]
fn slack_gets_blocks() {
    insta::assert_json_snapshot!(json(&slack::message(&down())), @r#"
    {
      "blocks": [
        {
          "text": {
            "emoji": false,
            "text": "DOWN: Example Shop",
            "type": "plain_text"
          },
          "type": "header"
        },
        {
          "text": {
            "emoji": false,
            "text": "HTTP 503; 2 checks in a row.",
            "type": "plain_text"
          },
          "type": "section"
        },
        {
          "text": {
            "emoji": false,
            "text": "Notes: Call the *host*.\nThen wait.",
            "type": "plain_text"
          },
          "type": "section"
        },
        {
          "text": {
            "text": "<https://vedette.example.com/issues/01|Open issue>",
            "type": "mrkdwn",
            "verbatim": true
          },
          "type": "section"
        },
        {
          "elements": [
            {
              "emoji": false,
              "text": "URL: https://shop.example.com/a_b · Severity: critical · Since: 2026-11-21 12:01 UTC · Team: Web &amp; Mobile",
              "type": "plain_text"
            }
          ],
          "type": "context"
        }
      ],
      "mrkdwn": false,
      "text": "DOWN: Example Shop: HTTP 503; 2 checks in a row.",
      "unfurl_links": false,
      "unfurl_media": false
    }
    "#);
    insta::assert_json_snapshot!(json(&slack::message(&collection())), @r#"
    {
      "blocks": [
        {
          "text": {
            "emoji": false,
            "text": "RESOLVED: 2 sites",
            "type": "plain_text"
          },
          "type": "header"
        },
        {
          "text": {
            "emoji": false,
            "text": "Resolved: Shop.\nResolved: Blog.",
            "type": "plain_text"
          },
          "type": "section"
        }
      ],
      "mrkdwn": false,
      "text": "RESOLVED: 2 sites: Resolved: Shop.",
      "unfurl_links": false,
      "unfurl_media": false
    }
    "#);
}

#[test]
fn discord_gets_an_embed() {
    insta::assert_json_snapshot!(json(&discord::message(&down())), @r#"
    {
      "allowed_mentions": {
        "parse": []
      },
      "embeds": [
        {
          "color": 14687834,
          "description": "HTTP 503; 2 checks in a row.\n\nNotes: Call the \\*host\\*.\nThen wait.",
          "fields": [
            {
              "inline": true,
              "name": "URL",
              "value": "https://shop.example.com/a_b"
            },
            {
              "inline": true,
              "name": "Severity",
              "value": "critical"
            },
            {
              "inline": true,
              "name": "Since",
              "value": "2026-11-21 12:01 UTC"
            },
            {
              "inline": true,
              "name": "Team",
              "value": "Web & Mobile"
            }
          ],
          "timestamp": "2026-11-21T12:01:00+00:00",
          "title": "DOWN: Example Shop",
          "url": "https://vedette.example.com/issues/01"
        }
      ]
    }
    "#);
    insta::assert_json_snapshot!(json(&discord::message(&collection())), @r#"
    {
      "allowed_mentions": {
        "parse": []
      },
      "embeds": [
        {
          "color": 3061373,
          "description": "Resolved: Shop.\nResolved: Blog.",
          "fields": [],
          "timestamp": "2026-11-21T12:13:00+00:00",
          "title": "RESOLVED: 2 sites"
        }
      ]
    }
    "#);
}

#[test]
fn teams_gets_a_card() {
    insta::assert_json_snapshot!(json(&teams::message(&down())), @r#"
    {
      "attachments": [
        {
          "content": {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "actions": [
              {
                "title": "Open issue",
                "type": "Action.OpenUrl",
                "url": "https://vedette.example.com/issues/01"
              }
            ],
            "body": [
              {
                "bleed": true,
                "items": [
                  {
                    "inlines": [
                      {
                        "size": "Medium",
                        "text": "DOWN: Example Shop",
                        "type": "TextRun",
                        "weight": "Bolder"
                      }
                    ],
                    "type": "RichTextBlock"
                  }
                ],
                "style": "attention",
                "type": "Container"
              },
              {
                "inlines": [
                  {
                    "text": "HTTP 503; 2 checks in a row.",
                    "type": "TextRun"
                  }
                ],
                "spacing": "Small",
                "type": "RichTextBlock"
              },
              {
                "inlines": [
                  {
                    "text": "URL: ",
                    "type": "TextRun",
                    "weight": "Bolder"
                  },
                  {
                    "text": "https://shop.example.com/a_b",
                    "type": "TextRun"
                  }
                ],
                "spacing": "Medium",
                "type": "RichTextBlock"
              },
              {
                "inlines": [
                  {
                    "text": "Severity: ",
                    "type": "TextRun",
                    "weight": "Bolder"
                  },
                  {
                    "text": "critical",
                    "type": "TextRun"
                  }
                ],
                "spacing": "None",
                "type": "RichTextBlock"
              },
              {
                "inlines": [
                  {
                    "text": "Since: ",
                    "type": "TextRun",
                    "weight": "Bolder"
                  },
                  {
                    "text": "2026-11-21 12:01 UTC",
                    "type": "TextRun"
                  }
                ],
                "spacing": "None",
                "type": "RichTextBlock"
              },
              {
                "inlines": [
                  {
                    "text": "Team: ",
                    "type": "TextRun",
                    "weight": "Bolder"
                  },
                  {
                    "text": "Web & Mobile",
                    "type": "TextRun"
                  }
                ],
                "spacing": "None",
                "type": "RichTextBlock"
              },
              {
                "inlines": [
                  {
                    "text": "Notes: ",
                    "type": "TextRun",
                    "weight": "Bolder"
                  },
                  {
                    "text": "Call the *host*.",
                    "type": "TextRun"
                  }
                ],
                "spacing": "Medium",
                "type": "RichTextBlock"
              },
              {
                "inlines": [
                  {
                    "text": "Then wait.",
                    "type": "TextRun"
                  }
                ],
                "spacing": "None",
                "type": "RichTextBlock"
              }
            ],
            "msteams": {
              "width": "Full"
            },
            "type": "AdaptiveCard",
            "version": "1.4"
          },
          "contentType": "application/vnd.microsoft.card.adaptive",
          "contentUrl": null
        }
      ],
      "type": "message"
    }
    "#);
    insta::assert_json_snapshot!(json(&teams::message(&collection())), @r#"
    {
      "attachments": [
        {
          "content": {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "body": [
              {
                "bleed": true,
                "items": [
                  {
                    "inlines": [
                      {
                        "size": "Medium",
                        "text": "RESOLVED: 2 sites",
                        "type": "TextRun",
                        "weight": "Bolder"
                      }
                    ],
                    "type": "RichTextBlock"
                  }
                ],
                "style": "good",
                "type": "Container"
              },
              {
                "inlines": [
                  {
                    "text": "Resolved: Shop.",
                    "type": "TextRun"
                  }
                ],
                "spacing": "Small",
                "type": "RichTextBlock"
              },
              {
                "inlines": [
                  {
                    "text": "Resolved: Blog.",
                    "type": "TextRun"
                  }
                ],
                "spacing": "Small",
                "type": "RichTextBlock"
              }
            ],
            "msteams": {
              "width": "Full"
            },
            "type": "AdaptiveCard",
            "version": "1.4"
          },
          "contentType": "application/vnd.microsoft.card.adaptive",
          "contentUrl": null
        }
      ],
      "type": "message"
    }
    "#);
}

#[test]
fn ntfy_gets_a_message() {
    insta::assert_json_snapshot!(json(&ntfy::message(&down(), "alerts")), @r#"
    {
      "click": "https://vedette.example.com/issues/01",
      "message": "HTTP 503; 2 checks in a row.\n\nURL: https://shop.example.com/a_b\nSeverity: critical\nSince: 2026-11-21 12:01 UTC\nTeam: Web & Mobile\n\nNotes:\nCall the *host*.\nThen wait.",
      "priority": 5,
      "tags": [
        "rotating_light"
      ],
      "title": "DOWN: Example Shop",
      "topic": "alerts"
    }
    "#);
    insta::assert_json_snapshot!(json(&ntfy::message(&collection(), "alerts")), @r#"
    {
      "message": "Resolved: Shop.\nResolved: Blog.",
      "priority": 3,
      "tags": [
        "white_check_mark"
      ],
      "title": "RESOLVED: 2 sites",
      "topic": "alerts"
    }
    "#);
}

#[test]
fn mail_has_two_forms_of_one_content() {
    insta::assert_snapshot!(text(mail(&down())), @r#"
    From: Vedette <alerts@vedette.example.com>
    To: ada@example.com
    Subject: [DOWN] Example Shop
    Date: Sat, 21 Nov 2026 12:01:03 +0000
    Message-ID: <1@vedette.example.com>
    Auto-Submitted: auto-generated
    X-Auto-Response-Suppress: All
    In-Reply-To: <i.01a1fdfb-3060-8100-8a55-6c1f3b7d9e01.1795262460000@vedette.example.com>
    References: <i.01a1fdfb-3060-8100-8a55-6c1f3b7d9e01.1795262460000@vedette.example.com>
    X-Vedette-Issue: 01a1fdfb-3060-8100-8a55-6c1f3b7d9e01
    List-Unsubscribe: <https://vedette.example.com/unsubscribe/2>
    List-Unsubscribe-Post: List-Unsubscribe=One-Click
    MIME-Version: 1.0
    Content-Type: multipart/alternative;
     boundary="799dc3126c01e0d039c50fe987d5beba006a3c27"

    --799dc3126c01e0d039c50fe987d5beba006a3c27
    Content-Type: text/plain; charset=utf-8
    Content-Transfer-Encoding: 7bit

    DOWN: Example Shop

    HTTP 503; 2 checks in a row.

    URL: https://shop.example.com/a_b
    Severity: critical
    Since: 2026-11-21 12:01 UTC
    Team: Web & Mobile

    Open issue: https://vedette.example.com/issues/01

    Notes:
    Call the *host*.
    Then wait.

    -- 
    Unsubscribe this address: https://vedette.example.com/unsubscribe/2

    --799dc3126c01e0d039c50fe987d5beba006a3c27
    Content-Type: text/html; charset=utf-8
    Content-Transfer-Encoding: quoted-printable

    <!DOCTYPE html><html lang=3D"en"><head><meta charset=3D"utf-8"><meta name=
    =3D"viewport" content=3D"width=3Ddevice-width"><meta name=3D"color-scheme" =
    content=3D"light dark"><meta name=3D"supported-color-schemes" content=3D"li=
    ght dark"><title>DOWN: Example Shop</title></head><body style=3D"font:15px/=
    1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"><div sty=
    le=3D"display:none;max-height:0;overflow:hidden">HTTP 503; 2 checks in a ro=
    w.</div><table role=3D"presentation" width=3D"100%" style=3D"max-width:600p=
    x"><tr><td><h1 style=3D"border-left:4px solid #d92d20;padding-left:12px;fon=
    t-size:18px">DOWN: Example Shop</h1><p>HTTP 503; 2 checks in a row.</p><tab=
    le role=3D"presentation" cellpadding=3D"0" cellspacing=3D"0" style=3D"margi=
    n:16px 0"><tr><td style=3D"padding:2px 16px 2px 0;opacity:.7;vertical-align=
    :top">URL</td><td style=3D"padding:2px 0">https://shop.example.com/a_b</td>=
    </tr><tr><td style=3D"padding:2px 16px 2px 0;opacity:.7;vertical-align:top"=
    >Severity</td><td style=3D"padding:2px 0">critical</td></tr><tr><td style=
    =3D"padding:2px 16px 2px 0;opacity:.7;vertical-align:top">Since</td><td sty=
    le=3D"padding:2px 0">2026-11-21 12:01 UTC</td></tr><tr><td style=3D"padding=
    :2px 16px 2px 0;opacity:.7;vertical-align:top">Team</td><td style=3D"paddin=
    g:2px 0">Web &amp; Mobile</td></tr></table><p><a href=3D"https://vedette.ex=
    ample.com/issues/01" style=3D"display:inline-block;padding:8px 16px;border:=
    1px solid;border-radius:4px;color:inherit;text-decoration:none">Open issue<=
    /a></p><p><b>Notes:</b><br>Call the *host*.<br>Then wait.</p><p style=3D"fo=
    nt-size:12px;opacity:.7"><a href=3D"https://vedette.example.com/unsubscribe=
    /2" style=3D"color:inherit">Unsubscribe this address</a></p></td></tr></tab=
    le></body></html>
    --799dc3126c01e0d039c50fe987d5beba006a3c27--
    "#);
    let collected = Envelope { unsubscribe_url: None, ..envelope() };
    let mail = mail::message(&collection(), &collected).expect("a mail");
    insta::assert_snapshot!(text(mail.formatted()), @r#"
    From: Vedette <alerts@vedette.example.com>
    To: ada@example.com
    Subject: [RESOLVED] 2 sites
    Date: Sat, 21 Nov 2026 12:01:03 +0000
    Message-ID: <1@vedette.example.com>
    Auto-Submitted: auto-generated
    X-Auto-Response-Suppress: All
    MIME-Version: 1.0
    Content-Type: multipart/alternative;
     boundary="00af4a7db7e0039d48d6d3777471ec9b8e50fcf5"

    --00af4a7db7e0039d48d6d3777471ec9b8e50fcf5
    Content-Type: text/plain; charset=utf-8
    Content-Transfer-Encoding: 7bit

    RESOLVED: 2 sites

    Resolved: Shop.
    Resolved: Blog.

    --00af4a7db7e0039d48d6d3777471ec9b8e50fcf5
    Content-Type: text/html; charset=utf-8
    Content-Transfer-Encoding: quoted-printable

    <!DOCTYPE html><html lang=3D"en"><head><meta charset=3D"utf-8"><meta name=
    =3D"viewport" content=3D"width=3Ddevice-width"><meta name=3D"color-scheme" =
    content=3D"light dark"><meta name=3D"supported-color-schemes" content=3D"li=
    ght dark"><title>RESOLVED: 2 sites</title></head><body style=3D"font:15px/1=
    .5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"><div styl=
    e=3D"display:none;max-height:0;overflow:hidden">Resolved: Shop.</div><table=
     role=3D"presentation" width=3D"100%" style=3D"max-width:600px"><tr><td><h1=
     style=3D"border-left:4px solid #1e9e5a;padding-left:12px;font-size:18px">R=
    ESOLVED: 2 sites</h1><p>Resolved: Shop.</p><p>Resolved: Blog.</p></td></tr>=
    </table></body></html>
    --00af4a7db7e0039d48d6d3777471ec9b8e50fcf5--
    "#);
}

fn asker(name: &str) -> Asker {
    Asker { name: name.to_owned(), email: "ada@example.com".to_owned() }
}

#[test]
fn an_address_is_asked_before_it_gets_alerts() {
    let asked = TransactionalMail {
        kind: TransactionalMailKind::Confirmation {
            asked_by: Some(asker("Ada <i>")),
            team: "Web <b>\r\nBcc: x@example.com".to_owned(),
        },
        url: "https://vedette.example.com/channels/3/confirm?key=4".to_owned(),
        unsubscribe_url: None,
    };
    let mail = mail::mail(&asked, &envelope()).expect("a mail");
    insta::assert_snapshot!(text(mail.formatted()), @r#"
    From: Vedette <alerts@vedette.example.com>
    To: ada@example.com
    Subject: Confirm this address for alerts
    Date: Sat, 21 Nov 2026 12:01:03 +0000
    Message-ID: <1@vedette.example.com>
    Auto-Submitted: auto-generated
    X-Auto-Response-Suppress: All
    MIME-Version: 1.0
    Content-Type: multipart/alternative;
     boundary="c0851fd65abe3e573addfe6ea988ed71f7371b17"

    --c0851fd65abe3e573addfe6ea988ed71f7371b17
    Content-Type: text/plain; charset=utf-8
    Content-Transfer-Encoding: quoted-printable

    Ada <i> (ada@example.com) wants to send alerts about the websites of the te=
    am =E2=80=9CWeb <b> Bcc: x at example. com=E2=80=9D to this address.

    Confirm this address: https://vedette.example.com/channels/3/confirm?key=3D4

    No alerts are sent here until you confirm. If you do not want them, ignore =
    this email.

    --c0851fd65abe3e573addfe6ea988ed71f7371b17
    Content-Type: text/html; charset=utf-8
    Content-Transfer-Encoding: quoted-printable

    <!DOCTYPE html><html lang=3D"en"><head><meta charset=3D"utf-8"><meta name=
    =3D"viewport" content=3D"width=3Ddevice-width"><meta name=3D"color-scheme" =
    content=3D"light dark"><meta name=3D"supported-color-schemes" content=3D"li=
    ght dark"><title>Confirm this address for alerts</title></head><body style=
    =3D"font:15px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-s=
    erif"><div style=3D"display:none;max-height:0;overflow:hidden">Ada &lt;i&gt=
    ; (ada@example.com) wants to send alerts about the websites of the team =E2=
    =80=9CWeb &lt;b&gt; Bcc: x at example. com=E2=80=9D to this address.</div><=
    table role=3D"presentation" width=3D"100%" style=3D"max-width:600px"><tr><t=
    d><h1 style=3D"border-left:4px solid #80848e;padding-left:12px;font-size:18=
    px">Confirm this address for alerts</h1><p>Ada &lt;i&gt; (ada@example.com) =
    wants to send alerts about the websites of the team =E2=80=9CWeb &lt;b&gt; =
    Bcc: x at example. com=E2=80=9D to this address.</p><p><a href=3D"https://v=
    edette.example.com/channels/3/confirm?key=3D4" style=3D"display:inline-bloc=
    k;padding:8px 16px;border:1px solid;border-radius:4px;color:inherit;text-de=
    coration:none">Confirm this address</a></p><p>No alerts are sent here until=
     you confirm. If you do not want them, ignore this email.</p></td></tr></ta=
    ble></body></html>
    --c0851fd65abe3e573addfe6ea988ed71f7371b17--
    "#);
}

#[test]
fn letters_say_what_their_link_is_for() {
    let team = || "Web <b> https://evil.example".to_owned();
    let invited =
        |name: &str| TransactionalMailKind::Invitation { asked_by: asker(name), team: team() };
    for (kind, subject, request) in [
        (
            invited("Ada\nBob, www.evil.example"),
            "Invitation to a team on Vedette",
            "Ada Bob, www. evil. example (ada@example.com) has invited you to the team “Web <b> https: / /evil. \
             example”, which monitors its websites with Vedette.",
        ),
        (
            invited("ada@example.com"),
            "Invitation to a team on Vedette",
            "ada@example.com has invited you to the team “Web <b> https: / /evil. example”,",
        ),
        (
            TransactionalMailKind::Confirmation { asked_by: Some(asker("Ada")), team: team() },
            "Confirm this address for alerts",
            "Ada (ada@example.com) wants to send alerts about the websites of the team “Web <b>",
        ),
        (
            TransactionalMailKind::Confirmation { asked_by: None, team: team() },
            "Confirm this address for alerts",
            "The team “Web <b> https: / /evil. example” wants to send alerts about its websites",
        ),
        (
            TransactionalMailKind::SignIn,
            "Sign in to Vedette",
            "Use this link to sign in to Vedette.",
        ),
        (
            TransactionalMailKind::Subscription { page: team() },
            "Confirm your subscription",
            "Somebody, probably you, asked to send updates about incidents on the status page “Web <b> https: / /evil. example” to this address.",
        ),
    ] {
        let url = "https://vedette.example.com/sign-in/7".to_owned();
        let mail = mail::mail(
            &TransactionalMail { kind, url: url.clone(), unsubscribe_url: None },
            &envelope(),
        )
        .expect("a mail");
        let mail = mail.formatted();
        let read = mail_parser::MessageParser::default().parse(&mail).expect("a mail");
        assert_eq!(read.subject(), Some(subject));
        let plain = read.body_text(0).expect("a text");
        assert!(plain.starts_with(request) && plain.contains(&format!(": {url}")), "{plain}");
        let html = read.body_html(0).expect("a page");
        assert!(html.contains(&format!("href=\"{url}\"")) && !html.contains("<b>"), "{html}");
    }
}

#[test]
fn an_update_of_an_incident_is_a_mail_of_its_thread_that_can_be_unsubscribed() {
    let news = |update, status| IncidentNews {
        incident: IncidentId(Uuid::from_u128(5)),
        update,
        page: "Meridian Goods".to_owned(),
        title: "Orders are delayed".to_owned(),
        status,
        text: "The cause is a release.\nYou can still <shop>.".to_owned(),
        components: vec!["Shop".to_owned(), "Orders".to_owned()],
    };
    let written = |news| {
        let mail = TransactionalMail {
            kind: TransactionalMailKind::Incident(news),
            url: "https://vedette.example.com/status/meridian".to_owned(),
            unsubscribe_url: Some(
                "https://vedette.example.com/subscriptions/1/2/unsubscribe?key=3".to_owned(),
            ),
        };
        mail::mail(&mail, &envelope()).expect("a mail").formatted()
    };
    insta::assert_snapshot!(text(written(news(1, IncidentStatus::Identified))), @r#"
    From: Vedette <alerts@vedette.example.com>
    To: ada@example.com
    Subject: [Identified] Meridian Goods: Orders are delayed
    Date: Sat, 21 Nov 2026 12:01:03 +0000
    Message-ID: <1@vedette.example.com>
    Auto-Submitted: auto-generated
    X-Auto-Response-Suppress: All
    In-Reply-To: <incident.00000000-0000-0000-0000-000000000005@vedette.example.com>
    References: <incident.00000000-0000-0000-0000-000000000005@vedette.example.com>
    List-Unsubscribe: <https://vedette.example.com/subscriptions/1/2/unsubscribe?key=3>
    List-Unsubscribe-Post: List-Unsubscribe=One-Click
    MIME-Version: 1.0
    Content-Type: multipart/alternative;
     boundary="5d4ac9cd188f074c000016184b64370fbdfdf03c"

    --5d4ac9cd188f074c000016184b64370fbdfdf03c
    Content-Type: text/plain; charset=utf-8
    Content-Transfer-Encoding: quoted-printable

    The cause is a release.
    You can still <shop>.

    Affects: Shop, Orders

    Open the status page: https://vedette.example.com/status/meridian

    You have subscribed to the status page =E2=80=9CMeridian Goods=E2=80=9D.

    --=20
    Unsubscribe this address: https://vedette.example.com/subscriptions/1/2/uns=
    ubscribe?key=3D3

    --5d4ac9cd188f074c000016184b64370fbdfdf03c
    Content-Type: text/html; charset=utf-8
    Content-Transfer-Encoding: quoted-printable

    <!DOCTYPE html><html lang=3D"en"><head><meta charset=3D"utf-8"><meta name=
    =3D"viewport" content=3D"width=3Ddevice-width"><meta name=3D"color-scheme" =
    content=3D"light dark"><meta name=3D"supported-color-schemes" content=3D"li=
    ght dark"><title>[Identified] Meridian Goods: Orders are delayed</title></h=
    ead><body style=3D"font:15px/1.5 system-ui,-apple-system,'Segoe UI',Helveti=
    ca,Arial,sans-serif"><div style=3D"display:none;max-height:0;overflow:hidde=
    n">The cause is a release.</div><table role=3D"presentation" width=3D"100%"=
     style=3D"max-width:600px"><tr><td><h1 style=3D"border-left:4px solid #8084=
    8e;padding-left:12px;font-size:18px">[Identified] Meridian Goods: Orders ar=
    e delayed</h1><p>The cause is a release.<br>You can still &lt;shop&gt;.</p>=
    <p>Affects: Shop, Orders</p><p><a href=3D"https://vedette.example.com/statu=
    s/meridian" style=3D"display:inline-block;padding:8px 16px;border:1px solid=
    ;border-radius:4px;color:inherit;text-decoration:none">Open the status page=
    </a></p><p>You have subscribed to the status page =E2=80=9CMeridian Goods=
    =E2=80=9D.</p><p style=3D"font-size:12px;opacity:.7"><a href=3D"https://ved=
    ette.example.com/subscriptions/1/2/unsubscribe?key=3D3" style=3D"color:inhe=
    rit">Unsubscribe this address</a></p></td></tr></table></body></html>
    --5d4ac9cd188f074c000016184b64370fbdfdf03c--
    "#);
    let over = written(news(2, IncidentStatus::Resolved));
    let over = MessageParser::default().parse(&over).expect("a mail");
    assert_eq!(over.subject(), Some("[Resolved] Meridian Goods: Orders are delayed"));
}

#[test]
fn invalid_mail_addresses_are_refused() {
    for (from, to, said) in [
        ("Vedette", "ada@example.com", "the address of the sender is not valid"),
        ("a@example.com", "Ada <ada@example.com>", "the address of the recipient is not valid"),
        (
            "a@example.com",
            "ada@example.com\r\nBcc: b@example.com",
            "the address of the recipient is not valid",
        ),
    ] {
        let wrong = Envelope { from: from.to_owned(), to: to.to_owned(), ..envelope() };
        let error = mail::message(&down(), &wrong).expect_err(to);
        assert_eq!(error.to_string(), said);
    }
}

#[test]
fn all_alerts_of_an_opening_are_one_thread() {
    let still = Alert { state: "STILL DOWN 1 h".to_owned(), kind: AlertKind::Reminder, ..down() };
    let over = Alert { state: "RESOLVED".to_owned(), kind: AlertKind::Resolved, ..down() };
    let root = format!("i.{}.1795262460000@vedette.example.com", issue());
    for (alert, subject) in [
        (down(), "[DOWN] Example Shop"),
        (still, "[STILL DOWN 1 h] Example Shop"),
        (over, "[RESOLVED] Example Shop"),
    ] {
        let bytes = mail(&alert);
        let mail = MessageParser::default().parse(&bytes).expect("a mail");
        assert_eq!(mail.subject(), Some(subject));
        assert_eq!(mail.references().as_text(), Some(root.as_str()));
        assert_eq!(mail.in_reply_to().as_text(), Some(root.as_str()));
    }
}

#[test]
fn a_color_says_how_grave_it_is() {
    let color = |kind, severity| {
        let alert = Alert { kind, severity, ..down() };
        let style = json(&teams::message(&alert));
        let style = style.pointer("/attachments/0/content/body/0/style").cloned();
        (style.expect("a style"), json(&discord::message(&alert))["embeds"][0]["color"].clone())
    };
    for (kind, severity, style, expected) in [
        (AlertKind::Opened, Some(Severity::Critical), "attention", 0xe0_1e_5a),
        (AlertKind::Reminder, Some(Severity::Warning), "warning", 0xec_b2_2e),
        (AlertKind::Opened, Some(Severity::Info), "accent", 0x36_c5_f0),
        (AlertKind::Missed, Some(Severity::Critical), "accent", 0x36_c5_f0),
        (AlertKind::Resolved, Some(Severity::Critical), "good", 0x2e_b6_7d),
        (AlertKind::Notice, None, "accent", 0x36_c5_f0),
        (AlertKind::Test, None, "emphasis", 0x80_84_8e),
    ] {
        assert_eq!(color(kind, severity), (json!(style), json!(expected)), "{kind:?}");
    }
}

#[test]
fn a_site_name_is_escaped_in_markup() {
    let name =
        "<!channel> <@1> @everyone **b** [a](https://x.test) # & \"' =?utf-8?q?=41?= | `c` ||d||";
    let alert = Alert { name: name.to_owned(), ..down() };
    let slack = json(&slack::message(&alert));
    assert_eq!(
        slack["blocks"][0]["text"],
        json!({
            "type": "plain_text",
            "emoji": false,
            "text": "DOWN: &lt;!channel&gt; &lt;@1&gt; @everyone **b** [a](https://x.test) # &amp; \"' =?utf-8?q?=41?= | `c` ||d||",
        })
    );
    let discord = json(&discord::message(&alert));
    assert_eq!(discord["allowed_mentions"], json!({ "parse": [] }));
    assert_eq!(
        discord["embeds"][0]["title"],
        r#"DOWN: \<!channel\> \<@1\> @everyone \*\*b\*\* \[a\]\(https://x.test\) # & "' =?utf-8?q?=41?= \| \`c\` \|\|d\|\|"#
    );
    let teams = json(&teams::message(&alert));
    let title = teams.pointer("/attachments/0/content/body/0/items/0/inlines/0/text");
    assert_eq!(title, Some(&json!(format!("DOWN: {name}"))));
    let bytes = mail(&alert);
    let mail = MessageParser::default().parse(&bytes).expect("a mail");
    assert_eq!(mail.subject(), Some(&*format!("[DOWN] {}", name.replace("=?", "= ?"))));
    let html = mail.body_html(0).expect("HTML");
    assert!(html.contains("DOWN: &lt;!channel&gt; &lt;@1&gt; @everyone **b**"), "{html}");
}

#[test]
fn discord_shows_addresses_as_they_are() {
    let lines = ["# HTTP 503 from https://x.test/a_b_c?d=* and `e`", "- https://x.test/<@1>_"];
    let alert = Alert { lines: lines.map(str::to_owned).to_vec(), runbook: None, ..down() };
    assert_eq!(
        json(&discord::message(&alert))["embeds"][0]["description"],
        "\\# HTTP 503 from https://x.test/a_b_c?d=* and \\`e\\`\n\\- https://x.test/\\<@1\\>\\_"
    );
}

#[test]
fn an_event_has_an_id_that_repeats() {
    let opened_at = at("2026-11-21T12:01:00Z");
    let id = webhook::webhook_id(issue(), opened_at, EventKind::Opened, b"1");
    insta::assert_snapshot!(id, @"msg_r3mQW8tF234cs2qbVr4qO9ZVPn");
    assert_eq!(id, webhook::webhook_id(issue(), opened_at, EventKind::Opened, b"1"));
    let later = opened_at + jiff::SignedDuration::from_millis(1);
    for other in [
        webhook::webhook_id(issue(), later, EventKind::Opened, b"1"),
        webhook::webhook_id(issue(), opened_at, EventKind::Resolved, b"1"),
        webhook::webhook_id(issue(), opened_at, EventKind::Opened, b"2"),
    ] {
        assert_ne!(id, other);
        assert_eq!(other.len(), 30);
        assert!(other[4..].bytes().all(|byte| byte.is_ascii_alphanumeric()), "{other}");
    }
}

#[test]
fn an_event_says_what_it_is_first() {
    let data = json!({ "uuid": "x", "context": { "a": 1 } });
    let body = webhook::body(webhook::TEST, at("2026-11-21T12:00:00Z"), data);
    assert_eq!(
        text(body),
        r#"{"type":"channel.test","timestamp":"2026-11-21T12:00:00Z","data":{"context":{"a":1},"uuid":"x"}}"#
    );
}

#[test]
fn an_event_that_is_too_long_loses_what_can_be_asked_for() {
    let entries: Vec<_> = (0..200).map(|n| json!({ "n": n })).collect();
    let long = |length: usize| "ä".repeat(length);
    let sent = |data: Value| {
        let body = webhook::body("issue.opened", at("2026-11-21T12:00:00Z"), data);
        assert!(body.len() <= webhook::BODY_LIMIT, "{}", body.len());
        json(&body)["data"].clone()
    };
    let whole = json!({ "uuid": "x", "context": { "a": long(5_000) }, "timeline": entries });
    assert_eq!(sent(whole.clone()), whole);
    let data = sent(json!({ "uuid": "x", "context": { "a": long(10_000) }, "timeline": entries }));
    assert_eq!(data, json!({ "uuid": "x", "context": null, "timeline": entries }));
    let data = sent(json!({ "context": {}, "summary": long(9_500), "timeline": entries }));
    assert_eq!(data["timeline"], json!(entries[150..]));
    assert_eq!(data["summary"], long(9_500));
    let texts: Vec<_> = (0..20).map(|_| long(1_500)).collect();
    let data = sent(json!({ "uuid": "x", "site": { "texts": texts } }));
    assert_eq!(data["site"]["texts"][19], format!("{}…", long(99)));
    assert_eq!(data["uuid"], "x");
}

#[test]
fn each_kind_has_the_link_to_respond() {
    let (alert, link) = (Alert { respond: Some(respond()), ..down() }, respond());
    let Link { text: label, url } = link;
    let plain = format!("\n{label}: {url}");
    let escaped = url.replace('&', "&amp;");
    let button = |title: &str, to: &str| json!({ title: label, to: url });
    let open = json!({ "text": label, "onClick": { "openLink": { "url": url } } });
    let ends = |body: &Value, pointer: &str| {
        let found = body.pointer(pointer).and_then(Value::as_str);
        found.is_some_and(|found| found.ends_with(&plain))
    };
    let slack = json(&slack::message(&alert));
    let links = format!("<https://vedette.example.com/issues/01|Open issue> · <{escaped}|{label}>");
    assert_eq!(slack["blocks"][3]["text"]["text"], links);
    let discord = json(&discord::message(&alert));
    assert_eq!(discord["embeds"][0]["fields"][0]["value"], format!("[{label}]({url})"));
    let card = json(&teams::message(&alert));
    let mut action = button("title", "url");
    action["type"] = "Action.OpenUrl".into();
    assert_eq!(card["attachments"][0]["content"]["actions"][1], action);
    let chat = json(&google_chat::message(&alert));
    let card = &chat["cardsV2"][0]["card"];
    assert_eq!(card["sections"][0]["widgets"][3]["buttonList"]["buttons"][1], open);
    assert!(ends(&json(&mattermost::message(&alert)), "/attachments/0/text"));
    assert!(ends(&json(&matrix::body(&alert, None)), "/body"));
    assert!(ends(&json(&gotify::message(&alert)), "/message"));
    let pushover = pushover::message(&alert);
    assert_eq!((&pushover["url"], &pushover["url_title"]), (&json!(url), &json!(label)));
    let ntfy = json(&ntfy::message(&alert, "alerts"));
    let post = format!("{url}&respond=acknowledge");
    assert_eq!(
        ntfy["actions"],
        json!([
            { "action": "http", "label": "Acknowledge", "url": post, "method": "POST", "clear": true },
            { "action": "view", "label": "Snooze", "url": url },
        ])
    );
    let telegram = json(&telegram::body(&alert, "-100", None));
    assert_eq!(telegram["reply_markup"]["inline_keyboard"][0][1], button("text", "url"));
    let bytes = mail(&alert);
    let mail = MessageParser::default().parse(&bytes).expect("a mail");
    assert!(mail.body_text(0).is_some_and(|body| body.contains(&format!("{label}: {url}"))));
    assert!(mail.body_html(0).is_some_and(|body| body.contains(&escaped)));
}

#[test]
fn telegram_gets_a_button_only_if_it_accepts_its_host() {
    for (base, is_button) in [
        ("https://vedette.example.com", true),
        ("http://localhost:8080", false),
        ("http://127.0.0.1:8080", false),
        ("https://vedette.internal", false),
        ("https://vedette", false),
    ] {
        let link = Link { url: format!("{base}/issues/01"), text: "Open issue" };
        let alert = Alert { link: Some(link.clone()), ..down() };
        let body = json(&telegram::body(&alert, "-100", None));
        assert_eq!(body.get("reply_markup").is_some(), is_button, "{base}");
        let text = body["text"].as_str().expect("a text");
        assert_eq!(text.contains(&link.plain()), !is_button, "{base}");
    }
}

/// Malicious texts, some of them very long.
fn hostile() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("<!channel>".to_owned()),
        Just("<https://x.test|".to_owned()),
        Just("@everyone".to_owned()),
        Just("\r\nBcc: all@example.com\r\n\r\n".to_owned()),
        Just("\u{202e}\u{2066}\u{200f}".to_owned()),
        Just("\u{1f9d1}\u{200d}\u{1f680}".to_owned()),
        Just("=?utf-8?b?DQpCY2M6IGE=?=".to_owned()),
        Just("</td><script>alert(1)</script>".to_owned()),
        Just("**_~~||`\\".to_owned()),
        Just("&\"'".to_owned()),
        any::<String>(),
        " {0,3}\\PC{0,5}",
    ];
    (proptest::collection::vec(part, 0..6), prop_oneof![Just(1), Just(1), Just(30), Just(1_000)])
        .prop_map(|(parts, times)| parts.concat().repeat(times).chars().take(5_000).collect())
}

fn hostile_alert() -> impl Strategy<Value = Alert> {
    let texts = |most| proptest::collection::vec(hostile(), 0..most);
    (hostile(), texts(80), texts(30), proptest::option::of(hostile()), any::<bool>()).prop_map(
        |(name, lines, values, runbook, has_link)| Alert {
            name,
            lines,
            facts: values.into_iter().map(|value| Fact { label: "Since", value }).collect(),
            runbook,
            link: down().link.filter(|_| has_link),
            respond: has_link.then(respond),
            ..down()
        },
    )
}

/// All texts under this key in a JSON value.
fn texts<'a>(value: &'a Value, key: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(values) => open.extend(values),
            Value::Object(values) => {
                found.extend(values.get(key).and_then(Value::as_str));
                open.extend(values.values());
            }
            _ => {}
        }
    }
    found
}

fn utf16(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Checks an alert against what the service of a channel's kind accepts.
fn service_takes(kind: ChannelKind, alert: &Alert) -> Result<(), TestCaseError> {
    match kind {
        ChannelKind::Email => mail_carries(alert),
        ChannelKind::Slack => slack_takes(alert),
        ChannelKind::Discord => discord_takes(alert),
        ChannelKind::Teams => teams_takes(alert),
        ChannelKind::Ntfy => ntfy_takes(alert),
        ChannelKind::GoogleChat => google_chat_takes(alert),
        ChannelKind::Mattermost => mattermost_takes(alert),
        ChannelKind::Matrix => matrix_takes(alert),
        ChannelKind::Telegram => telegram_takes(alert),
        ChannelKind::Pushover => pushover_takes(alert),
        ChannelKind::Gotify => gotify_takes(alert),
        // A program receives events or snapshots instead.
        ChannelKind::PagerDuty | ChannelKind::Alertmanager | ChannelKind::Webhook => Ok(()),
    }
}

fn slack_takes(alert: &Alert) -> Result<(), TestCaseError> {
    let message = json(&slack::message(alert));
    let blocks = message["blocks"].as_array().expect("blocks");
    prop_assert!(blocks.len() <= 50);
    let mut total = 0;
    for block in blocks {
        let limit = match block["type"].as_str() {
            Some("header") => 150,
            Some("section" | "context") => 3_000,
            other => panic!("{other:?}"),
        };
        for text in texts(block, "text") {
            prop_assert!((1..=limit).contains(&utf16(text)), "{text}");
            total += utf16(text);
        }
        if block["text"]["type"] != "mrkdwn" {
            prop_assert!(texts(block, "text").iter().all(|text| !text.contains(['<', '>'])));
        } else {
            let [links] = texts(block, "text")[..] else { panic!("one text") };
            let [first, others @ ..] = &links.split(" · ").collect::<Vec<_>>()[..] else {
                panic!("a link")
            };
            prop_assert_eq!(*first, "<https://vedette.example.com/issues/01|Open issue>");
            prop_assert!(others.iter().all(|link| link.ends_with("|Acknowledge or snooze>")));
        }
    }
    prop_assert!(total <= 13_000);
    prop_assert!(!message["text"].as_str().expect("a text").contains(['<', '>']));
    Ok(())
}

fn discord_takes(alert: &Alert) -> Result<(), TestCaseError> {
    let message = json(&discord::message(alert));
    let mut embeds = message["embeds"].clone();
    // As Discord writes it itself.
    embeds[0]["type"] = json!("rich");
    let embeds: Vec<Embed> = serde_json::from_value(embeds).expect("embeds");
    for embed in &embeds {
        twilight_validate::embed::embed(embed).expect("within the limits");
        prop_assert!(embed.fields.iter().all(|field| !field.value.trim().is_empty()));
    }
    prop_assert_eq!(embeds.len(), 1);
    prop_assert_eq!(&message["allowed_mentions"], &json!({ "parse": [] }));
    prop_assert!(message.get("content").is_none());
    let counted = ["title", "description", "name", "value"];
    let total: usize = counted.iter().flat_map(|key| texts(&message, key)).map(utf16).sum();
    prop_assert!(total <= 6_000);
    Ok(())
}

fn teams_takes(alert: &Alert) -> Result<(), TestCaseError> {
    let bytes = teams::message(alert);
    prop_assert!(bytes.len() <= 28 * 1024, "{}", bytes.len());
    let message = json(&bytes);
    let types = texts(&message["attachments"][0]["content"]["body"], "type");
    let known = ["Container", "RichTextBlock", "TextRun"];
    prop_assert!(types.iter().all(|name| known.contains(name)), "{types:?}");
    prop_assert!(texts(&message, "text").iter().all(|text| !text.is_empty()));
    Ok(())
}

fn ntfy_takes(alert: &Alert) -> Result<(), TestCaseError> {
    let bytes = ntfy::message(alert, &"t".repeat(64));
    // Longer JSON is not read.
    prop_assert!(bytes.len() <= 8_192, "{}", bytes.len());
    let message = json(&bytes);
    let keys: Vec<_> = message.as_object().expect("an object").keys().collect();
    let known = ["actions", "click", "message", "priority", "tags", "title", "topic"];
    prop_assert!(keys.iter().all(|key| known.contains(&key.as_str())), "{keys:?}");
    prop_assert!(message["message"].as_str().expect("a text").len() <= 4_096);
    prop_assert!(!message["title"].as_str().expect("a text").contains('\n'));
    Ok(())
}

fn google_chat_takes(alert: &Alert) -> Result<(), TestCaseError> {
    let bytes = google_chat::message(alert);
    prop_assert!(bytes.len() <= 32_000, "{}", bytes.len());
    let message = json(&bytes);
    prop_assert!(
        !message["text"].as_str().expect("a text").contains(['<', '>', '*', '_', '~', '`'])
    );
    let card = &message["cardsV2"][0]["card"];
    for text in texts(&card["sections"][0]["widgets"], "text") {
        prop_assert!(!text.replace("<br>", "").contains(['<', '>', '\n']), "{text}");
    }
    Ok(())
}

fn mattermost_takes(alert: &Alert) -> Result<(), TestCaseError> {
    let message = json(&mattermost::message(alert));
    for text in texts(&message, "text") {
        prop_assert!(text.chars().count() <= 16_383);
        prop_assert!(!text.contains(['<', '>']), "{text}");
        let is_mention = |(at, _): (usize, &str)| !text[at..].starts_with("@\u{2060}");
        prop_assert!(!text.match_indices('@').any(is_mention), "{text}");
    }
    Ok(())
}

fn matrix_takes(alert: &Alert) -> Result<(), TestCaseError> {
    let bytes = matrix::body(alert, Handle::new("$opening").as_ref());
    // A server adds ids, hashes and signatures.
    prop_assert!(bytes.len() <= 32_000, "{}", bytes.len());
    let message = json(&bytes);
    prop_assert_eq!(&message["m.mentions"], &json!({}));
    prop_assert!(!message["body"].as_str().expect("a text").is_empty());
    Ok(())
}

fn telegram_takes(alert: &Alert) -> Result<(), TestCaseError> {
    let message = json(&telegram::body(alert, "-100", Handle::new("7").as_ref()));
    let text = message["text"].as_str().expect("a text");
    prop_assert!((1..=4_096).contains(&utf16(text)), "{text}");
    prop_assert!(message.get("parse_mode").is_none());
    prop_assert_eq!(&message["reply_parameters"]["message_id"], &json!(7));
    Ok(())
}

fn pushover_takes(alert: &Alert) -> Result<(), TestCaseError> {
    let message = pushover::message(alert);
    for (field, limit) in [("title", 250), ("message", 1_024), ("url", 512), ("url_title", 100)] {
        let text = message[field].as_str().unwrap_or("-");
        prop_assert!((1..=limit).contains(&text.chars().count()), "{field}: {text}");
    }
    prop_assert_eq!(&message["priority"], &json!(2));
    prop_assert!(
        message["retry"].as_u64() >= Some(30) && message["expire"].as_u64() <= Some(10_800)
    );
    Ok(())
}

fn gotify_takes(alert: &Alert) -> Result<(), TestCaseError> {
    let message = json(&gotify::message(alert));
    prop_assert!(message["title"].as_str().is_some_and(|title| !title.contains('\n')));
    prop_assert!(message["message"].is_string() && message["priority"].is_u64());
    Ok(())
}

fn mail_carries(alert: &Alert) -> Result<(), TestCaseError> {
    let bytes = mail(alert);
    prop_assert!(bytes.is_ascii());
    prop_assert!(bytes.split(|byte| *byte == b'\n').all(|line| line.len() <= 999));
    let mail = MessageParser::default().parse(&bytes).expect("a mail");
    let innocent = self::mail(&down());
    let innocent = MessageParser::default().parse(&innocent).expect("a mail");
    let names = |mail: &mail_parser::Message<'_>| {
        mail.headers().iter().map(|header| header.name().to_owned()).collect::<Vec<_>>()
    };
    prop_assert_eq!(names(&mail), names(&innocent));
    prop_assert_eq!(mail.parts.len(), 3);
    prop_assert!(mail.bcc().is_none());
    prop_assert_eq!(
        mail.header("X-Vedette-Issue"),
        Some(&HeaderValue::Text(issue().to_string().into()))
    );
    let tame = alert.tamed();
    let name = text::cut(&tame.name, 255, |_| 1).replace("=?", "= ?");
    let subject = format!("[DOWN] {name}");
    prop_assert_eq!(mail.subject(), Some(subject.trim_end()));
    let plain = mail.body_text(0).expect("plain text").replace("\r\n", "\n");
    prop_assert!(plain.starts_with(&tame.title()));
    for line in &tame.lines {
        prop_assert!(plain.contains(line.as_str()), "{line}");
    }
    let html = mail.body_html(0).expect("HTML");
    prop_assert!(!html.contains("<script"), "{html}");
    Ok(())
}

#[test]
fn an_emergency_ends_with_its_issue_and_not_with_the_first_of_many() {
    let key = "u".repeat(30);
    let stored = json!({ "url": format!("https://api.pushover.net/{key}"), "token": "token" });
    let pushover: Pushover = serde_json::from_value(stored).expect("a channel");
    let openings = ["r1", "r2"].map(|receipt| Handle::new(receipt).expect("a handle"));
    let is_over = Alert { kind: AlertKind::Resolved, ..down() };
    for (alert, canceled) in [
        (&is_over, &["/1/receipts/r1/cancel.json", "/1/receipts/r2/cancel.json"][..]),
        (&Alert { kind: AlertKind::Reminder, ..down() }, &[]),
    ] {
        let message = ChatMessage { alert, id: "1", openings: &openings };
        let requests = pushover.requests_before(message).expect("requests");
        let paths: Vec<_> = requests.iter().map(|request| request.url.path()).collect();
        assert_eq!(paths, canceled);
    }
    let [receipt, _] = openings;
    for (alert, handle) in [(down(), Some(receipt)), (Alert { thread: None, ..down() }, None)] {
        let message = ChatMessage { alert: &alert, id: "1", openings: &[] };
        let request = pushover.request(message).expect("a request");
        let body = br#"{"status":1,"receipt":"r1"}"#;
        let outcome = request.outcome(&ChannelAnswer { status: 200, retry_after: None, body });
        assert_eq!(outcome, SendOutcome::Delivered { handle });
    }
    // Other messages have no receipt.
    let warning = Alert { severity: Some(Severity::Warning), ..down() };
    for alert in [is_over, Alert { kind: AlertKind::Reminder, ..down() }, warning] {
        let message = ChatMessage { alert: &alert, id: "1", openings: &[] };
        let request = pushover.request(message).expect("a request");
        let body = br#"{"status":1}"#;
        let outcome = request.outcome(&ChannelAnswer { status: 200, retry_after: None, body });
        assert_eq!(outcome, SendOutcome::DELIVERED, "{:?}", alert.kind);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_service_takes_every_alert(alert in hostile_alert()) {
        for kind in ChannelKind::ALL {
            service_takes(kind, &alert)?;
        }
    }
}
