//! Texts as a whole: syntax, size, and how problems are shown.

use crate::common::{BASE, change, errors, only, parse, policies, with};
use domio_scenario::{Code, MAX_BYTES, Scenario};

#[test]
fn what_is_no_text_is_told_by_byte_and_line() {
    let mut bytes = change("\"burn\"", "\"bern\"").into_bytes();
    let at = bytes.windows(4).position(|w| w == b"name").unwrap();
    bytes.splice(at..at, *b"# caf\xe9\n");
    let errors = Scenario::parse("f.toml", &bytes, &policies()[..]).unwrap_err();
    let codes: Vec<Code> = errors.problems().iter().map(|p| p.code).collect();
    assert_eq!(
        codes,
        [Code::Encoding, Code::UnknownName],
        "the rest is checked too: {errors}"
    );
    let p = &errors.problems()[0];
    assert_eq!((p.line, p.column, p.offset), (9, 6, at + 5));
    assert!(
        p.message.contains(&format!("byte {}: 0xe9", at + 5)),
        "{p:?}"
    );
}

#[test]
fn what_is_another_file_is_told_once() {
    // The head of a program, of an archive, and a scenario in UTF-16.
    let utf16 = BASE.encode_utf16().flat_map(u16::to_le_bytes);
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(utf16).collect();
    let program = [&b"\x7fELF\x02\x01\x01\x00\n"[..], &[0xd0; 300]].concat();
    let archive = [&[0x1f, 0x8b, 0x08][..], &[b'=', b'\n', 0xe9].repeat(200)].concat();
    for (bytes, line, at, first) in [
        (program, 2, 9, "0xd0"),
        (archive, 1, 1, "0x8b"),
        (utf16, 1, 0, "0xff"),
    ] {
        let errors = Scenario::parse("f.toml", &bytes, &policies()[..]).unwrap_err();
        let [p] = errors.problems() else {
            panic!("{} problems: {errors}", errors.total());
        };
        assert_eq!((p.code, errors.total()), (Code::Encoding, 1));
        assert_eq!((p.line, p.offset), (line, at));
        assert_eq!(p.message, format!("not UTF-8 at byte {at}: {first}"));
        assert_eq!(p.expected, "UTF-8 text");
        assert!(p.hint.as_deref().unwrap().contains("is this another file?"));
    }
}

#[test]
fn syntax_errors_do_not_hide_the_rest() {
    let text = change("duration_s = 10", "duration_s 10").replace("\"burn\"", "\"bern\"");
    let errors = errors(&text);
    let codes: Vec<Code> = errors.problems().iter().map(|p| p.code).collect();
    assert!(
        codes.contains(&Code::Syntax) && codes.contains(&Code::UnknownName),
        "{errors}"
    );
    assert!(
        !codes.contains(&Code::MissingKey),
        "the duration is there, only not readable: {errors}"
    );
    let colon = self::errors("run: 3\n");
    assert!(
        colon.problems()[0]
            .hint
            .as_deref()
            .unwrap()
            .contains("without a colon"),
        "{colon}"
    );
}

#[test]
fn a_policy_that_is_misspelt_or_missing_does_not_hide_the_rest() {
    let scheduler = "tslice_ms = 0\nratelimit_us = 99";
    let domain = "name = \"a\"\nweight = -5\ncap = 250\nbananas = 1\n";
    let named = |policy: &str| {
        let text = change("policy = \"credit\"", &format!("{policy}\n{scheduler}"));
        let errors = errors(&text.replace("name = \"a\"\n", domain));
        let mut keys: Vec<_> = errors.problems().iter().map(|p| p.key.clone()).collect();
        keys.sort();
        keys
    };
    let right = named("policy = \"credit\"");
    assert_eq!(right.len(), 5, "{right:?}");
    let with_policy = |mut keys: Vec<_>| {
        keys.push("scheduler.policy".to_owned());
        keys.sort();
        keys
    };
    for policy in ["policy = \"credti\"", "policy = \"xyz\"", "policy = 3", ""] {
        assert_eq!(named(policy), with_policy(right.clone()), "{policy}");
    }
}

#[test]
fn what_another_policy_may_allow_is_no_mistake_of_one_that_is_unknown() {
    // Only sedf has a slice for domains, and most of the keys are credit's.
    let text = change("\"credit\"", "\"xyz\"\ntslice_ms = 30\nratelimit_us = 0");
    let errors = errors(&text.replace("name = \"a\"\n", "name = \"a\"\nslice_us = 10\n"));
    assert_eq!(errors.total(), 1, "{errors}");
    assert_eq!(errors.problems()[0].code, Code::UnknownName);
}

#[test]
fn an_empty_text_is_answered_with_the_smallest_scenario() {
    for text in ["", "\n\n", "# nothing yet\n"] {
        let p = only(text);
        assert_eq!(p.code, Code::Empty);
        assert!(p.hint.unwrap().contains("[[domain]]"));
    }
    // The scenario that the hint proposes is one.
    let smallest = "run.duration_s = 1\nscheduler.policy = \"credit\"\n[[domain]]\nname = \"g\"\n\
                    workload = \"burn\"";
    parse(smallest).unwrap();
}

