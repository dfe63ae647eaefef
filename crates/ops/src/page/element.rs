//! Which element is meant: by a ref of a snapshot, or by a locator.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Page;
use crate::driver::{DriverError, FrameId};
use crate::error::{Code, OpError};
use crate::schema::Described;

/// How an agent says which element it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Element {
    Ref { frame: usize, number: u64 },
    Locator(String),
}

impl Element {
    /// As agents write it.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Ref { frame, number } => written(*frame, *number),
            Self::Locator(locator) => format!("`{locator}`"),
        }
    }

    pub(crate) fn parse(text: &str) -> Self {
        let text = text.trim();
        match parse_ref(text) {
            Some((frame, number)) => Self::Ref { frame, number },
            None => Self::Locator(text.to_owned()),
        }
    }
}

/// `e12`, `f1e12`, with `@`, `ref=` or `[ref=...]` around it.
fn parse_ref(text: &str) -> Option<(usize, u64)> {
    let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let text = text.strip_prefix("ref=").unwrap_or(text);
    let text = text.strip_prefix('@').unwrap_or(text);
    let (frame, number) = match text.strip_prefix('f') {
        Some(rest) => {
            let (frame, number) = rest.split_once('e')?;
            (frame.parse().ok().filter(|frame| *frame > 0)?, number)
        }
        None => (0, text.strip_prefix('e')?),
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| number.parse().ok()).flatten().map(|number| (frame, number))
}

pub(crate) fn written(frame: usize, number: u64) -> String {
    match frame {
        0 => format!("e{number}"),
        frame => format!("f{frame}e{number}"),
    }
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.trim().is_empty() {
            return Err(serde::de::Error::custom("names no element: give a ref (e12) or a locator"));
        }
        Ok(Self::parse(&text))
    }
}

impl Described for Element {
    fn schema() -> Value {
        json!({"type": "string"})
    }
}

/// An element that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) frame: FrameId,
    pub(crate) number: u64,
    /// As agents write it.
    pub(crate) name: String,
}

impl Located {
    /// 0 for the main frame.
    pub(crate) fn frame_number(&self) -> usize {
        parse_ref(&self.name).map_or(0, |(frame, _)| frame)
    }
}

