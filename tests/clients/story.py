"""A program that uses the generated client: creates a site, lists, reads, changes and deletes it.

    story.py BASE_URL TOKEN_FILE
"""

import pathlib
import sys

from vedette_client import AuthenticatedClient
from vedette_client.api.me import me_get
from vedette_client.api.monitoring import monitoring_get, monitoring_update
from vedette_client.api.sites import sites_create, sites_delete, sites_get, sites_list, sites_update
from vedette_client.models import (
    CadenceMinutes,
    MonitoringSettingsOverrides,
    MonitoringSettingsUpdate,
    MonitoringUpdate,
    SiteCreate,
    SiteResponse,
    SiteUpdate,
    StatusOverrides,
    StatusSettingsUpdate,
    StatusUpdate,
    ToolsOverrides,
    ToolsUpdate,
    ValidationError,
)

url, token = sys.argv[1], pathlib.Path(sys.argv[2]).read_text().strip()
client = AuthenticatedClient(base_url=url, token=token)
team = me_get.sync(client=client).data.teams[0].uuid

# A team's settings are read, and changed.
before = monitoring_get.sync(team, client=client).data.settings.tools.status
status = StatusUpdate(
    enabled=True, cadence_minutes=CadenceMinutes(15), settings=StatusSettingsUpdate(failures_to_open=3)
)
settings = MonitoringSettingsUpdate(tools=ToolsUpdate(status=status))
changed = monitoring_update.sync(team, client=client, body=MonitoringUpdate(settings))
after = changed.data.settings.tools.status
assert (after.cadence_minutes, after.settings.failures_to_open) == (15, 3), after
assert after.settings.successes_to_resolve == before.settings.successes_to_resolve

# A site with its own settings is created and listed.
tools = ToolsOverrides(status=StatusOverrides(cadence_minutes=CadenceMinutes(30)))
body = SiteCreate(
    url="http://127.0.0.1:9/",
    name="Client",
    monitoring_settings=MonitoringSettingsOverrides(tools=tools),
)
created = sites_create.sync(team, client=client, body=body)
assert isinstance(created, SiteResponse), created
site = created.data.uuid
own = created.data.monitoring.settings.tools.status
assert (own.cadence_minutes, own.settings.failures_to_open) == (30, 3), own
listed = sites_list.sync(team, client=client, search="client")
assert [entry.uuid for entry in listed.data] == [site] and listed.meta.total == 1, listed

# It is changed, and what was read can be sent back.
read = sites_get.sync(site, client=client).data
body = SiteUpdate(url=read.url, name="Renamed", pinned=True)
renamed = sites_update.sync(site, client=client, body=body).data
assert (renamed.name, renamed.is_pinned, renamed.notes) == ("Renamed", True, None), renamed
sent_back = MonitoringSettingsOverrides.from_dict(renamed.monitoring.settings.to_dict())
same = sites_update.sync(site, client=client, body=SiteUpdate(read.url, monitoring_settings=sent_back))
assert same.data.monitoring == renamed.monitoring, same

# Errors are reported by field, and a deleted site is not found.
refused = sites_create.sync(team, client=client, body=SiteCreate(url="nonsense"))
assert isinstance(refused, ValidationError) and "url" in refused.errors, refused
assert sites_delete.sync_detailed(site, client=client).status_code == 204
assert sites_get.sync_detailed(site, client=client).status_code == 404
