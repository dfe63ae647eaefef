//! Times of day and dates, in UTC: the standard library knows no time zones, and what a page logged can
//! then be compared with the logs of servers.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: i64 = 86_400_000;

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX)
}

/// A moment as a person reads it; the date is left out for one of today.
pub(crate) fn shown(at: f64, now: i64) -> String {
    let at = at as i64;
    let ms = at.rem_euclid(DAY);
    let time =
        format!("{:02}:{:02}:{:02}.{:03}Z", ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60, ms % 1_000);
    if at.div_euclid(DAY) == now.div_euclid(DAY) {
        return time;
    }
    let (year, month, day) = date_of(at.div_euclid(DAY));
    format!("{year:04}-{month:02}-{day:02} {time}")
}

/// Reads `HH:MM`, `HH:MM:SS` or `HH:MM:SS.mmm`, in milliseconds since midnight.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next().unwrap_or("00"));
    if parts.next().is_some() {
        return None;
    }
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // What is finer than a millisecond makes no difference here.
    let millis: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let time = (number(hours, 0, 23)? * 60 + number(minutes, 0, 59)?) * 60 + number(seconds, 0, 60)?;
    Some(time * 1_000 + millis)
}

/// Reads an RFC 3339 moment, such as `2026-01-31T12:00:00Z`, in milliseconds since 1970. A space may stand
/// for the `T`, the seconds may be left out, and a missing offset means UTC.
pub(crate) fn parse_moment(text: &str) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let time = rest.strip_prefix(['T', 't', ' '])?;
    let (time, offset) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => (&time[..at], parse_offset(&time[at..])?),
        None => (time, 0),
    };
    Some(parse_date(date)? * DAY + parse_time(time)? - offset)
}

/// Reads `Z` or `+HH:MM`, in milliseconds.
fn parse_offset(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    Some(sign * (number(hours, 0, 23)? * 60 + number(minutes, 0, 59)?) * 60_000)
}

/// Reads `YYYY-MM-DD`, in days since 1970.
fn parse_date(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let year: i64 = parts
        .next()
        .filter(|year| year.len() == 4 && year.bytes().all(|b| b.is_ascii_digit()))?
        .parse()
        .ok()?;
    let (month, day) = (number(parts.next()?, 1, 12)?, number(parts.next()?, 1, 31)?);
    let days = days_until(year, month, day);
    // The 31st of a shorter month would be another day.
    (date_of(days) == (year, month, day)).then_some(days)
}

/// Two digits within limits.
fn number(text: &str, least: i64, most: i64) -> Option<i64> {
    let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && (least..=most).contains(number))
}

/// The Gregorian calendar repeats after 400 years; counting years from March puts the leap day last.
const ERA: i64 = 146_097;
/// Days from the first of March of the year 0 until 1970.
const TO_1970: i64 = 719_468;

fn days_until(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - TO_1970
}

fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + TO_1970;
    let (era, of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_days_agree_over_centuries() {
        assert_eq!(date_of(0), (1970, 1, 1));
        assert_eq!(date_of(19_782), (2024, 2, 29));
        for days in -200_000..200_000 {
            let (year, month, day) = date_of(days);
            assert_eq!(days_until(year, month, day), days);
        }
    }

    #[test]
    fn a_moment_of_another_day_has_its_date() {
        let at = 1_709_210_096_789;
        assert_eq!(shown(at as f64, at), "12:34:56.789Z");
        assert_eq!(shown(at as f64, at + DAY), "2024-02-29 12:34:56.789Z");
    }

    #[test]
    fn moments_are_read_with_and_without_an_offset() {
        let at = Some(1_709_210_096_000);
        for text in ["2024-02-29T12:34:56Z", "2024-02-29 12:34:56", "2024-02-29T14:04:56+01:30"] {
            assert_eq!(parse_moment(text), at, "{text}");
        }
        assert_eq!(parse_moment("2024-02-29T12:34"), Some(1_709_210_040_000));
        assert_eq!(parse_moment("1970-01-01t00:00:00.5z"), Some(500));
        for text in
            ["", "2024-02-30T00:00Z", "2024-2-29T00:00", "2024-02-29", "2024-02-29T24:00", "2024-02-29T1"]
        {
            assert_eq!(parse_moment(text), None, "{text}");
        }
    }

    #[test]
    fn times_of_day_are_read_to_the_millisecond() {
        assert_eq!(parse_time("09:05"), Some(32_700_000));
        assert_eq!(parse_time("00:00:01.2345"), Some(1_234));
        for text in ["9:05", "09", "09:60", "09:05:", "09:05:00.", "09:05:00:00", "+9:05"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}
