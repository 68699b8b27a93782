//! A CloudFormation stack: its state, and its outputs, which describe the deployment.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::Event;
use url::form_urlencoded;
use vedette_checker::Outposts;
use vedette_ops::config::ConfigError;
use vedette_runtime::Clock;
use vedette_runtime::config::{Deployment, Service};

use super::{Account, Call, Refusal};
use crate::Failure;

/// A stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stack {
    name: String,
    /// Its state as CloudFormation names it, such as `UPDATE_COMPLETE`.
    pub(crate) status: String,
    /// The reason for this state, if CloudFormation gives one.
    pub(crate) reason: Option<String>,
    outputs: BTreeMap<String, String>,
}

/// The output that says whether checks are packed.
const BLOCKS: &str = "VEDETTE_BLOCKS";

/// The outputs with the values of the functions' environment variables.
pub(crate) const OUTPUTS: [(&str, &str); 12] = [
    ("VEDETTE_TABLE", "TableName"),
    ("VEDETTE_BASE_URL", "ApiBaseUrl"),
    ("VEDETTE_AUDITOR", "Auditor"),
    ("VEDETTE_QUEUE_URL_PREFIX", "QueueUrlPrefix"),
    ("VEDETTE_SCHEDULE_GROUP", "ScheduleGroupName"),
    ("VEDETTE_SCHEDULE_TARGET", "ScheduleTargetArn"),
    ("VEDETTE_SCHEDULE_ROLE", "ScheduleRoleArn"),
    ("VEDETTE_SCHEDULE_DLQ", "SchedulesDlqArn"),
    ("VEDETTE_SCHEDULES", "SchedulesMode"),
    (BLOCKS, "WritesBlocks"),
    ("VEDETTE_OUTPOSTS", "OutpostRegions"),
    ("VEDETTE_OUTPOST_FUNCTION", "OutpostFunctionName"),
];

