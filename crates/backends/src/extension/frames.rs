//! The frames of a page as its own session sees them: one tree from the browser, then its events. Answers to
//! `Page.getFrameTree` come from here, because chrome.debugger lets events overtake answers.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

#[derive(Debug, Default)]
pub(super) struct Frames(Vec<Frame>);

#[derive(Debug)]
struct Frame {
    id: String,
    parent: Option<String>,
    /// The `Page.Frame` object, once it has navigated.
    body: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tree {
    frame: Map<String, Value>,
    #[serde(default)]
    child_frames: Vec<Tree>,
}

#[derive(Deserialize)]
struct TreeResult {
    #[serde(rename = "frameTree")]
    tree: Tree,
}

fn text(body: &Map<String, Value>, name: &str) -> Option<String> {
    body.get(name).and_then(Value::as_str).map(str::to_owned)
}

impl Frames {
    /// From the result of `Page.getFrameTree`.
    pub(super) fn read(result: &RawValue) -> Option<Self> {
        let result: TreeResult = serde_json::from_str(result.get()).ok()?;
        let mut frames = Self::default();
        frames.add(result.tree, None);
        Some(frames)
    }

    fn add(&mut self, tree: Tree, parent: Option<&str>) {
        let Some(id) = text(&tree.frame, "id") else { return };
        self.0.push(Frame { id: id.clone(), parent: parent.map(str::to_owned), body: tree.frame });
        for child in tree.child_frames {
            self.add(child, Some(&id));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|frame| frame.id == id)
    }

    pub(super) fn main(&self) -> Option<&str> {
        self.0.first().map(|frame| frame.id.as_str())
    }

    pub(super) fn main_body(&self) -> Option<&Map<String, Value>> {
        self.0.first().map(|frame| &frame.body)
    }

    /// `{"frame", "childFrames"}`.
    pub(super) fn tree(&self) -> Value {
        match self.0.first() {
            Some(main) => self.subtree(main),
            None => json!({}),
        }
    }

    fn subtree(&self, frame: &Frame) -> Value {
        let children: Vec<Value> = self.children(&frame.id).map(|child| self.subtree(child)).collect();
        let mut tree = json!({"frame": frame.body});
        if !children.is_empty() {
            tree["childFrames"] = Value::Array(children);
        }
        tree
    }

    fn children<'a>(&'a self, parent: &'a str) -> impl Iterator<Item = &'a Frame> {
        self.0.iter().filter(move |frame| frame.parent.as_deref() == Some(parent))
    }

    /// Every frame below the main one, parents first: its id, its parent, and its body if it has navigated.
    pub(super) fn below(&self) -> impl Iterator<Item = (&str, &str, Option<&Map<String, Value>>)> {
        self.0.iter().filter_map(|frame| {
            let body = frame.body.contains_key("url").then_some(&frame.body);
            Some((frame.id.as_str(), frame.parent.as_deref()?, body))
        })
    }

    pub(super) fn attached(&mut self, params: &RawValue) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Attached {
            frame_id: String,
            parent_frame_id: String,
        }
        let Ok(new) = serde_json::from_str::<Attached>(params.get()) else { return };
        if self.0.iter().any(|frame| frame.id == new.frame_id) {
            return;
        }
        let mut body = Map::new();
        body.insert("id".to_owned(), json!(new.frame_id));
        body.insert("parentId".to_owned(), json!(new.parent_frame_id));
        for (name, value) in [
            ("loaderId", json!("")),
            ("url", json!("")),
            ("domainAndRegistry", json!("")),
            ("securityOrigin", json!("://")),
            ("mimeType", json!("text/html")),
            ("adFrameStatus", json!({"adFrameType": "none"})),
            ("secureContextType", json!("InsecureScheme")),
            ("crossOriginIsolatedContextType", json!("NotIsolated")),
            ("gatedAPIFeatures", json!([])),
        ] {
            body.insert(name.to_owned(), value);
        }
        self.0.push(Frame { id: new.frame_id, parent: Some(new.parent_frame_id), body });
    }

    /// Takes in `Page.frameNavigated`; tells whether it was the main frame.
    pub(super) fn navigated(&mut self, params: &RawValue) -> bool {
        #[derive(Deserialize)]
        struct Navigated {
            frame: Map<String, Value>,
        }
        let Ok(Navigated { frame: body }) = serde_json::from_str(params.get()) else { return false };
        let Some(id) = text(&body, "id") else { return false };
        let parent = text(&body, "parentId");
        if parent.is_none() {
            // The frames of the document before are gone; the main frame may have another id.
            self.0.clear();
            self.0.push(Frame { id, parent, body });
            return true;
        }
        self.remove_below(&id);
        match self.0.iter_mut().find(|frame| frame.id == id) {
            Some(frame) => frame.body = body,
            None => self.0.push(Frame { id, parent, body }),
        }
        false
    }

    pub(super) fn moved_within_document(&mut self, params: &RawValue) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Moved {
            frame_id: String,
            url: String,
        }
        let Ok(moved) = serde_json::from_str::<Moved>(params.get()) else { return };
        let Some(frame) = self.0.iter_mut().find(|frame| frame.id == moved.frame_id) else { return };
        let (url, fragment) = match moved.url.split_once('#') {
            Some((url, fragment)) => (url.to_owned(), Some(format!("#{fragment}"))),
            None => (moved.url, None),
        };
        frame.body.insert("url".to_owned(), json!(url));
        match fragment {
            Some(fragment) => frame.body.insert("urlFragment".to_owned(), json!(fragment)),
            None => frame.body.remove("urlFragment"),
        };
    }

    pub(super) fn detached(&mut self, params: &RawValue) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Detached {
            frame_id: String,
        }
        let Ok(gone) = serde_json::from_str::<Detached>(params.get()) else { return };
        self.remove_below(&gone.frame_id);
        self.0.retain(|frame| frame.id != gone.frame_id);
    }

    fn remove_below(&mut self, parent: &str) {
        let children: Vec<String> = self.children(parent).map(|child| child.id.clone()).collect();
        for child in children {
            self.remove_below(&child);
            self.0.retain(|frame| frame.id != child);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(value: Value) -> Box<RawValue> {
        RawValue::from_string(value.to_string()).unwrap()
    }

    #[test]
    fn events_keep_the_tree_true() {
        let tree = json!({"frameTree": {"frame": {"id": "M", "url": "http://a/"},
            "childFrames": [{"frame": {"id": "C", "parentId": "M", "url": "http://a/c"}}]}});
        let mut frames = Frames::read(&raw(tree)).unwrap();
        frames.attached(&raw(json!({"frameId": "D", "parentFrameId": "C"})));
        frames.navigated(&raw(json!({"frame": {"id": "D", "parentId": "C", "url": "http://a/d"}})));
        let below: Vec<_> =
            frames.below().map(|(id, parent, _)| (id.to_owned(), parent.to_owned())).collect();
        assert_eq!(below, [("C".to_owned(), "M".to_owned()), ("D".to_owned(), "C".to_owned())]);
        frames.detached(&raw(json!({"frameId": "C", "reason": "remove"})));
        assert_eq!(frames.below().count(), 0);
        frames.moved_within_document(&raw(json!({"frameId": "M", "url": "http://a/#x"})));
        assert_eq!(frames.tree(), json!({"frame": {"id": "M", "url": "http://a/", "urlFragment": "#x"}}));
        assert!(frames.navigated(&raw(json!({"frame": {"id": "M2", "url": "http://b/"}}))));
        assert_eq!(frames.main(), Some("M2"));
    }
}
