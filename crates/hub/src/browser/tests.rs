use std::sync::atomic::Ordering;

use super::*;
use crate::fake::{FakeBackend, Plan};
use crate::router::CloseReason;

struct World {
    backend: Arc<FakeBackend>,
    browser: Arc<Browser>,
    shutdown: CancellationToken,
    tasks: TaskTracker,
}

fn world() -> World {
    let backend = Arc::<FakeBackend>::default();
    let (shutdown, tasks) = (CancellationToken::new(), TaskTracker::new());
    let timing = Timing { max_quick_deaths: 3, ..Timing::default() };
    let surroundings = Surroundings {
        backend: backend.clone(),
        timing,
        limits: Limits::default(),
        recorder: Recorder::open(crate::fake::quiet_recorder()),
        shutdown: shutdown.clone(),
        tasks: tasks.clone(),
    };
    let browser = Browser::new("test", "id".to_owned(), Spec::default(), &surroundings);
    World { backend, browser: Arc::new(browser), shutdown, tasks }
}

impl World {
    fn starts(&self) -> usize {
        self.backend.starts.load(Ordering::SeqCst)
    }

    async fn reaches(&self, life: Life) {
        let mut snapshot = self.browser.snapshot.clone();
        snapshot.wait_for(|snapshot| snapshot.life == life).await.unwrap();
    }
}

async fn closing(client: &CdpClient) -> CloseReason {
    let mut batch = Vec::new();
    loop {
        if let Err(reason) = client.outbox().take(&mut batch).await {
            return reason;
        }
        batch.clear();
    }
}