impl Stack {
    /// Finds a stack by its name. Returns `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// When CloudFormation does not answer, or refuses.
    pub(crate) async fn find(account: &Account, name: &str) -> Result<Option<Self>, Refusal> {
        let form = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([
                ("Action", "DescribeStacks"),
                ("Version", "2010-05-15"),
                ("StackName", name),
            ])
            .finish();
        let call = Call { service: "cloudformation", path: "/".to_owned(), form: Some(form) };
        match account.call(call).await {
            Ok(answer) => Ok(Some(Self::read(name, &answer))),
            Err(error) if error.code == "ValidationError" => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(name: &str, answer: &str) -> Self {
        let mut stack = Self {
            name: name.to_owned(),
            status: String::new(),
            reason: None,
            outputs: BTreeMap::new(),
        };
        let mut key = String::new();
        for (path, text) in texts(answer) {
            if path.ends_with("/Stacks/member/StackStatus") {
                stack.status = text;
            } else if path.ends_with("/Stacks/member/StackStatusReason") {
                stack.reason = Some(text);
            } else if path.ends_with("/Outputs/member/OutputKey") {
                key = text;
            } else if path.ends_with("/Outputs/member/OutputValue") {
                stack.outputs.insert(std::mem::take(&mut key), text);
            }
        }
        stack
    }

    /// Into which blocks checks are packed: `2`, `true` or `false`. `None` if the version of the stack cannot read
    /// blocks.
    pub(crate) fn blocks(&self) -> Option<String> {
        self.variable(BLOCKS)
    }

    /// Whether its last deployment is complete. CloudFormation waits until the last function has been shifted to its new
    /// version, so no older one serves any more.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.status.as_str(), "CREATE_COMPLETE" | "UPDATE_COMPLETE")
    }

    /// The value of an environment variable in the stack's functions.
    fn variable(&self, name: &str) -> Option<String> {
        let (_, output) = OUTPUTS.iter().find(|(variable, _)| *variable == name)?;
        self.outputs.get(*output).cloned()
    }

    /// Reads the configuration of the stack's functions, and where its parts are.
    ///
    /// # Errors
    ///
    /// If an output is missing or invalid, because the stack has another version.
    pub(crate) fn deployment(&self) -> Result<(Service, Deployment), Failure> {
        let read = |name: &str| self.variable(name);
        // Otherwise, performance checks would seem to be a tool that does not run.
        let auditor = vedette_runtime::config::AuditorKind::VARIABLE;
        self.variable(auditor).ok_or_else(|| self.lacks(auditor, "is not set"))?;
        let lacks = |ConfigError { name, problem }| self.lacks(name, &problem);
        let service = Service::read(&read).map_err(lacks)?;
        let deployment = Deployment::read(&read).map_err(lacks)?;
        Ok((service, deployment))
    }

    /// Reads the outposts. There are none if the version of the stack does not have them.
    ///
    /// # Errors
    ///
    /// If the output is invalid, because the stack has another version.
    pub(crate) fn outposts(&self, account: &Account, clock: &Clock) -> Result<Outposts, Failure> {
        let read = |name: &str| self.variable(name);
        Outposts::read(&read, &account.sdk, clock.clone())
            .map_err(|ConfigError { name, problem }| self.lacks(name, &problem))
    }

    fn lacks(&self, variable: &str, problem: &str) -> Failure {
        let output = OUTPUTS.iter().find(|(name, _)| *name == variable);
        let output = output.map_or(variable, |(_, output)| output);
        Failure::Usage(format!(
            "the stack `{}` and this command have different versions: its output {output} {problem}",
            self.name
        ))
    }
}

/// The texts in an XML document, each with the names of the elements around it: `/Error/Code`. Anything other than XML
/// has none.
pub(crate) fn texts(xml: &str) -> Vec<(String, String)> {
    let mut reader = Reader::from_str(xml);
    let mut path = String::new();
    let mut text = String::new();
    let mut texts = Vec::new();
    loop {
        match reader.read_event() {
            Ok(Event::Start(element)) => {
                path.push('/');
                path.push_str(element.local_name().as_ref());
                text.clear();
            }
            Ok(Event::Text(part)) => text.push_str(&part),
            Ok(Event::GeneralRef(entity)) => text.push_str(&resolved(&entity)),
            Ok(Event::End(_)) => {
                if !text.trim().is_empty() {
                    texts.push((path.clone(), text.trim().to_owned()));
                }
                text.clear();
                path.truncate(path.rfind('/').unwrap_or(0));
            }
            Ok(Event::Eof) | Err(_) => return texts,
            Ok(_) => {}
        }
    }
}

/// The character for a reference such as `&amp;`.
fn resolved(entity: &quick_xml::events::BytesRef<'_>) -> String {
    if let Ok(Some(character)) = entity.resolve_char_ref() {
        return character.to_string();
    }
    quick_xml::escape::resolve_xml_entity(entity).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_read_from_its_description() {
        let answer = "<DescribeStacksResponse xmlns=\"http://cloudformation.amazonaws.com/doc/2010-05-15/\">
            <DescribeStacksResult><Stacks><member>
              <StackName>shop</StackName><StackStatus>UPDATE_COMPLETE</StackStatus>
              <Outputs>
                <member><OutputKey>TableName</OutputKey><OutputValue>shop-Table-1&amp;2</OutputValue></member>
                <member><Description>x</Description><OutputKey>Auditor</OutputKey><OutputValue>pagespeed</OutputValue></member>
              </Outputs>
            </member></Stacks></DescribeStacksResult></DescribeStacksResponse>";
        let stack = Stack::read("shop", answer);
        assert_eq!((stack.status.as_str(), &stack.reason), ("UPDATE_COMPLETE", &None));
        assert_eq!(stack.variable("VEDETTE_TABLE").as_deref(), Some("shop-Table-1&2"));
        assert_eq!(stack.variable("VEDETTE_AUDITOR").as_deref(), Some("pagespeed"));
        assert_eq!(stack.variable("VEDETTE_QUEUE_URL_PREFIX"), None);
        let failure = stack.deployment().expect_err("outputs are missing");
        assert_eq!(failure.exit_code(), 2);
        assert!(failure.to_string().ends_with("its output QueueUrlPrefix is not set"), "{failure}");
    }

    /// The value of a name in the lines of a text.
    fn after<'a>(text: &'a str, name: &str) -> &'a str {
        let found = text.lines().find_map(|line| line.trim().strip_prefix(name));
        found.unwrap_or_else(|| panic!("no {name}"))
    }

    #[test]
    fn the_template_puts_out_what_its_functions_read() {
        let template = include_str!("../../../../template.yaml");
        let (_, globals) = template.split_once("\nGlobals:").expect("globals");
        let (_, outputs) = template.split_once("\nOutputs:").expect("outputs");
        for (variable, output) in OUTPUTS {
            let (_, output) = outputs.split_once(&format!("\n  {output}:")).expect(output);
            let value = after(output, "Value: ");
            let read = after(globals, &format!("{variable}: "));
            // If no address is set, functions use the host of each request.
            let is_same = value == read || variable == "VEDETTE_BASE_URL";
            assert!(is_same, "{variable} is {read}, and its output {value}");
        }
    }

    #[test]
    fn an_invalid_description_of_a_stack_has_no_texts() {
        for other in ["", "{}", "<a", "<a><b>text"] {
            assert_eq!(texts(other), [], "{other}");
        }
    }
}
