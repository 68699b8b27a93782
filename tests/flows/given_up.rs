//! What the operator learns about alerts that reach nobody, and what happens to the test of a disabled channel.

use vedette_domain::alerts::channel::{Channel, EventKind, Filter};
use vedette_domain::alerts::delivery::{Content, Queued};
use vedette_domain::id::{IssueId, SiteId};
use vedette_domain::issues::Fingerprint;
use vedette_notifier::send::SendOutcome;
use vedette_notifier::{Delivered, deliver};
use vedette_store::Audit;
use vedette_testkit::channels::{add_channel, chat, webhook};
use vedette_tests::Service;

async fn look(service: &Service, channel: &Channel) -> Delivered {
    let passed = Box::pin(deliver(&service.test.app, &service.receivers, channel.into()));
    passed.await.expect("delivered")
}

fn gone() -> SendOutcome {
    SendOutcome::Gone { why: "HTTP 410".to_owned() }
}

#[tokio::test]
async fn alerts_that_reach_nobody_are_counted_and_tests_are_not() {
    let (service, owner) = Service::with_team().await;
    let app = &service.test.app;
    let tested = add_channel(app, owner.team, ("Tested", chat()), Filter::default()).await;
    for outcome in [SendOutcome::Refused { why: "HTTP 400".to_owned() }, gone()] {
        service.receivers.answer(tested.id, outcome);
        vedette_actions::queue_test(app, &tested).await.expect("queued");
        let expected = Delivered { failed: 1, ..Delivered::default() };
        assert_eq!(look(&service, &tested).await, expected);
    }
    let program = add_channel(app, owner.team, ("Program", webhook()), Filter::default()).await;
    service.receivers.answer(program.id, gone());
    let now = service.test.now();
    for number in 0..3_u8 {
        let issue = IssueId::new(SiteId(program.id.as_uuid()), Fingerprint::StatusDown, now);
        let (event, id) = (EventKind::Opened, number.to_string());
        let content = Content::Event { id, event, body: "{}".to_owned() };
        let event = Queued::event(issue, number.to_string(), content, now);
        app.store.put_queued((&program).into(), &event).await.expect("queued");
    }
    let expected = Delivered { failed: 1, given_up: 3, ..Delivered::default() };
    assert_eq!(look(&service, &program).await, expected, "the one, and those after it");
    assert_eq!(look(&service, &program).await, Delivered::default(), "each once");
}

#[tokio::test]
async fn a_test_of_a_channel_whose_reader_has_withdrawn_meanwhile_is_not_under_way_for_ever() {
    let (service, owner) = Service::with_team().await;
    let app = &service.test.app;
    let channel = add_channel(app, owner.team, ("Chat", chat()), Filter::default()).await;
    vedette_actions::queue_test(app, &channel).await.expect("queued");
    let withdrawn = Channel { since: None, rev: channel.rev + 1, ..channel.clone() };
    app.store.put_channel(&withdrawn, Audit::None).await.expect("saved");
    service.deliver_alerts().await;
    assert!(service.receivers.take().is_empty());
    let left = app.store.deliveries((&channel).into()).await.expect("read");
    assert_eq!(left.queued, []);
    let outcome = left.state.last_test.expect("an outcome");
    assert_eq!(outcome.failed.as_deref(), Some("its recipient has not confirmed the address"));
}
