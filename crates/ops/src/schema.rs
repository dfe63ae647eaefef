//! The input of an op: its fields are written once, and feed the parser, the JSON schema and the documents.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::error::OpError;

/// What a field may hold.
pub(crate) trait Described {
    /// Absent is allowed.
    const IS_OPTIONAL: bool = false;
    fn schema() -> Value;
}

/// A field as models and people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub name: &'static str,
    /// Empty: taken, but not offered.
    pub about: &'static str,
    /// Other names under which it is taken.
    pub aliases: &'static [&'static str],
    pub is_optional: bool,
    pub schema: Value,
}

/// The fields of an op. `input!` implements it.
pub(crate) trait Input: DeserializeOwned + Send {
    fn fields() -> Vec<Field>;
}

/// The JSON schema of an object with these fields.
pub(crate) fn object_schema(fields: &[Field]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in fields.iter().filter(|field| !field.about.is_empty()) {
        let mut schema = field.schema.clone();
        schema["description"] = json!(field.about);
        properties.insert(field.name.to_owned(), schema);
        if !field.is_optional {
            required.push(field.name);
        }
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Reads an input; what is wrong is told with the name of its field.
pub(crate) fn read<I: Input>(op: &str, input: Map<String, Value>) -> Result<I, OpError> {
    serde_path_to_error::deserialize(Value::Object(input)).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.inner().to_string();
        let fields: Vec<String> = I::fields()
            .iter()
            .filter(|field| !field.about.is_empty())
            .map(|field| format!("`{}`", field.name))
            .collect();
        let message = match path.as_str() {
            "." | "?" => format!("{op}: {problem}"),
            path => format!("{op}: `{path}`: {problem}"),
        };
        let hint = match fields.is_empty() {
            true => format!("{op} takes no fields of its own"),
            false => format!("{op} takes {}", fields.join(", ")),
        };
        OpError::bad_input(message, hint)
    })
}

/// Declares the input of an op: `input!(Click { target ["ref"]: Target = "what it is", ... });`.
macro_rules! input {
    ($name:ident { $( $field:ident $( [ $($alias:literal),* ] )? : $type:ty = $about:literal ),* $(,)? }) => {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            $( $( $(#[serde(alias = $alias)])* )? pub(crate) $field: $type, )*
        }
        impl $crate::schema::Input for $name {
            fn fields() -> Vec<$crate::schema::Field> {
                vec![ $( $crate::schema::Field {
                    name: stringify!($field),
                    about: $about,
                    aliases: &[ $( $($alias),* )? ],
                    is_optional: <$type as $crate::schema::Described>::IS_OPTIONAL,
                    schema: <$type as $crate::schema::Described>::schema(),
                } ),* ]
            }
        }
    };
}

/// Declares a field that is one of a few words: `choice!(Button { Left = "left", ... });`.
macro_rules! choice {
    ($name:ident { $( $variant:ident = $word:literal $( | $alias:literal )* ),* $(,)? }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
        pub(crate) enum $name { $( #[serde(rename = $word $(, alias = $alias)*)] $variant ),* }
        impl $name {
            #[allow(dead_code)]
            pub(crate) fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $word ),* }
            }
        }
        impl $crate::schema::Described for $name {
            fn schema() -> serde_json::Value {
                serde_json::json!({"enum": [ $($word),* ]})
            }
        }
    };
}

impl<T: Described> Described for Option<T> {
    const IS_OPTIONAL: bool = true;
    fn schema() -> Value {
        T::schema()
    }
}

impl<T: Described> Described for Vec<T> {
    fn schema() -> Value {
        json!({"type": "array", "items": T::schema()})
    }
}

impl Described for String {
    fn schema() -> Value {
        json!({"type": "string"})
    }
}

impl Described for bool {
    fn schema() -> Value {
        json!({"type": "boolean"})
    }
}

impl Described for f64 {
    fn schema() -> Value {
        json!({"type": "number"})
    }
}

impl Described for u64 {
    fn schema() -> Value {
        json!({"type": "integer", "minimum": 0})
    }
}

impl Described for i64 {
    fn schema() -> Value {
        json!({"type": "integer"})
    }
}

impl Described for Value {
    fn schema() -> Value {
        json!({})
    }
}

impl Described for Map<String, Value> {
    fn schema() -> Value {
        json!({"type": "object"})
    }
}
