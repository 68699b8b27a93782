"""Compares what the functions' roles may do with what they have done.

    permissions.py WORK_FOLDER STACK

The emulator has written down each kind of decision that IAM took while the story went on. None may
be a denial, and nothing may be allowed that the story had no use for, but for the exceptions below.
Then writes are planted that a function must not make.
"""

import fnmatch
import json
import pathlib
import sys

import boto3
from botocore.exceptions import ClientError

WORK, STACK = pathlib.Path(sys.argv[1]), sys.argv[2]

BY_CHANCE = "what is due meanwhile in buckets of more than a minute is chance"
NO_RESOLVER = "no resolver answers, so no DNS check opens an issue"
NO_AUDITOR = "no auditor answers, so no audit opens an issue"
NO_PROVIDER = "no OpenID provider answers, so nobody is looked for by what it says"
OVERTAKEN = "a new channel may have alerts follow changed settings before redelivery looks"
CONFLICT = "a closed block is looked for after a conflict, or where the clock was set back"
LEARNING = "while channels learn of a deletion, notifications stay until redelivery looks again"
NO_PROOF = "no host has the DNS record with which its owner agrees to POSTs, so none is counted"
NO_BOUNCE = "the emulator accepts mail to every mailbox"
NO_PAGE = "the team may have no status page when a client decides about an issue"
OF_OTHERS = "the story makes these changes through other routes"
GIVEN_UP = "redelivery gives up a check on demand only after ten minutes"

# Permissions that the story does not use: patterns of policy, action, and resource or partition, and the reason why
# they are granted.
EXCEPTIONS = [
    (
        "ScheduleRole/*",
        "sqs:SendMessage",
        "*-schedules-dlq",
        "the emulator's scheduler delivers whatever it fires",
    ),
    (
        "CheckerDnsRole/*",
        "sqs:SendMessage",
        "*-dns",
        "no resolver answers, so no DNS check has a failure to confirm",
    ),
    ("CheckerStatusRole/blocks", "dynamodb:Query", "*", CONFLICT),
    ("PingsRole/*", "dynamodb:Query", "*", CONFLICT),
    ("CheckerStatusRole/blocks", "dynamodb:UpdateItem", "*", NO_PROOF),
    ("CheckerDnsRole/*", "*", "N#*", NO_RESOLVER),
    ("CheckerDnsRole/*", "sqs:SendMessage", "*-alerts", NO_RESOLVER),
    ("CheckerPerformanceRole/*", "*", "N#*", NO_AUDITOR),
    ("CheckerPerformanceRole/*", "sqs:SendMessage", "*-alerts", NO_AUDITOR),
    ("CheckerPerformanceRole/browser", "lambda:InvokeFunction", "*", "Google audits, and not the browser"),
    ("ReconcileRole/*", "dynamodb:BatchWriteItem", "D#*", LEARNING),
    (
        "*Role/mail",
        "ses:SendRawEmail",
        "*",
        "SES asks for it where a mail is sent as it is written, and the emulator does not",
    ),
    ("PagesAccountsRole/*", "dynamodb:PutItem", "X#*", NO_PROVIDER),
    ("PagesAccountsRole/*", "dynamodb:GetItem", "E#*", NO_PROVIDER),
    ("LettersRole/*", "dynamodb:[DU]*", "*", NO_BOUNCE),
    ("DispatchRole/*", "sqs:SendMessage", "*-ssl", BY_CHANCE),
    ("DispatchRole/*", "sqs:SendMessage", "*-dns", BY_CHANCE),
    ("DispatchRole/*", "sqs:SendMessage", "*-broken-links", BY_CHANCE),
    ("DispatchRole/*", "sqs:SendMessage", "*-performance", BY_CHANCE),
    ("RedeliveryRole/*", "dynamodb:[PD]*", "*", GIVEN_UP),
    ("RedeliveryRole/*", "dynamodb:UpdateItem", "L#*", GIVEN_UP),
    ("RedeliveryRole/*", "dynamodb:UpdateItem", "D#*", OVERTAKEN),
    ("IssuesAcknowledgeRole/*", "dynamodb:UpdateItem", "*", NO_PAGE),
    ("ConfigurationApplyRole/*", "dynamodb:PutItem", "T#*", OF_OTHERS),
    ("ConfigurationApplyRole/*", "dynamodb:UpdateItem", "L#*", OF_OTHERS),
    ("ConfigurationApplyRole/*", "dynamodb:DeleteItem", "N#*", OF_OTHERS),
]

