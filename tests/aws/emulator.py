"""The AWS emulator: ministack, with fixes for what the story needs.

    emulator.py WORK_FOLDER

The environment says where it listens (BIND_HOST, GATEWAY_PORT), and has it ask IAM about each call
(AUTH). It leaves in the folder: decisions.jsonl, a line for each kind of decision that
IAM took about a role, credentials/, those of each function that has run, and alarms/, the alarms over
several metrics. A file in fire/ that is named like a schedule has the schedule fire at once; while there is
a file `throttle`, the table that it names is throttled, and while there is a file `busy`, SES takes no mail.

Each mend says in a sentence what the pinned version lacks.
"""

import base64
import contextlib
import contextvars
import email
import email.utils
import hashlib
import io
import json
import pathlib
import re
import sys
import threading
import time
import zipfile

import boto3
from ministack import app
from ministack.core import iam_actions, iam_evaluator, lambda_runtime
from ministack.core.responses import get_account_id, get_region
from ministack.services import apigateway, dynamodb, eventbridge, iam, lambda_svc, scheduler, ses_v2, sts
from ministack.services.cloudformation import (
    _stacks,
    changesets,
    engine,
    language_extensions,
    provisioners,
)

WORK = pathlib.Path(sys.argv[1])


def wrap(module, name):
    """Replaces a function with one that gets the original as its first argument."""

    def decorate(wrapper):
        inner = getattr(module, name)
        setattr(module, name, lambda *args, **named: wrapper(inner, *args, **named))
        return wrapper

    return decorate


def wrap_create(resource_type):
    """Does the same for a function that CloudFormation calls to create a resource."""
    handlers = provisioners._RESOURCE_HANDLERS[resource_type]

    def decorate(wrapper):
        inner = handlers["create"]
        handlers["create"] = lambda *args: wrapper(inner, *args)
        return wrapper

    return decorate


# --- Decisions ----------------------------------------------------------------------------------

decided = set()
writing = threading.Lock()


def record(role, action, resource, keys, refusal):
    """Records a decision, once: who requested what, in which partitions, and whether it was allowed."""
    shown = keys
    if keys is not None and not refusal:
        # Policies name partitions by their prefix. For a refusal, the whole key is of interest.
        shown = sorted({"".join(key.partition("#")[:2]) for key in keys})
    decision = {"role": role, "action": action, "resource": resource, "keys": shown}
    line = json.dumps(decision | {"allowed": not refusal})
    with writing:
        if line not in decided:
            decided.add(line)
            with (WORK / "decisions.jsonl").open("a") as file:
                print(line, file=file)


@wrap(iam_evaluator, "enforce")
def enforce(inner, access_key, action, service, region, resource_arn="*", service_context=None):
    """Also asks about the partitions of a DynamoDB call, and about the role that a call passes on,
    and keeps what was decided about roles. A batch of SQS is asked about as an action of its own, which
    IAM does not know: who may send a message may send ten."""
    context = dict(service_context or {})
    if service == "sqs":
        action = action.removesuffix("Batch")
    if sender := mail_sender.get():
        context["ses:FromAddress"] = sender
    keys = context.get("dynamodb:LeadingKeys")
    if "dynamodb:EnclosingOperation" in context:
        keys, written = next(transaction_keys.get())
        context["dynamodb:LeadingKeys"] = keys
        context["dynamodb:Attributes"] = written
    refusal = inner(
        access_key, action, service, region, resource_arn=resource_arn, service_context=context
    )
    principal = iam_evaluator.resolve_principal(access_key or "", get_account_id())
    # The root user, with which the test deploys and reads, may do anything.
    if getattr(principal, "policies", None) is not None:
        role = role_name(principal.arn)
        record(role, action, resource_arn, keys, refusal)
        if not refusal and service == "scheduler" and (passed := passed_role.get()):
            to_scheduler = {"iam:PassedToService": "scheduler.amazonaws.com"}
            refusal = ask(role, "iam:PassRole", passed, to_scheduler, principal.policies)
    return refusal


