"""Validates messages to Slack with Slack's own library, and messages to ntfy against ntfy's published JSON format.

    judge.py FOLDER
"""

import json
import pathlib
import re
import sys
from urllib.parse import urlsplit

from slack_sdk.models.blocks import Block
from slack_sdk.models.blocks.blocks import ContextBlock, HeaderBlock, SectionBlock

sent = json.loads((pathlib.Path(sys.argv[1]) / "sent.json").read_text())["slack"]
assert len(sent) >= 4, "too little was sent"
for one in sent:
    body = json.loads(one["body"])
    assert body["text"], "a notification would be empty"
    blocks = Block.parse_all(body["blocks"])
    assert {type(block) for block in blocks} <= {HeaderBlock, SectionBlock, ContextBlock}, blocks
    assert isinstance(blocks[0], HeaderBlock), blocks
    for block, given in zip(blocks, body["blocks"], strict=True):
        # Validates, and leaves out unknown fields.
        assert block.to_dict() == given, (block.to_dict(), given)
print(f"{len(sent)} messages to Slack are valid")

# https://docs.ntfy.sh/publish/#publish-as-json, the limits below it, and https://docs.ntfy.sh/publish/#action-buttons.
FIELDS = {
    "view": {"action", "label", "url", "clear"},
    "http": {"action", "label", "url", "method", "headers", "body", "clear"},
}
sent = json.loads((pathlib.Path(sys.argv[1]) / "sent.json").read_text())["ntfy"]
assert len(sent) >= 4, "too little was sent"
for one in sent:
    assert one["path"] == "/", "messages in JSON go to the root of the server"
    assert one["headers"]["authorization"] == "Bearer s3cret-token", one["headers"]
    assert len(one["body"].encode()) <= 2 * 4096, "more of JSON is not read"
    body = json.loads(one["body"])
    assert set(body) <= {"topic", "message", "title", "tags", "priority", "click", "actions"}, body
    assert re.fullmatch("[-_A-Za-z0-9]{1,64}", body["topic"]) and body["topic"] == "s3cret-topic", body
    assert 0 < len(body["message"].encode()) <= 4096, "a longer message becomes an attachment"
    assert body["title"] and "\n" not in body["title"], body
    assert type(body["priority"]) is int and 1 <= body["priority"] <= 5, body
    assert body["tags"] and all(re.fullmatch("[a-z_]+", tag) for tag in body["tags"]), body
    assert urlsplit(body.get("click", "http://a")).scheme in ("http", "https"), body
    actions = body.get("actions", [])
    assert len(actions) <= 3 and all({"action", "label", "url"} <= set(action) for action in actions), actions
    assert all(set(action) <= FIELDS[action["action"]] for action in actions), actions
print(f"{len(sent)} messages to ntfy are valid")
