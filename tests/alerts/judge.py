"""Judges what was sent to Slack with Slack's own library.

    judge.py FOLDER
"""

import json
import pathlib
import sys

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
        # Validates, and leaves out what it does not know.
        assert block.to_dict() == given, (block.to_dict(), given)
print(f"{len(sent)} messages of Slack hold")
