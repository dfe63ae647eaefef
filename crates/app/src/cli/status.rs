//! What `--status` can name: a code, a class of codes, or that there was no answer.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Code(u16),
    /// The first digit: 4 stands for 4xx.
    Class(u16),
    Failed,
}

#[derive(Debug, thiserror::Error)]
#[error("expected a code such as 404, a class such as 4xx, or failed")]
pub(crate) struct BadOutcome;

impl FromStr for Outcome {
    type Err = BadOutcome;

    fn from_str(text: &str) -> Result<Self, BadOutcome> {
        if text.eq_ignore_ascii_case("failed") {
            return Ok(Self::Failed);
        }
        let digit =
            text.get(..1).and_then(|digit| digit.parse().ok()).filter(|digit| (1..=5).contains(digit));
        match (digit, text.get(1..)) {
            (Some(digit), Some(rest)) if rest.eq_ignore_ascii_case("xx") => Ok(Self::Class(digit)),
            _ => text
                .parse()
                .ok()
                .filter(|code| text.len() == 3 && (100..=599).contains(code))
                .map(Self::Code)
                .ok_or(BadOutcome),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "{code}"),
            Self::Class(digit) => write!(f, "{digit}xx"),
            Self::Failed => f.write_str("failed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn lists_are_split_at_commas_and_options_repeat() {
        let words = ["bowline", "network", "--status", "404,4xx", "--status", "Failed,5XX"];
        let Command::Network(args) = Cli::try_parse_from(words).unwrap().command else { panic!("network") };
        let expected = [Outcome::Code(404), Outcome::Class(4), Outcome::Failed, Outcome::Class(5)];
        assert_eq!(args.status, expected);
        assert_eq!(
            args.status.iter().map(Outcome::to_string).collect::<Vec<_>>().join(","),
            "404,4xx,failed,5xx"
        );
    }

    #[test]
    fn what_is_no_status_is_refused() {
        for text in ["", "4", "4x", "6xx", "0xx", "99", "600", "+04", "ok", "xx4", "ä04"] {
            assert!(text.parse::<Outcome>().is_err(), "{text}");
        }
    }
}
