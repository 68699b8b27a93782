//! Subscriptions to a status page, for which readers ask with a form, and to reports, for which members of the team
//! add them. Readers confirm a subscription on the page that an email links to; each email after that links to the
//! page that ends it. Nobody learns from these pages who has subscribed: without the
//! key from an email, the answer is the same as if there were no subscription.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::{ActionError, confirm_subscription, subscribe, unsubscribe};
use vedette_domain::alerts::link;
use vedette_domain::id::{ListId, StatusPageId, SubscriptionId, TeamId};
use vedette_domain::status_pages::{PageAddress, PublishedPage, Subscription, SubscriptionRefusal};
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_store::{budget, retry_on_conflict};

use crate::form::FormInput;
use crate::{RequestContext, layout};

/// Shows the form.
pub(crate) async fn ask(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let offered = Offered::read(context).await?;
    Ok(offered.form(context, StatusCode::OK, &FormInput::default()))
}

/// Asks the reader of an address by email to confirm.
pub(crate) async fn request(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let offered = Offered::read(context).await?;
    let input = FormInput::sent(context.body);
    let email = match input.email() {
        Ok(email) => email,
        Err(why) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return Ok(offered.form(context, status, &input.refused(why)));
        }
    };
    let (team, page) = offered.by;
    subscribe(context.app, team, page, email, context.source()).await?;
    let content = html! {
        p { "If " b { bdi { (email) } } " is not subscribed yet, an email with a link is on its way. Follow it to confirm." }
        p.quiet { "The link works for two days. If the email doesn’t arrive, look in your spam folder." }
        p { (offered.back()) }
    };
    Ok(layout::page(context, StatusCode::OK, "Check your email", &content))
}

/// A status page that readers can subscribe to.
struct Offered {
    /// The team and the page.
    by: (TeamId, StatusPageId),
    address: PageAddress,
    page: PublishedPage,
}

impl Offered {
    async fn read(context: RequestContext<'_>) -> Result<Self, ApiError> {
        let address = PageAddress::parse(context.parameters.value("address"));
        let address = address.ok_or(ApiError::NotFound)?;
        let found = context.app.store.published_by(&address).await?;
        let (by, page) = found.ok_or(ApiError::NotFound)?;
        if !page.offers_subscriptions || !context.app.service.sends_mail {
            return Err(ApiError::NotFound);
        }
        Ok(Self { by, address, page })
    }

    fn form(&self, context: RequestContext<'_>, status: StatusCode, input: &FormInput) -> Response {
        let content = html! {
            p { "Get an email when " b { bdi { (self.page.name) } } " posts an update about an incident." }
            form.stack.lg method="post" novalidate {
                (input.input("email", "email", "Email address"))
                button.main { "Subscribe" }
            }
            p.quiet.small { "We’ll email you a link to confirm. Each email has a link to unsubscribe." }
            p { (self.back()) }
        };
        layout::page(context, status, "Subscribe to updates", &content)
    }

    fn back(&self) -> Markup {
        html! { a href=(link::status_page("", &self.address)) { "Back to the status page" } }
    }
}

/// Asks whether to confirm a subscription.
pub(crate) async fn ask_to_confirm(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let Some(opened) = Opened::read(context).await? else { return Ok(expired(context)) };
    if opened.subscription.confirmed_at.is_some() {
        return Ok(opened.confirmed(context));
    }
    let question = html! { "Send " (opened.content()) " to " (opened.address()) "?" };
    Ok(layout::form(context, "Confirm your subscription", &question, "Confirm"))
}

/// Confirms a subscription, once.
pub(crate) async fn confirm(context: RequestContext<'_>) -> Result<Response, ApiError> {
    // All confirmations of a list change one counter, and a button may be clicked twice.
    retry_on_conflict(budget::WRITE, || confirm_once(context)).await
}

