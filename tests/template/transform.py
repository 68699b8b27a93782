"""Transforms template.yaml as CloudFormation does for many sets of parameters, and checks what it would create.

    transform.py

Loops are unrolled, SAM's own translator runs, and then conditions and parameters are resolved, so that what is checked
is one stack and not all possible ones, and each stack that is nested in it. The sets are the configurations of
samconfig.toml and those in which each pair of the other parameters' values occurs. Needs the Python environment of SAM,
which has the translator and cfn-lint.
"""

import collections
import fnmatch
import functools
import graphlib
import itertools
import json
import logging
import math
import multiprocessing
import os
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
REGION, ACCOUNT, STACK = "eu-central-1", "123456789012", "vedette"
os.environ["AWS_DEFAULT_REGION"] = REGION

from cfnlint import api  # noqa: E402
from samcli.yamlhelper import yaml_parse  # noqa: E402
from samtranslator.translator.transform import transform  # noqa: E402

logging.disable(logging.CRITICAL)

PSEUDO = {
    "AWS::Region": REGION,
    "AWS::AccountId": ACCOUNT,
    "AWS::Partition": "aws",
    "AWS::StackName": STACK,
    "AWS::StackId": f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{STACK}/1",
    "AWS::URLSuffix": "amazonaws.com",
}
ARN = f"arn:aws:%s:{REGION}:{ACCOUNT}:%s"
DOMAIN = {"DomainName": "api.example.com", "CertificateArn": ARN % ("acm", "certificate/1")}
OIDC = {
    "OidcIssuer": "https://id.example.com",
    "OidcClientId": "vedette",
    "OidcSecret": ARN % ("secretsmanager", "secret:oidc-1"),
}
# The values that are not the default, of parameters that depend on each other, …
TOGETHER = [
    [DOMAIN, DOMAIN | {"HostedZoneId": "Z123"}],
    [OIDC, OIDC | {"OidcLabel": "Company account"}],
    [{"BudgetLimit": "100", "BudgetEmail": "ops@example.com"}],
    [{"GradualDeployment": "true"}, {"Alarms": "false"}],
]
# … and of others, unless the template lists all values that are allowed.
VALUES = {
    "BaseUrl": "https://monitor.example.com/api/v1",
    "CorsOrigins": "https://app.example.com,https://example.com",
    "TableArn": ARN % ("dynamodb", "table/restored"),
    "TableCapacity": "400",
    "PageSpeedSecret": ARN % ("secretsmanager", "secret:key-1"),
    "BrowserImage": f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/vedette-browser:1",
    "Outposts": "us-east-1,ap-southeast-1",
    "MailFrom": "alerts@example.com",
    "AlarmTopic": ARN % ("sns", "operator"),
    "PermissionsBoundary": f"arn:aws:iam::{ACCOUNT}:policy/boundary",
}
# What CloudFormation must refuse, and the parameter that it must name.
REFUSED = [
    ({"GradualDeployment": "true", "Alarms": "false"}, "Alarms"),
    ({"DomainName": "api.example.com"}, "CertificateArn"),
    ({"HostedZoneId": "Z123"}, "DomainName"),
    ({"OidcIssuer": "https://id.example.com"}, "OidcClientId"),
    ({"OidcSecret": OIDC["OidcSecret"]}, "OidcIssuer"),
    ({"BudgetLimit": "100"}, "BudgetEmail"),
    ({"BudgetEmail": "ops@example.com"}, "BudgetLimit"),
    ({"TableCapacity": "4"}, "TableCapacity"),
]
# Quotas of AWS.
PARAMETERS, OUTPUTS, TEMPLATE_BYTES = 200, 200, 1_000_000
INLINE_POLICIES, MANAGED_POLICY = 10_240, 6_144
VARIABLES, ALARM_METRICS, ALARM_SECONDS, QUERY_GROUPS = 4_096, 10, 86_400, 50
MANAGED_POLICIES, ROUTES, FUNCTION_NAME = 10, 300, 64
# The quota for a stack is 500. The rest is for what this test does not know.
RESOURCES = 450
# With how many routes of the API each stack must still fit. They are like the existing ones.
ROOM = 150
NO_VALUE = object()


