//! Finds the word somebody meant. Knows nothing of keys or variables, only of spelling.

/// The candidate closest to `word`, if it is close enough to be a slip of the same word.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = normal(word);
    // A third of the letters may be wrong, but never so many that another word is meant.
    let limit = (word.len() / 3).clamp(1, 3);
    let scored = candidates.into_iter().map(|candidate| (distance(&word, &normal(candidate)), candidate));
    scored
        .filter(|(score, _)| *score <= limit)
        .min_by_key(|(score, _)| *score)
        .map(|(_, candidate)| candidate)
}

/// Case and the choice of separator are the likeliest slips, so they count as none.
fn normal(word: &str) -> Vec<char> {
    let lower = word.chars().flat_map(char::to_lowercase);
    lower.map(|c| if matches!(c, '-' | '.' | ' ') { '_' } else { c }).collect()
}

/// How many letters to insert, remove, replace or swap with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}
