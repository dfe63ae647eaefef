use super::*;
use proptest::prelude::*;

fn refusal(text: &str) -> String {
    Command::parse(text).expect_err("should be refused").reply()
}

fn code(code: i32, message: &str) -> String {
    reply::error(None, None, code, message)
}

#[test]
fn a_plain_command_is_read() {
    let text = r#" {"id":3,"method":"Page.navigate","params":{"url":"x"},"sessionId":"AB"} "#;
    let command = Command::parse(text).unwrap();
    assert_eq!((command.id, &*command.method, command.session.as_deref()), (3, "Page.navigate", Some("AB")));
    assert_eq!(command.params, Some(r#"{"url":"x"}"#));
    assert_eq!(command.body(&Bytes::copy_from_slice(text.as_bytes())), text.trim().as_bytes());
}

#[test]
fn broken_json_is_refused_in_chromiums_words() {
    for (text, message) in [
        ("not json", "JSON: invalid token at position 0"),
        ("", "JSON: no input at position 0"),
        ("/", "JSON: invalid token at position 0"),
        (r#"{"id":9,"method":"Browser.getVersion"} x"#, "JSON: unprocessed input remains at position 39"),
        (r#"{"id":9,"method":"Browser.getVersion",}"#, "JSON: unexpected map end at position 38"),
        (r#"{"id":11,"method":"Browser.getVersion""#, "JSON: comma or map end expected at position 38"),
    ] {
        assert_eq!(refusal(text), code(-32700, message), "{text}");
    }
}

#[test]
fn a_defective_envelope_is_refused_in_chromiums_words() {
    for (text, reply) in [
        ("[]", r#"{"error":{"code":-32600,"message":"Message must be an object"}}"#),
        ("{}", r#"{"error":{"code":-32600,"message":"Message must have integer 'id' property"}}"#),
        (
            r#"{"id":1}"#,
            r#"{"id":1,"error":{"code":-32600,"message":"Message must have string 'method' property"}}"#,
        ),
        (
            r#"{"id":6,"method":"A.b","sessionId":7}"#,
            r#"{"id":6,"error":{"code":-32600,"message":"Message may have string 'sessionId' property"}}"#,
        ),
        (
            r#"{"id":6,"method":"A.b","params":7}"#,
            r#"{"id":6,"error":{"code":-32600,"message":"Message may have object 'params' property"}}"#,
        ),
        (
            r#"{"id":7,"id":8,"method":"A.b"}"#,
            r#"{"id":7,"error":{"code":-32700,"message":"CBOR: duplicate map key at position 12"}}"#,
        ),
        (
            r#"{"id":13,"method":"Browser.getVersion","sessionId":"a","sessionId":"b"}"#,
            r#"{"id":13,"error":{"code":-32700,"message":"CBOR: duplicate map key at position 50"}}"#,
        ),
        (
            r#"{"id":9,"method":"A.b","extra":1}"#,
            r#"{"id":9,"error":{"code":-32600,"message":"Message has property other than 'id', 'method', 'sessionId', 'params'"}}"#,
        ),
    ] {
        assert_eq!(refusal(text), reply, "{text}");
    }
}

#[test]
fn ids_are_integers_of_32_bits_in_any_notation() {
    for (id, expected) in [
        ("1.0", Some(1)),
        ("-3", Some(-3)),
        ("1e2", Some(100)),
        ("1.5", None),
        ("4294967297", None),
        ("\"1\"", None),
    ] {
        let text = format!(r#"{{"id":{id},"method":"A.b"}}"#);
        assert_eq!(Command::parse(&text).ok().map(|command| command.id), expected, "{id}");
    }
}

#[test]
fn what_chromium_lets_pass_passes() {
    for text in [
        "{\"\\u0069d\":12,\"method\":\"A.b\"}",
        "\u{c}{\"id\":12,\"method\":\"A.b\"}",
        "{\"id\":12,\"method\":\"A\tb\"}",
        "{\"id\":12,\"method\":\"A.b\",\"params\":{\"x\":nulx}}",
    ] {
        assert_eq!(Command::parse(text).unwrap().id, 12, "{text}");
    }
    let text = "{\"id\":12,\"method\":\"A\0b\"}";
    let command = Command::parse(text).unwrap();
    assert_eq!(command.body(&Bytes::from_static(text.as_bytes())), r#"{"id":12,"method":"A\u0000b"}"#);
}

#[test]
fn what_chromium_refuses_is_refused() {
    for (text, message) in [
        ("/* c */{}", "JSON: invalid token at position 0"),
        (r#"{"id":1,"method":"A\x41b"}"#, "JSON: invalid string at position 17"),
        (r#"{"id":1,"method":"A\u00g1"}"#, "JSON: invalid token at position 17"),
        (r#"{"id":1,"method":"A.b","params":{"x":1e999}}"#, "JSON: invalid number at position 37"),
        (r#"{"id":1,"method":"A.b","params":{"x":01}}"#, "JSON: invalid token at position 37"),
        (r#"{"id":1,"method":"A.b","params":{"x":nul}}"#, "JSON: comma or map end expected at position 42"),
        (r#"{"id" 1}"#, "JSON: colon expected at position 6"),
        (r#"{"a":]}"#, "JSON: value expected at position 5"),
        ("[1 2]", "JSON: comma or array end expected at position 3"),
        ("[1,]", "JSON: unexpected array end at position 3"),
    ] {
        assert_eq!(refusal(text), code(-32700, message), "{text}");
    }
}

#[test]
fn an_empty_session_means_the_root_and_is_taken_out() {
    let text = r#"{"id":6,"method":"A.b","params":{"x":1},"sessionId":""}"#;
    let command = Command::parse(text).unwrap();
    assert_eq!(command.session, None);
    assert_eq!(
        command.body(&Bytes::from_static(text.as_bytes())),
        r#"{"id":6,"method":"A.b","params":{"x":1}}"#
    );
}

#[test]
fn nesting_beyond_chromiums_limit_is_refused() {
    let deep = |levels: usize| {
        format!(r#"{{"id":1,"method":"A.b","params":{{"a":{}{}}}}}"#, "[".repeat(levels), "]".repeat(levels))
    };
    assert!(Command::parse(&deep(200)).is_ok());
    assert!(refusal(&deep(400)).contains("JSON: stack limit exceeded"));
}

#[test]
fn answers_and_events_are_read_from_their_ends() {
    let text = r#"{"id":-4,"result":{"sessionId":"NO","a":"\"sessionId\":\"NO\""},"sessionId":"AB12"}"#;
    let message = BrowserMessage::parse_ends(text).unwrap();
    assert_eq!((message.id, message.method, message.session), (Some(-4), None, Some("AB12")));
    let event = BrowserMessage::parse_ends(r#"{"method":"A.b","params":{},"sessionId":"AB"}"#).unwrap();
    assert_eq!((event.id, event.method), (None, Some("A.b")));
}

#[test]
fn a_message_of_the_root_has_no_session() {
    let message = BrowserMessage::parse(r#"{"id":1,"result":{"sessionId":"AB"}}"#).unwrap();
    assert_eq!((message.id, message.session), (Some(1), None));
    assert_eq!(BrowserMessage::parse("[1]"), None);
}

#[test]
fn the_session_is_cut_out_wherever_it_stands() {
    for text in [
        r#"{"id":1,"result":{},"sessionId":"AB"}"#,
        r#"{"id":1,"sessionId":"AB","result":{}}"#,
        r#"{"sessionId":"AB","id":1,"result":{}}"#,
        r#"{ "sessionId" : "AB" , "id":1,"result":{} }"#,
        r#"{"id":1,"result":{}, "sessionId" : "A-B" }"#,
    ] {
        let message = BrowserMessage::parse(text).unwrap();
        assert!(message.session.is_some(), "{text}");
        let stripped = message.without_session(&Bytes::copy_from_slice(text.as_bytes()));
        let value: serde_json::Value = serde_json::from_slice(&stripped).unwrap();
        assert_eq!(value, serde_json::json!({"id":1,"result":{}}), "{text}");
    }
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "\\PC*".prop_map(Into::into),
        Just(r#"","sessionId":"EVIL"}"#.into()),
        Just(serde_json::json!({"sessionId":"EVIL"})),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::vec(("\\PC*", inner), 0..6)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_the_payload_both_readings_agree(id in any::<i32>(), payload in any_json(), session in "[0-9A-F]{32}") {
        let text = format!(r#"{{"id":{id},"result":{payload},"sessionId":"{session}"}}"#);
        let ends = BrowserMessage::parse_ends(&text).unwrap();
        prop_assert_eq!(&ends, &BrowserMessage::parse_all(&text).unwrap());
        prop_assert_eq!((ends.id, ends.session), (Some(id), Some(session.as_str())));
    }

    #[test]
    fn a_payload_never_passes_for_a_session(payload in any_json()) {
        let text = format!(r#"{{"id":1,"result":{payload}}}"#);
        prop_assert_eq!(BrowserMessage::parse(&text).unwrap().session, None);
    }

    #[test]
    fn every_json_object_is_scanned_and_no_text_panics(text in "\\PC*", payload in any_json()) {
        let _ = Command::parse(&text);
        let command = format!(r#"{{"id":1,"method":"A.b","params":{{"p":{payload}}}}}"#);
        prop_assert!(Command::parse(&command).is_ok());
    }
}
