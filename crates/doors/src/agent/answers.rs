//! What was answered to whom, for those who lost their connection before they read it.
//!
//! Answers are kept per agent, by the id of the request: for five minutes, the last thousand, up to 16 MiB. Of one
//! that was too large to keep it is still known that the action was done.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_ops::AgentName;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const MEMORY: Duration = Duration::from_secs(5 * 60);
const MOST: usize = 1_000;
const MOST_BYTES: usize = 16 << 20;

/// An answer as it went over the wire.
pub(super) type Text = Arc<str>;

#[derive(Default)]
pub(super) struct Answers(Mutex<HashMap<AgentName, Memory>>);

#[derive(Default)]
struct Memory {
    requests: HashMap<String, Request>,
    /// Those that are done, the oldest first.
    done: VecDeque<(Instant, String)>,
    bytes: usize,
}

enum Request {
    Running {
        /// What was asked, in short.
        what: u64,
        answer: watch::Receiver<Option<Text>>,
        cancel: CancellationToken,
    },
    Done(u64, Text),
    /// Done, but what was answered is no longer known.
    Forgotten,
}

/// What an id stands for.
pub(super) enum Begun {
    /// Nothing yet: whoever asked does it.
    New(Ticket),
    /// The same request is under way; its answer comes here.
    Running(watch::Receiver<Option<Text>>),
    Done(Text),
    Forgotten,
    /// Something else was asked under this id.
    Taken,
}

/// Of what only looked, larger answers are not kept: it can look again.
const LARGE: usize = 64 << 10;

/// The duty to answer. Dropped without an answer, the request was never made.
pub(super) struct Ticket {
    answers: Arc<Answers>,
    agent: AgentName,
    id: String,
    what: u64,
    tell: watch::Sender<Option<Text>>,
    pub(super) cancel: CancellationToken,
    is_done: bool,
}

impl Answers {
    pub(super) fn begin(self: &Arc<Self>, agent: &AgentName, id: &str, what: u64) -> Begun {
        let mut agents = self.agents();
        let memory = agents.entry(agent.clone()).or_default();
        match memory.requests.get(id) {
            Some(Request::Running { what: before, .. } | Request::Done(before, _)) if *before != what => {
                return Begun::Taken;
            }
            Some(Request::Running { answer, .. }) => return Begun::Running(answer.clone()),
            Some(Request::Done(_, text)) => return Begun::Done(text.clone()),
            Some(Request::Forgotten) => return Begun::Forgotten,
            None => {}
        }
        let (tell, answer) = watch::channel(None);
        let cancel = CancellationToken::new();
        memory.requests.insert(id.to_owned(), Request::Running { what, answer, cancel: cancel.clone() });
        let (agent, id) = (agent.clone(), id.to_owned());
        Begun::New(Ticket { answers: self.clone(), agent, id, what, tell, cancel, is_done: false })
    }

    /// Calls off what is under way; whether there was something.
    pub(super) fn cancel(&self, agent: &AgentName, id: &str) -> bool {
        match self.agents().get(agent).and_then(|memory| memory.requests.get(id)) {
            Some(Request::Running { cancel, .. }) => {
                cancel.cancel();
                true
            }
            _ => false,
        }
    }

