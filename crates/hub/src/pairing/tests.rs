use super::*;

const INSTANCE: &str = "00112233445566778899aabbccddeeff";

fn browser() -> BrowserInfo {
    BrowserInfo { name: "Chromium".to_owned(), ..BrowserInfo::default() }
}

fn stage(pairings: &Pairings) -> Stage {
    pairings.state().unwrap().stage
}

fn guest(pairings: &Pairings) -> (Arc<Pulse>, tokio_util::sync::CancellationToken, u64) {
    let (pulse, dismissed) = (Arc::<Pulse>::default(), tokio_util::sync::CancellationToken::new());
    let guest = Guest {
        since: SystemTime::now(),
        version: "0.1.0".to_owned(),
        browser: browser(),
        pulse: pulse.clone(),
        dismissed: dismissed.clone(),
    };
    (pulse, dismissed, pairings.enter(INSTANCE, guest))
}

#[test]
fn keys_survive_and_a_damaged_file_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("extensions.json");
    let key = Key::new([7; 32]);
    Pairings::load(&path).unwrap().store(INSTANCE, "chrome", key.clone(), browser()).unwrap();
    let again = Pairings::load(&path).unwrap();
    assert_eq!(again.key_of(INSTANCE), Some(("chrome".to_owned(), key)));
    assert_eq!(again.instance_of("chrome").as_deref(), Some(INSTANCE));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    again.forget(INSTANCE).unwrap();
    assert!(Pairings::load(&path).unwrap().all().is_empty());
    std::fs::write(&path, "{ half").unwrap();
    assert!(Pairings::load(&path).unwrap().all().is_empty());
    assert_eq!(std::fs::read_to_string(path.with_extension("damaged")).unwrap(), "{ half");
}

#[tokio::test(start_paused = true)]
async fn a_pairing_needs_both_sides_to_say_yes() {
    let pairings = Arc::<Pairings>::default();
    assert_eq!(pairings.visit(INSTANCE, &browser()).err(), Some(NotNow::Closed));
    assert_eq!(pairings.confirm("123456"), Err(ConfirmError::Closed));
    assert!(pairings.open(Some("mine".to_owned()), OPEN_FOR));
    assert!(!pairings.open(None, OPEN_FOR), "one at a time");
    assert_eq!(stage(&pairings), Stage::Waiting);
    let visit = pairings.visit(INSTANCE, &browser()).unwrap();
    assert_eq!(visit.wanted(), Some("mine"));
    assert_eq!(pairings.visit(INSTANCE, &browser()).err(), Some(NotNow::Busy));
    assert_eq!(pairings.confirm("123456"), Err(ConfirmError::NoCode));
    visit.show("123456");
    assert_eq!(pairings.state().unwrap().code.as_deref(), Some("123456"));
    assert_eq!(pairings.confirm("000000"), Err(ConfirmError::OtherCode));
    visit.confirmed();
    assert_eq!(stage(&pairings), Stage::ConfirmedByExtension);
    let settling = tokio::time::timeout(Duration::from_secs(1), visit.settled());
    assert!(settling.await.is_err(), "the terminal has not said yes");
    pairings.confirm("123456").unwrap();
    assert_eq!(visit.settled().await, Ok(()));
    visit.finish("mine", Key::new([1; 32]), browser()).unwrap();
    drop(visit);
    let state = pairings.state().unwrap();
    assert_eq!((state.stage, state.name.as_deref(), state.code), (Stage::Paired, Some("mine"), None));
    assert!(pairings.open(None, OPEN_FOR), "the next one can be opened");
}

