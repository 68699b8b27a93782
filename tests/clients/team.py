"""A program that uses only the generated client: it sets up a team, runs it through an outage for two hours of the
service's time, and takes it apart.

    team.py BASE_URL TOKEN_FILE MINUTE_IN_SECONDS
"""

import datetime
import http.server
import json
import pathlib
import sys
import threading
import time

from vedette_client import AuthenticatedClient
from vedette_client.api.audit_log import audit_log_list
from vedette_client.api.channels import channels_create, channels_delete, channels_get, channels_list, channels_test
from vedette_client.api.channels import channels_disable, channels_enable, channels_update
from vedette_client.api.invitations import invitations_create, invitations_list, invitations_withdraw
from vedette_client.api.issues import issues_acknowledge, issues_list, issues_note, issues_snooze
from vedette_client.api.me import me_get
from vedette_client.api.members import members_list, members_remove
from vedette_client.api.outages import outages_list
from vedette_client.api.sites import sites_create, sites_delete
from vedette_client.api.teams import teams_create, teams_update
from vedette_client.api.tokens import tokens_create, tokens_list, tokens_revoke
from vedette_client.models import (
    ChannelUpdate,
    InvitationCreate,
    InvitationCreateRole,
    IssueNote,
    IssueSnooze,
    NewChannelResponse,
    NewInvitationResponse,
    SiteCreate,
    SiteResponse,
    TeamCreate,
    TeamUpdate,
    TokenCreate,
    TokenCreateScopesItem,
    ValidationError,
    Webhook,
)

url, token, minute = sys.argv[1], pathlib.Path(sys.argv[2]).read_text().strip(), float(sys.argv[3])
client = AuthenticatedClient(base_url=url, token=token)
began = time.monotonic()


class Shop(http.server.BaseHTTPRequestHandler):
    """The site, which can be down, and the receiver of a webhook."""

    is_up = True
    received = []

    def do_GET(self):
        self.answer(200 if Shop.is_up else 503)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        Shop.received.append(body["type"])
        self.answer(200)

    do_HEAD = do_GET

    def answer(self, code):
        self.send_response(code)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
threading.Thread(target=server.serve_forever, daemon=True).start()
shop = f"http://127.0.0.1:{server.server_port}"


def until(what, found):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if result := found():
            return result
        time.sleep(0.1)
    sys.exit(f"in vain: {what}")


# The team, its name, and a token that can do less.
team = teams_create.sync(client=client, body=TeamCreate(name="Shop")).data.uuid
assert teams_update.sync(team, client=client, body=TeamUpdate(name="Meridian")).data.name == "Meridian"
reading = TokenCreate(name="Reader", scopes=[TokenCreateScopesItem.ISSUESREAD])
reader = tokens_create.sync(client=client, body=reading).data
refused = me_get.sync_detailed(client=AuthenticatedClient(base_url=url, token=reader.secret))
assert refused.status_code == 403, refused

# A person is invited, and the invitation withdrawn. The owner must stay.
guest = InvitationCreate(email="bob@example.com", role=InvitationCreateRole.VIEWER)
invited = invitations_create.sync(team, client=client, body=guest)
assert isinstance(invited, NewInvitationResponse) and "/join/" in invited.data.url, invited
assert [one.email for one in invitations_list.sync(team, client=client).data] == ["bob@example.com"]
assert invitations_withdraw.sync_detailed(team, invited.data.hash_, client=client).status_code == 204
[owner] = members_list.sync(team, client=client).data
last = members_remove.sync(team, owner.uuid, client=client)
assert isinstance(last, ValidationError) and "last owner" in last.message, last

# A webhook, which is tested, and told of what is critical.
added = channels_create.sync(team, client=client, body=Webhook(kind="webhook", url=f"{shop}/hook", name="Script"))
assert isinstance(added, NewChannelResponse) and added.data.signing_key.startswith("whsec_"), added
channel = added.data.uuid
assert channels_test.sync(team, channel, client=client).data.uuid == channel
tested = until("the test arrives", lambda: channels_get.sync(team, channel, client=client).data.last_test)
assert tested.failed is None, tested
assert channels_disable.sync(team, channel, client=client).data.state == "disabled"
assert channels_enable.sync(team, channel, client=client).data.state == "on"
critical = ChannelUpdate.from_dict({"severities": ["critical"]})
assert channels_update.sync(team, channel, client=client, body=critical).data.severities == ["critical"]

# The site goes down. The team says that it knows, and the site comes back.
created = sites_create.sync(team, client=client, body=SiteCreate(url=shop))
assert isinstance(created, SiteResponse), created
site = created.data.uuid
Shop.is_up = False
down = lambda: issues_list.sync(client=client, team=team).data
[issue] = until("an issue opens", down)
assert issue.fingerprint == "status:down", issue
assert issues_acknowledge.sync(issue.uuid, client=client).data.status == "acknowledged"
noted = issues_note.sync(issue.uuid, client=client, body=IssueNote(note="The disk is full."))
assert noted.data.notes[0].note == "The disk is full.", noted
tomorrow = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
assert issues_snooze.sync(issue.uuid, client=client, body=IssueSnooze(until=tomorrow)).data.snoozed_until
Shop.is_up = True
until("the issue resolves", lambda: not down())
[outage] = outages_list.sync(team, client=client).data
assert outage.ended_at and outage.acknowledged_by.email == owner.email, outage
until("the webhook knows", lambda: "issue.resolved" in Shop.received)

# Two hours pass without anything else.
time.sleep(max(0, began + 120 * minute - time.monotonic()))
assert not down()
assert sorted(Shop.received) == ["channel.test", "issue.opened", "issue.resolved"], Shop.received
assert channels_list.sync(team, client=client).data[0].failures == []

# All of it is taken apart again, and the audit log knows everything.
assert sites_delete.sync_detailed(site, client=client).status_code == 204
assert channels_delete.sync_detailed(team, channel, client=client).status_code == 204
assert tokens_revoke.sync_detailed(reader.hash_, client=client).status_code == 204
assert reader.hash_ not in [one.hash_ for one in tokens_list.sync(client=client).data]
entries = audit_log_list.sync(team, client=client, per_page=100).data
for secret in (token, reader.secret, added.data.signing_key, "/hook", invited.data.url.rsplit("/", 1)[1]):
    assert secret not in json.dumps([entry.to_dict() for entry in entries]), "a secret is in the audit log"
assert {entry.actor for entry in entries} == {"user"}
done = [entry.event.to_dict() for entry in entries]
# Actions of one second are in any order. A snooze says until when.
actions = [f"{event['what']} {event.get('change') or event.get('decision') or ''}"[:20].strip() for event in done]
assert sorted(actions) == [
    "channel added",
    "channel disabled",
    "channel edited",
    "channel enabled",
    "channel removed",
    "invitation_withdrawn",
    "invited",
    "issue acknowledged",
    "issue noted",
    "issue {'snoozed': '2",
    "settings_changed",
    "site_created",
    "site_deleted",
    "token_created",
    "token_revoked",
], sorted(actions)
