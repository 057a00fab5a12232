//! `prev_state` of `sched_switch`: letters, or numbers whose bits differ between kernels.

use crate::Left;

/// What the letters of a state mean ("D|K", "R+", "S").
pub fn of_letters(letters: &[u8]) -> Left {
    let has = |letter: u8| letters.contains(&letter);
    if has(b'X') || has(b'Z') || has(b'x') {
        Left::Dead
    } else if has(b'D') {
        match has(b'N') {
            true => Left::Sleeping,
            false => Left::Uninterruptible,
        }
    } else if has(b'S') || has(b'I') || has(b'W') {
        Left::Sleeping
    } else if has(b'T') || has(b't') || has(b'P') {
        Left::Stopped
    } else if has(b'K') {
        Left::Uninterruptible
    } else if has(b'+') {
        Left::Preempted
    } else {
        Left::Runnable
    }
}

/// Bits and letters of the kernel that made a recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct States {
    /// Bits with their letters.
    table: Vec<(u64, u8)>,
    /// The bit of "+", preempted in the kernel.
    plus: u64,
}

impl States {
    /// Takes bits and letters from the table in `sched_switch`'s `print fmt`. None if there is no
    /// such table.
    pub fn of_print(print: &str) -> Option<States> {
        let after = &print[print.find("prev_state")?..];
        let flags = &after[after.find("__print_flags(")?..];
        let mut table = Vec::new();
        let mut rest = flags;
        while let Some(open) = rest.find('{') {
            let close = open + rest[open..].find('}')?;
            let (bits, letters) = rest[open + 1..close].split_once(',')?;
            let letter = letters.trim().trim_matches('"').bytes().next();
            if let (Some(bits), Some(letter)) = (value(bits), letter) {
                table.push((bits, letter));
            }
            rest = &rest[close + 1..];
        }
        let plus = after.find("? \"+\"").and_then(|end| {
            let test = &after[..end];
            let test = &test[test.rfind("prev_state")? + "prev_state".len()..];
            value(test.trim_start().strip_prefix('&')?)
        });
        if table.is_empty() {
            return None;
        }
        Some(States {
            table,
            plus: plus.unwrap_or(0),
        })
    }

    /// The state of a number.
    #[inline]
    pub fn left(&self, state: u64) -> Left {
        match state {
            0 => Left::Runnable,
            1 => Left::Sleeping,
            2 => Left::Uninterruptible,
            _ if self.table.is_empty() => of_number(state),
            _ => self.of_table(state),
        }
    }

    fn of_table(&self, state: u64) -> Left {
        let mut letters = [0; 16];
        let mut n = 0;
        for (bits, letter) in &self.table {
            if *bits != 0 && state & bits == *bits && n < letters.len() {
                letters[n] = *letter;
                n += 1;
            }
        }
        match n {
            0 if state & self.plus != 0 => Left::Preempted,
            // Bits that the kernel hides: the sleeper's own ones are named in every table.
            0 => Left::Runnable,
            _ => of_letters(&letters[..n]),
        }
    }
}

/// The state of a number when the file has no table, as in Perfetto and `trace-cmd report -R`.
///
/// The bits below 0x40 have meant the same since Linux 2.6.30 (0x10 and 0x20 both are ends). Above,
/// kernels up to 4.13 wrote 0x200 for parked, 0x400 for a sleep that is no load, and one of 0x400,
/// 0x800 and 0x1000 alone for "+". Kernels from 4.14 on write 0x40 parked, 0x80 idle, 0x100 "+".
pub fn of_number(state: u64) -> Left {
    let low = state & 0x3f;
    if low & 0x30 != 0 {
        Left::Dead
    } else if low & 2 != 0 {
        match state & 0x400 != 0 {
            true => Left::Sleeping,
            false => Left::Uninterruptible,
        }
    } else if low & 1 != 0 {
        Left::Sleeping
    } else if low & 0xc != 0 || state & 0x40 != 0 {
        Left::Stopped
    } else if state & 0x80 != 0 {
        Left::Sleeping
    } else if state & 0x200 != 0 {
        Left::Stopped
    } else if state != 0 {
        Left::Preempted
    } else {
        Left::Runnable
    }
}

/// The value of an expression of constants in C: numbers, parentheses, `<<`, `+`, `-`, `|`, `&`.
/// What follows the expression is ignored.
fn value(text: &str) -> Option<u64> {
    let mut parser = Expression {
        text: text.as_bytes(),
        depth: 0,
    };
    parser.binary(0)
}

struct Expression<'a> {
    text: &'a [u8],
    depth: u32,
}

/// Operators of C by precedence, the weakest first.
const OPERATORS: [&[&str]; 4] = [&["|"], &["&"], &["<<"], &["+", "-"]];

