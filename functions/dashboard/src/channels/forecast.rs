//! Who would be notified of an issue of a site: a question to the list of channels.

use maud::{Markup, html};
use vedette_domain::alerts::channel::Channel;
use vedette_domain::alerts::channel_state::ChannelState;
use vedette_domain::checks::tool::Tool;
use vedette_domain::issues::Severity;
use vedette_http::error::ApiError;
use vedette_http::forecast::Forecast;
use vedette_http::query::Query;
use vedette_store::TeamWithSettings;

use crate::clock::Clock;
use crate::form::{Choice, FormInput};
use crate::{RequestContext, words};

/// The question, with its answer unless something is wrong with it.
pub(super) struct Asked {
    input: FormInput,
    forecast: Option<Forecast>,
}

impl Asked {
    /// Reads the question from the address of the page; `None` if it names no site.
    pub(super) async fn read(
        context: RequestContext<'_>,
        team: &TeamWithSettings,
    ) -> Result<Option<Self>, ApiError> {
        let Some(sent) = context.head.uri.query() else { return Ok(None) };
        let query = Query::of_form(Some(sent));
        let input = FormInput::sent(sent.as_bytes());
        let now = context.member()?.caller.now;
        match Forecast::load(&context.app.store, team, query, now).await {
            Ok(None) => Ok(None),
            Ok(Some(forecast)) => Ok(Some(Self { input, forecast: Some(forecast) })),
            Err(ApiError::Validation(why)) => {
                Ok(Some(Self { input: input.refused(why), forecast: None }))
            }
            Err(fault) => Err(fault),
        }
    }

    /// The question as a form, in which it can be changed.
    pub(super) fn form(&self, team: &TeamWithSettings) -> Markup {
        let severities = Severity::ALL.map(|of| Choice::new(of, words::severity(of)));
        let tools = Tool::ALL.map(|of| Choice::new(of, words::tool(of)));
        html! {
            @if let Some(Forecast { monitor, .. }) = &self.forecast {
                p { "If an issue of " b { bdi { (monitor.name()) } } " opens, and nobody acknowledges it:" }
            }
            form.card.filters.screen method="get" action={ "/teams/" (team.id()) "/channels" } {
                input type="hidden" name="site" value=(self.input.text("site"));
                (self.input.select("tool", "Check", &tools))
                (self.input.select("severity", "Severity", &severities))
                (self.input.input("at", "datetime-local", "At"))
                button.main { "Show" }
                a.btn href={ "/teams/" (team.id()) "/channels" } { "Close" }
            }
        }
    }

    /// When a channel would be notified.
    pub(super) fn answer(
        &self,
        context: RequestContext<'_>,
        team: &TeamWithSettings,
        (channel, state): (&Channel, &ChannelState),
        clock: Clock<'_>,
    ) -> Option<Markup> {
        let forecast = self.forecast.as_ref()?;
        let time_scale = context.app.service.time_scale;
        Some(match forecast.notified_at(channel, state, team, time_scale) {
            Some(at) if at == forecast.at => html! { "Would be notified at once" },
            Some(at) => html! { "Would be notified " (clock.instant(at)) },
            None => html! { span.quiet { "Would not be notified" } },
        })
    }
}
