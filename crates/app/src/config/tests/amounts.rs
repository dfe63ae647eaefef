//! The spelling of durations, sizes and argument lists.

use std::time::Duration;

use super::super::units::{parse_bytes, parse_duration, show_bytes, show_duration, split_words};

#[test]
fn durations_are_read_and_written() {
    for (text, millis, shown) in [
        ("5m", 300_000, "5m"),
        ("30s", 30_000, "30s"),
        ("1h30m", 5_400_000, "1h30m"),
        ("500ms", 500, "500ms"),
        ("1h1m1s1ms", 3_661_001, "1h1m1s1ms"),
        ("90", 90_000, "1m30s"),
        ("0", 0, "0"),
        ("0s", 0, "0"),
        (" 2s ", 2_000, "2s"),
    ] {
        assert_eq!(parse_duration(text), Some(Duration::from_millis(millis)), "for {text:?}");
        assert_eq!(show_duration(Duration::from_millis(millis)), shown);
    }
    for text in
        ["", "m", "5x", "1.5s", "-1s", "+1s", "30m1h", "5m5m", "5m3", "1h 30m", "5M", "99999999999999999h"]
    {
        assert_eq!(parse_duration(text), None, "for {text:?}");
    }
}

#[test]
fn byte_sizes_are_read_and_written() {
    for (text, bytes, shown) in [
        ("32MiB", 32 << 20, "32MiB"),
        ("64KiB", 64 << 10, "64KiB"),
        ("1GiB", 1 << 30, "1GiB"),
        ("10MB", 10_000_000, "10000000"),
        ("3 kb", 3_000, "3000"),
        ("2GB", 2_000_000_000, "1953125KiB"),
        ("1000B", 1_000, "1000"),
        ("1536", 1_536, "1536"),
        ("0", 0, "0"),
    ] {
        assert_eq!(parse_bytes(text), Some(bytes), "for {text:?}");
        assert_eq!(show_bytes(bytes), shown);
        assert_eq!(parse_bytes(shown), Some(bytes));
    }
    for text in ["", "MiB", "1.5MiB", "-1", "32M", "1TiB", "99999999999GiB"] {
        assert_eq!(parse_bytes(text), None, "for {text:?}");
    }
}

#[test]
fn words_are_split_with_minimal_quotes() {
    let split = |text: &str| split_words(text).expect("quotes are closed");
    assert_eq!(split(""), Vec::<String>::new());
    assert_eq!(split("  a\tb\n"), ["a", "b"]);
    assert_eq!(split(r#"--a="b c"d '' "" 'x "y" \'"#), ["--a=b cd", "", "", r#"x "y" \"#]);
    assert_eq!(split(r#""a \" \\ \n""#), [r#"a " \ \n"#]);
    assert_eq!(split(r"--dir=C:\Users\x"), [r"--dir=C:\Users\x"]);
    for text in ["'a", "\"a", "a\"", "\"a\\\""] {
        assert_eq!(split_words(text), None, "for {text:?}");
    }
}
