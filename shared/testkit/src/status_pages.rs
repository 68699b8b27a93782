//! Published status pages, for tests of what readers are served.

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::alerts::channel::LinkKey;
use vedette_domain::checks::history::{CheckCount, DayUptime, Downtime, RecentDays, day_of};
use vedette_domain::id::{ComponentId, IncidentId};
use vedette_domain::status_pages::{
    ComponentState, Impact, IncidentStatus, PublishedComponent, PublishedGroup, PublishedIncident,
    PublishedPage, PublishedUpdate, PublishedWindow, Slug, StatusPage, VERSION,
};
use vedette_domain::time_zone::NamedZone;
use vedette_store::Audit;

use crate::{TestApp, new_team};

/// A page with a component in each state, an incident and a resolved one, and planned maintenance.
pub fn published_page(now: Timestamp) -> PublishedPage {
    let ago = |minutes| now.saturating_sub(SignedDuration::from_mins(minutes)).expect("a time");
    let ahead = |minutes| now.saturating_add(SignedDuration::from_mins(minutes)).expect("a time");
    let update = |at, status, text: &str| PublishedUpdate { at, status, text: text.to_owned() };
    let orders = ComponentId(Uuid::from_u128(2));
    let incident = PublishedIncident {
        id: IncidentId(Uuid::from_u128(11)),
        title: "Orders are delayed".to_owned(),
        impact: Impact::Major,
        status: IncidentStatus::Identified,
        components: vec![orders],
        started_at: ago(14),
        resolved_at: None,
        next_update_by: Some(ahead(30)),
        updates: vec![
            update(ago(6), IncidentStatus::Identified, "The cause is a release at 02:44."),
            update(ago(11), IncidentStatus::Investigating, "Orders aren’t being confirmed."),
        ],
    };
    let resolved = PublishedIncident {
        id: IncidentId(Uuid::from_u128(12)),
        title: "Orders weren’t being confirmed".to_owned(),
        status: IncidentStatus::Resolved,
        started_at: ago(1_481),
        resolved_at: Some(ago(1_440)),
        next_update_by: None,
        updates: vec![update(ago(1_440), IncidentStatus::Resolved, "We’ve raised the limit.")],
        ..incident.clone()
    };
    let window = PublishedWindow {
        id: "00112233445566778899aabbccddeeff".to_owned(),
        name: "Database upgrade".to_owned(),
        starts_at: ahead(1_440),
        ends_at: ahead(1_530),
        components: vec![ComponentId(Uuid::from_u128(1))],
    };
    let components = [
        ("Shop", ComponentState::Operational),
        ("Orders", ComponentState::Down),
        ("Payments", ComponentState::Degraded),
        ("Search", ComponentState::Maintenance),
        ("Help", ComponentState::Unknown),
    ];
    let mut components = components.into_iter().zip(1..).map(|((name, state), number)| {
        let mut days = vec![DayUptime::Up; RecentDays::MAX];
        days[0] = DayUptime::Unknown;
        if state == ComponentState::Down {
            days[RecentDays::MAX - 1] = DayUptime::Partly;
            days[RecentDays::MAX - 2] = DayUptime::Down(Downtime::Long);
        }
        PublishedComponent {
            id: ComponentId(Uuid::from_u128(number)),
            name: name.to_owned(),
            state,
            cadence_minutes: Some(5),
            days,
            uptime: CheckCount { checks: 8_640, failed: 5 }.uptime(),
            response_ms: (state == ComponentState::Operational).then_some(182),
        }
    });
    PublishedPage {
        version: VERSION,
        generated_at: now,
        unchanged_since: None,
        name: "Meridian Goods".to_owned(),
        message: Some("You can still shop and pay.".to_owned()),
        zone: NamedZone::parse("Europe/Berlin").expect("a zone"),
        is_unlisted: false,
        offers_subscriptions: false,
        today: day_of(now),
        groups: vec![
            PublishedGroup { name: None, components: components.by_ref().take(1).collect() },
            PublishedGroup { name: Some("Checkout".to_owned()), components: components.collect() },
        ],
        incidents: vec![incident, resolved],
        windows: vec![window],
    }
}

impl TestApp {
    /// Publishes a page of a new team under a slug or, with a key, as an unlisted page.
    pub async fn publish_page(
        &self,
        slug: &str,
        link: Option<LinkKey>,
        published: &PublishedPage,
    ) -> StatusPage {
        let team = new_team(self, Plan::Agency).await.team;
        let page = StatusPage {
            id: self.app.entropy.status_page_id().expect("an id"),
            team,
            slug: Slug::parse(slug).expect("a slug"),
            name: published.name.clone(),
            message: published.message.clone(),
            groups: Vec::new(),
            selector: None,
            publishes_new_sites: false,
            left: Vec::new(),
            link,
            names_windows: true,
            offers_subscriptions: published.offers_subscriptions,
            managed_by: None,
            rev: 1,
            created_at: self.now(),
            updated_at: self.now(),
        };
        let store = &self.app.store;
        store.create_status_page(&page, Audit::None).await.expect("a page");
        assert!(store.put_published(&page, 1, published).await.expect("published"));
        page
    }
}
