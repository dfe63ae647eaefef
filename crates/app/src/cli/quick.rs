//! The commands of which many run, or which are waited for most often, read without the tree of all the others: that is
//! large, and a server for an agent would keep in memory what it touches of it. What a command takes is defined once, for
//! both ways.

use std::ffi::OsString;

use clap::Args;

use super::{Cli, Command};

/// What is not plainly such a command, as help, `--json` and wrong usage are not, is `None`: the whole tree knows what
/// to do with it.
pub(super) fn read(words: &[OsString]) -> Option<Cli> {
    let (name, rest) = (words.get(1)?, &words[1..]);
    let command = match name.to_str()? {
        "mcp" => Command::Mcp(args(rest)?),
        "eval" => Command::Eval(args(rest)?),
        _ => return None,
    };
    Some(Cli { json: false, session: None, command })
}

fn args<T: Args>(words: &[OsString]) -> Option<T> {
    let matches = T::augment_args(clap::Command::new("bowline")).try_get_matches_from(words).ok()?;
    T::from_arg_matches(&matches).ok()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn it_reads_what_the_whole_tree_reads() {
        for line in [
            "bowline mcp",
            "bowline mcp --sets core,network --browser work --label x --allow-lifecycle",
            "bowline eval 1+1",
            "bowline eval -1",
            "bowline eval 2 document.title --timeout 5s --session me",
            "bowline eval -- --x",
        ] {
            let (quick, whole) = (read(&words(line)), Cli::try_parse_from(words(line)).unwrap());
            assert_eq!(format!("{:?}", quick.unwrap()), format!("{whole:?}"), "{line}");
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_whole_tree() {
        for line in [
            "bowline",
            "bowline status",
            "bowline --json eval 1",
            "bowline eval --json 1",
            "bowline mcp --help",
            "bowline mcp --sets none",
            "bowline eval 1 2 3",
        ] {
            assert!(read(&words(line)).is_none(), "{line}");
        }
    }
}