def sets(template):
    """The named sets of parameters, and rows in which all pairs of values occur."""
    config = tomllib.loads((ROOT / "samconfig.toml").read_text())
    for name in ("default", "dev", "prod"):
        overrides = config[name]["global"]["parameters"].get("parameter_overrides", [])
        yield name, dict(one.split("=", 1) for one in overrides)
    together = {name for bundles in TOGETHER for bundle in bundles for name in bundle}
    factors = [[{}, *bundles] for bundles in TOGETHER]
    for name, parameter in template["Parameters"].items():
        allowed = parameter.get("AllowedValues", [])
        others = [str(value) for value in allowed if value != parameter["Default"]]
        # One of many numbers is enough. Plain text only fills variables.
        other = others[-1] if others else VALUES.get(name, "7" if parameter["Type"] == "Number" else "text")
        if name not in together:
            factors.append([{}, {name: other}])
    everything = {name: value for values in factors for name, value in values[-1].items()}
    yield "everything", everything | {"Alarms": "true", "GradualDeployment": "true"}
    for number, row in enumerate(pairs(factors), 1):
        yield f"pairs {number}", {name: value for part in row for name, value in part.items()}


def pairs(factors):
    """Rows with a value of each factor, so that each pair of values of two factors is in a row."""
    places = [(factor, value) for factor, values in enumerate(factors) for value in range(len(values))]
    left = {pair for pair in itertools.combinations(places, 2) if pair[0][0] != pair[1][0]}
    while left:
        open_pairs = collections.Counter(place for pair in left for place in pair)
        row = list(min(left))
        for factor in set(range(len(factors))) - {place[0] for place in row}:
            gain = lambda place: sum(tuple(sorted((one, place))) in left for one in row)
            options = [(factor, value) for value in range(len(factors[factor]))]
            row.append(max(options, key=lambda place: (gain(place), open_pairs[place])))
        left -= set(itertools.combinations(sorted(row), 2))
        yield [factors[factor][value] for factor, value in sorted(row)]