    /// Drops what is too old.
    pub(super) fn sweep(&self) {
        let mut agents = self.agents();
        for memory in agents.values_mut() {
            while memory.done.front().is_some_and(|(at, _)| at.elapsed() > MEMORY) {
                memory.drop_oldest();
            }
        }
        agents.retain(|_, memory| !memory.requests.is_empty());
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<AgentName, Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn keep(&mut self, id: &str, what: u64, text: &Text) {
        self.bytes += text.len();
        self.requests.insert(id.to_owned(), Request::Done(what, text.clone()));
        self.done.push_back((Instant::now(), id.to_owned()));
        while self.done.len() > MOST {
            self.drop_oldest();
        }
        if self.bytes > MOST_BYTES {
            self.forget_texts();
        }
    }

    fn drop_oldest(&mut self) {
        let Some((_, id)) = self.done.pop_front() else { return };
        if let Some(Request::Done(_, text)) = self.requests.remove(&id) {
            self.bytes -= text.len();
        }
    }

    /// Lets go of texts, the oldest first, until the others fit. The ids stay.
    fn forget_texts(&mut self) {
        for (_, id) in &self.done {
            if self.bytes <= MOST_BYTES {
                return;
            }
            if let Some(request) = self.requests.get_mut(id)
                && let Request::Done(_, text) = request
            {
                self.bytes -= text.len();
                *request = Request::Forgotten;
            }
        }
    }
}

impl Ticket {
    /// Keeps the answer, and tells it to those who have asked again meanwhile.
    pub(super) fn done(mut self, text: Text, only_looked: bool) {
        let is_kept = !(only_looked && text.len() > LARGE);
        if is_kept && let Some(memory) = self.answers.agents().get_mut(&self.agent) {
            memory.keep(&self.id, self.what, &text);
            self.is_done = true;
        }
        self.tell.send_replace(Some(text));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.is_done
            && let Some(memory) = self.answers.agents().get_mut(&self.agent)
        {
            memory.requests.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(answers: &Arc<Answers>, agent: &str, id: &str) -> Begun {
        answers.begin(&AgentName::new(agent), id, 7)
    }

    fn ticket(answers: &Arc<Answers>, id: &str) -> Ticket {
        match begin(answers, "a", id) {
            Begun::New(ticket) => ticket,
            _ => panic!("{id} is known already"),
        }
    }

    #[tokio::test]
    async fn a_repeated_id_gets_the_same_answer_and_does_nothing_again() {
        let answers = Arc::<Answers>::default();
        let first = ticket(&answers, "1");
        let Begun::Running(mut again) = begin(&answers, "a", "1") else { panic!("it is under way") };
        assert!(matches!(begin(&answers, "b", "1"), Begun::New(_)), "another agent has ids of its own");
        first.done("answer".into(), false);
        assert_eq!(again.wait_for(Option::is_some).await.unwrap().as_deref(), Some("answer"));
        assert!(matches!(begin(&answers, "a", "1"), Begun::Done(text) if &*text == "answer"));
        assert!(
            matches!(answers.begin(&AgentName::new("a"), "1", 8), Begun::Taken),
            "that is another request"
        );
    }

    #[tokio::test]
    async fn what_was_given_up_can_be_asked_again() {
        let answers = Arc::<Answers>::default();
        drop(ticket(&answers, "1"));
        ticket(&answers, "1").done("answer".into(), false);
    }

    #[tokio::test]
    async fn only_what_is_under_way_can_be_cancelled() {
        let answers = Arc::<Answers>::default();
        let agent = AgentName::new("a");
        let running = ticket(&answers, "1");
        assert!(answers.cancel(&agent, "1") && running.cancel.is_cancelled());
        running.done("cancelled".into(), false);
        assert!(!answers.cancel(&agent, "1") && !answers.cancel(&agent, "2"));
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded_by_age_by_number_and_by_bytes() {
        let answers = Arc::<Answers>::default();
        for id in 0..MOST + 5 {
            ticket(&answers, &id.to_string()).done("answer".into(), false);
        }
        assert!(matches!(begin(&answers, "a", "5"), Begun::Done(_)));
        drop(ticket(&answers, "4"));
        let large = Text::from("x".repeat(MOST_BYTES / 2 + 1).as_str());
        ticket(&answers, "large").done(large.clone(), false);
        ticket(&answers, "larger").done(large.clone(), false);
        assert!(matches!(begin(&answers, "a", "large"), Begun::Forgotten), "it is known to be done");
        assert!(matches!(begin(&answers, "a", "larger"), Begun::Done(_)));
        ticket(&answers, "look").done(large, true);
        drop(ticket(&answers, "look"));
        tokio::time::advance(MEMORY + Duration::from_secs(1)).await;
        answers.sweep();
        assert!(answers.agents().is_empty());
    }
}
