//! What a request's path means: `/t/TOKEN` and `/b/NAME` may stand before the rest.

/// A path taken apart. Everything borrows from the request.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) struct Route<'a> {
    pub(crate) token: Option<&'a str>,
    pub(crate) browser: Option<&'a str>,
    /// Begins with `/`.
    pub(crate) rest: &'a str,
}

impl<'a> Route<'a> {
    pub(crate) fn parse(path: &'a str) -> Self {
        let (token, path) = take(path, "/t/");
        let (browser, rest) = take(path, "/b/");
        Self { token, browser, rest }
    }

    /// The part of `path` before `rest`, to be put into URLs that we hand out.
    pub(crate) fn prefix(path: &'a str) -> &'a str {
        &path[..path.len() - Self::parse(path).rest.len()]
    }
}

fn take<'a>(path: &'a str, marker: &str) -> (Option<&'a str>, &'a str) {
    match path.strip_prefix(marker) {
        Some(after) => {
            let end = after.find('/').unwrap_or(after.len());
            (Some(&after[..end]), &after[end..])
        }
        None => (None, path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_and_browser_are_taken_off() {
        let route = |path| {
            let Route { token, browser, rest } = Route::parse(path);
            (token, browser, rest)
        };
        assert_eq!(route("/json/version"), (None, None, "/json/version"));
        assert_eq!(route("/b/work/json"), (None, Some("work"), "/json"));
        assert_eq!(route("/t/abc/b/work/devtools/page/1"), (Some("abc"), Some("work"), "/devtools/page/1"));
        assert_eq!(route("/t/abc"), (Some("abc"), None, ""));
        assert_eq!(route("/test"), (None, None, "/test"));
        assert_eq!(Route::prefix("/t/abc/b/work/json"), "/t/abc/b/work");
        assert_eq!(Route::prefix("/json"), "");
    }
}
