"""A program that uses only the generated client: it applies documents to a team until nothing is left.

    configuration.py BASE_URL TOKEN_FILE
"""

import pathlib
import sys

from vedette_client import AuthenticatedClient
from vedette_client.api.configuration import configuration_apply, configuration_export
from vedette_client.api.sites import sites_list
from vedette_client.api.teams import teams_create
from vedette_client.api.tokens import tokens_create
from vedette_client.models import ConfigurationApply, ConfigurationResponse, TeamCreate, TokenCreate, ValidationError
from vedette_client.types import UNSET

url, token = sys.argv[1], pathlib.Path(sys.argv[2]).read_text().strip()
owner = AuthenticatedClient(base_url=url, token=token)
team = teams_create.sync(client=owner, body=TeamCreate(name="As code")).data.uuid
scopes = ["configuration:read", "configuration:write", "sites:read"]
body = TokenCreate.from_dict({"name": "configuration", "days": 1, "scopes": scopes})
secret = tokens_create.sync(client=owner, body=body).data.secret
client = AuthenticatedClient(base_url=url, token=secret)


def apply(document, **options):
    """Sends a document until nothing is left, and returns all changes."""
    changes, lease = [], UNSET
    while True:
        order = ConfigurationApply.from_dict({"document": document, **options})
        order.lease = lease
        answer = configuration_apply.sync(team, client=client, body=order)
        assert isinstance(answer, ConfigurationResponse), answer
        changes += [(change.action.value, change.kind.value, change.key) for change in answer.data.changes]
        lease = answer.data.lease
        if options.get("dry_run") or not answer.data.left:
            return changes


def document(count, **others):
    sites = [{"key": f"s{number}", "url": f"https://s{number}.example"} for number in range(count)]
    return {"name": "shop", "sites": sites, **others}


groups = [{"key": "all", "name": "All", "selector": "!legacy"}]
planned = apply(document(3, groups=groups), dry_run=True)
assert len(planned) == 4 and planned[-1] == ("create", "group", "all"), planned
assert apply(document(3, groups=groups)) == planned
assert apply(document(3, groups=groups)) == []
listed = sites_list.sync(team, client=client)
assert {site.managed_by.key for site in listed.data} == {"s0", "s1", "s2"}, listed

pruned = apply(document(2, groups=[]), prune=True)
assert pruned == [("delete", "group", "all"), ("delete", "site", "s2")], pruned
exported = configuration_export.sync(team, client=client).data.to_dict()
assert exported["name"] == "shop" and len(exported["sites"]) == 2, exported
assert apply(exported) == []

order = ConfigurationApply.from_dict({"document": document(1, groups=[{"key": "s0", "name": "G", "selector": "a"}])})
refused = configuration_apply.sync(team, client=client, body=order)
assert isinstance(refused, ValidationError) and "document.groups.0.key" in refused.errors, refused