async fn confirm_once(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let Some(opened) = Opened::read(context).await? else { return Ok(expired(context)) };
    if opened.subscription.confirmed_at.is_none() {
        let now = context.app.clock.now();
        match confirm_subscription(context.app, &opened.subscription, now).await {
            Err(ActionError::Refused(
                full @ (SubscriptionRefusal::Full | SubscriptionRefusal::ManyRecipients),
            )) => {
                let content = html! { p { (full.to_string()) } };
                let status = StatusCode::CONFLICT;
                return Ok(layout::page(context, status, "You are not subscribed", &content));
            }
            confirmed => confirmed?,
        }
    }
    Ok(opened.confirmed(context))
}

/// Asks whether to end a subscription.
pub(crate) async fn ask_to_unsubscribe(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let Some(opened) = Opened::read(context).await? else { return Ok(ended(context)) };
    let question = html! { "Stop sending " (opened.content()) " to " (opened.address()) "?" };
    Ok(layout::form(context, "Unsubscribe", &question, "Unsubscribe"))
}

/// Ends a subscription. The request comes from the form, or from the reader's email program (RFC 8058).
pub(crate) async fn end(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let ends = || async {
        if let Some(subscription) = keyed(context).await? {
            unsubscribe(context.app, &subscription).await?;
        }
        Ok::<_, ApiError>(())
    };
    retry_on_conflict(budget::WRITE, ends).await?;
    Ok(ended(context))
}

/// The subscription that the link is about, if its key is right.
async fn keyed(context: RequestContext<'_>) -> Result<Option<Subscription>, ApiError> {
    let list = context.parameters.id("list", ListId::parse)?;
    let id = context.parameters.id("subscription", SubscriptionId::parse)?;
    let query = Query::parse(context.head.uri.query());
    let key = query.search(link::KEY).unwrap_or_default();
    let subscription = context.app.store.subscription(list, id).await?;
    let now = context.app.clock.now();
    Ok(subscription.filter(|one| one.key.matches(key) && one.lasts(now)))
}

/// A subscription whose key the visitor has.
struct Opened {
    subscription: Subscription,
    /// The name of the page or, for reports, of the team.
    name: String,
}

impl Opened {
    /// `None` if it has expired or ended, its page is gone, or the key is wrong.
    async fn read(context: RequestContext<'_>) -> Result<Option<Self>, ApiError> {
        let Some(subscription) = keyed(context).await? else { return Ok(None) };
        let (store, team) = (&context.app.store, subscription.team);
        let name = match subscription.page() {
            Some(page) => store.status_page(team, page).await?.map(|page| page.name),
            None => store.team(team, context.app.clock.now()).await?.map(|team| team.team.name),
        };
        Ok(name.map(|name| Self { subscription, name }))
    }

    /// What is sent: `updates about incidents of Meridian`.
    fn content(&self) -> Markup {
        html! {
            @match &self.subscription.reports {
                Some(reports) => { "the " bdi { (reports.name()) } " of the team" }
                None => "updates about incidents of",
            }
            " " b { bdi { (self.name) } }
        }
    }

    fn address(&self) -> Markup {
        html! { b { bdi { (self.subscription.email) } } }
    }

    fn confirmed(&self, context: RequestContext<'_>) -> Response {
        let content = html! {
            p { "From now on, " (self.content()) " are sent to " (self.address()) "." }
            p { "Each of these emails has a link to unsubscribe." }
        };
        layout::page(context, StatusCode::OK, "You are subscribed", &content)
    }
}

fn expired(context: RequestContext<'_>) -> Response {
    let content = html! {
        p { "The link has expired, or the subscription has ended. To get updates of a status page, subscribe again there. Reports are sent by a team, which can add your address again." }
    };
    layout::page(context, StatusCode::NOT_FOUND, "You are not subscribed", &content)
}

fn ended(context: RequestContext<'_>) -> Response {
    let content = html! { p { "No more of these emails are sent to your address. If you still get some, open the complete link in one of them." } };
    layout::page(context, StatusCode::OK, "You are not subscribed", &content)
}
