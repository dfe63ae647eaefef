//! What an op gives back: for programs, for models, and pictures.

use bytes::Bytes;
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub struct Media {
    pub mime: &'static str,
    pub data: Bytes,
}

#[derive(Debug, Clone, Default)]
pub struct Output {
    /// The result, for programs: always an object.
    pub data: Value,
    /// The same for models and people.
    pub text: String,
    /// Where the page's part of `text` comes from; such text is not to be obeyed.
    pub page: Option<String>,
    pub media: Vec<Media>,
    /// What has happened since the op began: address, tabs, dialogs, downloads, errors.
    pub changes: Vec<String>,
}

impl Output {
    pub fn new(data: Value, text: impl Into<String>) -> Self {
        Self { data, text: text.into(), ..Self::default() }
    }

    /// `text` is something the page wrote.
    #[must_use]
    pub fn from_page(mut self, url: &str) -> Self {
        self.page = Some(url.to_owned());
        self
    }

    #[must_use]
    pub fn with(mut self, media: Media) -> Self {
        self.media.push(media);
        self
    }

    /// All of it as one object, as doors that speak JSON alone send it.
    pub fn to_json(&self) -> Value {
        use base64::Engine as _;
        let mut all = json!({"data": self.data, "text": self.text});
        if let Some(page) = &self.page {
            all["page"] = json!(page);
        }
        if !self.changes.is_empty() {
            all["changes"] = json!(self.changes);
        }
        if !self.media.is_empty() {
            let encode = |media: &Media| json!({"mime": media.mime, "data": base64::engine::general_purpose::STANDARD.encode(&media.data)});
            all["media"] = self.media.iter().map(encode).collect();
        }
        all
    }
}
