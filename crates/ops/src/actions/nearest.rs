//! The words that somebody may have meant. Knows only spelling.

/// Those closest to `word`, the best first; none if all are other words.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    max: usize,
) -> Vec<&'a str> {
    let word = normal(word);
    // A third of the letters may be wrong; and who writes a part of a name means it.
    let limit = (word.len() / 3).clamp(2, 6);
    let rank = |candidate: &'a str| {
        let other = normal(candidate);
        let is_part = word.len() >= 4 && other.contains(&word) || other.len() >= 4 && word.contains(&other);
        let distance = distance(&word, &other);
        (is_part || distance <= limit).then_some((!is_part && distance > 2, distance, candidate))
    };
    let mut ranked: Vec<_> = candidates.into_iter().filter_map(rank).collect();
    ranked.sort_by_key(|(is_far, distance, _)| (*is_far, *distance));
    ranked.into_iter().take(max).map(|(_, _, candidate)| candidate).collect()
}

/// Case and separators are the likeliest slips, so they count as none.
fn normal(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// How many letters to insert, remove or replace.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, c) in a.chars().enumerate() {
        let mut row = vec![i + 1];
        for (j, d) in b.iter().enumerate() {
            row.push((last[j] + usize::from(c != *d)).min(last[j + 1] + 1).min(row[j] + 1));
        }
        last = row;
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_parts_are_found_and_other_words_not() {
        let names = ["getTabs", "getCookies", "clickElement", "press_key"];
        assert_eq!(nearest("get_tabs", names, 3), ["getTabs"]);
        assert_eq!(nearest("getTab", names, 3)[0], "getTabs");
        assert_eq!(nearest("click", names, 3), ["clickElement"]);
        assert_eq!(nearest("pressKey", names, 3), ["press_key"]);
        assert!(nearest("teleport", names, 3).is_empty());
    }
}
