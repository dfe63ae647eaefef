//! What can be acted on in all frames of a page, as one list.

use serde_json::{Map, Value, json};

use super::Page;
use super::element::written;
use crate::driver::{DriverError, Frame};

/// Elements that are listed unless `max` says otherwise.
const MAX: u64 = 200;

impl Page {
    /// The lists of all frames together: refs as agents write them, the number of the frame (0 is the main one), and
    /// places in the page's view.
    pub(crate) async fn elements(&self, wish: &Value) -> Result<Value, DriverError> {
        let max = wish["max"].as_u64().filter(|max| *max > 0).unwrap_or(MAX) as usize;
        let mut rows: Vec<Value> = Vec::new();
        let (mut total, mut filtered) = (0, 0);
        let mut summary: Map<String, Value> = Map::new();
        for frame in self.driver.frames().await? {
            let is_child = frame.parent.is_some();
            let (number, offset, answer) = match self.elements_of(&frame, wish).await {
                Ok(listed) => listed,
                // A frame that goes away meanwhile has nothing.
                Err(DriverError::Navigated) if is_child => continue,
                Err(error) => return Err(error),
            };
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
    ) -> Result<(usize, (f64, f64), Value), DriverError> {
        let number = self.frame_number(&frame.id).await?;
        let offset = self.view_point(&frame.id, 0.0, 0.0).await?;
        let answer = self.script(&frame.id, "elements", wish.clone()).await?;
        Ok((number, offset, answer))
    }
}