iam = boto3.client("iam")
pages = boto3.client("cloudformation").get_paginator("list_stack_resources")


def resources_of(stack):
    """The resources of a stack and of those nested in it, by their physical ids."""
    for page in pages.paginate(StackName=stack):
        for entry in page["StackResourceSummaries"]:
            yield entry["PhysicalResourceId"], entry
            if entry["ResourceType"] == "AWS::CloudFormation::Stack":
                yield from resources_of(entry["PhysicalResourceId"])


stack = dict(resources_of(STACK))
roles = [name for name, entry in stack.items() if entry["ResourceType"] == "AWS::IAM::Role"]


def logical(physical):
    return stack[physical]["LogicalResourceId"] if physical in stack else physical


def as_list(value):
    return value if isinstance(value, list) else [value]


def policies():
    """Each policy's name, the roles that have it, and its statements."""
    attached = {}
    for role in roles:
        for name in iam.list_role_policies(RoleName=role)["PolicyNames"]:
            document = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
            yield f"{logical(role)}/{name}", {role}, as_list(document["Statement"])
        for policy in iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
            attached.setdefault(policy["PolicyArn"], set()).add(role)
    for arn, holders in attached.items():
        version = iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
        document = iam.get_policy_version(PolicyArn=arn, VersionId=version)["PolicyVersion"][
            "Document"
        ]
        yield logical(arn), holders, as_list(document["Statement"])


def matches(value, patterns):
    return any(fnmatch.fnmatchcase(value, pattern) for pattern in as_list(patterns))


def unused(statement, decisions):
    """Each action on a resource, and each partition, that a statement allows but nothing has used."""
    conditions = statement.get("Condition", {}).get("ForAllValues:StringLike", {})
    partitions = as_list(conditions.get("dynamodb:LeadingKeys", []))
    if partitions:
        decisions = [
            taken
            for taken in decisions
            if taken["keys"] and all(matches(key, partitions) for key in taken["keys"])
        ]
    for action in as_list(statement["Action"]):
        of_action = [taken for taken in decisions if matches(taken["action"], action)]
        for resource in as_list(statement["Resource"]):
            if not any(matches(taken["resource"], resource) for taken in of_action):
                yield action, resource
    used = [taken for taken in decisions if matches(taken["action"], statement["Action"])]
    for partition in partitions:
        if not any(matches(key, partition) for taken in used for key in taken["keys"]):
            yield "/".join(as_list(statement["Action"])), partition


def judge():
    """The problems with the recorded decisions."""
    decisions = [json.loads(line) for line in (WORK / "decisions.jsonl").read_text().splitlines()]
    for taken in decisions:
        if not taken["allowed"]:
            role, keys = logical(taken["role"]), taken["keys"] or ""
            yield f"denied: {role}: {taken['action']} on {taken['resource']} {keys}"
    needed, allowed = set(), 0
    for name, holders, statements in policies():
        mine = [taken for taken in decisions if taken["allowed"] and taken["role"] in holders]
        for statement in statements:
            if statement["Effect"] == "Deny":
                continue
            allowed += len(as_list(statement["Action"])) * len(as_list(statement["Resource"]))
            for found in unused(statement, mine):
                excused = [
                    index
                    for index, (policy, *patterns, _) in enumerate(EXCEPTIONS)
                    if matches(name, policy) and all(map(matches, found, patterns))
                ]
                needed.update(excused)
                if not excused:
                    yield "allowed and never used: {}: {} on {}".format(name, *found)
    for index, exception in enumerate(EXCEPTIONS):
        if index not in needed and exception[-1] not in (BY_CHANCE, CONFLICT, LEARNING, NO_PAGE, OVERTAKEN):
            yield f"an exception that is none: {exception}"
    print(f"{len(decisions)} kinds of decisions; {len(roles)} roles have {allowed} permissions")


def attempt(call, **request):
    """Whether IAM allows a call."""
    try:
        call(**request)
    except ClientError as error:
        assert error.response["Error"]["Code"] in ("AccessDenied", "AccessDeniedException"), error
        return False
    return True


# Functions that may only write their log.
CONFINED = [f"{STACK}-browser"]
[described] = boto3.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
outputs = {output["OutputKey"]: output["OutputValue"] for output in described["Outputs"]}
if "OutpostRegions" in outputs:
    CONFINED.append(f"{STACK}-outpost")

