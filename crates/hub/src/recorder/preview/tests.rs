//! What Chromium 156 sends for the expression in each comment, and what DevTools makes of it.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn object(json: Value) -> RemoteObject {
    serde_json::from_value(json).unwrap()
}

fn shown(json: Value) -> String {
    argument(&object(json)).text
}

/// `{"type": "object", ...}` with a preview of the same type, subtype and description.
fn previewed(subtype: Option<&str>, description: &str, overflow: bool, properties: Value) -> Value {
    let mut preview = json!({
        "type": "object", "description": description, "overflow": overflow, "properties": properties,
    });
    let mut object = json!({"type": "object", "className": "C", "description": description, "objectId": "1"});
    if let Some(subtype) = subtype {
        preview["subtype"] = json!(subtype);
        object["subtype"] = json!(subtype);
    }
    object["preview"] = preview;
    object
}

fn plain(properties: Value) -> Value {
    previewed(None, "Object", false, properties)
}

fn array(length: usize, properties: Value) -> Value {
    previewed(Some("array"), &format!("Array({length})"), false, properties)
}

fn number(name: &str, value: i32) -> Value {
    json!({"name": name, "type": "number", "value": value.to_string()})
}

fn string(value: &str) -> Value {
    json!({"type": "string", "value": value})
}

fn said(args: &[Value]) -> String {
    line(&args.iter().cloned().map(object).collect::<Vec<_>>())
}

#[test]
fn primitives_are_shown_as_javascript_writes_them() {
    for (json, text) in [
        (json!({"type": "string", "value": "a\n'b'"}), "a\n'b'"),
        (json!({"type": "string", "value": ""}), ""),
        (json!({"type": "number", "value": 5e-7, "description": "5e-7"}), "5e-7"),
        (json!({"type": "number", "value": 7}), "7"),
        (json!({"type": "number", "unserializableValue": "NaN", "description": "NaN"}), "NaN"),
        (json!({"type": "number", "unserializableValue": "-0", "description": "-0"}), "-0"),
        (json!({"type": "number", "unserializableValue": "-Infinity"}), "-Infinity"),
        (json!({"type": "bigint", "unserializableValue": "10n", "description": "10n"}), "10n"),
        (json!({"type": "symbol", "description": "Symbol(s)"}), "Symbol(s)"),
        (json!({"type": "boolean", "value": true}), "true"),
        (json!({"type": "undefined"}), "undefined"),
        (json!({"type": "object", "subtype": "null", "value": null}), "null"),
    ] {
        assert_eq!(shown(json), text);
    }
}

#[test]
fn an_argument_has_the_value_that_json_can_hold() {
    let value = |json| argument(&object(json)).value;
    assert_eq!(value(string("a")), Some(json!("a")));
    assert_eq!(value(json!({"type": "number", "value": 1.5, "description": "1.5"})), Some(json!(1.5)));
    assert_eq!(value(json!({"type": "boolean", "value": false})), Some(json!(false)));
    assert_eq!(value(json!({"type": "object", "subtype": "null", "value": null})), Some(Value::Null));
    assert_eq!(value(json!({"type": "undefined"})), None);
    assert_eq!(value(json!({"type": "number", "unserializableValue": "NaN"})), None);
    assert_eq!(value(plain(json!([]))), None);
    let argument = argument(&object(array(0, json!([]))));
    assert_eq!((argument.kind.as_str(), argument.subtype.as_deref()), ("object", Some("array")));
}

