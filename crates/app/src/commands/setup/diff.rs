//! One small change between two texts, as a person reads it.

/// Lines shown around the change.
const AROUND: usize = 2;
/// A line beyond this, such as a whole file without ends of lines, is cut around the change.
const LONGEST: usize = 200;
/// What is left of it before the change.
const LEAD: usize = 40;

/// The lines that differ, marked with `-` and `+`, and a few around them. Our changes lie close together,
/// so that one piece holds them.
pub(super) fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    if old == new {
        return String::new();
    }
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[same..], &new[same..]);
    let same_after =
        old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_mid, new_mid) =
        (&old_rest[..old_rest.len() - same_after], &new_rest[..new_rest.len() - same_after]);
    // What both of the first differing lines begin with need not be shown in full.
    let common = match (old_mid.first(), new_mid.first()) {
        (Some(old), Some(new)) => old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count(),
        _ => 0,
    };
    let before = &old[same.saturating_sub(AROUND)..same];
    let after = &old[old.len() - same_after..][..same_after.min(AROUND)];
    let mut text = format!("@@ line {} @@", same + 1);
    let mut push = |mark: char, lines: &[&str], from: usize| {
        for line in lines {
            text.push('\n');
            text.push(mark);
            text.push_str(&cut(line, from));
        }
    };
    push(' ', before, 0);
    push('-', old_mid, common);
    push('+', new_mid, common);
    push(' ', after, 0);
    text
}

fn cut(line: &str, common: usize) -> String {
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    let skipped = common.saturating_sub(LEAD);
    let lead = if skipped > 0 { "…" } else { "" };
    let kept: String = line.chars().skip(skipped).take(LONGEST).collect();
    let tail = if line.chars().count() > skipped + LONGEST { "…" } else { "" };
    format!("{lead}{kept}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_what_is_around_it() {
        assert_eq!(diff("a\nb\n", "a\nb\n"), "");
        assert_eq!(diff("", "a\n"), "@@ line 1 @@\n+a");
        assert_eq!(
            diff("1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\nx\ny\n5\n6\n7\n"),
            "@@ line 4 @@\n 2\n 3\n-4\n+x\n+y\n 5\n 6"
        );
        assert_eq!(diff("a\na\n", "a\na\na\n"), "@@ line 3 @@\n a\n a\n+a");
        assert_eq!(diff("a\nb\n", "a\n"), "@@ line 2 @@\n a\n-b");
    }

    #[test]
    fn a_file_without_ends_of_lines_is_cut_around_the_change() {
        let old = format!("{{\"secret\": \"{}\"}}", "s".repeat(5000));
        let new = old.replace("\"}", "\", \"bowline\": 1}");
        let text = diff(&old, &new);
        assert!(text.len() < 600, "{text}");
        assert!(text.contains("bowline"), "{text}");
    }
}
