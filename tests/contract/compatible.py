#!/usr/bin/env python3
"""Finds what has changed in openapi.json for clients of an earlier document.

    compatible.py               compares openapi.json with released.json, after testing the comparison itself
    compatible.py store FILE    writes released.json from an openapi.json

Clients of the earlier document send what it describes, and read what it describes. So everything that it lets them send
must still be accepted, and everything that an answer had must still be there. A new operation, a new optional field of a
request, and a new property of an answer change nothing for them.
"""

import copy
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
RELEASED = HERE / "released.json"
CURRENT = HERE.parent.parent / "openapi.json"
METHODS = ("get", "put", "post", "patch", "delete")
# What these say is meant for people.
PROSE = {"description", "summary", "example", "examples", "title", "tags", "operationId", "links", "$comment"}
# A rule that a value is too small or too large for, and a number that is as good as no rule.
LOWER = {"minLength": 0, "minItems": 0, "minProperties": 0, "minimum": float("-inf"), "exclusiveMinimum": float("-inf")}
UPPER = {key: float("inf") for key in ("maxLength", "maxItems", "maxProperties", "maximum", "exclusiveMaximum")}
# What only teams with heartbeats get, and from `GET /issues` only clients that ask for it with `include`, which the earlier
# document does not have.
OF_HEARTBEATS = {
    'GET /issues 200 data items fingerprint: may be "heartbeat:down", "heartbeat:running_long" now',
    "GET /issues 200 data items site: variant 2 is new or has lost something",
    'GET /issues 200 data items type: may be "heartbeat" now',
    "GET /teams/{team}/status-pages 200 data items groups items components items site: may be null now",
    'issue.opened data reason: may be "heartbeat_deleted" now',
}
ALL_TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}


def without_prose(value, is_map=False):
    """The document without what is meant for people. In a map of names, such as properties, each name counts."""
    if isinstance(value, list):
        return [without_prose(item) for item in value]
    if not isinstance(value, dict):
        return value
    maps = ("properties", "schemas", "parameters", "headers", "responses", "paths", "webhooks", "patternProperties")
    return {
        key: without_prose(item, not is_map and key in maps)
        for key, item in value.items()
        if is_map or (key not in PROSE and not key.startswith("x-"))
    }


def stored(document):
    """What is kept of a document to compare others with: its operations, and the parts that they refer to."""
    kept = {key: document[key] for key in ("paths", "webhooks", "components")}
    kept["components"].pop("securitySchemes", None)
    return without_prose(kept)