#[tokio::test(start_paused = true)]
async fn twenty_clients_at_once_make_one_launch() {
    let world = world();
    let clients: Vec<_> = (0..20)
        .map(|_| {
            let browser = world.browser.clone();
            tokio::spawn(async move { browser.connect(Entry::Browser, |_| true).await.map(|_| ()) })
        })
        .collect();
    for client in clients {
        client.await.unwrap().unwrap();
    }
    assert_eq!(world.starts(), 1);
    assert_eq!(world.browser.snapshot().starts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_killed_browser_is_lost_told_and_launched_again() {
    let world = world();
    let client = world.browser.connect(Entry::Browser, |_| true).await.unwrap();
    world.backend.kill_last();
    assert_eq!(closing(&client).await, CloseReason::going_away("the browser was killed by signal 9"));
    world.reaches(Life::Lost).await;
    world.browser.connect(Entry::Browser, |_| true).await.unwrap();
    assert_eq!((world.starts(), world.backend.cleaned.load(Ordering::SeqCst)), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_browser_that_dies_at_once_again_and_again_is_left_alone_until_asked_for() {
    let world = world();
    *world.backend.plan.lock().unwrap() = Plan::Exit;
    for _ in 0..3 {
        assert_eq!(world.browser.ready().await.err().unwrap().code, "exited_at_once");
    }
    assert_eq!(world.browser.ready().await.err().unwrap().code, "breaker_open");
    assert_eq!(world.starts(), 3);
    *world.backend.plan.lock().unwrap() = Plan::Echo;
    world.browser.launch(None, false).await.unwrap();
    assert_eq!(world.starts(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_mute_browser_is_given_up_with_its_last_words() {
    let world = world();
    *world.backend.plan.lock().unwrap() = Plan::Mute;
    let error = world.browser.ready().await.err().unwrap();
    assert_eq!(error.code, "not_ready");
    assert!(error.message.contains("within 30s") && error.message.ends_with("fake words"), "{error}");
    assert_eq!(world.backend.cleaned.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn stopping_in_mid_launch_ends_the_launch() {
    let world = world();
    *world.backend.plan.lock().unwrap() = Plan::Mute;
    let browser = world.browser.clone();
    let waiting = tokio::spawn(async move { browser.ready().await.err().unwrap() });
    world.reaches(Life::Starting).await;
    world.browser.stop().await;
    assert_eq!(waiting.await.unwrap().code, "stopped");
    assert_eq!(world.browser.snapshot().life, Life::Stopped);
    assert_eq!(world.backend.cleaned.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_switch_closes_the_clients_and_the_same_spec_does_not() {
    let world = world();
    let client = world.browser.connect(Entry::Browser, |_| true).await.unwrap();
    world.browser.launch(None, false).await.unwrap();
    assert_eq!(world.starts(), 1);
    let other =
        Spec::Launched(crate::backend::LaunchSpec { args: vec!["--x".to_owned()], ..Default::default() });
    world.browser.launch(Some(other.clone()), false).await.unwrap();
    assert_eq!(closing(&client).await.text, "the browser is being replaced");
    assert_eq!((world.starts(), world.browser.snapshot().spec), (2, other));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_hub_ends_the_browser() {
    let world = world();
    let client = world.browser.connect(Entry::Browser, |_| true).await.unwrap();
    world.shutdown.cancel();
    world.tasks.close();
    world.tasks.wait().await;
    assert_eq!(closing(&client).await.text, "the hub is shutting down");
    assert_eq!(world.backend.cleaned.load(Ordering::SeqCst), 1);
    assert_eq!(world.browser.ready().await.err().unwrap().code, "shutting_down");
}

#[tokio::test(start_paused = true)]
async fn a_hung_browser_is_found_within_ten_seconds_and_replaced() {
    let world = world();
    *world.backend.plan.lock().unwrap() = Plan::Hang;
    let client = world.browser.connect(Entry::Browser, |_| true).await.unwrap();
    let begun = tokio::time::Instant::now();
    client.send(Bytes::from_static(b"{\"id\":1,\"method\":\"A.b\"}")).await;
    assert_eq!(closing(&client).await.text, "the browser did not answer for 7s");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    *world.backend.plan.lock().unwrap() = Plan::Echo;
    world.browser.connect(Entry::Browser, |_| true).await.unwrap();
    assert_eq!(world.starts(), 2);
}

#[tokio::test(start_paused = true)]
async fn who_waits_while_the_browser_is_replaced_is_judged_by_the_new_one() {
    let world = world();
    let client = world.browser.connect(Entry::Browser, |_| true).await.unwrap();
    let kept =
        Spec::Launched(crate::backend::LaunchSpec { profile: Some("p".to_owned()), ..Default::default() });
    let (launched, refused) = tokio::join!(world.browser.launch(Some(kept), false), async {
        closing(&client).await;
        world.browser.connect(Entry::Browser, |place| !place.needs_token).await
    });
    assert!(launched.unwrap().needs_token);
    assert!(matches!(refused, Err(ConnectError::NotAdmitted)));
}

#[tokio::test(start_paused = true)]
async fn a_spec_whose_launch_was_stopped_is_taken_back() {
    let world = world();
    *world.backend.plan.lock().unwrap() = Plan::Mute;
    let other =
        Spec::Launched(crate::backend::LaunchSpec { args: vec!["--x".to_owned()], ..Default::default() });
    let browser = world.browser.clone();
    let launching = tokio::spawn(async move { browser.launch(Some(other), false).await.err().unwrap().code });
    world.reaches(Life::Starting).await;
    world.browser.stop().await;
    assert_eq!((launching.await.unwrap(), world.browser.snapshot().spec), ("stopped", Spec::default()));
}

#[tokio::test(start_paused = true)]
async fn a_spec_that_does_not_work_is_taken_back() {
    let world = world();
    *world.backend.plan.lock().unwrap() = Plan::Exit;
    let other =
        Spec::Launched(crate::backend::LaunchSpec { args: vec!["--x".to_owned()], ..Default::default() });
    assert!(world.browser.launch(Some(other), false).await.is_err());
    assert_eq!(world.browser.snapshot().spec, Spec::default());
}

#[tokio::test(start_paused = true)]
async fn a_browser_is_not_given_up_for_one_that_cannot_be() {
    let world = world();
    world.browser.ready().await.unwrap();
    let nowhere = crate::backend::LaunchSpec { browser: Some("nowhere".to_owned()), ..Default::default() };
    let error = world.browser.launch(Some(Spec::Launched(nowhere)), false).await.err().unwrap();
    assert_eq!((error.code, world.browser.snapshot().life), ("no_browser", Life::Ready));
}
