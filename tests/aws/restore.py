"""An operator packages the deployment, deploys the package, and restores its table.

    restore.py WORK_FOLDER STACK VEDETTE SAM BUILT_FOLDER

A stack is deployed from what `make package` writes. The deployed stack is deleted and deployed again with the table
that it has left, and then with one that is restored by the commands of the guide. Either way all its parameters stay as
they were, as do its data and its schedules. The restored table has provisioned capacity.
"""

import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

import boto3

WORK, STACK, VEDETTE, SAM, BUILT = pathlib.Path(sys.argv[1]), *sys.argv[2:6]
ROOT = pathlib.Path(__file__).resolve().parents[2]
BUCKET = "packages"
RESTORED = "vedette-restored"
cloudformation = boto3.client("cloudformation")
table = boto3.client("dynamodb")
functions = boto3.client("lambda")
began = time.monotonic()


def say(what):
    print(f"{time.monotonic() - began:6.1f} s  {what}", flush=True)


def operate(*arguments, stack=STACK):
    """Runs the operator's command, and returns its output."""
    command = [VEDETTE, "--aws", "--stack", stack, "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{arguments}: {done.returncode}: {done.stdout} {done.stderr}"
    return json.loads(done.stdout)


def described(stack):
    return cloudformation.describe_stacks(StackName=stack)["Stacks"][0]


def parameters():
    return {one["ParameterKey"]: one["ParameterValue"] for one in described(STACK)["Parameters"]}


def output(stack, name):
    return next(one["OutputValue"] for one in described(stack)["Outputs"] if one["OutputKey"] == name)


def ask(stack, path, token=None):
    """The status and the body of an answer of the API."""
    gateway = os.environ["AWS_ENDPOINT_URL"]
    api = output(stack, "ApiBaseUrl").removeprefix("https://").partition(".")[0]
    headers = {"Host": f"{api}.execute-api.localhost:{gateway.rpartition(':')[2]}"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(f"{gateway}/api/v1{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


# --- Packaging ----------------------------------------------------------------------------------


def package():
    """Writes the folder of `make package`, with scripts instead of binaries. Checks that a second run writes the
    same."""
    for name in (path.name for path in (ROOT / "functions").iterdir()):
        folder = WORK / "packaging" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "bootstrap").write_text(f"#!/bin/sh\nexec {shlex.quote(f'{BUILT}/{name}')}\n")
    sums = []
    for attempt in range(2):
        dist = WORK / f"dist-{attempt}"
        command = [sys.executable, ROOT / "infra/package/package.py", dist, f"x86_64={WORK / 'packaging'}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        files = sorted(path for path in dist.rglob("*") if path.is_file())
        sums.append({str(path.relative_to(dist)): hashlib.sha256(path.read_bytes()).digest() for path in files})
        time.sleep(2)
    assert sums[0] == sums[1], "the same binaries are another package"
    return WORK / "dist-0"


def deploy_the_package(dist):
    """Deploys only with a bucket and CloudFormation, as `aws s3 sync` and `aws cloudformation deploy` do."""
    bucket = boto3.client("s3")
    region = {"LocationConstraint": os.environ["AWS_REGION"]}
    bucket.create_bucket(Bucket=BUCKET, CreateBucketConfiguration=region)
    for path in sorted(path for path in dist.rglob("*") if path.is_file()):
        bucket.upload_file(str(path), BUCKET, str(path.relative_to(dist)))
    given = {"CodeBucket": BUCKET, "Architecture": "x86_64", "Alarms": "false", "Dashboard": "false"}
    stack = "packaged"
    cloudformation.create_stack(
        StackName=stack,
        TemplateURL=f"{os.environ['AWS_ENDPOINT_URL']}/{BUCKET}/template.yaml",
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in given.items()],
    )
    cloudformation.get_waiter("stack_create_complete").wait(
        StackName=stack, WaiterConfig={"Delay": 1, "MaxAttempts": 180}
    )
    token, _ = make_a_team(stack)
    status, me = ask(stack, "/me", token)
    assert status == 200, (status, me)
    assert ask(stack, "/nowhere", token)[0] == 404
    cloudformation.delete_stack(StackName=stack)
    say("CloudFormation deployed the package without SAM, and its functions answer")


# --- Restoring ----------------------------------------------------------------------------------


def make_a_team(stack):
    """Adds a user with a team. Returns a token of the user, and the team."""
    email = f"ada-{stack}-{time.time_ns()}@example.com"
    operate("user", "create", "--name", "Ada", "--email", email, "--verified", stack=stack)
    team = operate("team", "create", "--name", "Restored", "--owner", email, stack=stack)
    token = operate("token", "create", "--email", email, "--name", "restore", stack=stack)
    return token["secret"], team


def deploy(section):
    """Deploys with a configuration like an operator's, with all parameters in one file."""
    environment = os.environ | {"SAM_CLI_TELEMETRY": "0"}
    command = [SAM, "deploy", "--template-file", "template.yaml", "--config-env", section, "--no-progressbar"]
    done = subprocess.run(
        command, cwd=WORK, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def configure(section, values):
    """Writes a section of samconfig.toml with all parameters. Values with spaces are quoted twice."""
    lines = [json.dumps(f'{name}="{value}"') for name, value in sorted(values.items()) if value != ""]
    listed = "".join(f"    {line},\n" for line in lines)
    config = (ROOT / "samconfig.toml").read_text() + f"""
[{section}.global.parameters]
stack_name = "{STACK}"
language_extensions = true
parameter_overrides = [
{listed}]

[{section}.deploy.parameters]
capabilities = "CAPABILITY_IAM CAPABILITY_AUTO_EXPAND"
resolve_s3 = true
confirm_changeset = false
fail_on_empty_changeset = false
"""
    (WORK / "samconfig.toml").write_text(config)


def delete_the_stack():
    cloudformation.delete_stack(StackName=STACK)
    cloudformation.get_waiter("stack_delete_complete").wait(
        StackName=STACK, WaiterConfig={"Delay": 1, "MaxAttempts": 180}
    )


def run_the_guides(heading, names):
    """Runs the commands in a section of the guide about a table, with other names than the example's."""
    guide = (ROOT / "docs/guides/aws.md").read_text()
    section = guide.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    commands = re.sub(r"\\\n", " ", section).splitlines()
    commands = [shlex.split(line) for line in commands if line.startswith("aws dynamodb ")]
    assert commands, heading
    for _, _, operation, *options in commands:
        options = [names.get(option, option) for option in options]
        if operation == "wait":
            table.get_waiter(options[0].replace("-", "_")).wait(**named(options[1:]))
        else:
            getattr(table, operation.replace("-", "_"))(**named(options))


def named(options):
    """Converts options of the AWS command line to the names in its SDK."""
    found, options = {}, list(options)
    while options:
        name = options.pop(0).removeprefix("--")
        value = options.pop(0) if options and not options[0].startswith("--") else True
        if value is True and name.startswith("no-"):
            name, value = name.removeprefix("no-"), False
        name = "".join(part.capitalize() for part in name.split("-"))
        if isinstance(value, str) and "=" in value:
            pairs = (pair.split("=", 1) for pair in value.split(","))
            value = {key: json.loads(text) if re.fullmatch(r"true|\d+", text) else text for key, text in pairs}
        elif isinstance(value, str) and value.startswith("["):
            value = json.loads(value)
        found[name] = value
    return found


def is_as_before(before, arn, token, team):
    """Checks that the stack uses a table and has lost nothing."""
    expected = before | {"TableArn": arn}
    now = parameters()
    lost = {name: (value, now.get(name)) for name, value in expected.items() if now.get(name) != value}
    assert not lost, f"parameters changed: {lost}"
    name = arn.rpartition("/")[2]
    assert output(STACK, "TableName") == name
    configured = functions.get_function_configuration(FunctionName=f"{STACK}-api-MeGet")
    assert configured["Environment"]["Variables"]["VEDETTE_TABLE"] == name, configured
    assert table.describe_table(TableName=name)["Table"]["DeletionProtectionEnabled"], name
    status, teams = ask(STACK, "/teams", token)
    assert status == 200 and [one["uuid"] for one in teams["data"]] == [team], (status, teams)
    operate("reconcile")
    health = operate("doctor")
    about_table = [problem for problem in health["problems"] if "table" in json.dumps(problem).lower()]
    assert not about_table, about_table


def main():
    deploy_the_package(package())
    token, team = make_a_team(STACK)
    team = team.get("uuid") or team["team"]
    before = parameters()
    # Values that an operator has chosen, which a restored stack must not lose.
    before |= {"LogRetentionDays": "90", "StageRate": "321"}
    own = output(STACK, "TableName")
    arn = table.describe_table(TableName=own)["Table"]["TableArn"]
    before["TableArn"] = arn
    delete_the_stack()
    assert table.describe_table(TableName=own)["Table"]["TableStatus"] == "ACTIVE"
    say("the stack was deleted, and its table remains")
    configure("operator", before)
    deploy("operator")
    is_as_before(before, arn, token, team)
    say("the stack was deployed again with that table and all its parameters")
    run_the_guides("Restore", {"vedette-Table-1ABC": own})
    run_the_guides("Provisioned capacity", {"NAME": RESTORED})
    made = table.describe_table(TableName=RESTORED)["Table"]
    assert made["BillingModeSummary"]["BillingMode"] == "PROVISIONED", made
    before["TableCapacity"] = str(made["ProvisionedThroughput"]["WriteCapacityUnits"])
    restored = made["TableArn"]
    configure("operator", before | {"TableArn": restored})
    deploy("operator")
    is_as_before(before, restored, token, team)
    say("the guide's commands restored the table into provisioned capacity, and the stack uses it with all its parameters")


main()
