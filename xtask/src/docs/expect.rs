//! Whether output is what a page shows, where `...` stands for anything.

/// What stands for any lines on a line of its own, and for anything inside a line.
const GAP: &str = "...";

/// Whether the lines of `output` are those of `expected`. Blanks at the end of a line don't count.
pub fn matches(expected: &[String], output: &[&str]) -> bool {
    match expected.split_first() {
        None => output.is_empty(),
        Some((first, rest)) if first.trim() == GAP => {
            (0..=output.len()).any(|skipped| matches(rest, &output[skipped..]))
        }
        Some((first, rest)) => output.split_first().is_some_and(|(line, more)| {
            line_matches(first.trim_end(), line.trim_end()) && matches(rest, more)
        }),
    }
}

fn line_matches(expected: &str, line: &str) -> bool {
    let Some((start, rest)) = expected.split_once(GAP) else {
        return expected == line;
    };
    let Some(line) = line.strip_prefix(start) else {
        return false;
    };
    let ends = line.char_indices().map(|(at, _)| at).chain([line.len()]);
    ends.into_iter().any(|at| line_matches(rest, &line[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: &str, output: &str) -> bool {
        let expected: Vec<String> = expected.lines().map(String::from).collect();
        matches(&expected, &output.lines().collect::<Vec<_>>())
    }

    #[test]
    fn lines_match_one_by_one() {
        assert!(check("a\nb", "a\nb  "));
        assert!(!check("a\nb", "a\nb\nc"));
        assert!(!check("a\nb\nc", "a\nb"));
        assert!(!check("b\na", "a\nb"));
    }

    #[test]
    fn a_gap_stands_for_any_lines() {
        assert!(check("a\n...\nc", "a\nb\nb\nc"));
        assert!(check("a\n...\nc", "a\nc"));
        assert!(check("...\nc\n...\nd", "a\nc\nb\nc\nd"));
        assert!(!check("a\n...\nc", "a\nc\nb"));
    }

    #[test]
    fn a_gap_stands_for_anything_within_a_line() {
        assert!(check("took ... s", "took 1.5 s"));
        assert!(check("a...b...c", "a b b cc c"));
        assert!(!check("took ... s", "took 1.5 ms or more"));
    }
}
