//! The frames of a page as they come and go: whose they are, their addresses, and the order in which they came.

use std::collections::{HashMap, VecDeque};

use super::{Frame, FrameId};

/// `W` is the way to a frame, where a protocol has one for each.
pub(crate) struct Frames<W> {
    known: HashMap<FrameId, Known<W>>,
    order: u64,
}

pub(crate) struct Known<W> {
    pub(crate) parent: Option<FrameId>,
    pub(crate) url: String,
    pub(crate) way: W,
    order: u64,
}

impl<W> Default for Frames<W> {
    fn default() -> Self {
        Self { known: HashMap::new(), order: 0 }
    }
}

impl<W> Frames<W> {
    pub(crate) fn get(&self, frame: &FrameId) -> Option<&Known<W>> {
        self.known.get(frame)
    }

    pub(crate) fn get_mut(&mut self, frame: &FrameId) -> Option<&mut Known<W>> {
        self.known.get_mut(frame)
    }

    /// The frame; a new one if it was not known.
    pub(crate) fn plant(&mut self, frame: FrameId, way: W) -> &mut Known<W> {
        self.order += 1;
        let order = self.order;
        self.known.entry(frame).or_insert(Known { parent: None, url: String::new(), way, order })
    }

    /// With all that is below it.
    pub(crate) fn uproot(&mut self, frame: &FrameId) {
        self.uproot_below(frame);
        self.known.remove(frame);
    }

    pub(crate) fn uproot_below(&mut self, frame: &FrameId) {
        let children = self.known.iter().filter(|(_, known)| known.parent.as_ref() == Some(frame));
        let children: Vec<FrameId> = children.map(|(id, _)| id.clone()).collect();
        for child in children {
            self.uproot(&child);
        }
    }

    pub(crate) fn has(&self, is_meant: impl Fn(&W) -> bool) -> bool {
        self.known.values().any(|known| is_meant(&known.way))
    }

    pub(crate) fn retain(&mut self, stays: impl Fn(&W) -> bool) {
        self.known.retain(|_, known| stays(&known.way));
    }

    /// The main one first, parents before children, also when a child became known first.
    pub(crate) fn list(&self) -> Vec<Frame> {
        let mut known: Vec<(&FrameId, &Known<W>)> = self.known.iter().collect();
        known.sort_by_key(|(_, known)| known.order);
        let mut frames = Vec::new();
        let mut waiting = VecDeque::from([None]);
        while let Some(parent) = waiting.pop_front() {
            for (id, known) in known.iter().filter(|(_, known)| known.parent == parent) {
                frames.push(Frame {
                    id: (*id).clone(),
                    parent: known.parent.clone(),
                    url: known.url.clone(),
                });
                waiting.push_back(Some((*id).clone()));
            }
        }
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_before_children_and_go_with_them() {
        let id = |name: &str| FrameId(name.to_owned());
        let mut frames = Frames::default();
        for (name, parent) in
            [("deep", Some("child")), ("main", None), ("child", Some("main")), ("other", Some("main"))]
        {
            frames.plant(id(name), ()).parent = parent.map(id);
        }
        let names =
            |frames: &Frames<()>| frames.list().into_iter().map(|frame| frame.id.0).collect::<Vec<String>>();
        assert_eq!(names(&frames), ["main", "child", "other", "deep"]);
        frames.uproot(&id("child"));
        assert_eq!(names(&frames), ["main", "other"]);
    }
}
