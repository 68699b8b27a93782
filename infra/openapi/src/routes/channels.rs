//! `/teams/{team}/channels`.

use lambda_http::http::StatusCode;
use serde_json::{Value, json};
use vedette_domain::checks::tool::Tool;
use vedette_domain::issues::Severity;
use vedette_http::resource::{ChannelResource, NewChannelResource};

use crate::operation::{Operation, Success};
use crate::schemas::Schemas;
use crate::{parameters, request};

/// Operations on a channel.
const OF_A_CHANNEL: &[&str] = &[
    "channels.get",
    "channels.update",
    "channels.test",
    "channels.disable",
    "channels.enable",
    "channels.resend",
    "channels.delete",
];

/// The issue of which channels would be notified.
fn forecast() -> Vec<Value> {
    let tools = json!({ "type": "string", "enum": Tool::ALL, "default": Tool::Status });
    let severities =
        json!({ "type": "string", "enum": Severity::ALL, "default": Severity::Critical });
    // Not only an instant, so it has no format.
    let times = json!({ "type": "string" });
    vec![
        parameters::uuid(
            "site",
            "Say when each channel would be notified of an issue of this site.",
        ),
        parameters::query("tool", "The tool that would find the issue.", &tools),
        parameters::query("severity", "The severity of the issue.", &severities),
        parameters::query(
            "at",
            "When the issue would open; now if left out. A time without an offset is one of the \
             team's zone.",
            &times,
        ),
    ]
}

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let created = Success {
        status: StatusCode::CREATED,
        ..Success::ok("The new channel.", schemas.data::<NewChannelResource<'static>>())
    };
    let mut operations = vec![
        Operation {
            route: "channels.list",
            summary: "A team's channels",
            description: "An addition to the specification: where the team's alerts go, the \
                          oldest channel first, with recent failures and what waits. The list is \
                          not paginated. With a site, each channel says when it would be notified \
                          of an issue that nobody acknowledges.",
            query: forecast(),
            body: None,
            success: Success::ok("The channels.", schemas.list::<ChannelResource<'static>>()),
        },
        Operation {
            route: "channels.create",
            summary: "Add a channel",
            description: "An addition to the specification. A URL, a token and a signing key are \
                          secrets, which no later response contains. The response has the signing \
                          key of a webhook. An email address gets nothing until its recipient has \
                          confirmed it with a link. A team can have at most 20 channels.",
            query: Vec::new(),
            body: Some(request::new_channel(schemas)),
            success: created.followed_by("/data/uuid", "channel", OF_A_CHANNEL),
        },
        Operation {
            route: "channels.update",
            summary: "Change a channel",
            description: "An addition to the specification: changes the name, which alerts the channel \
                          gets, and where it leads. Fields that are omitted stay as they are. \
                          With another `url`, what waits is sent there, and the failures, the \
                          last test and `delivered_at` are cleared. If its scheme, host or port \
                          differ, the access token of an ntfy topic is deleted, unless the same \
                          request sends `token`. The signing key of a webhook stays: it is never \
                          sent to a server, and the receiver needs it to verify events. An email \
                          address cannot be changed, because its recipient would have to confirm \
                          it; add another channel instead.",
            query: Vec::new(),
            body: Some(request::channel_update(schemas)),
            success: Success::ok("The channel.", schemas.data::<ChannelResource<'static>>()),
        },
        Operation {
            route: "channels.delete",
            summary: "Delete a channel",
            description: "An addition to the specification: deletes a channel, and all alerts \
                          that are waiting to be sent to it.",
            query: Vec::new(),
            body: None,
            success: Success::no_content("The channel was deleted."),
        },
    ];
    for (route, summary, description) in [
        (
            "channels.get",
            "A channel",
            "An addition to the specification: a channel, with recent failures and what waits.",
        ),
        (
            "channels.enable",
            "Enable a channel",
            "An addition to the specification: a disabled channel gets alerts again, including what it has missed.",
        ),
        (
            "channels.disable",
            "Disable a channel",
            "An addition to the specification: nothing is sent to the channel until somebody enables it.",
        ),
        (
            "channels.test",
            "Test a channel",
            "An addition to the specification: queues a test message. Its outcome will be in `last_test`.",
        ),
        (
            "channels.resend",
            "Send what waits for a channel",
            "An addition to the specification: sends failed alerts and the confirmation email again, right away. A channel that its receiver has disabled is enabled.",
        ),
    ] {
        operations.push(Operation {
            route,
            summary,
            description,
            query: Vec::new(),
            body: None,
            success: Success::ok("The channel.", schemas.data::<ChannelResource<'static>>()),
        });
    }
    operations
}