#[derive(Debug, Deserialize)]
struct Found {
    #[serde(default)]
    matches: Vec<Match>,
    #[serde(default)]
    total: usize,
    error: Option<String>,
    message: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct Match {
    r#ref: u64,
    #[serde(default)]
    role: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    tag: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    visible: bool,
}

impl Match {
    fn shown(&self, frame: usize) -> Value {
        json!({"ref": written(frame, self.r#ref), "role": self.role, "name": self.name, "tag": self.tag,
            "text": self.text, "visible": self.visible})
    }

    fn line(&self, frame: usize) -> String {
        let what = if self.role.is_empty() { &self.tag } else { &self.role };
        let name = if self.name.is_empty() { &self.text } else { &self.name };
        let name: String = name.chars().take(60).collect();
        format!("{} {what} \"{name}\"", written(frame, self.r#ref))
    }
}

/// Candidates that an error shows.
const CANDIDATES: usize = 5;

impl Page {
    /// Finds the element, waiting for it if it is not there yet.
    pub(crate) async fn locate(&self, element: &Element, deadline: Instant) -> Result<Located, OpError> {
        match element {
            Element::Ref { frame, number } => self.by_ref(*frame, *number, deadline).await,
            Element::Locator(locator) => self.by_locator(locator, deadline).await,
        }
    }

    /// All that fits a locator, as agents are shown it.
    pub(crate) async fn found(
        &self,
        locator: &str,
        max: usize,
    ) -> Result<Result<Listed, OpError>, DriverError> {
        let found = self.matches(locator, max).await?;
        if let Some(error) = found.error {
            return Ok(Err(error));
        }
        {
            let mut refs = self.refs();
            for (_, frame, found) in &found.all {
                let line = format!("{} \"{}\"", found.role, found.name);
                let name = written(*frame, found.r#ref);
                if !refs.shown.contains_key(&name) {
                    refs.show(&name, &line);
                }
            }
        }
        Ok(Ok(Listed {
            lines: found.all.iter().map(|(_, frame, found)| found.line(*frame)).collect(),
            matches: found.all.iter().map(|(_, frame, found)| found.shown(*frame)).collect(),
            total: found.total,
        }))
    }

    /// Whether it is there, and then whether it can be seen.
    pub(crate) async fn presence(&self, element: &Element) -> Result<Option<bool>, DriverError> {
        match element {
            Element::Locator(locator) => {
                let found = self.matches(locator, CANDIDATES).await?;
                if let Some(error) = found.error {
                    return Err(DriverError::Refused(error.message));
                }
                let is_visible = found.all.iter().any(|(_, _, found)| found.visible);
                Ok((!found.all.is_empty()).then_some(is_visible))
            }
            Element::Ref { frame, number } => {
                let frame = match frame {
                    0 => Some(self.main_frame().await?),
                    frame => self.refs().frames.get(frame - 1).cloned(),
                };
                let Some(frame) = frame else { return Ok(None) };
                let described = self.script(&frame, "describe", json!({"ref": number})).await?;
                Ok(described.get("error").is_none().then(|| described["visible"] == json!(true)))
            }
        }
    }

    async fn by_ref(&self, frame: usize, number: u64, deadline: Instant) -> Result<Located, OpError> {
        let name = written(frame, number);
        let id = match frame {
            0 => Some(self.settled(deadline, || self.main_frame()).await?),
            frame => self.refs().frames.get(frame - 1).cloned(),
        };
        let Some(id) = id else { return Err(self.stale(&name, deadline).await) };
        let asked =
            tokio::time::timeout_at(deadline, self.script(&id, "describe", json!({"ref": number}))).await;
        match asked {
            Ok(Ok(answer)) if answer.get("error").is_none() => Ok(Located { frame: id, number, name }),
            Ok(Ok(_) | Err(DriverError::Navigated)) => Err(self.stale(&name, deadline).await),
            Ok(Err(error)) => Err(self.explain(error)),
            Err(_) => Err(self.no_answer()),
        }
    }

    async fn by_locator(&self, locator: &str, deadline: Instant) -> Result<Located, OpError> {
        let mut pause = Duration::from_millis(20);
        let begun = Instant::now();
        let none = || {
            let message =
                format!("no element fits `{locator}`, after {} ms of waiting", begun.elapsed().as_millis());
            let hint = "take a snapshot and use a ref from it, or another locator (CSS, text=, role=, label=, testid=, xpath=); `timeout` says how long to wait";
            OpError::new(Code::NotFound, message, hint)
        };
        let mut has_looked = false;
        loop {
            let found = match self.settled(deadline, || self.matches(locator, CANDIDATES + 1)).await {
                Err(error) if error.code == Code::Timeout && has_looked => return Err(none()),
                found => found?,
            };
            has_looked = true;
            if let Some(error) = found.error {
                return Err(error);
            }
            let visible: Vec<&(FrameId, usize, Match)> =
                found.all.iter().filter(|(_, _, found)| found.visible).collect();
            let only = match (found.all.as_slice(), visible.as_slice()) {
                ([only], _) => Some(only),
                (_, [only]) => Some(*only),
                _ => None,
            };
            if let Some((frame, number, found)) = only {
                let name = written(*number, found.r#ref);
                return Ok(Located { frame: frame.clone(), number: found.r#ref, name });
            }
            if !found.all.is_empty() {
                return Err(ambiguous(locator, found.total, &found.all));
            }
            if Instant::now() + pause >= deadline {
                return Err(none());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(200));
        }
    }

    /// All frames are searched, the main one first; the others only if it has none.
    async fn matches(&self, locator: &str, max: usize) -> Result<Matches, DriverError> {
        let mut matches = Matches { all: Vec::new(), total: 0, error: None };
        for frame in self.driver.frames().await? {
            let number = self.frame_number(&frame.id).await?;
            let answer = self.script_in_any(&frame, "find", json!({"locator": locator, "max": max})).await?;
            let Some(answer) = answer else { continue };
            let found: Found = match serde_json::from_value(answer) {
                Ok(found) => found,
                Err(error) => return Err(DriverError::Refused(format!("find: {error}"))),
            };
            if let Some(code) = found.error.filter(|code| code != "not_found") {
                let message = found.message.unwrap_or(code);
                let hint =
                    "write CSS, text=..., role=button[name=\"...\"], label=..., testid=... or xpath=...";
                matches.error = Some(OpError::new(Code::BadLocator, format!("`{locator}`: {message}"), hint));
                return Ok(matches);
            }
            matches.total += found.total;
            matches.all.extend(found.matches.into_iter().map(|found| (frame.id.clone(), number, found)));
            if !matches.all.is_empty() {
                break;
            }
        }
        Ok(matches)
    }

    /// What to say of a ref whose element is gone: what it was, and what is like it now.
    pub(crate) async fn stale(&self, name: &str, deadline: Instant) -> OpError {
        let was = self.refs().shown.get(name).cloned();
        let message = match &was {
            Some(line) => format!("{name} is gone: it was {line}"),
            None => format!("{name} is not known: it is of another document, or was never shown to you"),
        };
        let mut candidates = Vec::new();
        let mut lines = Vec::new();
        if let Some((role, label)) = was.as_deref().and_then(role_and_name) {
            let input = json!({"role": role, "name": label, "max": CANDIDATES});
            let similar = async {
                let main = self.main_frame().await?;
                self.script(&main, "similar", input).await
            };
            let within = deadline.min(Instant::now() + Duration::from_secs(2));
            if let Ok(Ok(answer)) = tokio::time::timeout_at(within, similar).await
                && let Ok(found) = serde_json::from_value::<Found>(answer)
            {
                candidates.extend(found.matches.iter().map(|found| found.shown(0)));
                lines.extend(found.matches.iter().map(|found| found.line(0)));
            }
        }
        let hint = match lines.is_empty() {
            true => "take a new snapshot".to_owned(),
            false => format!("nearest now: {}; or take a new snapshot", lines.join(", ")),
        };
        OpError::new(Code::StaleRef, message, hint).with("candidates", Value::Array(candidates))
    }
}

/// What was found, to be shown.
pub(crate) struct Listed {
    pub(crate) lines: Vec<String>,
    pub(crate) matches: Vec<Value>,
    pub(crate) total: usize,
}

struct Matches {
    all: Vec<(FrameId, usize, Match)>,
    total: usize,
    error: Option<OpError>,
}

fn ambiguous(locator: &str, total: usize, found: &[(FrameId, usize, Match)]) -> OpError {
    let shown = found.iter().take(CANDIDATES);
    let lines: Vec<String> = shown.clone().map(|(_, frame, found)| found.line(*frame)).collect();
    let message = format!("{} elements fit `{locator}`", total.max(found.len()));
    let hint = format!("use one of these refs: {}; or add ` >> nth=0`", lines.join(", "));
    let candidates = shown.map(|(_, frame, found)| found.shown(*frame)).collect();
    OpError::new(Code::Ambiguous, message, hint).with("candidates", candidates)
}

/// The role and name in a line such as `button "Save" [ref=e3]`.
fn role_and_name(line: &str) -> Option<(&str, &str)> {
    let role = line.split(' ').next()?.trim_end_matches(':');
    let name = line.split_once('"').and_then(|(_, rest)| rest.split_once('"')).map_or("", |(name, _)| name);
    Some((role, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_told_from_locators() {
        for text in ["e12", "@e12", "ref=e12", "[ref=e12]", " e12 "] {
            assert_eq!(Element::parse(text), Element::Ref { frame: 0, number: 12 }, "{text}");
        }
        assert_eq!(Element::parse("@f2e3"), Element::Ref { frame: 2, number: 3 });
        for text in ["em", "e12 > a", "f0e1", "#e12", "text=e12", "e", "fe1", "e1e2"] {
            assert_eq!(Element::parse(text), Element::Locator(text.to_owned()), "{text}");
        }
        assert_eq!(role_and_name("button \"Save it\" [ref=e3]"), Some(("button", "Save it")));
        assert_eq!(role_and_name("generic [ref=e3]:"), Some(("generic", "")));
    }
}
