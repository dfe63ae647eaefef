//! The page as text: one line for each element, with refs, across all frames.

use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::{FRAME_PATIENCE, KINDS, Page};
use crate::driver::{DriverError, Frame, FrameId};
use crate::error::OpError;

#[derive(Debug, Clone, Default)]
pub(crate) struct SnapshotOptions {
    pub(crate) interactive: bool,
    pub(crate) compact: bool,
    pub(crate) depth: Option<u64>,
    pub(crate) root: Option<super::Located>,
}

#[derive(Debug, Deserialize)]
struct Lines {
    lines: Vec<String>,
    #[serde(default)]
    iframes: Vec<Inner>,
}

/// Where another frame's lines belong.
#[derive(Debug, Deserialize)]
struct Inner {
    r#ref: u64,
    line: usize,
}

/// Frames below frames are followed so far.
const NESTING: usize = 8;

impl Page {
    pub(crate) async fn snapshot(
        &self,
        options: &SnapshotOptions,
        deadline: Instant,
    ) -> Result<Vec<String>, OpError> {
        let lines = self
            .settled(deadline, || async {
                let frames = self.driver.frames().await?;
                let (frame, root) = match &options.root {
                    Some(root) => (root.frame.clone(), Some(root.number)),
                    None => (self.main_frame().await?, None),
                };
                self.frame_lines(&frames, &frame, root, options, 0).await
            })
            .await?;
        let mut refs = self.refs();
        for line in &lines {
            if let Some(name) = ref_of(line) {
                refs.show(name, line.trim_start().trim_start_matches("- "));
            }
        }
        Ok(lines)
    }

    /// The lines that are new or gone since the last snapshot of the same kind.
    pub(crate) fn difference(&self, kind: &str, lines: &[String]) -> Option<Vec<String>> {
        let mut refs = self.refs();
        if refs.last.len() >= KINDS && !refs.last.contains_key(kind) {
            refs.last.clear();
        }
        let before = refs.last.insert(kind.to_owned(), lines.to_vec())?;
        Some(diff(&before, lines))
    }

    async fn frame_lines(
        &self,
        frames: &[Frame],
        frame: &FrameId,
        root: Option<u64>,
        options: &SnapshotOptions,
        nesting: usize,
    ) -> Result<Vec<String>, DriverError> {
        let number = self.frame_number(frame).await?;
        let prefix = if number == 0 { String::new() } else { format!("f{number}") };
        let mut input =
            json!({"prefix": prefix, "interactive": options.interactive, "compact": options.compact});
        if let Some(depth) = options.depth {
            input["depth"] = json!(depth);
        }
        if let Some(root) = root {
            input["root"] = json!(root);
        }
        let asked = self.script(frame, "snapshot", input);
        let answer = match nesting {
            0 => asked.await?,
            _ => match tokio::time::timeout(FRAME_PATIENCE, asked).await {
                Ok(answer) => answer?,
                // One that hangs must not hide the rest of the page.
                Err(_) => return Ok(vec!["- text: (this frame does not answer)".to_owned()]),
            },
        };
        if answer.get("error").is_some() {
            return Err(DriverError::Navigated);
        }
        let Lines { mut lines, iframes } = serde_json::from_value(answer)
            .map_err(|error| DriverError::Refused(format!("snapshot: {error}")))?;
        if iframes.is_empty() || nesting >= NESTING {
            return Ok(lines);
        }
        // Whose element is whose: asked of each child, since a page's elements do not know their frame's id.
        let mut children = Vec::new();
        for child in frames.iter().filter(|child| child.parent.as_ref() == Some(frame)) {
            match tokio::time::timeout(FRAME_PATIENCE, self.owner(child)).await {
                Ok(Ok(owner)) => children.push((owner, child)),
                Ok(Err(DriverError::Navigated | DriverError::Refused(_))) | Err(_) => {}
                Ok(Err(error)) => return Err(error),
            }
        }
        for inner in iframes.iter().rev() {
            let Some((_, child)) = children.iter().find(|(owner, _)| *owner == inner.r#ref) else { continue };
            let below = Box::pin(self.frame_lines(frames, &child.id, None, options, nesting + 1)).await;
            let below = match below {
                Ok(below) => below,
                Err(DriverError::Navigated) => continue,
                Err(error) => return Err(error),
            };
            let Some(line) = lines.get_mut(inner.line) else { continue };
            if !below.is_empty() && !line.ends_with(':') {
                line.push(':');
            }
            let indent = " ".repeat(line.len() - line.trim_start().len() + 2);
            let at = inner.line + 1;
            lines.splice(at..at, below.into_iter().map(|line| format!("{indent}{line}")));
        }
        Ok(lines)
    }

    /// For an element that is not there any more.
    pub(crate) fn shown_line(&self, located: &super::Located) -> Option<String> {
        self.refs().shown.get(&located.name).cloned()
    }
}

/// The ref that a line gives.
fn ref_of(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("[ref=")?;
    rest.split_once(']').map(|(name, _)| name)
}

/// What has changed from one list of lines to another: `-` gone, `+` new, each with the line above it for its place.
fn diff(before: &[String], after: &[String]) -> Vec<String> {
    // Equal ends cost nothing; the middle is compared line by line as a longest common sequence, if it is small.
    let start = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let end =
        before[start..].iter().rev().zip(after[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let old = &before[start..before.len() - end];
    let new = &after[start..after.len() - end];
    let mut out = Vec::new();
    if old.is_empty() && new.is_empty() {
        return out;
    }
    if let Some(above) = start.checked_sub(1).and_then(|at| after.get(at)) {
        out.push(format!("  {above}"));
    }
    if old.len().saturating_mul(new.len()) > 4_000_000 {
        out.extend(old.iter().map(|line| format!("- {line}")));
        out.extend(new.iter().map(|line| format!("+ {line}")));
        return out;
    }
    let width = new.len() + 1;
    let mut lengths = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i * width + j] = match old[i] == new[j] {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut last_same: Option<&String> = None;
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            last_same = Some(&new[j]);
            i += 1;
            j += 1;
            continue;
        }
        if let Some(above) = last_same.take() {
            out.push(format!("  {above}"));
        }
        let takes_old =
            j >= new.len() || (i < old.len() && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]);
        if takes_old {
            out.push(format!("- {}", old[i]));
            i += 1;
        } else {
            out.push(format!("+ {}", new[j]));
            j += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split('|').map(str::to_owned).collect()
    }

    #[test]
    fn a_difference_tells_what_is_gone_and_what_is_new() {
        assert_eq!(diff(&lines("a|b|c"), &lines("a|b|c")), Vec::<String>::new());
        assert_eq!(diff(&lines("a|b|c"), &lines("a|x|c")), lines("  a|- b|+ x"));
        assert_eq!(diff(&lines("a|b|c|d|e"), &lines("a|x|c|y|e")), lines("  a|- b|+ x|  c|- d|+ y"));
        assert_eq!(diff(&lines("a"), &lines("a|b")), lines("  a|+ b"));
        assert_eq!(ref_of("  - button \"x\" [ref=f1e12]:"), Some("f1e12"));
        assert_eq!(crate::page::element::written(1, 12), "f1e12");
    }
}
