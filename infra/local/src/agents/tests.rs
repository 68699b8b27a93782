use futures::FutureExt as _;
use lambda_http::http::Request;
use serde_json::Value;
use vedette_domain::locations::RemoteStatus;
use vedette_testkit::TestApp;

use super::*;

struct Scene {
    test: TestApp,
    agents: Arc<Agents>,
    secret: Secret,
}

fn location() -> Location {
    Location::parse("office").expect("a name")
}

impl Scene {
    async fn start() -> Self {
        let test = TestApp::start().await;
        let secret = test.app.entropy.secret().expect("a secret");
        let agent = Agent::new(location(), secret.hash(), test.now());
        test.app.store.put_agent(&agent).await.expect("added");
        let agents = Arc::new(Agents::new(&test.app, CancellationToken::new()));
        Self { test, agents, secret }
    }

    async fn call(&self, path: &str, body: &str) -> (u16, Value) {
        self.call_with(path, body, self.secret.reveal(), "1").await
    }

    async fn call_with(&self, path: &str, body: &str, token: &str, version: &str) -> (u16, Value) {
        let request = Request::post(path)
            .header("authorization", format!("Bearer {token}"))
            .header(VERSION_HEADER, version)
            .body(())
            .expect("a request");
        let (head, ()) = request.into_parts();
        let call = Call::of(&head).expect("a call");
        let body = std::future::ready(Ok(Body::from(body.to_owned())));
        let answer = self.agents.answer(call, &head, body).await;
        let (head, body) = answer.into_parts();
        (head.status.as_u16(), serde_json::from_slice(&body).expect("JSON"))
    }

    fn question() -> Question {
        Question::new("https://example.com".parse().expect("a URL"), None, Duration::from_secs(9))
    }

    /// Asks the agent, and has it fetch the question; its id, and who waits for the answer.
    async fn asked(&self) -> (String, tokio::task::JoinHandle<Result<Answer, NoVote>>) {
        let agents = Arc::clone(&self.agents);
        let asking = tokio::spawn(async move { agents.ask(&location(), &Self::question()).await });
        let (status, body) = self.call(QUESTIONS_PATH, "").await;
        assert_eq!(status, 200);
        let id = body["questions"][0]["id"].as_str().expect("an id").to_owned();
        (id, asking)
    }

    async fn answer(&self, id: &str, body: &str) -> u16 {
        self.call(&format!("{ANSWERS_PATH}{id}"), body).await.0
    }
}

const DOWN: &str = r#"{"saw":{"code":503,"response_time":1.0}}"#;

fn down() -> Answer {
    Answer::Checked(RemoteStatus { code: 503, error: None, response_time: 1.0 })
}

