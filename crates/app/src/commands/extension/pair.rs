//! `bowline extension pair`: opens a pairing, shows the code, asks, and waits for the end.

use std::io::{self, BufRead, IsTerminal};
use std::time::Duration;

use bowline_doors::extension::{ConfirmRequest, PairingRequest, PairingStatus};
use bowline_hub::pairing::{OPEN_FOR, Stage};
use bowline_hub::registry;
use bowline_wire::pairing::BrowserInfo;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::api::Api;
use crate::cli::PairArgs;
use crate::commands::Context;
use crate::config::parse_duration;
use crate::failure::{Failure, exit};
use crate::output::{GOOD, Output};
use crate::safe_text::one_line;
use crate::signals::Signals;

const PATH: &str = "/api/extensions/pairing";
/// Between two looks at how far it is.
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Serialize)]
struct Paired {
    name: String,
    browser: BrowserInfo,
}

pub(super) fn run(context: &Context<'_>, args: &PairArgs) -> Result<(), Failure> {
    let code = args.code.as_deref().map(plain_code).transpose()?;
    if let Some(name) = &args.name {
        registry::check_name(name)?;
    }
    let timeout = args.timeout.as_deref().map(|text| {
        let timeout = parse_duration(text).filter(|timeout| !timeout.is_zero());
        timeout.ok_or_else(|| Failure::usage(format!("`{text}` is not a duration such as 30s")))
    });
    let timeout = timeout.transpose()?.unwrap_or(OPEN_FOR).min(OPEN_FOR);
    let state = context.hub()?;
    let paired = context.block_on(async {
        let api = Api::new(&state);
        let mut signals =
            Signals::listen().map_err(|error| Failure::io("signals cannot be listened for", &error))?;
        open(&api, *context.output, args.name.clone(), timeout).await?;
        if code.is_none() && !io::stdin().is_terminal() {
            return Err(Failure::new(
                exit::USAGE,
                "no_terminal",
                "there is no terminal to compare the code at; a pairing is open for two minutes all the same",
            )
            .hint("open the extension's popup, then run `bowline extension pair --code CODE` with the code that it shows"));
        }
        let attended = tokio::select! {
            attended = tokio::time::timeout(timeout, attend(&api, *context.output, code.as_deref())) => attended,
            _ = signals.next() => {
                close(&api).await;
                return Err(Failure::new(exit::INTERRUPTED, "interrupted", "interrupted; the pairing is closed"));
            }
        };
        match attended {
            Ok(attended) => attended,
            Err(_) => {
                close(&api).await;
                Err(timed_out())
            }
        }
    })?;
    context.output.result(&paired, |paired| {
        let Paired { name, browser } = paired;
        let product = format!("{} {}", browser.name, browser.version);
        format!("{GOOD}{name} is paired:{GOOD:#} {}\nNext: bowline endpoint {name}", one_line(product.trim()))
    });
    Ok(())
}

/// Opens a pairing, or goes on with the one that is open.
async fn open(api: &Api<'_>, output: Output, name: Option<String>, timeout: Duration) -> Result<(), Failure> {
    let status: PairingStatus = api.get(PATH).await?;
    if status.is_open() {
        output.faint("A pairing is open already; going on with it.");
        return Ok(());
    }
    let request = PairingRequest { name, seconds: Some(timeout.as_secs().max(1)) };
    let _: PairingStatus = api.post(PATH, &request).await?;
    Ok(())
}

async fn close(api: &Api<'_>) {
    // It closes by itself after two minutes.
    let _ = api.delete::<PairingStatus>(PATH).await;
}

