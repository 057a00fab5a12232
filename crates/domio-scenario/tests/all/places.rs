//! Where problems are told to be, and that a text is read as far as it can be understood.

use crate::common::{BASE, change, errors, only, with};
use domio_scenario::{Code, Problem};

fn place(problem: &Problem) -> (usize, usize) {
    (problem.line, problem.column)
}

#[test]
fn places_count_lines_and_characters_from_one() {
    assert_eq!(place(&only(&format!("wat = 1{BASE}"))), (1, 1));
    // ç is two bytes, one column.
    let bytes = change("name", "guest = { \"çç\" = 1, tick = 10 }\nname");
    let errors = errors(&bytes);
    let places: Vec<_> = errors.problems().iter().map(place).collect();
    assert_eq!(places, [(9, 11), (9, 21)], "{errors}");
    // What is missing at the end is told in the last line.
    let open = self::errors("\n\n[");
    assert_eq!(open.problems()[0].line, 3, "{open}");
}

#[test]
fn tables_are_told_by_their_headers_and_keys_by_themselves() {
    // The second of two tables has no name; the first one's weight is below every integer.
    let low = format!("weight = -{}\nname", "9".repeat(43));
    let text = change("name", &low) + "[[domain]]\n";
    let errors = errors(&text);
    let of = |code| {
        let mut all = errors.problems().iter().filter(|p| p.code == code);
        place(all.next().unwrap_or_else(|| panic!("{errors}")))
    };
    assert_eq!(of(Code::OutOfRange), (9, 10));
    assert_eq!(of(Code::MissingKey), (12, 1));
    assert_eq!(errors.total(), 2, "{errors}");
}

#[test]
fn what_follows_a_key_without_a_value_is_read() {
    let text = change("duration_s = 10", "duration_s 10\nb = 3");
    let errors = errors(&(text + "[[d]]\nn = 1\n"));
    let told: Vec<_> = errors.problems().iter().map(|p| (p.code, p.line)).collect();
    let expected = [
        (Code::Syntax, 3),
        (Code::UnknownKey, 4),
        (Code::UnknownKey, 12),
    ];
    assert_eq!(told, expected, "{errors}");
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    for text in [
        "a = ".to_owned() + &"[".repeat(100_000),
        "a.".repeat(100_000) + "b = 1",
    ] {
        let errors = errors(&with(&text));
        let mut codes = errors.problems().iter().map(|p| p.code);
        assert!(codes.any(|code| code == Code::Syntax), "{errors}");
    }
}