class Comparison:
    """The differences between two documents that a client can notice."""

    def __init__(self, before, after):
        self.before, self.after = before, after
        self.found = []
        self.seen = set()

    def say(self, where, what):
        self.found.append(f"{where}: {what}")

    @staticmethod
    def resolve(document, value):
        while isinstance(value, dict) and "$ref" in value:
            target = document
            for part in value["$ref"].removeprefix("#/").split("/"):
                target = target[part.replace("~1", "/").replace("~0", "~")]
            value = target
        return value

    def run(self):
        for path, item in self.before["paths"].items():
            for method in METHODS:
                if method in item:
                    self.operation(f"{method.upper()} {path}", path, method)
        for name, item in self.before["webhooks"].items():
            if name not in self.after["webhooks"]:
                self.say(name, "the event is gone")
                continue
            event, other = (one["post"]["requestBody"] for one in (item, self.after["webhooks"][name]))
            self.content(name, event, other, self.read)
        return self.found

    def operation(self, where, path, method):
        after = self.after["paths"].get(path, {})
        if method not in after:
            return self.say(where, "the operation is gone")
        before = self.before["paths"][path]
        self.parameters(where, self.parameters_of(self.before, before, method), self.parameters_of(self.after, after, method))
        self.body(where, before[method].get("requestBody"), after[method].get("requestBody"))
        self.scopes(where, before[method], after[method])
        answers = after[method]["responses"]
        for status, answer in before[method]["responses"].items():
            if status not in answers:
                # Errors may become fewer. What succeeded must still succeed in the same way.
                if status.startswith("2"):
                    self.say(where, f"the answer {status} is gone")
                continue
            answer, other = self.resolve(self.before, answer), self.resolve(self.after, answers[status])
            for name in answer.get("headers", {}):
                if name not in other.get("headers", {}):
                    self.say(where, f"the answer {status} lost the header {name}")
            self.content(f"{where} {status}", answer, other, self.read)

    def parameters_of(self, document, item, method):
        listed = item.get("parameters", []) + item[method].get("parameters", [])
        resolved = (self.resolve(document, parameter) for parameter in listed)
        return {(parameter["in"], parameter["name"]): parameter for parameter in resolved}

    def parameters(self, where, before, after):
        for key, parameter in after.items():
            if parameter.get("required") and not before.get(key, {}).get("required"):
                self.say(where, f"the parameter {key[1]} became required")
        for key, parameter in before.items():
            if key not in after:
                self.say(where, f"the parameter {key[1]} is gone")
                continue
            self.sent(f"{where} {key[1]}", parameter.get("schema", {}), after[key].get("schema", {}))

    def body(self, where, before, after):
        before, after = self.resolve(self.before, before), self.resolve(self.after, after)
        if after and after.get("required") and not (before or {}).get("required"):
            self.say(where, "the body became required")
        if before and not after:
            self.say(where, "the body is gone")
        elif before:
            self.content(f"{where} body", before, after, self.sent)

    def scopes(self, where, before, after):
        """A token that was enough must still be enough. Without `security`, an operation needs no token."""
        ways, now = (operation.get("security") or [{}] for operation in (before, after))

        def is_enough(way, other):
            return all(name in way and set(scopes) <= set(way[name]) for name, scopes in other.items())

        if not all(any(is_enough(way, other) for other in now) for way in ways):
            self.say(where, "needs another token")

    def content(self, where, before, after, compare):
        for media, content in before.get("content", {}).items():
            if media not in after.get("content", {}):
                self.say(where, f"{media} is gone")
            elif "schema" in content:
                compare(where, content["schema"], after["content"][media].get("schema", {}))

    def pair(self, kind, before, after):
        """Both schemas with their references followed; `None` if the pair was compared before."""
        key = (kind, json.dumps(before, sort_keys=True), json.dumps(after, sort_keys=True))
        if key in self.seen:
            return None
        self.seen.add(key)
        return self.resolve(self.before, before), self.resolve(self.after, after)

    @staticmethod
    def types(schema):
        kinds = schema.get("type")
        if kinds is None:
            values = schema.get("enum", [schema["const"]] if "const" in schema else None)
            if values is None:
                return ALL_TYPES
            names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
            return {names.get(type(value), "object") for value in values}
        kinds = {kinds} if isinstance(kinds, str) else set(kinds)
        return kinds | {"integer"} if "number" in kinds else kinds

    @staticmethod
    def values(schema):
        """The only values that a schema allows; `None` if it does not list them."""
        if "const" in schema:
            return {json.dumps(schema["const"])}
        if "enum" in schema:
            return {json.dumps(value) for value in schema["enum"]}
        return None

    @staticmethod
    def variants(schema):
        return schema.get("oneOf") or schema.get("anyOf") or []

    def matches(self, compare, before, after):
        """Whether two schemas are compatible, without recording how they are not."""
        trial = Comparison(self.before, self.after)
        getattr(trial, compare)("", before, after)
        return not trial.found

    def sent(self, where, before, after):
        """Everything that `before` lets a client send must be accepted by `after`."""
        pair = self.pair("sent", before, after)
        if pair is None:
            return
        before, after = pair
        if after is True or after == {}:
            return
        if self.variants(before) or self.variants(after):
            others = self.variants(after) or [after]
            for number, variant in enumerate(self.variants(before) or [before]):
                if not any(self.matches("sent", variant, other) for other in others):
                    self.say(where, f"variant {number + 1} is no longer accepted")
            return
        lost = self.types(before) - self.types(after)
        if lost:
            self.say(where, f"no longer accepts {', '.join(sorted(lost))}")
        allowed, now = self.values(before), self.values(after)
        if now is not None and (allowed is None or not allowed <= now):
            gone = "every value" if allowed is None else ", ".join(sorted(allowed - now))
            self.say(where, f"no longer accepts {gone}")
        if allowed is not None:
            # The rules below are about other values.
            return
        for rule in ("pattern", "format", "multipleOf"):
            # An alternative in front of a pattern accepts more.
            is_wider = rule == "pattern" and str(after.get(rule)).endswith(f"|{before.get(rule, '')}")
            if rule in after and after.get(rule) != before.get(rule) and not is_wider:
                self.say(where, f"the {rule} is {after[rule]}, and was {before.get(rule, 'none')}")
        for rule, none in LOWER.items():
            if after.get(rule, none) > before.get(rule, none):
                self.say(where, f"{rule} rose to {after[rule]}")
        for rule, none in UPPER.items():
            if after.get(rule, none) < before.get(rule, none):
                self.say(where, f"{rule} fell to {after[rule]}")
        if after.get("uniqueItems") and not before.get("uniqueItems"):
            self.say(where, "items must be unique now")
        for name in set(after.get("required", [])) - set(before.get("required", [])):
            self.say(where, f"the field {name} became required")
        fields = after.get("properties", {})
        for name, field in before.get("properties", {}).items():
            if name in fields:
                self.sent(f"{where} {name}", field, fields[name])
            else:
                self.say(where, f"the field {name} is gone")
        if before.get("additionalProperties", True) is not False and after.get("additionalProperties") is False:
            self.say(where, "other fields are no longer ignored")
        self.below("sent", where, before, after)

    def read(self, where, before, after):
        """Everything that a client finds in an answer by `before` must be in one by `after`."""
        pair = self.pair("read", before, after)
        if pair is None:
            return
        before, after = pair
        if before is True or before == {}:
            return
        if self.variants(before) or self.variants(after):
            others = self.variants(before) or [before]
            for number, variant in enumerate(self.variants(after) or [after]):
                if not any(self.matches("read", other, variant) for other in others):
                    self.say(where, f"variant {number + 1} is new or has lost something")
            return
        new = self.types(after) - self.types(before)
        if new:
            self.say(where, f"may be {', '.join(sorted(new))} now")
        allowed, now = self.values(before), self.values(after)
        if allowed is not None and (now is None or not now <= allowed):
            more = "any value" if now is None else ", ".join(sorted(now - allowed))
            self.say(where, f"may be {more} now")
        if "format" in before and after.get("format") != before["format"] and allowed is None:
            self.say(where, f"the format {before['format']} became {after.get('format', 'any')}")
        for name in set(before.get("required", [])) - set(after.get("required", [])):
            self.say(where, f"the property {name} may be missing now")
        properties = after.get("properties", {})
        for name, field in before.get("properties", {}).items():
            if name in properties:
                self.read(f"{where} {name}", field, properties[name])
            else:
                self.say(where, f"the property {name} is gone")
        self.below("read", where, before, after)

    def below(self, compare, where, before, after):
        """Compares the items of arrays, the values of maps, and what is composed."""
        for part, name in (("items", "items"), ("additionalProperties", "values")):
            if isinstance(before.get(part), dict) and isinstance(after.get(part), dict):
                getattr(self, compare)(f"{where} {name}", before[part], after[part])
        # Each part of a composition is found again in the same place.
        parts, others = before.get("allOf", []), after.get("allOf", [])
        if len(parts) != len(others):
            self.say(where, "is composed of other parts")
        for part, other in zip(parts, others):
            getattr(self, compare)(where, part, other)


