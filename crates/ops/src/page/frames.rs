//! Questions to all frames of a page, answered as one: refs as agents write them, places in the page's view.

use serde_json::{Map, Value, json};

use super::element::written;
use super::{FRAME_PATIENCE, Page};
use crate::driver::{DriverError, Frame, FrameId, Spot};

/// Elements that are listed unless `max` says otherwise.
const MAX: u64 = 200;

impl Page {
    /// Calls the page script in a frame, of which there may be many: one below the main frame that goes away or does
    /// not answer has nothing.
    pub(super) async fn script_in_any(
        &self,
        frame: &Frame,
        name: &str,
        input: Value,
    ) -> Result<Option<Value>, DriverError> {
        let asked = self.script(&frame.id, name, input);
        if frame.parent.is_none() {
            return asked.await.map(Some);
        }
        match tokio::time::timeout(FRAME_PATIENCE, asked).await {
            Ok(Ok(answer)) => Ok(Some(answer)),
            Ok(Err(DriverError::Navigated | DriverError::Refused(_))) | Err(_) => Ok(None),
            Ok(Err(error)) => Err(error),
        }
    }

    /// Whether a text can be seen in any frame.
    pub(crate) async fn has_text(&self, text: &str) -> Result<bool, DriverError> {
        for frame in self.driver.frames().await? {
            let has = self.script_in_any(&frame, "has", json!({ "text": text })).await?;
            if has == Some(Value::Bool(true)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What all frames answer, put together.
    pub(crate) async fn gathered(&self, function: &str, wish: &Value) -> Result<Value, DriverError> {
        let mut whole = Value::Null;
        for frame in self.driver.frames().await? {
            let Some(mut answer) = self.script_in_any(&frame, function, wish.clone()).await? else {
                continue;
            };
            if frame.parent.is_some() && answer.get("error").is_some() {
                continue;
            }
            name_refs(&mut answer, self.frame_number(&frame.id).await?);
            put_together(&mut whole, answer);
        }
        Ok(whole)
    }

    /// The element at a point of the view, in whichever frame that is.
    pub(crate) async fn at_point(&self, x: f64, y: f64) -> Result<Value, DriverError> {
        let (frame, _, mut answer) = self.below(x, y).await?;
        if let (Some(x), Some(y)) = (answer["rect"]["x"].as_f64(), answer["rect"]["y"].as_f64()) {
            let (x, y) = self.view_point(&frame, x, y).await?;
            answer["rect"]["x"] = json!(x);
            answer["rect"]["y"] = json!(y);
        }
        name_refs(&mut answer, self.frame_number(&frame).await?);
        Ok(answer)
    }

    /// A point of the view as the driver wants it.
    pub(crate) async fn spot(&self, x: f64, y: f64) -> Result<Spot, DriverError> {
        if !self.driver.aims_at_frames() {
            return Ok(Spot::in_view(x, y));
        }
        let (frame, inner, _) = self.below(x, y).await?;
        Ok(Spot { view: (x, y), frame: Some(frame), inner })
    }

    /// The innermost frame at a point of the view, the point in it, and the element there.
    async fn below(&self, x: f64, y: f64) -> Result<(FrameId, (f64, f64), Value), DriverError> {
        let frames = self.driver.frames().await?;
        let (mut inner, mut frame) = ((x, y), self.main_frame().await?);
        loop {
            let answer = self.script(&frame, "at", json!({"x": inner.0, "y": inner.1})).await?;
            match self.frame_at(&frames, &frame, &answer, inner).await? {
                Some((child, point)) => (frame, inner) = (child, point),
                None => return Ok((frame, inner, answer)),
            }
        }
    }

    /// The frame that an element is, and where a point of its parent is in it.
    async fn frame_at(
        &self,
        frames: &[Frame],
        parent: &FrameId,
        element: &Value,
        point: (f64, f64),
    ) -> Result<Option<(FrameId, (f64, f64))>, DriverError> {
        if !matches!(element["tag"].as_str(), Some("iframe" | "frame")) {
            return Ok(None);
        }
        for child in frames.iter().filter(|child| child.parent.as_ref() == Some(parent)) {
            let owner = tokio::time::timeout(FRAME_PATIENCE, self.owner(child)).await;
            if !matches!(owner, Ok(Ok(owner)) if element["ref"] == json!(owner)) {
                continue;
            }
            // Two of its points tell where it begins and how large it is drawn.
            let mut seen = [(0.0, 0.0); 2];
            for (seen, at) in seen.iter_mut().zip([0.0, 1.0]) {
                let outside =
                    self.script(parent, "inner", json!({"ref": element["ref"], "x": at, "y": at})).await?;
                let place = |name: &str| outside[name].as_f64().ok_or(DriverError::Navigated);
                *seen = (place("x")?, place("y")?);
            }
            let [(left, top), (right, bottom)] = seen;
            let inside = ((point.0 - left) / (right - left), (point.1 - top) / (bottom - top));
            let answers = self.script_in_any(child, "info", json!({})).await?.is_some();
            return Ok(answers.then(|| (child.id.clone(), inside)));
        }
        Ok(None)
    }

    /// The lists of all frames together: refs as agents write them, the number of the frame (0 is the main one), and
    /// places in the page's view.
    pub(crate) async fn elements(&self, wish: &Value) -> Result<Value, DriverError> {
        let max = wish["max"].as_u64().filter(|max| *max > 0).unwrap_or(MAX) as usize;
        let mut rows: Vec<Value> = Vec::new();
        let (mut total, mut filtered) = (0, 0);
        let mut summary: Map<String, Value> = Map::new();
        for frame in self.driver.frames().await? {
            let is_child = frame.parent.is_some();
            let Some((number, offset, answer)) = self.elements_of(&frame, wish).await? else { continue };
            total += answer["total"].as_u64().unwrap_or_default();
            filtered += answer["filtered"].as_u64().unwrap_or_default();
            for (kind, count) in answer["summary"].as_object().into_iter().flatten() {
                let before = summary.get(kind).and_then(Value::as_u64).unwrap_or_default();
                summary.insert(kind.clone(), json!(before + count.as_u64().unwrap_or_default()));
            }
            let left = max.saturating_sub(rows.len());
            for row in answer["elements"].as_array().into_iter().flatten().take(left) {
                let mut row = row.clone();
                let name = written(number, row["ref"].as_u64().unwrap_or_default());
                if is_child {
                    // A selector is looked for in the main frame first; a ref says its frame.
                    row["selector"] = json!(name);
                    for (member, offset) in [("x", offset.0), ("y", offset.1)] {
                        row["rect"][member] =
                            json!(row["rect"][member].as_f64().unwrap_or_default() + offset);
                    }
                }
                row["index"] = json!(rows.len());
                row["ref"] = json!(name);
                row["frameId"] = json!(number);
                rows.push(row);
            }
        }
        let is_cut = filtered > rows.len() as u64;
        Ok(
            json!({"elements": rows, "total": total, "filtered": filtered, "truncated": is_cut, "summary": summary}),
        )
    }

    /// The number of a frame, where it begins in the view, and its own list.
    async fn elements_of(
        &self,
        frame: &Frame,
        wish: &Value,
    ) -> Result<Option<(usize, (f64, f64), Value)>, DriverError> {
        let Some(answer) = self.script_in_any(frame, "elements", wish.clone()).await? else {
            return Ok(None);
        };
        let number = self.frame_number(&frame.id).await?;
        match self.view_point(&frame.id, 0.0, 0.0).await {
            Ok(offset) => Ok(Some((number, offset, answer))),
            // It has gone meanwhile.
            Err(DriverError::Navigated) if frame.parent.is_some() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Refs of the page script as agents write them, wherever they are in an answer of a frame. A selector is looked for in
/// the main frame first, so for other frames the ref, which says its frame, stands for it.
pub(crate) fn name_refs(value: &mut Value, frame: usize) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| name_refs(value, frame)),
        Value::Object(members) => {
            for member in ["ref", "byRef"] {
                let Some(number) = members.get(member).and_then(Value::as_u64) else { continue };
                let name = json!(written(frame, number));
                if frame > 0 && member == "ref" && members.contains_key("selector") {
                    members.insert("selector".to_owned(), name.clone());
                }
                members.insert(member.to_owned(), name);
            }
            members.values_mut().for_each(|value| name_refs(value, frame));
        }
        _ => {}
    }
}

/// Lists grow, counts add up, and what is true of one is true of all; other facts are those of the main frame.
fn put_together(whole: &mut Value, part: Value) {
    match (whole, part) {
        (whole @ Value::Null, part) => *whole = part,
        (Value::Array(whole), Value::Array(part)) => whole.extend(part),
        (Value::Object(whole), Value::Object(part)) => {
            for (name, part) in part.into_iter().filter(|(name, _)| name != "next") {
                put_together(whole.entry(name).or_insert(Value::Null), part);
            }
        }
        (whole @ Value::Bool(false), Value::Bool(true)) => *whole = json!(true),
        (whole @ Value::Number(_), Value::Number(part)) => {
            let sum = whole.as_u64().unwrap_or_default() + part.as_u64().unwrap_or_default();
            *whole = json!(sum);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_frames_become_one() {
        let mut whole = json!({"found": false, "matches": [], "total": 0, "next": 3});
        let mut part =
            json!({"found": true, "matches": [{"ref": 12, "selector": "#a"}], "total": 2, "next": 13});
        name_refs(&mut part, 1);
        put_together(&mut whole, part);
        let expected =
            json!({"found": true, "matches": [{"ref": "f1e12", "selector": "f1e12"}], "total": 2, "next": 3});
        assert_eq!(whole, expected);
        let mut main = json!({"forms": [{"ref": null, "fields": [{"ref": 4, "selector": "#a"}]}]});
        name_refs(&mut main, 0);
        assert_eq!(main, json!({"forms": [{"ref": null, "fields": [{"ref": "e4", "selector": "#a"}]}]}));
    }
}