# What the functions that write members, tokens and teams may do.
ACCOUNTS = {
    "pages-accounts": {
        ("puts", "K#"),
        ("deletes", "K#"),
        ("puts", "U#"),
        ("updates", "U#"),
        ("deletes", "U#"),
        ("puts", "G"),
    },
    "api-TokensCreate": {("puts", "K#"), ("puts", "U#")},
    "api-TokensRevoke": {("deletes", "K#"), ("deletes", "U#")},
    "api-MembersRemove": {("deletes", "U#")},
    "api-TeamsCreate": {("puts", "U#"), ("updates", "U#"), ("puts", "G")},
}


def plant():
    """The writes that are allowed to functions that must not make them."""
    table = outputs["TableName"]

    def item(prefix):
        return {"pk": {"S": f"{prefix}planted"}, "sk": {"S": "A"}}

    def put(prefix):
        return {"Item": item(prefix)}

    change = {"UpdateExpression": "SET planted = :yes", "ExpressionAttributeValues": {":yes": {"BOOL": True}}}

    for file in sorted((WORK / "credentials").iterdir()):
        given = json.loads(file.read_text())
        names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
        access_key, secret, token = (given[name] for name in names)
        client = boto3.client(
            "dynamodb",
            aws_access_key_id=access_key,
            aws_secret_access_key=secret,
            aws_session_token=token,
        )
        # Only the operator and some functions may write a token, its user, and the list of teams.
        for prefix in ("K#", "U#", "G"):
            items = [put("S#"), put(prefix)]
            transaction = [{"Put": {"TableName": table, **one}} for one in items]
            batch = {table: [{"PutRequest": one} for one in items]}
            tried = {
                "puts": attempt(client.put_item, TableName=table, **put(prefix)),
                "updates": attempt(client.update_item, TableName=table, Key=item(prefix), **change),
                "deletes": attempt(client.delete_item, TableName=table, Key=item(prefix)),
                "puts by a transaction": attempt(
                    client.transact_write_items, TransactItems=transaction
                ),
                "puts by a batch": attempt(client.batch_write_item, RequestItems=batch),
            }
            for what, succeeded in tried.items():
                allowed = ACCOUNTS.get(file.stem.removeprefix(f"{STACK}-"), set())
                if succeeded and (what, prefix) not in allowed:
                    yield f"{file.stem} {what} an item {prefix}planted"
        # An attacker who breaks out of a page or takes over an outpost has these credentials. They
        # can read, send and call nothing.
        if file.stem in CONFINED:
            session = boto3.session.Session(access_key, secret, token)
            asked, queue = session.client("dynamodb"), outputs["QueueUrlPrefix"] + "status"
            tried = {
                "reads a site": attempt(asked.get_item, TableName=table, Key=item("S#")),
                "reads a team": attempt(asked.get_item, TableName=table, Key=item("T#")),
                "writes a site": attempt(asked.put_item, TableName=table, **put("S#")),
                "sends a message": attempt(
                    session.client("sqs").send_message, QueueUrl=queue, MessageBody="{}"
                ),
                "calls a function": attempt(
                    session.client("lambda").invoke, FunctionName=file.stem, Payload="{}"
                ),
            }
            yield from (f"{file.stem} {what}" for what, succeeded in tried.items() if succeeded)
        # Only the operator may change a plan, whatever else of a team a function may write.
        team = item("T#")
        plan = {"plan": {"S": "agency"}}
        named = {
            "UpdateExpression": "SET #p = :p",
            "ExpressionAttributeNames": {"#p": "plan"},
            "ExpressionAttributeValues": {":p": plan["plan"]},
        }
        update = {"TableName": table, "Key": team, **named}
        tried = {
            "puts": attempt(client.put_item, TableName=table, Item=team | plan),
            "updates": attempt(client.update_item, **update),
            "updates by a transaction": attempt(
                client.transact_write_items, TransactItems=[{"Update": update}]
            ),
        }
        for what, succeeded in tried.items():
            if succeeded:
                yield f"{file.stem} {what} the plan of a team"
        # If everything was denied, the checks above would prove nothing.
        if file.stem == f"{STACK}-api-MonitoringUpdate":
            settings = {"TableName": table, "Item": item("T#") | {"cfg": {"N": "1"}}}
            if not attempt(client.put_item, **settings):
                yield f"{file.stem} cannot write what it may"
        if file.stem == f"{STACK}-checker-status":
            if not attempt(client.put_item, TableName=table, **put("S#")):
                yield f"{file.stem} cannot write what it may"


for function in CONFINED:
    if not (WORK / "credentials" / f"{function}.json").exists():
        sys.exit(f"{function} has not run")
wrong = [*judge(), *plant()]
sys.exit("\n".join(wrong) or None)
