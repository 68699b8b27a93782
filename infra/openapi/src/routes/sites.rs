//! `/sites` and `/teams/{team}/sites`.

use lambda_http::http::StatusCode;
use serde_json::json;
use vedette_api::site_sorts;
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::sites::input::{NewSite, SiteEdit};
use vedette_domain::sites::tag::{TAG_MAX, TAG_PATTERN};
use vedette_http::resource::{SiteResource, SitesOutcome};

use crate::operation::{Operation, Success};
use crate::schemas::Schemas;
use crate::{parameters, request};

/// Operations on a site.
const OF_A_SITE: &[&str] = &[
    "sites.get",
    "sites.update",
    "sites.delete",
    "checks.list",
    "checks.create",
    "reports.uptime",
    "reports.performance",
    "issues.list",
];

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    vec![list(schemas), create(schemas), bulk(schemas), get(schemas), update(schemas), delete()]
}

fn list(schemas: &mut Schemas) -> Operation {
    let mut query = Vec::from(parameters::of_pages());
    query.extend([
        parameters::query(
            "search",
            "Part of the name or of the canonical URL, in any case.",
            &json!({ "type": "string" }),
        ),
        parameters::query(
            "tag",
            "An addition to the specification: only sites that have this tag.",
            &json!({ "type": "string", "maxLength": TAG_MAX, "pattern": TAG_PATTERN }),
        ),
        parameters::selector(),
        parameters::boolean("pinned", "Only pinned sites, or only sites that are not pinned."),
        parameters::query("tool", "Only sites that have the tool enabled.", &schemas.of::<Tool>()),
        parameters::query(
            "status",
            "Only sites whose newest check is in this state: the newest check of `tool`, or of \
             any tool.",
            &schemas.of::<CheckStatus>(),
        ),
        parameters::query(
            "sort",
            "The order. A minus reverses it. Names are compared ignoring case.",
            &json!({ "type": "string", "enum": site_sorts(), "default": site_sorts()[0] }),
        ),
    ]);
    Operation {
        route: "sites.list",
        summary: "A team's sites",
        description: "The team's sites with the newest check of each tool.",
        query,
        body: None,
        success: Success::ok("A page of sites.", schemas.page::<SiteResource>()),
    }
}

fn create(schemas: &mut Schemas) -> Operation {
    let created = Success {
        status: StatusCode::CREATED,
        ..Success::ok("The new site.", schemas.data::<SiteResource>())
    };
    Operation {
        route: "sites.create",
        summary: "Create a site",
        description: "Creates a site, whose first checks run at once. The team must not have \
                      the URL yet, and its plan must allow another site.",
        query: Vec::new(),
        body: Some(request::site::<NewSite>("SiteCreate", schemas)),
        success: created.followed_by("/data/uuid", "site", OF_A_SITE),
    }
}

fn bulk(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "sites.bulk",
        summary: "Create many sites",
        description: "Each URL is processed on its own, in the order of the request, so some \
                      sites may be created while others are not. Look at the three lists \
                      before you send anything again.",
        query: Vec::new(),
        body: Some(request::new_sites(schemas)),
        success: Success::ok("The outcome for each URL.", schemas.data::<SitesOutcome>()),
    }
}

fn get(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "sites.get",
        summary: "A site",
        description: "A site with the newest check of each tool.",
        query: Vec::new(),
        body: None,
        success: Success::ok("The site.", schemas.data::<SiteResource>()),
    }
}

fn update(schemas: &mut Schemas) -> Operation {
    Operation {
        route: "sites.update",
        summary: "Change a site",
        description: "`url` is required; other fields that are omitted stay as they are. \
                      `monitoring_settings` replaces all overrides, and `{}` clears them. The \
                      site keeps its history and its issues. If the host or the port of `url` \
                      changes, or https to http, the site loses the body that its status checks \
                      post. They then send GET.",
        query: Vec::new(),
        body: Some(request::site::<SiteEdit>("SiteUpdate", schemas)),
        success: Success::ok("The changed site.", schemas.data::<SiteResource>()),
    }
}

fn delete() -> Operation {
    Operation {
        route: "sites.delete",
        summary: "Delete a site",
        description: "Deletes the site permanently, with its schedules, checks and issues.",
        query: Vec::new(),
        body: None,
        success: Success::no_content("The site was deleted."),
    }
}
