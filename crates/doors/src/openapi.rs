//! The description of the API, generated from the code of its routes.

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{IntoResponses, Modify, OpenApi, ToSchema};

use crate::{control, history, ops};

/// The envelope of every answer that succeeds.
#[derive(ToSchema)]
#[allow(dead_code, reason = "only its schema is used; answers are written by `control::success`")]
pub(crate) struct Success<T> {
    #[schema(example = true)]
    success: bool,
    data: T,
    /// Milliseconds since 1970.
    timestamp: u64,
}

/// An HTTP archive: as the envelope's data or, with `raw=1`, alone.
#[derive(ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) enum ArchiveAnswer {
    Enveloped(Success<serde_json::Value>),
    Raw { log: serde_json::Value },
}

/// The envelope of every answer that does not.
#[derive(ToSchema)]
#[allow(dead_code, reason = "only its schema is used; answers are written by `Failure`")]
pub(crate) struct Failed {
    #[schema(example = false)]
    success: bool,
    error: Reason,
    /// Milliseconds since 1970.
    timestamp: u64,
}

#[derive(ToSchema)]
#[allow(dead_code, reason = "only its schema is used; answers are written by `Failure`")]
struct Reason {
    /// A stable word for programs.
    code: String,
    message: String,
    /// What to do next.
    hint: String,
}

#[derive(IntoResponses)]
#[allow(dead_code, reason = "only the description is used")]
pub(crate) enum Failures {
    /// Something in the request is wrong; the message names it.
    #[response(status = 400)]
    BadRequest(Failed),
    /// The token is missing or wrong.
    #[response(status = 401)]
    Unauthorized(Failed),
    /// There is no such browser, tab, request or connection.
    #[response(status = 404)]
    NotFound(Failed),
    /// The method is not one of this path's.
    #[response(status = 405)]
    MethodNotAllowed(Failed),
    /// It took too long.
    #[response(status = 408)]
    TimedOut(Failed),
    /// It does not fit what there is: an ambiguous tab, a browser that is not recorded.
    #[response(status = 409)]
    Conflict(Failed),
    /// Too much was sent, or asked for.
    #[response(status = 413)]
    TooLarge(Failed),
    /// The body is not declared as JSON.
    #[response(status = 415)]
    NotJson(Failed),
    /// The page threw, or the browser refused the command.
    #[response(status = 422)]
    Unprocessable(Failed),
    /// Too many requests; `Retry-After` says when to go on.
    #[response(status = 429)]
    TooMany(Failed),
    /// The browser did not start, or has gone.
    #[response(status = 503)]
    Unavailable(Failed),
}

struct Token;

impl Modify for Token {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = openapi.components.get_or_insert_with(Default::default);
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Bowline",
        description = "What agents do in tabs (ops), what tabs logged and fetched, and commands to them. Console and network also follow: with \
                       `follow=1` (and `since=SEQ`) the answer is a stream of server-sent events. The verbs that start and \
                       end browsers and the hub are described in docs/REST.md.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    components(schemas(Failed)),
    modifiers(&Token),
    security(("token" = [])),
)]
struct Description;

pub(crate) fn document() -> String {
    let mut document = Description::openapi();
    document.merge(control::Described::openapi());
    document.merge(history::Described::openapi());
    let mut document = serde_json::to_value(document).unwrap_or_default();
    ops::describe(&mut document);
    document.to_string()
}