def unrolled(value, maps, loops):
    """A value without loops, and with what follows from loops and mappings filled in."""
    if isinstance(value, list):
        return [unrolled(item, maps, loops) for item in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, inner in value.items():
        if name.startswith("Fn::ForEach::"):
            variable, items, fragment = inner
            for item in unrolled(items, maps, loops):
                found |= unrolled(fragment, maps, loops | {variable: item})
        else:
            found[filled(name, loops)] = unrolled(inner, maps, loops)
    if list(found) == ["Ref"] and found["Ref"] in loops:
        return loops[found["Ref"]]
    if list(found) == ["Fn::FindInMap"] and all(isinstance(key, str) for key in found["Fn::FindInMap"]):
        first, second, third = found["Fn::FindInMap"]
        return maps[first][second][third]
    if list(found) == ["Fn::Sub"]:
        text, given = found["Fn::Sub"] if isinstance(found["Fn::Sub"], list) else (found["Fn::Sub"], {})
        known = {name: one for name, one in given.items() if isinstance(one, str)}
        text, given = filled(text, loops | known), {name: one for name, one in given.items() if name not in known}
        return {"Fn::Sub": [text, given] if given else text} if "${" in text else text
    return found


def filled(text, names):
    return re.sub(r"\$\{([\w:]+)\}", lambda one: str(names.get(one[1], one[0])), text)


class Stack:
    """What CloudFormation creates for a set of parameters."""

    def __init__(self, source, given, name=STACK):
        unknown = given.keys() - source["Parameters"].keys()
        assert not unknown, f"there are no parameters {unknown}"
        parameters = source["Parameters"].items()
        self.name = name
        self.values = {name: str(given[name] if name in given else one["Default"]) for name, one in parameters}
        self.lists = {name for name, one in parameters if one["Type"] == "CommaDelimitedList"}
        # This parameter selects names in a mapping, so CloudFormation resolves it before SAM translates.
        gradual = json.dumps(self.values["GradualDeployment"])
        chosen = json.loads(json.dumps(source).replace('{"Ref": "GradualDeployment"}', gradual))
        template = {name: unrolled(part, source["Mappings"], {}) for name, part in chosen.items()}
        template["Transform"] = "AWS::Serverless-2016-10-31"
        built = [one["Properties"] for one in template["Resources"].values()]
        for properties in [template["Globals"]["Function"], *built]:
            if "CodeUri" in properties:
                properties["CodeUri"] = {"Bucket": "packages", "Key": properties["CodeUri"]}
        # As plain values, because the translator returns its own types.
        self.template = json.loads(json.dumps(transform(template, self.values | PSEUDO, Policies())))
        self.conditions = self.template.pop("Conditions")
        exists = lambda one: "Condition" not in one or self.holds(one["Condition"])
        for part in ("Resources", "Outputs"):
            kept = {name: one for name, one in self.template.setdefault(part, {}).items() if exists(one)}
            self.template[part] = {name: self.resolved(one) for name, one in kept.items()}
            for one in self.template[part].values():
                one.pop("Condition", None)
        self.resources = self.template["Resources"]

    @functools.cached_property
    def nested(self):
        """The stacks that this one creates."""
        return [
            Stack(source(one["TemplateURL"]), {key: passed(value) for key, value in one["Parameters"].items()}, name)
            for name, one in self.of_type("AWS::CloudFormation::Stack").items()
        ]

    def holds(self, condition):
        return self.resolved({"Condition": condition} if isinstance(condition, str) else condition)

    def resolved(self, value):
        """A value without conditions and parameters."""
        if isinstance(value, list):
            return [one for one in map(self.resolved, value) if one is not NO_VALUE]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            [(name, argument)] = value.items()
            match name:
                case "Ref" if argument == "AWS::NoValue":
                    return NO_VALUE
                case "Ref" if argument in self.values:
                    return self.values[argument].split(",") if argument in self.lists else self.values[argument]
                case "Ref" if argument in PSEUDO:
                    return PSEUDO[argument]
                case "Condition" if argument in self.conditions:
                    return self.resolved(self.conditions[argument])
                case "Fn::If":
                    condition, yes, no = argument
                    return self.resolved(yes if self.holds(condition) else no)
                case "Fn::Equals":
                    first, second = map(self.resolved, argument)
                    return str(first) == str(second)
                case "Fn::Not":
                    return not self.resolved(argument[0])
                case "Fn::And":
                    return all(map(self.resolved, argument))
                case "Fn::Or":
                    return any(map(self.resolved, argument))
                case "Fn::Contains":
                    return self.resolved(argument[1]) in map(str, argument[0])
                case "Fn::Split":
                    text = self.resolved(argument[1])
                    return text.split(argument[0]) if isinstance(text, str) else {name: [argument[0], text]}
                case "Fn::Select":
                    items = self.resolved(argument[1])
                    return items[int(argument[0])] if isinstance(items, list) else {name: [argument[0], items]}
                case "Fn::Join":
                    items = self.resolved(argument[1])
                    is_text = isinstance(items, list) and all(isinstance(one, str) for one in items)
                    return argument[0].join(items) if is_text else {name: [argument[0], items]}
                case "Fn::Sub":
                    text, given = argument if isinstance(argument, list) else (argument, {})
                    given = {key: self.resolved(one) for key, one in given.items()}
                    known = {key: one for key, one in given.items() if isinstance(one, str)}
                    text = filled(text, self.values | PSEUDO | known)
                    given = {key: one for key, one in given.items() if key not in known}
                    return {name: [text, given] if given else text} if "${" in text else text
        found = {name: self.resolved(inner) for name, inner in value.items()}
        return {name: inner for name, inner in found.items() if inner is not NO_VALUE}

    def refusals(self):
        """What the rules say against these parameters."""
        for rule in self.template.get("Rules", {}).values():
            for assertion in rule["Assertions"]:
                if not self.resolved(assertion["Assert"]):
                    yield assertion["AssertDescription"]

    def of_type(self, kind):
        """The properties of the resources of a type, by their names."""
        return {name: one["Properties"] for name, one in self.resources.items() if one["Type"] == kind}

    def needs(self):
        """The resources to which each resource refers: also in the policy for its updates."""
        return {name: set(references(one)) - {name} for name, one in self.resources.items()}


def passed(value):
    """A parameter of a nested stack: the text that CloudFormation makes of a reference."""
    match value:
        case {"Fn::GetAtt": [name, "Arn"]}:
            return f"arn:aws:iam::{ACCOUNT}:role/{name}"
        case {"Ref": name}:
            return f"{STACK}-{name}" if not name.endswith("Policy") else f"arn:aws:iam::{ACCOUNT}:policy/{name}"
    return value


class Policies:
    """No managed policy of AWS is named without its ARN."""

    def load(self):
        return {}


def references(value):
    """The resources that a value names."""
    if isinstance(value, list):
        for one in value:
            yield from references(one)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name == "Ref":
                yield inner
            elif name == "Fn::GetAtt":
                yield inner[0] if isinstance(inner, list) else inner.partition(".")[0]
            elif name == "DependsOn":
                yield from [inner] if isinstance(inner, str) else inner
            elif name == "Fn::Sub":
                text, given = inner if isinstance(inner, list) else (inner, {})
                names = re.findall(r"\$\{(\w+)[.}]", text)
                yield from (one for one in names if one not in given)
                yield from references(given)
            else:
                yield from references(inner)


def faults(stack):
    """What is wrong with a stack."""
    yield from (f"refused: {why}" for why in stack.refusals())
    needs = stack.needs()
    for name, needed in needs.items():
        yield from (f"{name} refers to {one}, which does not exist" for one in needed - stack.resources.keys())
    for name, one in stack.template["Outputs"].items():
        yield from (f"the output {name} refers to {other}" for other in set(references(one)) - stack.resources.keys())
    try:
        graphlib.TopologicalSorter(needs).prepare()
    except graphlib.CycleError as error:
        yield f"cycle: {' -> '.join(error.args[1])}"
    for what, count, most in sizes(stack):
        if count > most:
            yield f"{what}: {count}, and {most} is the most"
    if stack.name == STACK:
        yield from gateway_faults(stack)
    for found in api.lint(json.dumps(stack.template), regions=[REGION]):
        # Warnings are about the source, which is linted, too.
        if found.rule.id.startswith("E"):
            yield f"{found.rule.id}: {found.message} ({'/'.join(map(str, found.path or []))})"


def sizes(stack):
    """What has a limit, how large it is, and the limit."""
    length = lambda value: len(json.dumps(value, separators=(",", ":")))
    yield "resources", len(stack.resources), RESOURCES
    yield "parameters", len(stack.template["Parameters"]), PARAMETERS
    yield "outputs", len(stack.template["Outputs"]), OUTPUTS
    yield "bytes of the template", length(stack.template), TEMPLATE_BYTES
    attached = {name: [] for name in stack.of_type("AWS::IAM::Role")}
    for name, role in stack.of_type("AWS::IAM::Role").items():
        attached[name] += [one["PolicyDocument"] for one in role.get("Policies", [])]
        yield f"managed policies of {name}", len(role.get("ManagedPolicyArns", [])), MANAGED_POLICIES
    for policy in stack.of_type("AWS::IAM::Policy").values():
        for role in policy["Roles"]:
            attached[role["Ref"]].append(policy["PolicyDocument"])
    for name, documents in attached.items():
        yield f"bytes of the policies of {name}", sum(map(length, documents)), INLINE_POLICIES
    for name, policy in stack.of_type("AWS::IAM::ManagedPolicy").items():
        yield f"bytes of {name}", length(policy["PolicyDocument"]), MANAGED_POLICY
    for name, function in stack.of_type("AWS::Lambda::Function").items():
        variables = function.get("Environment", {}).get("Variables", {})
        yield f"bytes of the variables of {name}", length(variables), VARIABLES
        yield f"characters of the name of {name}", len(function["FunctionName"]), FUNCTION_NAME
    for name, alarm in stack.of_type("AWS::CloudWatch::Alarm").items():
        stats = [one["MetricStat"] for one in alarm.get("Metrics", []) if "MetricStat" in one] or [alarm]
        yield f"metrics of {name}", len(stats), ALARM_METRICS
        longest = max(stat["Period"] for stat in stats) * alarm["EvaluationPeriods"]
        yield f"seconds of {name}", longest, ALARM_SECONDS
    for name, query in stack.of_type("AWS::Logs::QueryDefinition").items():
        yield f"log groups of {name}", len(query["LogGroupNames"]), QUERY_GROUPS
    for body in (one["Body"] for one in stack.of_type("AWS::ApiGatewayV2::Api").values()):
        yield "routes", sum(map(len, body["paths"].values())), ROUTES
        yield "integrations", len(body["components"]["x-amazon-apigateway-integrations"]), ROUTES


def gateway_faults(stack):
    """The gateway refuses settings of routes that it does not have. It must call functions, or their aliases, that
    exist, also during an update, and its role must allow it."""
    [api] = [one for one in stack.resources.values() if one["Type"] == "AWS::ApiGatewayV2::Api"]
    waits = set(references({"DependsOn": api.get("DependsOn", [])}))
    yield from (f"the gateway does not wait for {one.name}" for one in stack.nested if one.name not in waits)
    [body] = [one["Body"] for one in stack.of_type("AWS::ApiGatewayV2::Api").values()]
    [stage] = stack.of_type("AWS::ApiGatewayV2::Stage").values()
    routes = {"$default"} | {
        f"{'ANY' if method.startswith('x-') else method.upper()} {path}"
        for path, methods in body["paths"].items()
        for method in methods
    }
    yield from (f"there is no route {route}" for route in stage["RouteSettings"].keys() - routes)
    role = stack.of_type("AWS::IAM::Role")["GatewayRole"]
    [statement] = role["Policies"][0]["PolicyDocument"]["Statement"]
    existing = set(callable_functions(stack))
    for name, integration in body["components"]["x-amazon-apigateway-integrations"].items():
        called = called_by(integration, stack)
        if called not in existing:
            yield f"the gateway calls {called} for {name}, which does not exist"
        if not any(fnmatch.fnmatchcase(called, pattern) for pattern in statement["Resource"]):
            yield f"the gateway may not call {called} for {name}"
        if integration["credentials"] != {"Fn::GetAtt": ["GatewayRole", "Arn"]}:
            yield f"the gateway has no role to call {name}"


def arn_of(function, alias=None):
    arn = ARN % ("lambda", f"function:{function['FunctionName']}")
    return f"{arn}:{alias}" if alias else arn


def callable_functions(stack):
    """The functions without an alias, and the aliases of the others, of a stack and of those nested in it."""
    for one in (stack, *stack.nested):
        functions = one.of_type("AWS::Lambda::Function")
        aliases = {alias["FunctionName"]["Ref"]: alias["Name"] for alias in one.of_type("AWS::Lambda::Alias").values()}
        yield from (arn_of(function, aliases.get(name)) for name, function in functions.items())


def called_by(integration, stack):
    """The ARN that an integration calls."""
    uri = integration["uri"]
    if isinstance(uri, dict):
        text, given = uri["Fn::Sub"]
        match given["Called"]:
            case {"Ref": name}:
                alias = stack.resources[name]["Properties"]
                called = arn_of(stack.resources[alias["FunctionName"]["Ref"]]["Properties"], alias["Name"])
            case {"Fn::GetAtt": [name, "Arn"]}:
                called = arn_of(stack.resources[name]["Properties"])
        uri = text.replace("${Called}", called)
    return uri.partition("/functions/")[2].removesuffix("/invocations")


def room(stack):
    """How many resources each stack has, and would have with more routes of the API."""
    now = sum(len(one.of_type("AWS::Lambda::Function")) for one in stack.nested)
    for routes in (now, 80, ROOM):
        found = {stack.name: len(stack.resources)}
        for one in stack.nested:
            # There are more of each type with more routes, but still only one of some.
            counts = collections.Counter(resource["Type"] for resource in one.resources.values()).values()
            found[one.name] = sum(math.ceil(count * routes / now) if count > 1 else 1 for count in counts)
        yield routes, found


def checked(job):
    name, given = job
    stack = Stack(source(), given)
    found = [*faults(stack), *(f"{one.name}: {fault}" for one in stack.nested for fault in faults(one))]
    counts = list(room(stack))
    found += (
        f"{one} has {count} resources with {routes} routes, and {RESOURCES} is the most"
        for routes, resources in counts
        for one, count in resources.items()
        if count > RESOURCES
    )
    return name, counts, sorted(set(found))


def source(file="template.yaml"):
    return yaml_parse((ROOT / file).read_text())


def main():
    template = source()
    failed = 0
    for given, named in REFUSED:
        said = list(Stack(template, given).refusals())
        if len(said) != 1 or named not in said[0]:
            failed += 1
            print(f"{given} must be refused because of {named}: {said}")
    jobs = list(sets(template))
    missing = template["Parameters"].keys() - {name for _, given in jobs for name in given}
    assert not missing, f"no set has {missing}"
    largest = {}
    with multiprocessing.Pool(2) as pool:
        for name, counts, found in pool.imap_unordered(checked, jobs):
            for routes, resources in counts:
                known = largest.setdefault(routes, {})
                known |= {one: max(count, known.get(one, 0)) for one, count in resources.items()}
            failed += len(found)
            for one in found[:20]:
                print(f"{name} {dict(jobs)[name]}: {one}")
    if failed:
        sys.exit(1)
    for routes, resources in largest.items():
        print(f"{routes} routes need at most {resources} resources")
    print(f"{len(jobs)} sets of parameters can be deployed")


if __name__ == "__main__":
    main()
