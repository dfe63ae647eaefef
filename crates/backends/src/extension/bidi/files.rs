//! Files for a page: read here, because an extension reads none.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bowline_wire::bidi::Refusal;
use serde_json::{Value, json};

/// Of all files of one command together: they travel in one message.
const LARGEST: u64 = 50 << 20;

/// An `input.setFiles` whose files are to be read.
pub(super) struct Reading {
    /// The command's.
    pub(super) id: u64,
    params: Value,
}

impl Reading {
    pub(super) fn new(id: u64, params: Value) -> Self {
        Self { id, params }
    }

    /// The command with what is in the files in the place of their paths. Blocks.
    pub(super) fn carry_out(mut self) -> (u64, Result<Value, Refusal>) {
        let paths = self.params["files"].as_array().cloned().unwrap_or_default();
        let mut room = LARGEST;
        let files: Result<Vec<Value>, String> =
            paths.iter().map(|path| read(path.as_str().unwrap_or_default(), &mut room)).collect();
        let answer = match files {
            Ok(files) => {
                self.params["files"] = json!(files);
                Ok(self.params)
            }
            Err(message) => Err(Refusal::new("unable to set file input", message)),
        };
        (self.id, answer)
    }
}

fn read(path: &str, room: &mut u64) -> Result<Value, String> {
    let failed = |error: std::io::Error| format!("{path}: {error}");
    let found = std::fs::metadata(path).map_err(failed)?;
    if !found.is_file() {
        return Err(format!("{path} is no file"));
    }
    *room = room.checked_sub(found.len()).ok_or_else(|| {
        format!("through the extension at most {} MB of files can be handed to a page", LARGEST >> 20)
    })?;
    let data = std::fs::read(path).map_err(failed)?;
    let path = Path::new(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(json!({"name": name, "type": type_of(path), "data": STANDARD.encode(data)}))
}

/// What the page is told that a file is, by its name, as a browser does it.
fn type_of(path: &Path) -> &'static str {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    match ending.as_str() {
        "txt" | "log" => "text/plain",
        "csv" => "text/csv",
        "md" => "text/markdown",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "xml" => "text/xml",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" => "application/gzip",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "doc" => "application/msword",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xls" => "application/vnd.ms-excel",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_files_is_sent_and_what_is_none_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        std::fs::write(&path, "hello").unwrap();
        let reading = |path: &Path| Reading::new(7, json!({"context": "c", "files": [path]})).carry_out();
        let (id, read) = reading(&path);
        let expected = json!({"name": "a.txt", "type": "text/plain", "data": "aGVsbG8="});
        assert_eq!((id, read.unwrap()), (7, json!({"context": "c", "files": [expected]})));
        let refusal = reading(dir.path()).1.unwrap_err();
        assert!(refusal.error == "unable to set file input" && refusal.message.contains("is no file"));
        assert!(reading(&dir.path().join("none")).1.is_err());
    }
}