def differences(before, after):
    return Comparison(before, without_prose(after)).run()


def test(released):
    """Changes the document in ways that break clients, each of which must be found, and in ways that do not."""

    def site_body(document):
        return document["components"]["schemas"]["SiteCreate"]

    def site(document):
        return document["components"]["schemas"]["Site"]

    def remove_operation(document):
        del document["paths"]["/sites/{site}"]["delete"]

    def remove_answer(document):
        answers = document["paths"]["/sites/{site}"]["get"]["responses"]
        answers["299"] = answers.pop("200")

    def require_field(document):
        site_body(document).setdefault("required", []).append("name")

    def remove_field(document):
        del site_body(document)["properties"]["name"]

    def shorten_field(document):
        site_body(document)["properties"]["name"]["maxLength"] = 3

    def narrow_type(document):
        site_body(document)["properties"]["url"]["type"] = "integer"

    def tighten_pattern(document):
        site_body(document)["properties"]["url"]["pattern"] = "^https:"

    def require_parameter(document):
        item = document["paths"]["/issues"]["get"]
        item.setdefault("parameters", []).append(
            {"in": "query", "name": "shape", "required": True, "schema": {"type": "string"}}
        )

    def remove_parameter(document):
        document["paths"]["/issues"]["get"]["parameters"].pop()

    def narrow_enum(document):
        parameters = document["paths"]["/issues"]["get"]["parameters"]
        next(one for one in parameters if one.get("name") == "status")["schema"]["enum"].pop()

    def remove_property(document):
        del site(document)["properties"]["name"]

    def drop_property(document):
        site(document)["required"].remove("name")

    def change_property(document):
        site(document)["properties"]["name"]["type"] = "integer"

    def may_be_null(document):
        site(document)["properties"]["name"]["type"] = ["string", "null"]

    def widen_enum(document):
        document["components"]["schemas"]["Severity"]["enum"].append("unheard-of")

    def change_event(document):
        del document["components"]["schemas"]["IssueEvent"]["properties"]["data"]

    def add_scope(document):
        document["paths"]["/me"]["get"]["security"][0]["token"].append("teams:manage")

    def need_no_token(document):
        document["paths"]["/me"]["get"]["security"] = []

    def add_operation(document):
        document["paths"]["/new"] = copy.deepcopy(document["paths"]["/me"])

    def add_field(document):
        site_body(document)["properties"]["new"] = {"type": "string"}

    def add_property(document):
        site(document)["properties"]["new"] = {"type": "string"}
        site(document)["required"].append("new")

    def lengthen_field(document):
        site_body(document)["properties"]["name"]["maxLength"] = 10_000

    breaking = [
        remove_operation, remove_answer, require_field, remove_field, shorten_field, narrow_type, tighten_pattern,
        require_parameter, remove_parameter, narrow_enum, remove_property, drop_property, change_property, may_be_null,
        widen_enum, change_event, add_scope,
    ]
    harmless = [add_operation, add_field, add_property, lengthen_field, need_no_token]
    if found := differences(released, released):
        raise SystemExit(f"a document differs from itself: {found}")
    for change in breaking + harmless:
        document = copy.deepcopy(released)
        change(document)
        found = differences(released, document)
        if bool(found) != (change in breaking):
            raise SystemExit(f"{change.__name__} has these differences: {found}")


def main():
    if sys.argv[1:2] == ["store"]:
        document = stored(json.loads(Path(sys.argv[2]).read_text()))
        RELEASED.write_text(json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n")
        return
    released = json.loads(RELEASED.read_text())
    test(released)
    found = differences(released, json.loads(CURRENT.read_text()))
    found = sorted(set(found) ^ OF_HEARTBEATS)
    for difference in found:
        print(f"clients of the released document notice: {difference}", file=sys.stderr)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