impl Expression<'_> {
    fn binary(&mut self, level: usize) -> Option<u64> {
        let Some(operators) = OPERATORS.get(level) else {
            return self.primary();
        };
        let mut left = self.binary(level + 1)?;
        loop {
            self.text = self.text.trim_ascii_start();
            let found = operators
                .iter()
                .find(|o| self.text.starts_with(o.as_bytes()));
            let Some(operator) = found else {
                return Some(left);
            };
            self.text = &self.text[operator.len()..];
            let right = self.binary(level + 1)?;
            left = match *operator {
                "|" => left | right,
                "&" => left & right,
                "<<" => left.checked_shl(u32::try_from(right).ok()?)?,
                "+" => left.wrapping_add(right),
                _ => left.wrapping_sub(right),
            };
        }
    }

    fn primary(&mut self) -> Option<u64> {
        self.text = self.text.trim_ascii_start();
        if let Some(rest) = self.text.strip_prefix(b"(") {
            self.depth += 1;
            if self.depth > 64 {
                return None;
            }
            self.text = rest;
            let inner = self.binary(0)?;
            self.text = self.text.trim_ascii_start().strip_prefix(b")")?;
            self.depth -= 1;
            return Some(inner);
        }
        let end = self.text.iter().position(|b| !b.is_ascii_alphanumeric());
        let word = std::str::from_utf8(&self.text[..end.unwrap_or(self.text.len())]).ok()?;
        self.text = &self.text[word.len()..];
        let digits = word.trim_end_matches(['U', 'L', 'u', 'l']);
        match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => digits.parse().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The print format of Linux 3.19, with a table of its own.
    const OLD: &str = r#""prev_state=%s%s ==>",
        REC->prev_state & (1024-1) ? __print_flags(REC->prev_state & (1024-1), "|",
        { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" },
        { 64, "x" }, { 128, "K"}, { 256, "W" }, { 512, "P" }) : "R",
        REC->prev_state & 1024 ? "+" : "", REC->next_comm"#;

    /// The print format since Linux 4.14.
    const NEW: &str = r#""prev_state=%s%s ==>",
        (REC->prev_state & ((((0x0000 | 0x0001 | 0x0002 | 0x0004 | 0x0008 | 0x0010 | 0x0020
        | 0x0040) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & ((((0x0000 | 0x0001 | 0x0002
        | 0x0004 | 0x0008 | 0x0010 | 0x0020 | 0x0040) + 1) << 1) - 1), "|",
        { 0x0001, "S" }, { 0x0002, "D" }, { 0x0004, "T" }, { 0x0008, "t" }, { 0x0010, "X" },
        { 0x0020, "Z" }, { 0x0040, "P" }, { 0x0080, "I" }) : "R",
        REC->prev_state & (((0x0000 | 0x0001 | 0x0002 | 0x0004 | 0x0008 | 0x0010 | 0x0020
        | 0x0040) + 1) << 1) ? "+" : "", REC->next_comm"#;

    #[test]
    fn bits_come_from_the_file() {
        let old = States::of_print(OLD).unwrap();
        let new = States::of_print(NEW).unwrap();
        assert_eq!((old.plus, new.plus), (1024, 256));
        for (state, by_old, by_new) in [
            (0, Left::Runnable, Left::Runnable),
            (1, Left::Sleeping, Left::Sleeping),
            (0x40, Left::Dead, Left::Stopped),
            (0x80, Left::Uninterruptible, Left::Sleeping),
            (0x100, Left::Sleeping, Left::Preempted),
            (0x200, Left::Stopped, Left::Runnable),
            (0x400, Left::Preempted, Left::Runnable),
            (0x2001, Left::Sleeping, Left::Sleeping),
        ] {
            assert_eq!(old.left(state), by_old, "{state:#x} of Linux 3");
            assert_eq!(new.left(state), by_new, "{state:#x} of Linux 6");
        }
    }

    #[test]
    fn numbers_without_a_table_are_understood() {
        let none = States::default();
        for (state, left) in [
            (0x1000, Left::Preempted),
            (0x100, Left::Preempted),
            (0x2001, Left::Sleeping),
            (1026, Left::Sleeping),
            (512, Left::Stopped),
            (64, Left::Stopped),
            (0x102, Left::Uninterruptible),
            (0x20, Left::Dead),
        ] {
            assert_eq!(none.left(state), left, "{state}");
        }
    }

    #[test]
    fn letters_are_understood() {
        for (letters, left) in [
            ("R", Left::Runnable),
            ("R+", Left::Preempted),
            ("S", Left::Sleeping),
            ("D|K", Left::Uninterruptible),
            ("D|N", Left::Sleeping),
            ("x", Left::Dead),
            ("t", Left::Stopped),
        ] {
            assert_eq!(of_letters(letters.as_bytes()), left, "{letters}");
        }
    }

    #[test]
    fn expressions_that_are_no_constants_are_none() {
        assert_eq!(value("(((1"), None);
        assert_eq!(value("TASK_MAX"), None);
        assert_eq!(value(&"(".repeat(100_000)), None);
        assert_eq!(value("1 << 99"), None);
        assert_eq!(value("((2 | 5) + 1) << 1"), Some(16));
    }
}