/// Follows the pairing to its end.
async fn attend(api: &Api<'_>, output: Output, given: Option<&str>) -> Result<Paired, Failure> {
    let mut answers = given.is_none().then(lines);
    let (mut shown, mut confirmed) = (String::new(), false);
    output.note("Open the extension's popup in the browser that is to be paired.");
    loop {
        let status: PairingStatus = api.get(PATH).await?;
        match status.state {
            Some(Stage::Paired) => {
                let name = status.name.unwrap_or_default();
                return Ok(Paired { name, browser: status.browser.unwrap_or_default() });
            }
            Some(Stage::Declined) => return Err(declined(status.reason)),
            Some(Stage::TimedOut) | None => return Err(timed_out()),
            Some(Stage::Waiting) if !shown.is_empty() => {
                output.note("The extension has left; waiting for it.");
                (shown, confirmed) = (String::new(), false);
            }
            Some(Stage::Waiting | Stage::CodeShown | Stage::ConfirmedByExtension) => {}
        }
        if let Some(code) = status.code.filter(|code| *code != shown) {
            (shown, confirmed) = (code, false);
            let product = status.browser.map(|browser| browser.name).unwrap_or_default();
            output.note(format!("The code for {}:\n\n{}\n", named(&product), big(&shown)));
            match given {
                Some(given) if given == shown => confirm(api, output, &shown, &mut confirmed).await?,
                Some(_) => {
                    close(api).await;
                    return Err(wrong_code());
                }
                None => output.note(
                    "Does the popup show the same? Press \"The codes match\" there, and answer here. [y/N]",
                ),
            }
        }
        let Some(answers) = &mut answers else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        tokio::select! {
            answer = answers.recv() => match answer.as_deref().map(str::trim) {
                Some("y" | "Y" | "yes") if !shown.is_empty() && !confirmed => {
                    confirm(api, output, &shown, &mut confirmed).await?;
                }
                // An answer to nothing.
                Some(_) if shown.is_empty() || confirmed => {}
                Some(_) | None => {
                    close(api).await;
                    return Err(declined(None));
                }
            },
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

async fn confirm(api: &Api<'_>, output: Output, code: &str, confirmed: &mut bool) -> Result<(), Failure> {
    let request = ConfirmRequest { code: code.to_owned() };
    match api.post::<PairingStatus>(&format!("{PATH}/confirm"), &request).await {
        Ok(status) => {
            *confirmed = true;
            if status.state == Some(Stage::CodeShown) {
                output.faint("Now press \"The codes match\" in the popup.");
            }
            Ok(())
        }
        // The extension came again meanwhile; its new code is shown next.
        Err(failure) if matches!(failure.code.as_str(), "wrong_code" | "no_code") => Ok(()),
        Err(failure) => Err(failure),
    }
}

/// What is typed, line by line; the end of it is the end of the channel.
fn lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(4);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn plain_code(text: &str) -> Result<String, Failure> {
    let code: String = text.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
    if code.len() == 6 && code.bytes().all(|c| c.is_ascii_digit()) {
        return Ok(code);
    }
    Err(Failure::usage(format!("`{text}` is not a code of six digits")))
}

fn named(product: &str) -> String {
    if product.is_empty() { "the extension".to_owned() } else { one_line(product).into_owned() }
}

fn declined(reason: Option<String>) -> Failure {
    let message = reason.unwrap_or_else(|| "the pairing was declined".to_owned());
    Failure::new(exit::FAILED, "pairing_declined", message).hint("run `bowline extension pair` to try again")
}

fn wrong_code() -> Failure {
    Failure::new(exit::FAILED, "wrong_code", "the extension shows another code; the pairing is closed")
        .hint("if it happens again, something may sit between the browser and the hub")
}

fn timed_out() -> Failure {
    Failure::new(exit::TIMED_OUT, "timeout", "no pairing came about in time").hint(
        "is the extension loaded? `bowline extension install` says how; its popup says what it waits for",
    )
}

/// The code, three lines high.
fn big(code: &str) -> String {
    const TOP: &str = " _     _  _     _  _  _  _  _ ";
    const MIDDLE: &str = "| |  | _| _||_||_ |_   ||_||_|";
    const BOTTOM: &str = "|_|  ||_  _|  | _||_|  ||_| _|";
    let row = |row: &str| -> String {
        let digits = code.chars().filter_map(|c| c.to_digit(10)).map(|digit| digit as usize * 3);
        let shapes = digits.enumerate().map(|(place, at)| {
            let gap = if place == 3 { "   " } else { " " };
            format!("{gap}{}", &row[at..at + 3])
        });
        format!("  {}", shapes.collect::<String>())
    };
    let spaced = format!("{} {}", code.get(..3).unwrap_or(code), code.get(3..).unwrap_or_default());
    format!("{}\n{}\n{}    {spaced}", row(TOP), row(MIDDLE), row(BOTTOM))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_large_and_taken_as_people_write_it() {
        assert_eq!(plain_code("123 456").ok().as_deref(), Some("123456"));
        assert_eq!(plain_code("123-456").ok().as_deref(), Some("123456"));
        assert!(plain_code("12345").is_err() && plain_code("12345x").is_err());
        let text = big("012789");
        assert_eq!(text.lines().count(), 3);
        assert!(text.ends_with("012 789"), "{text}");
    }
}
