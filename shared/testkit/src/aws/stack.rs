//! CloudFormation and Lambda: one stack, its event sources, and the account's concurrency limit.

use std::fmt::Write as _;

use serde_json::json;

use super::{Answer, AwsAccount, Call};

/// The only stack of the account.
pub const STACK: &str = "vedette";

impl AwsAccount {
    pub(super) fn cloudformation(&self, call: &Call) -> (String, Answer) {
        let names_stack = call.text.split('&').any(|pair| pair == format!("StackName={STACK}"));
        let operation = "DescribeStacks".to_owned();
        if self.stack_status.is_empty() || !names_stack {
            let body = "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code>\
                        <Message>Stack does not exist</Message></Error></ErrorResponse>";
            return (operation, Answer { status: 400, body: body.to_owned() });
        }
        let mut outputs = String::new();
        for (name, value) in &self.outputs {
            let value = value.replace('&', "&amp;");
            let written = write!(
                outputs,
                "<member><OutputKey>{name}</OutputKey><OutputValue>{value}</OutputValue></member>"
            );
            written.expect("a text");
        }
        let body = format!(
            "<DescribeStacksResponse><DescribeStacksResult><Stacks><member>\
             <StackName>{STACK}</StackName><StackStatus>{}</StackStatus>\
             <Outputs>{outputs}</Outputs>\
             </member></Stacks></DescribeStacksResult></DescribeStacksResponse>",
            self.stack_status
        );
        (operation, Answer { status: 200, body })
    }

    pub(super) fn lambda(&self, call: &Call) -> (String, Answer) {
        if call.path.ends_with("account-settings") {
            let limit = json!({ "UnreservedConcurrentExecutions": self.places });
            let body = json!({ "AccountLimit": limit });
            return ("GetAccountSettings".to_owned(), Answer::json(&body));
        }
        if call.path.ends_with("/invocations") {
            let region = call.authorization.split('/').nth(2).expect("a scope");
            let answer = self.outposts.get(region);
            let answer = answer.map(|body| Answer { status: 200, body: body.clone() });
            let missing = || Answer::refusal(404, "ResourceNotFoundException", "by a test");
            return ("Invoke".to_owned(), answer.unwrap_or_else(missing));
        }
        let arn = call.query.get("EventSourceArn").expect("a queue");
        let queue = arn.rsplit_once("vedette-").map_or("", |(_, name)| name);
        let state = if self.disabled.contains(queue) { "Disabled" } else { "Enabled" };
        let source = json!({ "State": state, "ScalingConfig": { "MaximumConcurrency": 5 } });
        let body = json!({ "EventSourceMappings": [source] });
        ("ListEventSourceMappings".to_owned(), Answer::json(&body))
    }

    /// DynamoDB's answers about settings that the embedded table does not know.
    pub(super) fn table_settings(&self, target: &str) -> Option<Answer> {
        let body = match target.rsplit('.').next()? {
            "DescribeTimeToLive" => {
                let status = if self.forgets_expired { "ENABLED" } else { "DISABLED" };
                let ttl = json!({ "TimeToLiveStatus": status, "AttributeName": "ttl" });
                json!({ "TimeToLiveDescription": ttl })
            }
            "DescribeContinuousBackups" => {
                let status = if self.is_recoverable { "ENABLED" } else { "DISABLED" };
                let recovery = json!({ "PointInTimeRecoveryStatus": status });
                json!({ "ContinuousBackupsDescription": {
                    "ContinuousBackupsStatus": "ENABLED",
                    "PointInTimeRecoveryDescription": recovery,
                } })
            }
            _ => return None,
        };
        Some(Answer::json(&body))
    }
}
