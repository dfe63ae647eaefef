//! What went wrong, as a caller of the control door sees it: a status, a stable code, and what to do next.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bowline_hub::backend::StartError;
use bowline_hub::hub::HubError;
use serde_json::json;

use super::now;
use crate::listeners::OpenError;

/// An error as a caller sees it.
#[derive(Debug)]
pub(super) struct Failure {
    status: StatusCode,
    code: &'static str,
    message: String,
    hint: String,
}

impl Failure {
    pub(super) fn new(status: StatusCode, code: &'static str, message: &str, hint: &str) -> Self {
        Self { status, code, message: message.to_owned(), hint: hint.to_owned() }
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
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error.code, &error.message, &error.hint)
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
        let hint = "send a JSON object with Content-Type: application/json";
        Self::new(rejection.status(), "bad_request", &rejection.body_text(), hint)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let error = json!({"code": self.code, "message": self.message, "hint": self.hint});
        let body = json!({"success": false, "error": error, "timestamp": now()});
        (self.status, Json(body)).into_response()
    }
}