def role_name(arn):
    """The role in `…:assumed-role/<role>/<session>` and in `…:role/<role>`."""
    return arn.split("/")[1]


def ask(role, action, resource, context=None, policies=None):
    """Asks whether a role may do what the emulator does for it without a request. Returns the
    refusal, if it is one."""
    asked = iam_evaluator.EvalContext(
        principal_arn=f"arn:aws:sts::{get_account_id()}:assumed-role/{role}/service",
        principal_type="AssumedRole",
        principal_account=get_account_id(),
        action=action,
        resource_arn=resource,
        region=get_region(),
        service_context={key.lower(): value for key, value in (context or {}).items()},
    )
    policies = policies or iam_evaluator._gather_role_policies(role, get_account_id())
    result = iam_evaluator.evaluate(asked, policies)
    refusal = None if result.decision == "Allow" else result
    if refusal:
        refusal.principal_arn = asked.principal_arn
    record(role, action, resource, None, refusal)
    return refusal


# --- IAM: the resources of a request ------------------------------------------------------------

transaction_keys = contextvars.ContextVar("transaction_keys")
passed_role = contextvars.ContextVar("passed_role", default=None)
mail_sender = contextvars.ContextVar("mail_sender", default=None)


@wrap(iam_actions, "dynamodb_service_context")
def dynamodb_service_context(inner, body):
    """`dynamodb:LeadingKeys` is never filled, and a condition on it so always satisfied; nor does
    `dynamodb:Attributes` have what is written."""
    context = inner(body)
    request = json.loads(body or b"{}")
    questions = [
        ([leading_key(table, item)], attributes(action))
        for table, item, action in transaction_items(request)
    ]
    transaction_keys.set(iter(questions))
    if written := attributes(request):
        context["dynamodb:Attributes"] = written
    keys = [leading_key(*named) for named in plain_items(request)]
    if keys:
        context["dynamodb:LeadingKeys"] = keys
    return context


def transaction_items(request):
    """The table, the item or key, and everything else of each action of a transaction, in order."""
    for item in request.get("TransactItems", []):
        for member in ("ConditionCheck", "Put", "Update", "Delete", "Get"):
            if member in item:
                action = item[member]
                yield action["TableName"], action.get("Item") or action["Key"], action