#[test]
fn a_huge_file_is_refused_before_it_is_read() {
    let folder = std::env::temp_dir().join(format!("domio-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("huge.toml");
    // A gigabyte of holes: reading it would take its time, and its bytes are no TOML.
    std::fs::File::create(&path)
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    let refused = Scenario::load(&path, &policies()[..]).unwrap_err();
    std::fs::write(&path, BASE).unwrap();
    let loaded = Scenario::load(&path, &policies()[..]);
    let missing = Scenario::load(&folder.join("none.toml"), &policies()[..]).unwrap_err();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(refused.problems()[0].code, Code::TooLarge, "{refused}");
    assert!(
        refused.problems()[0]
            .expected
            .contains(&MAX_BYTES.to_string())
    );
    assert_eq!(loaded.unwrap().folder(), folder);
    assert_eq!(missing.problems()[0].code, Code::Unreadable, "{missing}");
    let bytes = vec![b'\n'; MAX_BYTES + 1];
    assert_eq!(
        Scenario::parse("f", &bytes, &policies()[..])
            .unwrap_err()
            .problems()[0]
            .code,
        Code::TooLarge
    );
}

#[test]
fn thousands_of_errors_are_counted_and_the_first_are_shown() {
    let text = with(
        &(0..20_000)
            .map(|i| format!("bad{i} = 1\n"))
            .collect::<String>(),
    );
    let errors = errors(&text);
    assert_eq!((errors.total(), errors.problems().len()), (20_000, 100));
    assert!(errors.to_string().ends_with("and 19900 more"));
    assert!(
        errors
            .render(false)
            .contains("20000 errors; the first 100 are shown, 19900 are not")
    );
}

#[test]
fn limits_hold_against_small_texts_that_ask_for_much() {
    let groups = "[[domain]]\nname = \"x\"\nvcpus = 4096\ncount = 4096\n".repeat(3);
    assert!(
        errors(&with(&groups))
            .problems()
            .iter()
            .any(|p| p.code == Code::Limit)
    );
    let tasks = "[[domain.task]]\nworkload = \"burn\"\nvcpu = \"all\"\n".repeat(30);
    let text = with(&format!("[[domain]]\nname = \"x\"\nvcpus = 4000\n{tasks}"));
    assert!(only(&text).message.contains("120001 tasks"));
    let actions = "[[action]]\nat_ms = 1\ndo = \"pin\"\ndomain = \"x\"\npin = \"all\"\n".repeat(30);
    let text = with(&format!(
        "[[domain]]\nname = \"x\"\nvcpus = 4000\n{actions}"
    ));
    assert!(only(&text).message.contains("too many actions"));
}

#[test]
fn everything_is_told_at_once_in_the_order_of_the_text() {
    let text = BASE
        .replace("duration_s = 10", "duration_s = 0")
        .replace("cores = 2", "cores = \"2\"")
        .replace("\"credit\"", "\"credit4\"")
        .replace("name = \"a\"", "nam = \"a\"");
    let errors = errors(&text);
    let lines: Vec<usize> = errors.problems().iter().map(|p| p.line).collect();
    assert_eq!(lines, [3, 5, 7, 8, 9], "{errors}");
}

#[test]
fn rendering_shows_the_line_marks_the_place_and_colours_on_request() {
    let errors = errors(&change("name", "wieght = 3\nname"));
    let plain = errors.render(false);
    let expected = "\
error[unknown-key]: unknown key `wieght` in [[domain]]
 --> test.toml:9:1
  |
9 | wieght = 3
  | ^^^^^^
  |
  = note: expected one of: name, id, count, vcpus, pin, soft, pool, group, vcpu, start_ms,
          stop_ms, guest, workload, vif, disk, task, weight, cap
  = help: did you mean `weight`?

1 error
";
    assert_eq!(plain, expected);
    assert!(errors.render(true).contains("\u{1b}["));
    let first = &errors.problems()[0];
    assert_eq!(
        (first.code.name(), first.line, first.column, &*first.source),
        ("unknown-key", 9, 1, "test.toml")
    );
    assert_eq!(first.hint.as_deref(), Some("did you mean `weight`?"));
    assert_eq!(errors.total(), 1);
}

/// A key that is misspelt and in the wrong table is found in the right one.
#[test]
fn a_near_key_of_another_table_is_suggested() {
    let text = BASE.replace("\"credit\"", "\"credit\"\nwieght = 3");
    let text = errors(&text).render(false);
    assert!(
        text.contains("did you mean `weight` of [[domain]]?"),
        "{text}"
    );
}

#[test]
fn a_line_of_megabytes_is_shown_in_part() {
    let text = format!("{}x{}=1", BASE, " ".repeat(1_000_000));
    let rendered = errors(&text).render(false);
    assert!(rendered.len() < 2_000, "{} bytes", rendered.len());
    let far = format!("title = \"{}\" wrong", "ä".repeat(1_000_000));
    assert!(errors(&far).render(false).len() < 20_000);
}