#[tokio::test]
async fn a_question_goes_out_once_and_its_first_answer_counts() {
    let scene = Scene::start().await;
    assert!(scene.agents.locations().is_empty(), "never seen, it is not asked");
    let _ = scene.agents.authenticate(&HeaderMap::new()).await.expect_err("nobody");
    scene.agents.read().await.expect("read");
    let (id, asking) = scene.asked().await;
    assert_eq!(scene.agents.locations(), [location()]);
    assert_eq!(scene.answer(&id, DOWN).await, 200);
    assert_eq!(asking.await.expect("answered"), Ok(down()));
    // A second answer, and one to a question that was never asked.
    assert_eq!(scene.answer(&id, r#"{"saw":{"code":200,"response_time":1.0}}"#).await, 410);
    assert_eq!(scene.answer(&"0".repeat(32), DOWN).await, 410);
    let stored = scene.test.app.store.agent(&location()).await.expect("read").expect("an agent");
    assert_eq!(stored.last_seen_at, Some(scene.test.now()));
}

#[tokio::test]
async fn an_answer_to_a_question_of_another_agent_or_of_none_is_not_taken() {
    let scene = Scene::start().await;
    scene.agents.read().await.expect("read");
    let (id, asking) = scene.asked().await;
    let other = scene.test.app.entropy.secret().expect("a secret");
    let name = Location::parse("other").expect("a name");
    let agent = Agent::new(name, other.hash(), scene.test.now());
    scene.test.app.store.put_agent(&agent).await.expect("added");
    scene.agents.read().await.expect("read");
    let path = format!("{ANSWERS_PATH}{id}");
    assert_eq!(scene.call_with(&path, DOWN, other.reveal(), "1").await.0, 410);
    assert_eq!(scene.answer(&id, r#"{"saw":{"code":7,"response_time":1.0}}"#).await, 422);
    assert_eq!(asking.await.expect("answered"), Err(NoVote::Unreadable));
}

#[tokio::test]
async fn a_token_that_was_revoked_or_rotated_works_no_longer() {
    let scene = Scene::start().await;
    scene.agents.read().await.expect("read");
    let (id, asking) = scene.asked().await;
    let store = &scene.test.app.store;
    let agent = store.agent(&location()).await.expect("read").expect("an agent");
    let next = scene.test.app.entropy.secret().expect("a secret");
    store.put_agent(&agent.rotated(next.hash())).await.expect("rotated");
    // The question is in flight.
    assert_eq!(scene.answer(&id, DOWN).await, 401);
    assert_eq!(asking.await.expect("given up"), Err(NoVote::NoAnswer));
    scene.agents.read().await.expect("read");
    let path = format!("{ANSWERS_PATH}{id}");
    assert_eq!(scene.call_with(&path, DOWN, next.reveal(), "1").await.0, 410);
    let agent = store.agent(&location()).await.expect("read").expect("an agent");
    store.delete_agent(&agent).await.expect("revoked");
    assert_eq!(scene.call_with(&path, DOWN, next.reveal(), "1").await.0, 401);
    assert!(scene.agents.locations().is_empty());
}

#[tokio::test]
async fn an_agent_that_was_added_a_moment_ago_is_not_sent_away_for_good() {
    let scene = Scene::start().await;
    scene.agents.read().await.expect("read");
    let secret = scene.test.app.entropy.secret().expect("a secret");
    let name = Location::parse("new").expect("a name");
    let agent = Agent::new(name.clone(), secret.hash(), scene.test.now());
    let path = format!("{ANSWERS_PATH}{}", "0".repeat(32));
    assert_eq!(scene.call_with(&path, DOWN, secret.reveal(), "1").await.0, 503);
    scene.test.app.store.put_agent(&agent).await.expect("added");
    scene.agents.lock().read_at = None;
    assert_eq!(scene.call_with(&path, DOWN, secret.reveal(), "1").await.0, 410);
    assert_eq!(scene.agents.locations(), [name]);
}

#[tokio::test]
async fn strangers_and_other_versions_are_refused() {
    let scene = Scene::start().await;
    scene.agents.read().await.expect("read");
    for (token, version, status) in [
        ("", "1", 401),
        ("vdt_", "1", 401),
        (scene.secret.reveal(), "2", 426),
        (scene.secret.reveal(), "", 426),
    ] {
        assert_eq!(scene.call_with(QUESTIONS_PATH, "", token, version).await.0, status, "{token}");
    }
    for (method, path) in
        [("GET", QUESTIONS_PATH), ("POST", "/agent/v1/answers/1"), ("POST", "/agent/v1/")]
    {
        let request = Request::builder().method(method).uri(path).body(()).expect("a request");
        assert_eq!(Call::of(&request.into_parts().0), None, "{method} {path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_for_a_question_and_gives_way_to_the_next() {
    let scene = Scene::start().await;
    scene.agents.read().await.expect("read");
    let office = location();
    let mut first = Box::pin(scene.agents.next_questions(&office));
    assert_eq!(first.as_mut().now_or_never(), None);
    let mut second = Box::pin(scene.agents.next_questions(&office));
    assert_eq!(second.as_mut().now_or_never(), None);
    assert_eq!(first.as_mut().now_or_never(), Some(Vec::new()), "its agent is gone");
    let agents = Arc::clone(&scene.agents);
    let asking = tokio::spawn(async move { agents.ask(&location(), &Scene::question()).await });
    let asked = second.await;
    assert_eq!(asked[0].question, Scene::question());
    // A run that stops waiting leaves nothing behind.
    asking.abort();
    assert!(asking.await.is_err());
    assert!(scene.agents.lock().agents[&location()].asking.is_empty());
    let third = scene.agents.next_questions(&office);
    let begun = Instant::now();
    assert_eq!(third.await, []);
    assert_eq!(begun.elapsed(), POLL_TIME);
    let mut fourth = Box::pin(scene.agents.next_questions(&office));
    assert_eq!(fourth.as_mut().now_or_never(), None);
    scene.agents.stop.cancel();
    assert_eq!(fourth.now_or_never(), Some(Vec::new()), "the service stops");
}

#[tokio::test]
async fn the_operator_learns_of_an_agent_that_is_silent() {
    let scene = Scene::start().await;
    scene.agents.read().await.expect("read");
    let report = |seconds| {
        scene.test.advance(jiff::SignedDuration::from_secs(seconds));
        scene.agents.report_silent();
        scene.test.app.health.notices().len()
    };
    assert_eq!(report(1_000), 0, "it was never there");
    let (id, asking) = scene.asked().await;
    scene.answer(&id, DOWN).await;
    drop(asking);
    assert_eq!((report(89), report(1), report(600)), (0, 1, 1));
    let notices = scene.test.app.health.notices();
    assert!(notices[0].what.contains("office"), "{notices:?}");
    let (id, asking) = scene.asked().await;
    scene.answer(&id, DOWN).await;
    drop(asking);
    assert_eq!(report(1), 0);
}
