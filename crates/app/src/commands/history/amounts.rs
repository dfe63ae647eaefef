//! Sizes and durations in a few characters.

/// Bytes, such as `0 B`, `1.2 kB` or `34 MB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    let mut amount = bytes as f64 / 1_000.0;
    let mut unit = 0;
    // What would be rounded to a thousand is one of the next unit.
    while amount >= 999.5 && unit + 1 < UNITS.len() {
        amount /= 1_000.0;
        unit += 1;
    }
    let digits = usize::from(amount < 9.95);
    format!("{amount:.digits$} {}", UNITS[unit])
}

/// Milliseconds, such as `0.4 ms`, `34 ms`, `1.2 s` or `3 min`.
pub(crate) fn duration(ms: f64) -> String {
    match ms {
        ms if ms < 9.95 => format!("{ms:.1} ms"),
        ms if ms < 999.5 => format!("{ms:.0} ms"),
        ms if ms < 9_950.0 => format!("{:.1} s", ms / 1_000.0),
        ms if ms < 119_500.0 => format!("{:.0} s", ms / 1_000.0),
        ms => format!("{:.0} min", ms / 60_000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_or_three_digits() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (9_949, "9.9 kB"),
            (9_960, "10 kB"),
            (999_400, "999 kB"),
            (999_600, "1.0 MB"),
            (34_000_000, "34 MB"),
            (5_600_000_000, "5.6 GB"),
            (2_000_000_000_000_000, "2000 TB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn durations_change_their_unit() {
        for (ms, text) in [
            (0.0, "0.0 ms"),
            (0.42, "0.4 ms"),
            (34.4, "34 ms"),
            (999.6, "1.0 s"),
            (12_345.0, "12 s"),
            (180_000.0, "3 min"),
        ] {
            assert_eq!(duration(ms), text);
        }
    }
}
