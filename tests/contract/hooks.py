"""Rules that openapi.json cannot express, for Schemathesis."""

import copy
import itertools
import re
from urllib.parse import urlsplit

import schemathesis
from hypothesis import strategies as st

# Nobody owns hosts below `.example` and `.test` (RFC 2606), so the sites that are added here are never real ones.
URL = re.compile(
    r"[Hh][Tt][Tt][Pp][Ss]?://[a-zA-Z][a-zA-Z0-9]{0,20}\.(example|test)"
    r"(:[1-9][0-9]{0,3})?(/[a-z0-9.~_-]{0,8}){0,3}(\?[a-z0-9=&]{0,12})?(#[a-z]{0,4})?"
)
schemathesis.openapi.format("uri", st.from_regex(URL, fullmatch=True))

fresh = itertools.count(1)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Makes the URL of a site new in its team, and puts the audited page on the site's host. Without this,
    nearly all sites would be refused for the one or the other, and never for what is tried."""
    body = case.body
    if case.operation.method not in ("post", "patch") or not isinstance(body, dict):
        return
    if case.operation.path.endswith("/configuration"):
        # An applied document would replace the settings and the objects that other requests need.
        case.body = {**body, "dry_run": True} if "dry_run" not in body or body["dry_run"] is False else body
        return
    url = body.get("url")
    if not isinstance(url, str) or not URL.fullmatch(url):
        return
    case.body = body = copy.deepcopy(body)
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(url))
    body["url"] = f"{origin}/{next(fresh)}{url[len(origin):]}"
    settings = body
    for name in ("monitoring_settings", "tools", "performance", "settings"):
        settings = settings.get(name)
        if not isinstance(settings, dict):
            return
    if isinstance(settings.get("url"), str) and URL.fullmatch(settings["url"]):
        settings["url"] = f"{origin}/page"


# Rules that a request can break although it matches its schema: about existing resources, about time, or about two
# fields together.
RULES = re.compile(
    "|".join(
        [
            r"This URL is already monitored by the team\.",
            r"The team already uses 500 different tags\.",
            r"The site would have more than 10 tags\.",
            r"The (delay_minutes|repeat_minutes|without_links) field is only for channels that people read\.",
            r"A channel of type .+ gets no (acknowledged|reminder) events\.",
            r"A channel of type .+ always gets (opened|resolved) events\.",
            # Its description says what an hour of the week looks like.
            r"The weekly_test field must be a day and a full hour, such as Mon 09:00\.",
            r"The selected site is invalid\.",
            # Its description says how exact a percentage is, and how frequent checks must be.
            r"The (groups\.[0-9]+\.)?objective\.percentage field must be from 50 to 99\.999, with at most three decimals\.",
            r"The (groups\.[0-9]+\.)?objective\.percentage field must be one that checks can tell: .+\.",
            # A time may be one that no calendar has, or without an offset.
            r"The at field must be a date and time, such as .+",
            # As it is written, with a space after each comma.
            r"The selector field must not be longer than 500 characters\.",
            r"This site already has a pending [a-z-]+ check\.",
            r"[A-Z][A-Za-z ]+ checks can only be run every .+ for this site\.",
            r"[A-Z][A-Za-z ]+ checks are not enabled for this site\.",
            r"No checks are enabled for this site\.",
            r"The to field must be a date on or after from\.",
            r"At most 92 days can be read at a time\.",
            r"An issue that is [a-z]+ cannot be [a-z]+\.",
            r"The until field must be in the future\.",
            r"You have already created 10 teams; the operator of this service can create more\.",
            r"You have 100 tokens, the most that a user can have; revoke one first\.",
            r".+ is already a member, with the role [a-z]+\.",
            r".+ is already invited\.",
            r".+ is the team's last owner; make another member an owner first\.",
            r"The team has 50 pending invitations, which is the most that a team can have; withdraw one first\.",
            r"The access token lacks the [a-z:]+ scope\.",
            r"The (email|address) field must be an address such as ada@example\.com\.",
            r"The team (already has a channel|has 20 channels).+\.",
            r"The team's channel .+ already sends to this URL\.",
            r".+ is (disabled \(.+\); enable it first|not confirmed yet: .+)\.",
            r".+ (was sent too many emails today|has sent all the confirmations).+\.",
            r"The (url|token) field .+\.",
            r"The monitoring_settings\.quiet_time\.ends_at field must differ from starts_at\.",
            r"The monitoring_settings\.(quiet_time|escalation) field can be set at team level only\.",
            # `before_call` ensures this for generated URLs of the page, but not for those from a response.
            r"The monitoring_settings\.tools\.performance\.settings\.url field must be on the site's domain .+\.",
            r"The name field must contain a visible character\.",
            # There are some six hundred names, which openapi.json does not list.
            r"The time_zone field must be an IANA time zone name, such as Europe/Berlin\.",
            # A pattern says which digits a time has, but not which months have 31 days. A recurrence has no pattern.
            r"The starts_at field must be a local time from 2000 to 2199, such as 2026-11-29T02:00\.",
            r"The recurrence field must .+\.",
            r"The maintenance window would already be over\. Choose a later start\.",
            r"The maintenance window (must start on a day of its recurrence|is not active)\.",
            r"A maintenance window can have sites or a selector, but not both\. Clear one of them\.",
            r"The maintenance window names a site that the team does not have\.",
            r"A team has at most 50 maintenance windows that are active or planned\. Remove one first\.",
            r"A team has at most 5 status pages\.",
            r"The slug is taken\.",
            r"The slug is taken by another heartbeat of the team\.",
            r"The ping_uuid is taken\.",
            r"The ping_key is taken\.",
            r"The ping_uuid field can be chosen only for a new heartbeat\.",
            r"The cron field cannot be combined with period_minutes\.",
            r"The time_zone field can be chosen only with a cron expression\.",
            # A pattern does not say which fields there are, and which days a month has.
            r"The cron field .+\.",
            r"The ping_key field must consist of .+ and must not be a UUID\.",
            r"The status page shows a (site|heartbeat) that the team does not have\.",
            # A component shows either a site or a heartbeat, and only a site has a response time.
            r"The groups\.[0-9]+\.components\.[0-9]+\.site field is required without heartbeat\.",
            r"The groups\.[0-9]+\.components\.[0-9]+\.heartbeat field cannot be combined with site\.",
            r"The groups\.[0-9]+\.components\.[0-9]+\.response_time field is for sites; a heartbeat has no response time\.",
            r"The status page names a component that it does not have, or names it twice\.",
            r"A status page has at most 100 incidents\. Delete an old one\.",
            r"An incident has at most 50 updates\.",
            r"An incident cannot start in the future\. Announce planned work as maintenance\.",
            r"The incident concerns a component that the status page does not have\.",
            r"The text field is required with a status\.",
            # The pattern allows a carriage return without a line feed.
            r"The (text|message) field must not contain control characters other than line breaks, or characters .+\.",
            # The pattern of a selector allows blanks, with which other fields are cleared.
            r"The groups\.[0-9]+\.selector field is required\.",
            r"The groups field must not have (more than 50 components|two groups with the same name)\.",
            r"The title field must contain a visible character\.",
            # openapi.json describes each expectation without the method.
            r"The expectations\.[0-9]+\.kind field needs the method GET or POST, because a response to HEAD has no body\.",
            r"The expectations\.[0-9]+\.kind field must not be a second response_time; one is enough\.",
            r"The post field (needs the method POST|is required with the method POST)\.",
            r"The post\.body field is required\.",
            r"The post\.body field must not be longer than 4096 bytes\.",
            r"The method field must not be POST: the DNS TXT record .+",
            r"The method field must not be POST: the host is an IP address or too long a name.+",
            # Of objects in a document.
            r"The key field (must differ from the other keys|matches .+)\.",
            r"The (name|url) field must differ from the (name|URL)s of other (channels|groups|sites)\.",
            r"The .+ field must be the key of a site in the document, or the URL of another site of the team\.",
            r"The .+ field must be the key of a heartbeat in the document, or the slug or UUID of another heartbeat of the team\.",
            r"The (name|slug|url) field belongs to .+\.",
            r"The url must .+\.",
            # A blank text is as good as none.
            r"The (starts_at|selector) field is required\.",
            r"The (kind|address) field cannot change; .+\.",
            r"The [a-z_. ]+ field would lead to [0-9]+ .+\.",
            r"The request would delete [0-9]+ objects, .+\.",
            r"The maintenance window(s of the team)? .+\.",
            r"A maintenance window can have .+\.",
            # Patterns say which characters a host name has, but not where.
            r"The dns_expected_records\.(CNAME|NS|MX)\.[0-9]+ field must be a host name.*\.",
            # Quotation marks around nothing, or a space outside ASCII.
            r"The dns_expected_records\.(CNAME|MX|NS|TXT)\.[0-9]+ field must not be empty\.",
        ]
    )
)


@schemathesis.check
def refused_by_a_rule(ctx, response, case):
    """If a request that matches its schema is refused with 422, it must break one of the rules above."""
    if response.status_code != 422 or not case.meta or not case.meta.generation.mode.is_positive:
        return
    for field, messages in response.json()["errors"].items():
        for message in messages:
            message = re.sub(r"^The document\.(settings|[a-z_]+\.[0-9]+)\.(expectations\.)?", "The ", message)
            assert RULES.fullmatch(message), f"{field} is as openapi.json says, yet: {message}"
