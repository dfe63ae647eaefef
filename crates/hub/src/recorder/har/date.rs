//! Dates: milliseconds since 1970 as ISO 8601, and what servers write into `Expires`.

const DAY: i64 = 86_400_000;
/// The years 0000 to 9999, beyond which ISO 8601 needs an agreement.
const FIRST: f64 = -62_167_219_200_000.0;
const LAST: f64 = 253_402_300_799_999.0;

/// `2015-10-21T07:28:00.000Z`.
pub(super) fn iso(milliseconds: f64) -> String {
    // Not a number becomes 1970: a date has to stand there.
    let whole = milliseconds.clamp(FIRST, LAST).floor() as i64;
    let (year, month, day) = civil(whole.div_euclid(DAY));
    let time = whole.rem_euclid(DAY);
    let (hour, minute) = (time / 3_600_000, time / 60_000 % 60);
    let (second, fraction) = (time / 1000 % 60, time % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z")
}

/// A cookie's date, in milliseconds since 1970, read as RFC 6265 (5.1.1) has it: the parts may come in
/// any order, and whatever cannot be one of them is skipped.
pub(super) fn cookie_date(text: &str) -> Option<f64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == ':')) {
        if time.is_none() && clock(token).is_some() {
            time = clock(token);
        } else if day.is_none() && number(token, 1..=2).is_some() {
            day = number(token, 1..=2);
        } else if month.is_none() && month_named(token).is_some() {
            month = month_named(token);
        } else if year.is_none() {
            year = number(token, 2..=4);
        }
    }
    let year = match year? {
        year @ 0..=69 => 2000 + year,
        year @ 70..=99 => 1900 + year,
        year => year,
    };
    let ((hour, minute, second), day, month) = (time?, day?, month?);
    let days = days(year, month, day);
    // A day that the month does not have is found where it is not written.
    let exists = civil(days) == (year, month, day);
    if !exists || year < 1601 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some((days * DAY + hour * 3_600_000 + minute * 60_000 + second * 1000) as f64)
}

fn clock(token: &str) -> Option<(i64, i64, i64)> {
    let mut parts = token.split(':').map(|part| number(part, 1..=2));
    let time = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(time)
}

fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let plain = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

fn month_named(text: &str) -> Option<i64> {
    let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let name = text.get(..3)?.to_ascii_lowercase();
    months.iter().position(|month| *month == name).map(|index| index as i64 + 1)
}

/// Year, month and day of a number of days since 1970. Years are counted from March, so that the leap
/// day is the last of one, in eras of 400 years, which all have the same number of days.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months + 2) / 5 + 1;
    let month = if months < 10 { months + 3 } else { months - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// The opposite of `civil`.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let months = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * months + 2) / 5 + day - 1;
    era * 146_097 + 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_in_utc() {
        for (milliseconds, text) in [
            (0.0, "1970-01-01T00:00:00.000Z"),
            (-1.0, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000.0, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999.0, "2000-02-29T23:59:59.999Z"),
            (951_868_800_000.0, "2000-03-01T00:00:00.000Z"),
            (1_445_412_480_000.0, "2015-10-21T07:28:00.000Z"),
            (1_709_210_096_789.9, "2024-02-29T12:34:56.789Z"),
            (1_735_689_599_999.0, "2024-12-31T23:59:59.999Z"),
            (1_740_787_200_000.0, "2025-03-01T00:00:00.000Z"),
            (4_107_542_400_000.0, "2100-03-01T00:00:00.000Z"),
            (4_107_456_000_000.0, "2100-02-28T00:00:00.000Z"),
            (-2_203_891_200_000.0, "1900-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso(milliseconds), text);
        }
    }

    #[test]
    fn what_is_no_instant_is_still_a_date() {
        assert_eq!(iso(f64::NAN), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(f64::INFINITY), "9999-12-31T23:59:59.999Z");
        assert_eq!(iso(f64::NEG_INFINITY), "0000-01-01T00:00:00.000Z");
    }

    #[test]
    fn every_day_of_eight_centuries_is_found_again() {
        let mut before = (1600, 12, 31);
        for day in days(1601, 1, 1)..days(2401, 1, 1) {
            let date = civil(day);
            assert!(date > before, "{date:?}");
            assert_eq!(days(date.0, date.1, date.2), day);
            before = date;
        }
        assert_eq!(before, (2400, 12, 31));
    }

    #[test]
    fn dates_of_cookies_are_read_in_all_their_forms() {
        for text in [
            "Wed, 21 Oct 2015 07:28:00 GMT",
            "Wed, 21-Oct-2015 07:28:00 GMT",
            "Wednesday, 21-Oct-15 07:28:00 GMT",
            "Wed Oct 21 07:28:00 2015",
            "21 october 2015 7:28:0",
        ] {
            assert_eq!(cookie_date(text), Some(1_445_412_480_000.0), "{text}");
        }
        assert_eq!(cookie_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0.0));
        assert_eq!(cookie_date("Thu, 01-Jan-70 00:00:01 GMT"), Some(1000.0));
        assert_eq!(cookie_date("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800_000.0));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "0",
            "-1",
            "soon",
            "1445412480",
            "Wed, 21 Oct 2015",
            "21 Oct 07:28:00",
            "Thu, 29 Feb 2023 00:00:00 GMT",
            "Thu, 31 Apr 2023 00:00:00 GMT",
            "Thu, 00 Apr 2023 00:00:00 GMT",
            "Thu, 01 Apr 2023 24:00:00 GMT",
            "Thu, 01 Apr 2023 00:60:00 GMT",
            "Thu, 01 Apr 1600 00:00:00 GMT",
        ] {
            assert_eq!(cookie_date(text), None, "{text}");
        }
    }
}
