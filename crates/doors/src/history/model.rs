//! What the history's routes answer, and what they are asked, in types that our own commands share.

use bowline_hub::recorder::record::{ConsoleRecord, NetworkRecord, Seq};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A tab, open or closed a while ago, and how much is remembered of it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabStatus {
    /// Counted from 1 among the open tabs of its browser; absent for a closed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// The target id.
    pub id: String,
    pub browser: String,
    /// `page`, or `service_worker`, `shared_worker`, ...
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub url: String,
    pub open: bool,
    /// Milliseconds since 1970.
    pub opened_at: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<f64>,
    /// Why it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub navigations: u32,
    pub console: Kept,
    pub network: Kept,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_id: Option<String>,
}

/// How many records there are, and how many are gone because there were too many.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
pub struct Kept {
    pub count: usize,
    pub dropped: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Tabs {
    /// Whether the browser runs.
    pub running: bool,
    /// Whether it is being recorded.
    pub recorded: bool,
    pub tabs: Vec<TabStatus>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleHistory {
    pub messages: Vec<ConsoleRecord>,
    #[serde(flatten)]
    pub extent: Extent,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkHistory {
    pub requests: Vec<NetworkRecord>,
    #[serde(flatten)]
    pub extent: Extent,
}

/// How much of the whole an answer holds.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Extent {
    /// Records that there are, whether they fit the filter or not.
    pub total: usize,
    /// Records of the answer that happened before this client first looked.
    pub historical: usize,
    /// Records that are gone because there were too many.
    pub dropped: u64,
    /// Records that were lost when a hub was killed.
    pub lost: u64,
    /// The latest sequence number there is; pass it as `since` to get only what comes after.
    pub latest: Seq,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Cleared {
    pub console: usize,
    pub network: usize,
}

/// `POST .../execute`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecuteRequest {
    /// A CDP command, such as `Page.reload`.
    #[schema(min_length = 1, pattern = "^[\\x00-\\x7f]+$")]
    pub method: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub params: Option<Box<RawValue>>,
    /// Milliseconds; 30,000 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_whole_number")]
    #[schema(minimum = 1, maximum = 600000)]
    pub timeout: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Executed {
    /// The browser's answer, unchanged.
    #[schema(value_type = Object)]
    pub result: Box<RawValue>,
    /// Milliseconds.
    pub execution_time: f64,
}

/// `POST .../evaluate`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct EvaluateRequest {
    pub expression: String,
    /// Milliseconds; 30,000 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_whole_number")]
    #[schema(minimum = 1, maximum = 600000)]
    pub timeout: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evaluated {
    /// JavaScript's type: `string`, `number`, `object`, `undefined`, ...
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtype: Option<String>,
    /// The value, for what JSON can hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// For people: what a REPL would print.
    pub text: String,
    /// The tab it ran in.
    pub tab: String,
    /// Milliseconds.
    pub execution_time: f64,
}

/// `POST /api/connect`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ConnectRequest {
    /// `127.0.0.1` if absent; no other machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = r"^(localhost|127\.0\.0\.1|::1|\[::1\])$")]
    pub host: Option<String>,
    #[serde(deserialize_with = "whole_number")]
    #[schema(minimum = 1, maximum = 65535)]
    pub port: u16,
    /// The first page if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_id: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Connected {
    pub connection_id: String,
    pub target_info: TargetSummary,
    pub is_new_connection: bool,
    /// The name under which the browser can be asked for its other tabs.
    pub browser: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TargetSummary {
    pub id: String,
    pub title: String,
    pub url: String,
    #[serde(rename = "type")]
    pub kind: String,
}

/// A connection, as `/api/connections` lists it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionStatus {
    pub id: String,
    pub host: String,
    pub port: u16,
    pub target_id: String,
    pub browser: String,
    pub ws_url: String,
    /// Milliseconds since 1970.
    pub created_at: f64,
    pub last_used: f64,
    pub is_healthy: bool,
    pub client_count: usize,
    pub target_info: TargetSummary,
    pub health: Health,
    pub metrics: Metrics,
}

/// What the health monitor knows of a connection.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    pub connection_id: String,
    pub is_healthy: bool,
    /// `healthy`, `suspicious`, `reconnecting`, `closed` or `failed`.
    pub state: String,
    /// Milliseconds since 1970; absent before the first probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_check: Option<f64>,
    pub error_count: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    pub connection_id: String,
    /// Milliseconds since the connection was made.
    pub uptime: f64,
    pub message_count: u64,
    pub request_count: u64,
    pub client_count: usize,
    /// Milliseconds since 1970.
    pub last_activity: f64,
    pub reconnection_count: u32,
    pub commands: CommandMetrics,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandMetrics {
    pub total_commands: u64,
    pub successful_commands: u64,
    pub failed_commands: u64,
    /// Milliseconds.
    pub average_execution_time: f64,
    pub timeout_count: u64,
}

/// JSON knows one kind of number, and some write every number with a point.
fn whole_number<'de, D: Deserializer<'de>, T: TryFrom<u64>>(deserializer: D) -> Result<T, D::Error> {
    let number = serde_json::Number::deserialize(deserializer)?;
    let whole = number.as_f64().filter(|number| number.fract() == 0.0 && (0.0..1e15).contains(number));
    let value = number.as_u64().or(whole.map(|number| number as u64));
    value.and_then(|value| T::try_from(value).ok()).ok_or_else(|| {
        serde::de::Error::custom(format_args!("invalid value: `{number}` is not a number that fits"))
    })
}

fn some_whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    struct Whole(#[serde(deserialize_with = "whole_number")] u64);
    Ok(Option::<Whole>::deserialize(deserializer)?.map(|Whole(number)| number))
}