#[tokio::test(start_paused = true)]
async fn a_yes_to_one_code_is_none_to_the_next() {
    let pairings = Arc::<Pairings>::default();
    pairings.open(None, OPEN_FOR);
    let visit = pairings.visit(INSTANCE, &browser()).unwrap();
    visit.show("111111");
    pairings.confirm("111111").unwrap();
    drop(visit);
    assert_eq!(stage(&pairings), Stage::Waiting);
    let visit = pairings.visit(INSTANCE, &browser()).unwrap();
    visit.show("222222");
    visit.confirmed();
    assert!(tokio::time::timeout(Duration::from_secs(1), visit.settled()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_pairing_ends_by_a_no_and_by_time() {
    let pairings = Arc::<Pairings>::default();
    assert!(!pairings.decline());
    pairings.open(None, OPEN_FOR);
    let visit = pairings.visit(INSTANCE, &browser()).unwrap();
    assert!(pairings.decline() && !pairings.decline());
    assert_eq!(visit.settled().await, Err(Outcome::Declined { reason: None }));
    drop(visit);
    assert_eq!(stage(&pairings), Stage::Declined);
    pairings.open(None, Duration::from_secs(600));
    let visit = pairings.visit(INSTANCE, &browser()).unwrap();
    let before = Instant::now();
    assert_eq!(visit.settled().await, Err(Outcome::TimedOut));
    assert_eq!(before.elapsed().as_secs(), OPEN_FOR.as_secs());
    assert_eq!(stage(&pairings), Stage::TimedOut);
    assert_eq!(pairings.confirm("1"), Err(ConfirmError::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_living_connection_is_told_from_a_dead_one() {
    let pairings = Arc::<Pairings>::default();
    let second = Duration::from_secs(1);
    assert!(!pairings.is_alive(INSTANCE, second).await);
    let (pulse, dismissed, ticket) = guest(&pairings);
    assert!(!pairings.is_alive(INSTANCE, second).await, "silent");
    pulse.set_waiting(true);
    assert!(pairings.is_alive(INSTANCE, second).await, "we are the slow ones");
    pulse.set_waiting(false);
    let answering = async {
        pulse.asked().await;
        pulse.beat();
    };
    assert!(tokio::join!(pairings.is_alive(INSTANCE, second), answering).0);
    let (_, _, newer) = guest(&pairings);
    assert!(dismissed.is_cancelled(), "the old one gives way");
    pairings.leave(INSTANCE, ticket);
    assert!(pairings.guest(INSTANCE).is_some(), "and takes nobody with it");
    pairings.leave(INSTANCE, newer);
    assert!(pairings.guest(INSTANCE).is_none());
}

#[test]
fn a_refusal_is_news_once() {
    let pairings = Pairings::default();
    pairings.store(INSTANCE, "chrome", Key::new([7; 32]), browser()).unwrap();
    assert!(pairings.refused(INSTANCE, RefusalCode::WrongProof, "wrong"));
    assert!(!pairings.refused(INSTANCE, RefusalCode::WrongProof, "wrong"));
    assert!(pairings.refused("other", RefusalCode::NotPaired, "who"));
    assert_eq!(pairings.stranger().map(|refusal| refusal.code), Some(RefusalCode::NotPaired));
    let (_, paired) = pairings.all().remove(0);
    assert_eq!(paired.refusal.map(|refusal| refusal.code), Some(RefusalCode::WrongProof));
    pairings.seen(INSTANCE, "0.1.0", &browser()).unwrap();
    assert_eq!(pairings.all().remove(0).1.refusal, None, "it is here again");
}

#[test]
fn names_follow_the_product() {
    let none = |_: &str| false;
    for (product, name) in [
        ("Google Chrome", "chrome"),
        ("Microsoft Edge", "edge"),
        ("Brave", "brave"),
        ("Chromium", "chromium"),
        ("Vivaldi", "browser"),
    ] {
        assert_eq!(choose_name(product, None, none), name);
    }
    let taken = |name: &str| matches!(name, "chrome" | "chrome-2");
    assert_eq!(choose_name("Chrome", None, taken), "chrome-3");
    assert_eq!(choose_name("Chrome", Some("mine"), taken), "mine");
}
