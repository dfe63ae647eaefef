//! What went wrong, as a caller of the control door sees it: a status, a stable code, and what to do next.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::http::StatusCode;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bowline_hub::backend::StartError;
use bowline_hub::browser::OtherSpeech;
use bowline_hub::hands::{EvaluateError, ExecuteError};
use bowline_hub::hub::HubError;
use bowline_hub::recorder::BodyError;
use serde_json::{Map, Value, json};

use crate::control::now;
use crate::listeners::OpenError;

/// An error as a caller sees it.
#[derive(Debug)]
pub(crate) struct Failure {
    status: StatusCode,
    code: &'static str,
    message: String,
    hint: String,
    /// More for programs, as members of `error`.
    details: Option<Box<Map<String, Value>>>,
    retry_after: Option<u64>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: &str, hint: &str) -> Self {
        Self {
            status,
            code,
            message: message.to_owned(),
            hint: hint.to_owned(),
            details: None,
            retry_after: None,
        }
    }

    /// Something in the request is wrong; `message` names it.
    pub(crate) fn bad_request(message: &str, hint: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message, hint)
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    pub(crate) fn hint(&self) -> &str {
        &self.hint
    }

    pub(crate) fn with(self, name: &'static str, value: Value) -> Self {
        self.with_all(Map::from_iter([(name.to_owned(), value)]))
    }

    pub(crate) fn with_all(mut self, details: Map<String, Value>) -> Self {
        self.details = (!details.is_empty()).then(|| Box::new(details));
        self
    }

    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }
}

impl From<HubError> for Failure {
    fn from(error: HubError) -> Self {
        let message = error.to_string();
        match error {
            HubError::BadName(_) => {
                Self::new(StatusCode::BAD_REQUEST, "bad_name", &message, "choose another name")
            }
            HubError::NoSuchBrowser(_) => {
                Self::new(StatusCode::NOT_FOUND, "no_such_browser", &message, "`bowline status` lists them")
            }
            HubError::NotSaved(_) => {
                let hint = "check the free space and the permissions of the state directory";
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "not_saved", &message, hint)
            }
        }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        // What a caller can mend is not the hub's failure.
        let status = match error.code {
            "bad_address" | "bad_profile" => StatusCode::BAD_REQUEST,
            "no_browser" | "unreachable" | "refused" | "no_answer" => StatusCode::NOT_FOUND,
            "not_cdp" | "no_consent" | "profile_locked" | "no_display" | "breaker_open" | "stopped" => {
                StatusCode::CONFLICT
            }
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, error.code, &error.message, &error.hint)
    }
}

impl From<OtherSpeech> for Failure {
    fn from(other: OtherSpeech) -> Self {
        let hint = "ask for it as an op (POST /api/browsers/NAME/tabs/TAB/ops/OP)";
        Self::new(StatusCode::NOT_IMPLEMENTED, "not_cdp", &other.to_string(), hint)
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let error = match error {
            OpenError::Hub(error) => return error.into(),
            OpenError::Listen(error) => error,
        };
        Self::new(
            StatusCode::CONFLICT,
            "port_taken",
            &error.to_string(),
            "free the port, or choose another name",
        )
    }
}

impl From<JsonRejection> for Failure {
    fn from(rejection: JsonRejection) -> Self {
        // What does not fit is a bad request like what cannot be read.
        let status = match rejection.status() {
            StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
            other => other,
        };
        let code = if status == StatusCode::PAYLOAD_TOO_LARGE { "too_large" } else { "bad_request" };
        let hint = "send a JSON object with Content-Type: application/json";
        Self::new(status, code, &rejection.body_text(), hint)
    }
}

impl From<QueryRejection> for Failure {
    fn from(rejection: QueryRejection) -> Self {
        Self::bad_request(&rejection.body_text(), "see /api/openapi.json for what may be asked")
    }
}

impl From<PathRejection> for Failure {
    fn from(rejection: PathRejection) -> Self {
        Self::bad_request(&rejection.body_text(), "percent-encode what is not plain text")
    }
}

impl From<ExecuteError> for Failure {
    fn from(error: ExecuteError) -> Self {
        let message = error.to_string();
        match error {
            ExecuteError::TimedOut { .. } => {
                let hint = "give it more time with `timeout` (milliseconds), or see whether the page hangs";
                Self::new(StatusCode::REQUEST_TIMEOUT, "timeout", &message, hint)
            }
            ExecuteError::Refused { code, .. } => {
                let hint = "this is the browser's own answer; see the CDP documentation of the command";
                let cdp = json!({"code": code, "message": message});
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "cdp_error", &message, hint).with("cdp", cdp)
            }
            ExecuteError::RefusedByBidi(refusal) => {
                let hint =
                    "this is the browser's own answer; see the WebDriver BiDi documentation of the command";
                let bidi = json!({"error": refusal.error, "message": refusal.message});
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "bidi_error", &message, hint).with("bidi", bidi)
            }
            ExecuteError::Gone | ExecuteError::Unreadable(_) => {
                let hint = "try again; the browser is started anew";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "gone", &message, hint)
            }
        }
    }
}

impl From<EvaluateError> for Failure {
    fn from(error: EvaluateError) -> Self {
        match error {
            EvaluateError::NotRun(error) => error.into(),
            EvaluateError::Threw(exception) => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "page_threw",
                &exception,
                "the expression threw; the message is what it threw",
            ),
        }
    }
}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Self {
        let message = error.to_string();
        match error {
            BodyError::TimedOut => {
                Self::new(StatusCode::REQUEST_TIMEOUT, "timeout", &message, "see whether the page hangs")
            }
            BodyError::Gone(_) => body_gone(&message),
        }
    }
}

/// There is no body, for a reason.
pub(crate) fn body_gone(message: &str) -> Failure {
    let hint = "bodies are kept by the browser while the tab is open, up to recorder.body_buffer";
    Failure::new(StatusCode::NOT_FOUND, "body_gone", message, hint)
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut error = json!({"code": self.code, "message": self.message, "hint": self.hint});
        for (name, value) in self.details.into_iter().flat_map(|details| *details) {
            error[name] = value;
        }
        let body = json!({"success": false, "error": error, "timestamp": now()});
        let mut response = (self.status, Json(body)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