KEYWORDS = {"SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "IN", "BETWEEN"}


def attributes(action):
    """The attributes that a write has, changes or compares, its key included."""
    names = action.get("ExpressionAttributeNames") or {}
    found = set(action.get("Item") or action.get("Key") or {})
    for member in ("UpdateExpression", "ConditionExpression"):
        # Words before a parenthesis are functions.
        words = re.findall(r"(?<![:\w.#])#?[A-Za-z_]\w*\b(?! ?\()", action.get(member) or "")
        found.update(names.get(word, word) for word in words if word not in KEYWORDS)
    return sorted(found)


def plain_items(request):
    """The table and the item or key of everything that any other request names."""
    table = request.get("TableName")
    if "Item" in request or "Key" in request:
        yield table, request.get("Item") or request["Key"]
    if "KeyConditionExpression" in request:
        yield table, queried_key(request)
    for table, asked in (request.get("RequestItems") or {}).items():
        if isinstance(asked, dict):
            yield from ((table, key) for key in asked["Keys"])
        else:
            for write in asked:
                put, delete = write.get("PutRequest"), write.get("DeleteRequest")
                yield table, put["Item"] if put else delete["Key"]


def queried_key(request):
    """The values that a query requires of its attributes."""
    names = request.get("ExpressionAttributeNames") or {}
    values = request.get("ExpressionAttributeValues") or {}
    equal = re.findall(r"([#\w]+)\s*=\s*(:\w+)", request["KeyConditionExpression"])
    return {names.get(name, name): values[value] for name, value in equal}


def leading_key(table, item):
    """The partition of an item or a query, in the table or in an index."""
    described = dynamodb._tables[table.rpartition("/")[2]]
    indexes = described.get("GlobalSecondaryIndexes") or []
    schemas = [described["KeySchema"], *(index["KeySchema"] for index in indexes)]
    name = next(name for schema in schemas if (name := schema[0]["AttributeName"]) in item)
    return next(iter(item[name].values()))


@wrap(iam_actions, "extract_resource_arn")
def extract_resource_arn(inner, service, method, path, headers, body, query, *rest):
    """The ARN of a schedule has the group `default`, whatever group it is in, and whether the role
    that it is given may be passed is not asked; a mail is nobody's, and not that of its sender."""
    arn = inner(service, method, path, headers, body, query, *rest)
    mail_sender.set(None)
    if path == "/v2/email/outbound-emails":
        mail = email.message_from_bytes(base64.b64decode(json.loads(body)["Content"]["Raw"]["Data"]))
        sender = email.utils.parseaddr(mail["From"])[1]
        mail_sender.set(sender)
        arn = f"arn:aws:ses:{get_region()}:{get_account_id()}:identity/{sender}"
    passed_role.set(None)
    if service == "scheduler" and ":schedule/default/" in arn:
        request = json.loads(body) if body else {}
        in_query = query.get("groupName", "default")
        in_query = in_query[0] if isinstance(in_query, list) else in_query
        arn = arn.replace(":schedule/default/", f":schedule/{request.get('GroupName', in_query)}/")
        passed_role.set((request.get("Target") or {}).get("RoleArn"))
    return arn


# --- CloudFormation -----------------------------------------------------------------------------


@wrap(changesets, "_apply_transforms")
def apply_transforms(inner, template, provided, previous=None):
    """An invalid value of a parameter is refused only after the transforms, which fail because of it."""
    changesets._resolve_parameters(template, provided, previous)
    return inner(template, provided, previous)


@wrap(language_extensions, "_literal_sub")
def literal_sub(inner, node):
    """A reference whose name contains a value of a mapping is refused."""
    name = inner(node)
    if name is None and isinstance(node, dict) and isinstance(node.get("Fn::Sub"), list):
        name, variables = node["Fn::Sub"]
        for variable, value in variables.items():
            name = name.replace(f"${{{variable}}}", value)
    return name


nested_parameters = contextvars.ContextVar("nested_parameters", default=None)


@wrap(provisioners, "_cfn_nested_stack_deploy")
def deploy_nested_stack(inner, logical_id, props, stack_name, **previous):
    """The template of a nested stack is not transformed."""
    given = [{"Key": key, "Value": value} for key, value in props["Parameters"].items()]
    outer = nested_parameters.set(given)
    try:
        return inner(logical_id, props, stack_name, **previous)
    finally:
        nested_parameters.reset(outer)


@wrap(engine, "_parse_template")
def parse_template(inner, body):
    template, given = inner(body), nested_parameters.get()
    return template if given is None else engine._apply_transforms(template, given)


@wrap(provisioners, "_update_resource")
def update_nested_resource(inner, kind, physical_id, old, new, stack_name, logical_id):
    """What an update of a nested stack does not change loses its attributes."""
    kept = _stacks[stack_name]["_resources"][logical_id]["Attributes"]
    physical_id, attributes = inner(kind, physical_id, old, new, stack_name, logical_id, kept)
    return physical_id, {**kept, **attributes}


@wrap_create("AWS::ApiGatewayV2::Api")
def create_api(inner, logical_id, props, stack_name):
    """The `Body` of an API, which has all routes, is ignored: all paths would be unknown."""
    api_id, attributes = inner(logical_id, props, stack_name)
    body, targets = props["Body"], {}
    for name, given in body["components"]["x-amazon-apigateway-integrations"].items():
        integration = {
            "ApiId": api_id,
            "IntegrationType": given["type"].upper(),
            "IntegrationUri": given["uri"],
            "IntegrationMethod": given["httpMethod"],
            "PayloadFormatVersion": given["payloadFormatVersion"],
        }
        create = provisioners._apigw_v2_integration_create
        integration_id, _ = create(logical_id, integration, stack_name)
        apigateway._integrations[api_id][integration_id]["credentials"] = given["credentials"]
        targets[f"#/components/x-amazon-apigateway-integrations/{name}"] = integration_id
    for path, operations in body["paths"].items():
        for method, operation in operations.items():
            target = targets[operation["x-amazon-apigateway-integration"]["$ref"]]
            any_method = method == "x-amazon-apigateway-any-method"
            key = f"{'ANY' if any_method else method.upper()} {path}"
            key = "$default" if operation.get("isDefaultRoute") else key
            route = {"ApiId": api_id, "RouteKey": key, "Target": f"integrations/{target}"}
            provisioners._apigw_v2_route_create(logical_id, route, stack_name)
    return api_id, attributes


@wrap_create("AWS::Lambda::EventSourceMapping")
def create_event_source_mapping(inner, logical_id, props, stack_name):
    """A number from a parameter stays text, which crashes the poller of all mappings."""
    scaling = props.get("ScalingConfig")
    if scaling:
        scaling = {name: int(value) for name, value in scaling.items()}
        props = {**props, "ScalingConfig": scaling}
    return inner(logical_id, props, stack_name)


@wrap_create("AWS::DynamoDB::Table")
def create_table(inner, logical_id, props, stack_name):
    """A parameter's `true` stays text, which no client can read; time to live and point-in-time
    recovery stay off, which `vedette doctor` calls a problem."""
    protection = "DeletionProtectionEnabled"
    props = {**props, protection: is_true(props[protection])}
    name, attributes = inner(logical_id, props, stack_name)
    ttl = props["TimeToLiveSpecification"]
    ttl = {**ttl, "Enabled": is_true(ttl["Enabled"])}
    dynamodb._update_ttl({"TableName": name, "TimeToLiveSpecification": ttl})
    recovery = props["PointInTimeRecoverySpecification"]
    recovery = {setting: is_true(value) for setting, value in recovery.items()}
    request = {"TableName": name, "PointInTimeRecoverySpecification": recovery}
    dynamodb._update_continuous_backups(request)
    return name, attributes


def is_true(value):
    return str(value).lower() == "true"


@wrap_create("AWS::CloudWatch::Alarm")
def create_alarm(inner, logical_id, props, stack_name):
    """An alarm on several metrics is refused. This keeps it for the story, which evaluates it."""
    return (keep_alarm if "Metrics" in props else inner)(logical_id, props, stack_name)


def keep_alarm(logical_id, props, stack_name):
    name = props.get("AlarmName") or f"{stack_name}-{logical_id}"
    (WORK / "alarms").mkdir(exist_ok=True)
    (WORK / "alarms" / f"{name}.json").write_text(json.dumps(props))
    arn = f"arn:aws:cloudwatch:{get_region()}:{get_account_id()}:alarm:{name}"
    return name, {"Arn": arn}


def update_alarm(name, _, props, stack_name, logical_id):
    """The same for an alarm whose table has changed."""
    return alarms["create"](logical_id, {**props, "AlarmName": name}, stack_name)


alarms = provisioners._RESOURCE_HANDLERS["AWS::CloudWatch::Alarm"]
alarms["update"] = update_alarm


def create_nothing(logical_id, props, stack_name):
    """Saved queries and auto scaling are unknown. Nothing here uses them."""
    return f"{stack_name}-{logical_id}", {}


for unknown, create in {
    "AWS::Logs::QueryDefinition": create_nothing,
    "AWS::CloudWatch::CompositeAlarm": keep_alarm,
    "AWS::ApplicationAutoScaling::ScalableTarget": create_nothing,
    "AWS::ApplicationAutoScaling::ScalingPolicy": create_nothing,
}.items():
    provisioners._RESOURCE_HANDLERS[unknown] = {"create": create, "delete": lambda *_: None}


# --- What services do with a role ---------------------------------------------------------------


def client_of_role(service, role_arn):
    """A client that signs its calls as a session of a role, so that IAM decides about them as about any."""
    role = role_name(role_arn)
    digest = hashlib.sha256(role_arn.encode()).hexdigest()
    access_key, secret, token = f"ASIA{digest[:16].upper()}", digest[16:], digest
    session = {
        "Arn": f"arn:aws:sts::{get_account_id()}:assumed-role/{role}/scheduler",
        "UserId": f"{role}:scheduler",
        "SecretAccessKey": secret,
        "SessionToken": token,
    }
    sts.register_session(access_key, session)
    return boto3.client(
        service,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret,
        aws_session_token=token,
        region_name=get_region(),
    )


def may_assume(service, role_arn, context):
    """Whether a role's trust policy allows a service to use it."""
    role = iam._roles.get(role_name(role_arn))
    asked = iam_evaluator.EvalContext(
        principal_arn=service,
        principal_type="Service",
        principal_account=get_account_id(),
        action="sts:AssumeRole",
        resource_arn=role_arn,
        region=get_region(),
        service_context=context,
    )
    document = role["AssumeRolePolicyDocument"]
    document = json.loads(document) if isinstance(document, str) else document
    for statement in document["Statement"]:
        services = statement.get("Principal", {}).get("Service", [])
        if service in ([services] if isinstance(services, str) else services):
            return iam_evaluator._conditions_met(statement.get("Condition", {}), asked)
    return False


given_proxy = apigateway._invoke_lambda_proxy


async def invoke_lambda_proxy(integration, *rest, **named):
    """The gateway calls functions without its role."""
    role_arn = integration["credentials"]
    function = apigateway._extract_lambda_ref_from_integration_uri(integration["integrationUri"])
    if not may_assume("apigateway.amazonaws.com", role_arn, {}) or ask(
        role_name(role_arn), "lambda:InvokeFunction", function
    ):
        return 500, {"Content-Type": "application/json"}, b'{"message":"Internal Server Error"}'
    return await given_proxy(integration, *rest, **named)


apigateway._invoke_lambda_proxy = invoke_lambda_proxy


@wrap(eventbridge, "_invoke_target")
def invoke_target(inner, target, event, rule, view=None):
    """Schedules replace no `<aws.scheduler.*>`, know no universal target, and need no permission of
    their role."""
    if "ScheduleExpression" not in rule or event.get("Source") != "aws.scheduler":
        return inner(target, event, rule, view)
    role_arn, arn = target["RoleArn"], target["Arn"]
    group = rule["Arn"].rpartition("/")[0].replace(":schedule/", ":schedule-group/")
    source = {"aws:sourcearn": group, "aws:sourceaccount": get_account_id()}
    if not may_assume("scheduler.amazonaws.com", role_arn, source):
        record(role_name(role_arn), "sts:AssumeRole", rule["Arn"], None, True)
        return None
    # Schedules fire at whole minutes, and the ticker runs every second.
    shape = "%Y-%m-%dT%H:%M:%SZ" if rule["Arn"] in fired else "%Y-%m-%dT%H:%M:00Z"
    fired.discard(rule["Arn"])
    slot = time.strftime(shape, time.gmtime(event["Time"]))
    sent = target["Input"].replace("<aws.scheduler.scheduled-time>", slot)
    if arn == "arn:aws:scheduler:::aws-sdk:sqs:sendMessage":
        client_of_role("sqs", role_arn).send_message(**json.loads(sent))
    elif ":lambda:" in arn:
        function = client_of_role("lambda", role_arn)
        function.invoke(FunctionName=arn, InvocationType="Event", Payload=sent)
    else:
        raise ValueError(f"no schedule was expected to call {arn}")
    return None


scheduler._SCHEDULE_TICK_INTERVAL = 1
fired = set()


@wrap(scheduler, "_tick_schedules")
def tick_schedules(inner):
    """There is no way to make a schedule fire, and most cadences are longer than a test."""
    for scope, schedule in list(scheduler._schedules._data.items()):
        named = WORK / "fire" / schedule["Name"]
        if named.exists():
            named.unlink()
            fired.add(schedule["Arn"])
            scheduler._schedule_last_fired[scope] = 0
    inner()


@wrap(lambda_svc, "_run_sqs_batch")
def run_sqs_batch(inner, mapping, function, *rest):
    """An event source mapping receives and deletes without a permission of the function's role."""
    role = role_name(function["config"]["Role"])
    queue = mapping["EventSourceArn"]
    needed = ("sqs:ReceiveMessage", "sqs:GetQueueAttributes", "sqs:DeleteMessage")
    # Messages whose deletion is refused are received again when they become visible.
    if not any([ask(role, action, queue) for action in needed]):
        inner(mapping, function, *rest)


@wrap(lambda_svc, "_execute_function_docker")
def execute_image(inner, function, event, request_id):
    """An image needs Docker. This starts its function without Docker, with the image's command."""
    config = function["config"]
    [command] = config["ImageConfigResponse"]["ImageConfig"]["Command"]
    config = {**config, "Runtime": "provided.al2023", "Handler": command}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.write(WORK / "image" / "bootstrap", "bootstrap")
    started = {**function, "config": config, "code_zip": archive.getvalue()}
    return lambda_svc._execute_function_provided_warm(started, event, request_id)


@wrap(lambda_svc, "_emit_lambda_logs")
def emit_lambda_logs(inner, function, *rest, **named):
    """Logs are written without a permission of the function's role."""
    config = function.get("config") or function
    group = config["LoggingConfig"]["LogGroup"]
    stream = f"arn:aws:logs:{get_region()}:{get_account_id()}:log-group:{group}:log-stream:any"
    needed = ("logs:CreateLogStream", "logs:PutLogEvents")
    if not any([ask(role_name(config["Role"]), action, stream) for action in needed]):
        inner(function, *rest, **named)


# --- For the test -------------------------------------------------------------------------------


def execution_credentials(config):
    """Writes the credentials of a function to a file for the test."""
    made = given_credentials(config)
    folder = WORK / "credentials"
    folder.mkdir(exist_ok=True)
    (folder / f"{config['FunctionName']}.json").write_text(json.dumps(made))
    return made


async def handle_request(method, path, headers, body, *rest):
    """The answer of DynamoDB, or a throttle."""
    with contextlib.suppress(FileNotFoundError):
        if (WORK / "throttle").read_text() in body.decode():
            code = "com.amazonaws.dynamodb.v20120810#ThrottlingException"
            refusal = json.dumps({"__type": code, "message": "Rate exceeded"})
            return 400, {"Content-Type": "application/x-amz-json-1.0"}, refusal.encode()
    return await given_answers(method, path, headers, body, *rest)


given_answers = dynamodb.handle_request
dynamodb.handle_request = handle_request


async def handle_mail(method, path, *rest):
    """The answer of SES, or a throttle."""
    if (WORK / "busy").exists() and path == "/v2/email/outbound-emails":
        code = "TooManyRequestsException"
        headers = {"Content-Type": "application/json", "x-amzn-ErrorType": code}
        return 429, headers, json.dumps({"message": "Maximum sending rate exceeded."}).encode()
    return await given_mail_answers(method, path, *rest)


given_mail_answers = ses_v2.handle_request
ses_v2.handle_request = handle_mail

given_credentials = lambda_runtime.execution_credentials
for module in (lambda_runtime, lambda_svc):
    module.execution_credentials = execution_credentials

if __name__ == "__main__":
    sys.argv[1:] = []
    app.main()