#[test]
fn objects_show_their_properties() {
    // {a: 1, b: {x: 1}, c: [1, 2], d: 'q', e: null, f: undefined}
    let properties = json!([
        {"name": "a", "type": "number", "value": "1"},
        {"name": "b", "type": "object", "value": "Object"},
        {"name": "c", "type": "object", "value": "Array(2)", "subtype": "array"},
        {"name": "d", "type": "string", "value": "q"},
        {"name": "e", "type": "object", "value": "null", "subtype": "null"},
    ]);
    assert_eq!(
        shown(previewed(None, "Object", true, properties.clone())),
        "{a: 1, b: {…}, c: Array(2), d: 'q', e: null, …}"
    );
    assert_eq!(shown(plain(properties)), "{a: 1, b: {…}, c: Array(2), d: 'q', e: null}");
    assert_eq!(shown(plain(json!([]))), "{}");
    assert_eq!(shown(previewed(None, "Object", true, json!([]))), "{…}");
    assert_eq!(shown(previewed(None, "Point", false, json!([number("x", 1)]))), "Point {x: 1}");
    // An object without a preview says what it is.
    assert_eq!(shown(json!({"type": "object", "className": "Window", "description": "Window"})), "Window");
    assert_eq!(shown(json!({"type": "object", "value": {"a": 1}})), r#"{"a":1}"#);
}

#[test]
fn values_inside_an_object_are_short() {
    for (property, text) in [
        (json!({"type": "string", "value": "it's"}), r#""it's""#),
        (json!({"type": "string", "value": "a\nb"}), r"'a\nb'"),
        (json!({"type": "function", "value": ""}), "ƒ"),
        (json!({"type": "undefined", "value": "undefined"}), "undefined"),
        (json!({"type": "bigint", "value": "1n"}), "1n"),
        (json!({"type": "symbol", "value": "Symbol(z)"}), "Symbol(z)"),
        (json!({"type": "object", "value": "Point"}), "Point"),
        (json!({"type": "object", "value": "console.log.w"}), "c…e.log.w"),
        (json!({"type": "object", "subtype": "node", "value": "div#a.b.c"}), "div#a.b.c"),
        (json!({"type": "object", "subtype": "date", "value": "Thu Jan 01 1970"}), "Thu Jan 01 1970"),
        (json!({"type": "object", "subtype": "regexp", "value": "/x/g"}), "/x/g"),
        (json!({"type": "object", "subtype": "promise", "value": "Promise"}), "Promise"),
        (json!({"type": "object", "subtype": "map", "value": "Map(3)"}), "Map(3)"),
    ] {
        let mut property = property;
        property["name"] = json!("p");
        assert_eq!(shown(plain(json!([property]))), format!("{{p: {text}}}"));
    }
}

#[test]
fn strings_inside_an_object_are_literals() {
    for (text, literal) in [
        ("", "''"),
        ("plain", "'plain'"),
        ("it's", r#""it's""#),
        (r#"it's "it""#, r#"`it's "it"`"#),
        (r#"'"`"#, r#"'\'"`'"#),
        (r#"'"${"#, r#"'\'"${'"#),
        (r#"say "hi""#, r#"'say "hi"'"#),
        ("\\ \t \r \u{8} \u{b} \u{c} \u{0} \u{1b} \u{85}", r"'\\ \t \r \b \v \f \x00 \x1B \x85'"),
        ("<b> <script> </script> <!-- x", r"'<b> \x3Cscript> \x3C/script> \x3C!-- x'"),
        ("ü…🦀", "'ü…🦀'"),
    ] {
        assert_eq!(words::quoted(text), literal);
    }
}

#[test]
fn names_with_white_space_at_their_ends_are_quoted() {
    for (name, text) in
        [(" sp", "\" sp\""), ("", "\"\""), ("a\nb", "\"a↵b\""), ("a b", "a b"), ("ä-ö", "ä-ö")]
    {
        assert_eq!(shown(plain(json!([number(name, 1)]))), format!("{{{text}: 1}}"));
    }
}

#[test]
fn methods_and_private_properties_come_last_and_getters_not_at_all() {
    let properties = json!([
        {"name": "f", "type": "function", "value": ""},
        number("#p", 1),
        {"name": "g", "type": "accessor"},
        number("q", 2),
    ]);
    assert_eq!(shown(plain(properties)), "{q: 2, f: ƒ, #p: 1}");
    // An array's getters are shown, for want of anything else in their place.
    assert_eq!(shown(array(1, json!([{"name": "0", "type": "accessor"}]))), "[(...)]");
}

#[test]
fn arrays_show_their_length_from_two_on() {
    assert_eq!(shown(array(0, json!([]))), "[]");
    assert_eq!(shown(array(1, json!([number("0", 1)]))), "[1]");
    let elements = json!([number("0", 1), {"name": "1", "type": "object", "value": "Object"}]);
    assert_eq!(shown(array(2, elements)), "(2) [1, {…}]");
    let elements = json!([number("1", 2), number("0", 1), number("x", 3), number("01", 4), number("2", 5)]);
    assert_eq!(shown(array(2, elements)), "(2) [1, 2, x: 3, 01: 4, 2: 5]");
}

#[test]
fn holes_of_an_array_are_counted_unless_the_preview_has_them() {
    assert_eq!(shown(array(3, json!([number("0", 1), number("2", 3)]))), "(3) [1, empty, 3]");
    assert_eq!(shown(array(5, json!([]))), "(5) [empty × 5]");
    assert_eq!(shown(array(9, json!([number("3", 1)]))), "(9) [empty × 3, 1, empty × 5]");
    let elements = json!([number("0", 0), number("1", 1)]);
    assert_eq!(shown(previewed(Some("array"), "Array(200)", true, elements)), "(200) [0, 1, …]");
    let elements = json!([number("0", 0), number("7", 1)]);
    assert_eq!(shown(previewed(Some("array"), "Array(200)", true, elements)), "(200) [0, 7: 1, …]");
}

#[test]
fn other_kinds_of_arrays_have_their_name() {
    // new Uint8Array(3)
    let properties = json!([
        number("0", 0), number("1", 0), number("2", 0),
        {"name": "buffer", "type": "object", "value": "ArrayBuffer(3)", "subtype": "arraybuffer"},
        number("byteLength", 3),
        {"name": "Symbol(Symbol.toStringTag)", "type": "string", "value": "Uint8Array"},
    ]);
    assert_eq!(
        shown(previewed(Some("typedarray"), "Uint8Array(3)", false, properties)),
        "Uint8Array(3) [0, 0, 0, buffer: ArrayBuffer(3), byteLength: 3, Symbol(Symbol.toStringTag): 'Uint8Array']"
    );
    // document.querySelectorAll('body')
    let properties = json!([{"name": "0", "type": "object", "value": "body", "subtype": "node"}]);
    assert_eq!(shown(previewed(Some("array"), "NodeList(1)", false, properties)), "NodeList [body]");
}

#[test]
fn maps_and_sets_show_their_entries() {
    // new Map([['k', {a: 1}], [{}, []], ['f', () => 1], ['m', new Map([[1, 2]])], ['x', {y: 1}], ...])
    let mut map = previewed(Some("map"), "Map(7)", true, json!([number("size", 7)]));
    map["preview"]["entries"] = json!([
        {
            "key": {"type": "string", "description": "k", "overflow": false, "properties": []},
            "value": {
                "type": "object", "description": "Object", "overflow": false, "properties": [number("a", 1)],
            },
        },
        {
            "key": {"type": "object", "description": "Object", "overflow": false, "properties": []},
            "value": {
                "type": "object", "subtype": "array", "description": "Array(0)",
                "overflow": false, "properties": [],
            },
        },
        {
            "key": {"type": "string", "description": "f", "overflow": false, "properties": []},
            "value": {"type": "function", "description": "()=>1", "overflow": false, "properties": []},
        },
        {
            "key": {"type": "string", "description": "m", "overflow": false, "properties": []},
            "value": {
                "type": "object", "subtype": "map", "description": "Map(1)",
                "overflow": true, "properties": [number("size", 1)],
            },
        },
        {
            "key": {"type": "string", "description": "x", "overflow": false, "properties": []},
            "value": {"type": "object", "description": "Object", "overflow": true, "properties": []},
        },
    ]);
    assert_eq!(shown(map), "Map(7) {'k' => {a: 1}, {} => [], 'f' => ƒ, 'm' => Map(1), 'x' => {…}, …}");

    let mut set = previewed(Some("set"), "Set(2)", false, json!([number("size", 2)]));
    set["preview"]["entries"] = json!([
        {"value": {"type": "number", "description": "1", "overflow": false, "properties": []}},
        {"value": {"type": "number", "description": "2", "overflow": false, "properties": []}},
    ]);
    assert_eq!(shown(set), "Set(2) {1, 2}");
    // Chromium leaves the entries of an empty one out.
    assert_eq!(
        shown(previewed(Some("map"), "Map(0)", false, json!([number("size", 0)]))),
        "Map(0) {size: 0}"
    );
}

#[test]
fn rows_of_a_table_are_shown() {
    // console.table([{a: 1, b: {c: 1}}, [1, 2]])
    let row = |description: &str, properties| json!({"type": "object", "description": description, "overflow": false, "properties": properties});
    let first = row("Object", json!([number("a", 1), {"name": "b", "type": "object", "value": "Object"}]));
    let mut second = row("Array(2)", json!([number("0", 1), number("1", 2)]));
    second["subtype"] = json!("array");
    let table = array(
        2,
        json!([
            {"name": "0", "type": "object", "value": "Object", "valuePreview": first},
            {"name": "1", "type": "object", "subtype": "array", "value": "Array(2)", "valuePreview": second},
        ]),
    );
    assert_eq!(shown(table), "(2) [{a: 1, b: {…}}, (2) [1, 2]]");
}

#[test]
fn promises_generators_and_wrappers_show_what_is_in_them() {
    let state = |value: &str| json!({"name": "[[PromiseState]]", "type": "string", "value": value});
    let promise = |properties| shown(previewed(Some("promise"), "Promise", false, properties));
    let pending = json!({"name": "[[PromiseResult]]", "type": "undefined", "value": "undefined"});
    assert_eq!(promise(json!([state("pending"), pending])), "Promise {<pending>}");
    let result = number("[[PromiseResult]]", 42);
    assert_eq!(promise(json!([result, state("fulfilled")])), "Promise {<fulfilled>: 42}");
    let error =
        json!({"name": "[[PromiseResult]]", "type": "object", "subtype": "error", "value": "Error: x"});
    assert_eq!(promise(json!([state("rejected"), error])), "Promise {<rejected>: Error: x}");

    let generator = json!([{"name": "[[GeneratorState]]", "type": "string", "value": "suspended"}]);
    assert_eq!(shown(previewed(Some("generator"), "Generator", false, generator)), "Generator {<suspended>}");
    let primitive = json!([{"name": "[[PrimitiveValue]]", "type": "string", "value": "ab"}]);
    assert_eq!(shown(previewed(None, "String", false, primitive)), "String {'ab'}");
    let target = json!([{"name": "[[WeakRefTarget]]", "type": "undefined", "value": "undefined"}]);
    assert_eq!(shown(previewed(None, "WeakRef", false, target)), "WeakRef {<cleared>}");
    let proxied = json!([number("a", 1)]);
    assert_eq!(shown(previewed(Some("proxy"), "Proxy(Object)", false, proxied)), "Proxy(Object) {a: 1}");
}

#[test]
fn some_objects_are_their_description() {
    let noise = || json!([number("lastIndex", 0)]);
    for (subtype, description) in [
        ("date", "Thu Jan 01 1970 00:00:00 GMT+0000 (Coordinated Universal Time)"),
        ("regexp", "/a+/g"),
        ("node", "p#i.x.y"),
        ("node", "#document"),
        ("error", "Error: boom\n    at f (http://h/a.js:1:13)\n    at http://h/a.js:2:1"),
        ("arraybuffer", "ArrayBuffer(8)"),
        ("dataview", "DataView(2)"),
    ] {
        assert_eq!(shown(previewed(Some(subtype), description, true, noise())), description);
    }
    let html = json!({
        "type": "object", "subtype": "trustedtype", "className": "TrustedHTML", "description": "<b>",
        "preview": {"type": "object", "subtype": "trustedtype", "description": "<b>", "overflow": false},
    });
    assert_eq!(shown(html), "TrustedHTML '<b>'");
}

#[test]
fn functions_show_their_name_and_parameters() {
    for (source, text) in [
        ("function foo(a,b){return 1}", "ƒ foo(a,b)"),
        ("function foo (a = () => {}, {b}) { if (a) { b() } }", "ƒ foo(a = () => {}, {b})"),
        ("function(){}", "ƒ ()"),
        ("function () { [native code] }", "ƒ ()"),
        ("function max() { [native code] }", "ƒ max()"),
        ("function*g(){}", "ƒ* g()"),
        ("function* g(){}", "ƒ* g()"),
        ("async function af(){}", "async ƒ af()"),
        ("async function* ag(x){}", "async ƒ* ag(x)"),
        ("m(){}", "ƒ m()"),
        ("*m(){}", "ƒ* m()"),
        ("m(x){ return y => y }", "ƒ m(x)"),
        ("get x(){return 1}", "ƒ x()"),
        ("()=>1", "()=>1"),
        ("async x=>2", "async x=>2"),
        ("async (x) => 2", "async (x) => 2"),
        ("(a,\nb) => 1", "(a, b) => 1"),
        ("(a,b) => { return 'a very long function body that is over sixty characters'; }", "(a,b) => {…}"),
        ("class A{}", "class A"),
        ("class A extends B { m() {} }", "class A"),
        ("class {}", "class"),
        ("class extends Map{}", "class extends Map"),
        ("classify(){}", "ƒ classify()"),
        ("functional(){}", "ƒ functional()"),
        ("", "ƒ ()"),
        ("=>", "=>"),
        (")({", "ƒ ()"),
    ] {
        assert_eq!(shown(json!({"type": "function", "className": "Function", "description": source})), text);
    }
}

#[test]
fn one_more_level_replaces_what_is_abbreviated() {
    let nested: BTreeMap<String, String> =
        [("b", "{x: 1}"), ("c", "(2) [1, 2]"), ("0", "{i: 1}"), ("e", "no")]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .into();
    let properties = json!([
        number("a", 1),
        {"name": "b", "type": "object", "value": "Object"},
        {"name": "c", "type": "object", "value": "Array(2)", "subtype": "array"},
        {"name": "d", "type": "object", "value": "Object"},
        {"name": "e", "type": "object", "value": "null", "subtype": "null"},
    ]);
    let whole = object(plain(properties));
    assert_eq!(with_properties(&whole, &nested), "{a: 1, b: {x: 1}, c: (2) [1, 2], d: {…}, e: null}");
    assert_eq!(with_properties(&whole, &BTreeMap::new()), argument(&whole).text);
    let list = object(array(1, json!([{"name": "0", "type": "object", "value": "Object"}])));
    assert_eq!(with_properties(&list, &nested), "[{i: 1}]");
    assert_eq!(with_properties(&object(string("b")), &nested), "b");
}

#[test]
fn arguments_are_joined_by_spaces() {
    assert_eq!(said(&[]), "");
    assert_eq!(said(&[string("a"), json!({"type": "number", "value": 1}), string("b c")]), "a 1 b c");
    assert_eq!(said(&[plain(json!([number("a", 1)])), string("%s"), string("b")]), "{a: 1} %s b");
    assert_eq!(said(&[string(""), string("")]), " ");
}

#[test]
fn specifiers_take_arguments() {
    let n = |value: f64| json!({"type": "number", "value": value, "description": value.to_string()});
    let nan = json!({"type": "number", "unserializableValue": "NaN", "description": "NaN"});
    for (args, text) in [
        (vec![string("%s is %d"), string("x"), n(42.0)], "x is 42"),
        (vec![string("%i %f"), n(-3.7), n(1.5)], "-3 1.5"),
        (vec![string("%d"), n(-0.5)], "0"),
        (vec![string("%d %f"), nan.clone(), nan], "NaN NaN"),
        (
            vec![string("%o %O"), plain(json!([number("a", 1)])), array(1, json!([number("0", 1)]))],
            "{a: 1} [1]",
        ),
        (vec![string("%o %O"), string("s"), string("s")], "'s' s"),
        (vec![string("%cred%c!"), string("color: red"), string(""), string("rest")], "red! rest"),
        (vec![string("%s"), plain(json!([number("a", 1)]))], "{a: 1}"),
        (vec![string("%s"), json!({"type": "object", "subtype": "null", "value": null})], "null"),
        // More and fewer arguments than specifiers.
        (vec![string("%s %d"), string("s")], "s %d"),
        (vec![string("%s"), string("a"), string("b"), n(1.0)], "a b 1"),
        (vec![string("%c")], "%c"),
        // What is no specifier.
        (vec![string("100%"), n(5.0), string("%%")], "100% 5 %%"),
        (vec![string("100%% of %x %"), n(5.0)], "100% of %x % 5"),
        (vec![string("%%s"), n(5.0)], "%s 5"),
        // What replaces %s is read again, what replaces %o is not.
        (vec![string("%s"), string("%d"), n(5.0)], "5"),
        (vec![string("%sd"), string("%"), n(5.0)], "5"),
        (vec![string("%O"), string("%d"), n(5.0)], "%d 5"),
    ] {
        assert_eq!(said(&args), text, "{args:?}");
    }
}

#[test]
fn numbers_are_converted_for_browsers_that_do_not() {
    let big = json!({"type": "bigint", "unserializableValue": "5n", "description": "5n"});
    let minus = json!({"type": "number", "unserializableValue": "-0", "description": "-0"});
    let infinite = json!({"type": "number", "unserializableValue": "Infinity", "description": "Infinity"});
    for (specifier, argument, text) in [
        ("%d", string("42.9"), "42"),
        ("%i", string(" -7px"), "-7"),
        ("%d", string("x1"), "NaN"),
        ("%d", string(""), "NaN"),
        ("%f", string("1.5x"), "1.5"),
        ("%f", string(".5e1e"), "5"),
        ("%f", string("-2e"), "-2"),
        ("%f", string("."), "NaN"),
        ("%f", string("-"), "NaN"),
        ("%f", string("-ü"), "NaN"),
        ("%d", big.clone(), "5"),
        ("%f", big, "5"),
        ("%d", minus.clone(), "0"),
        ("%f", minus, "0"),
        ("%d", infinite.clone(), "NaN"),
        ("%f", infinite, "Infinity"),
        ("%d", plain(json!([])), "NaN"),
        ("%f", json!({"type": "object", "subtype": "null", "value": null}), "NaN"),
        ("%d", json!({"type": "boolean", "value": true}), "NaN"),
    ] {
        assert_eq!(said(&[string(specifier), argument.clone()]), text, "{specifier} {argument}");
    }
}

/// Text with everything in it that the code looks at.
fn words() -> impl Strategy<Value = String> {
    let odd = r#"[a-zü🦀0-9 %'"`$\\{}()\[\]<>=*.#\n-]{0,12}|Array\([0-9]{0,12}\)|Object|%[sdifoOc%]|=>"#;
    prop_oneof![odd, Just("[[PromiseState]]".to_owned()), Just("[[PromiseResult]]".to_owned())]
}

fn kinds() -> impl Strategy<Value = String> {
    prop_oneof!["object|string|number|function|accessor|undefined|bigint|symbol|boolean", words()]
}

fn subtypes() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(
        "array|typedarray|null|node|map|set|promise|generator|proxy|error|trustedtype|[a-z]{3}",
    )
}

fn previews() -> impl Strategy<Value = Value> {
    let leaf = (kinds(), subtypes(), proptest::option::of(words())).prop_map(
        |(kind, subtype, description)| json!({"type": kind, "subtype": subtype, "description": description}),
    );
    leaf.prop_recursive(4, 32, 4, |inner| {
        let property = (words(), kinds(), subtypes(), words(), proptest::option::of(inner.clone())).prop_map(
            |(name, kind, subtype, value, preview)| {
                json!({
                    "name": name, "type": kind, "subtype": subtype, "value": value, "valuePreview": preview,
                })
            },
        );
        let entry = (proptest::option::of(inner.clone()), inner)
            .prop_map(|(key, value)| json!({"key": key, "value": value}));
        let properties = proptest::collection::vec(property, 0..4);
        let entries = proptest::option::of(proptest::collection::vec(entry, 0..3));
        (kinds(), subtypes(), words(), any::<bool>(), properties, entries).prop_map(
            |(kind, subtype, description, overflow, properties, entries)| {
                json!({
                    "type": kind, "subtype": subtype, "description": description, "overflow": overflow,
                    "properties": properties, "entries": entries,
                })
            },
        )
    })
}

fn objects() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        Just(Value::Null),
        words().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
    ];
    let texts = (proptest::option::of(words()), proptest::option::of(words()), proptest::option::of(words()));
    (kinds(), subtypes(), value, texts, proptest::option::of(previews())).prop_map(
        |(kind, subtype, value, (class, description, unserializable), preview)| {
            json!({
                "type": kind, "subtype": subtype, "value": value, "className": class,
                "description": description, "unserializableValue": unserializable, "preview": preview,
            })
        },
    )
}

/// JSON of any shape, in which a field may be of the wrong type.
fn anything() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), words().prop_map(Value::from)];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = "type|subtype|value|description|preview|properties|entries|name|key|overflow|x";
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(name, inner, 0..5).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_that_a_browser_sends_makes_it_panic(args in proptest::collection::vec(objects(), 0..5)) {
        let args: Vec<RemoteObject> = args.into_iter().map(object).collect();
        line(&args);
        let nested = BTreeMap::from([("a".to_owned(), "{}".to_owned())]);
        for object in &args {
            argument(object);
            with_properties(object, &nested);
        }
    }

    #[test]
    fn json_of_any_shape_is_read_or_refused(json in anything()) {
        if let Ok(object) = serde_json::from_value::<RemoteObject>(json) {
            line(&[object.clone(), object]);
        }
    }

    #[test]
    fn strings_without_specifiers_are_joined(texts in proptest::collection::vec("[^%]{0,20}", 0..6)) {
        let args: Vec<Value> = texts.iter().map(|text| string(text)).collect();
        prop_assert_eq!(said(&args), texts.join(" "));
    }

    #[test]
    fn a_literal_has_neither_control_characters_nor_bare_quotes(text in "(\\PC|[\u{0}-\u{1f}'\"`$\\{])*") {
        let literal = words::quoted(&text);
        let quote = literal.chars().next().unwrap();
        prop_assert!(literal.len() >= 2 && literal.ends_with(quote));
        let mut rest = literal[1..literal.len() - 1].chars();
        while let Some(c) = rest.next() {
            prop_assert!(!c.is_control() && c != quote, "{}", literal);
            if c == '\\' {
                prop_assert!(rest.next().is_some());
            }
        }
    }
}
