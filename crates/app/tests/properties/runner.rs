//! How a property is tried: at least a hundred random cases, on one thread or on several where a case
//! mostly waits, and a bounded search for the smallest one that fails.

use std::cell::Cell;
use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestCaseResult, TestRunner};

const CASES: u32 = 100;

/// Between two looks at something that is about to happen: short at first, then longer.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

fn config(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 50,
        max_shrink_time: 20_000,
        ..Config::default()
    }
}

/// Tries a property on one thread.
pub(crate) fn check<S: Strategy>(strategy: S, test: impl Fn(S::Value) -> TestCaseResult)
where
    S::Value: Debug,
{
    if let Err(error) = TestRunner::new(config(CASES)).run(&strategy, test) {
        panic!("{error}");
    }
}

/// Tries a property on several threads at once, each with its share of the cases. What `prepare` makes
/// is a thread's own.
pub(crate) fn check_in_lanes<S: Strategy, L>(
    lanes: u32,
    prepare: impl Fn() -> L + Sync,
    strategy: impl Fn() -> S + Sync,
    test: impl Fn(&L, S::Value) -> TestCaseResult + Sync,
) where
    S::Value: Debug,
{
    let has_failed = AtomicBool::new(false);
    let errors = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                let lane = prepare();
                // Only the thread whose case failed goes on, to look for a smaller one.
                let is_ours = Cell::new(false);
                let result = TestRunner::new(config(CASES.div_ceil(lanes))).run(&strategy(), |value| {
                    if has_failed.load(Ordering::Relaxed) && !is_ours.get() {
                        return Ok(());
                    }
                    let result = test(&lane, value);
                    if result.is_err() {
                        is_ours.set(true);
                        has_failed.store(true, Ordering::Relaxed);
                    }
                    result
                });
                if let Err(error) = result {
                    errors.lock().expect("no thread panics with it").push(error.to_string());
                }
            });
        }
    });
    let errors = errors.into_inner().expect("no thread panics with it");
    assert!(errors.is_empty(), "{}", errors.join("\n\n"));
}

/// Looks until there is something, or fails when the time is over.
pub(crate) fn until<T>(
    what: &str,
    within: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> Result<T, TestCaseError> {
    let (deadline, mut pause) = (Instant::now() + within, FIRST_PAUSE);
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if Instant::now() > deadline {
            return Err(TestCaseError::fail(format!("not within {within:?}: {what}")));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Longer than anything takes that is not itself what is measured, on a machine that is busy.
pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) fn fail(message: impl Into<String>) -> TestCaseError {
    TestCaseError::fail(message.into())
}
