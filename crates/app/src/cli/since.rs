//! What `--since` can say.

use std::str::FromStr;
use std::time::Duration;

use crate::clock;
use crate::config::parse_duration;

const DAY: i64 = 86_400_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    Ago(Duration),
    /// Milliseconds since 1970.
    Moment(i64),
    /// Milliseconds since midnight.
    TimeOfDay(i64),
    /// After the record of this number.
    Record(u64),
}

#[derive(Debug, thiserror::Error)]
#[error(
    "expected a time ago such as 5m, a time such as 12:30 or 2026-01-31T12:30:00Z, or a number such as #123"
)]
pub(crate) struct BadSince;

impl FromStr for Since {
    type Err = BadSince;

    fn from_str(text: &str) -> Result<Self, BadSince> {
        if let Some(number) = text.strip_prefix('#') {
            let digits = number.bytes().all(|byte| byte.is_ascii_digit());
            return number.parse().ok().filter(|_| digits).map(Self::Record).ok_or(BadSince);
        }
        let time_of_day = || clock::parse_time(text.strip_suffix(['Z', 'z']).unwrap_or(text));
        parse_duration(text)
            .map(Self::Ago)
            .or_else(|| clock::parse_moment(text).map(Self::Moment))
            .or_else(|| time_of_day().map(Self::TimeOfDay))
            .ok_or(BadSince)
    }
}

impl Since {
    /// The moment it names, in milliseconds since 1970.
    pub(crate) fn start(self, now: i64) -> Option<i64> {
        match self {
            Self::Ago(time) => Some(now - i64::try_from(time.as_millis()).unwrap_or(now)),
            Self::Moment(at) => Some(at),
            Self::TimeOfDay(time) => {
                let today = now.div_euclid(DAY) * DAY + time;
                // A time that is still to come was yesterday's.
                Some(if today > now { today - DAY } else { today })
            }
            Self::Record(_) => None,
        }
    }

    pub(crate) fn record(self) -> Option<u64> {
        if let Self::Record(number) = self { Some(number) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notation_is_understood() {
        let since = |text: &str| text.parse::<Since>().ok();
        assert_eq!(since("5m"), Some(Since::Ago(Duration::from_secs(300))));
        assert_eq!(since("90"), Some(Since::Ago(Duration::from_secs(90))));
        assert_eq!(since("#123"), Some(Since::Record(123)));
        assert_eq!(since("12:30"), Some(Since::TimeOfDay(45_000_000)));
        assert_eq!(since("12:30:01Z"), Some(Since::TimeOfDay(45_001_000)));
        assert_eq!(since("1970-01-02T00:00:00Z"), Some(Since::Moment(DAY)));
        for text in ["", "#", "#x", "#+1", "soon", "12", "-5m", "25:00", "2026-01-31"] {
            assert_eq!(since(text).filter(|_| text != "12"), None, "{text}");
        }
    }

    #[test]
    fn a_time_of_day_is_the_last_one() {
        let now = 10 * DAY + 3_600_000;
        assert_eq!(Since::TimeOfDay(0).start(now), Some(10 * DAY));
        assert_eq!(Since::TimeOfDay(7_200_000).start(now), Some(9 * DAY + 7_200_000));
        assert_eq!(Since::Ago(Duration::from_secs(1)).start(now), Some(now - 1_000));
        assert_eq!(Since::Record(1).start(now), None);
    }
}
