//! axum's extractors, whose refusals come in our envelope.

use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use bytes::BytesMut;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// Segments of the path.
pub(crate) struct Segments<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Segments<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let Path(segments) = Path::<T>::from_request_parts(parts, state).await?;
        Ok(Self(segments))
    }
}

/// The query.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let Query(query) = Query::<T>::from_request_parts(parts, state).await?;
        Ok(Self(query))
    }
}

/// A body of JSON.
pub(crate) struct Body<T>(pub(crate) T);

/// The largest body that is taken: an expression may be a whole library.
const LARGEST: usize = 32 << 20;
/// How much of a larger one is read and thrown away. Whoever is still sending when the connection closes
/// never sees the answer.
const PATIENCE: usize = 256 << 20;

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let (parts, mut body) = request.into_parts();
        let (mut bytes, mut seen) = (BytesMut::new(), 0);
        while let Some(frame) = body.frame().await {
            // A client that has gone needs no answer, but gets one.
            let frame =
                frame.map_err(|error| Failure::bad_request(&error.to_string(), "send the whole body"))?;
            let Ok(data) = frame.into_data() else { continue };
            seen += data.len();
            if seen <= LARGEST {
                bytes.extend_from_slice(&data);
            } else if seen > PATIENCE {
                break;
            }
        }
        if seen > LARGEST {
            let message = format!("the body is larger than {} MiB", LARGEST >> 20);
            let hint = "send less at once";
            return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &message, hint));
        }
        let request = Request::from_parts(parts, axum::body::Body::from(bytes.freeze()));
        let Json(body) = Json::<T>::from_request(request, state).await?;
        Ok(Self(body))
    }
}
