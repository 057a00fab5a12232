//! What users do wrong, and what they are told.

use crate::common::{BASE, parse, policies, with};
use domio_scenario::{Code, MAX_BYTES, Problem, Scenario, ScenarioErrors};

fn errors(text: &str) -> ScenarioErrors {
    match parse(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(errors) => errors,
    }
}

/// The only problem of `text`.
fn only(text: &str) -> Problem {
    let errors = errors(text);
    assert_eq!(errors.total(), 1, "{errors}");
    errors.problems()[0].clone()
}

/// [`BASE`] with `from` replaced.
fn change(from: &str, to: &str) -> String {
    assert!(BASE.contains(from), "{from}");
    BASE.replacen(from, to, 1)
}

/// A change to the base, then code, line, column, and words that the message, what was expected or
/// the hint must hold.
type Case<'a> = (&'a str, &'a str, Code, (usize, usize), &'a [&'a str]);

#[test]
fn each_mistake_is_told_with_its_place_and_what_to_do() {
    let task = "name = \"a\"\n[[domain.task]]\n";
    let periodic = format!("{task}workload = \"periodic\"\n");
    let cases: &[Case<'_>] = &[
        (
            "name",
            "wieght = 3\nname",
            Code::UnknownKey,
            (9, 1),
            &["`wieght` in [[domain]]", "did you mean `weight`?"],
        ),
        (
            "duration_s = 10",
            "duration = 10\nduration_s = 1",
            Code::UnknownKey,
            (3, 1),
            &["ends in its unit: `duration_s`"],
        ),
        (
            "cores = 2",
            "cores = 2\nweight = 3",
            Code::UnknownKey,
            (6, 1),
            &["it is a key of [[domain]]"],
        ),
        (
            "[run]",
            "policy = \"null\"\n[run]",
            Code::UnknownKey,
            (2, 1),
            &["at the top level", "it is a key of [scheduler]"],
        ),
        (
            "[run]",
            "[run]\ntitle = \"x\"",
            Code::UnknownKey,
            (3, 1),
            &["it goes before the first table"],
        ),
        (
            "policy = \"credit\"",
            "policy = \"null\"\ntslice_ms = 3",
            Code::UnknownKey,
            (8, 1),
            &["null has no parameter `tslice_ms`", "credit"],
        ),
        (
            "name",
            "weight = \"256\"\nname",
            Code::WrongType,
            (9, 10),
            &["a string, not a whole number", "1 to 65535"],
        ),
        (
            "name",
            "weight = -1\nname",
            Code::OutOfRange,
            (9, 10),
            &["-1", "1 to 65535"],
        ),
        (
            "name",
            "weight = 99999999999999999999999999999999999999999999\nname",
            Code::OutOfRange,
            (9, 10),
            &["1 to 65535"],
        ),
        (
            "name",
            "weight = 1.5\nname",
            Code::WrongType,
            (9, 10),
            &["whole number"],
        ),
        (
            "name",
            "cap = 101\nname",
            Code::OutOfRange,
            (9, 7),
            &["out of reach for a domain with 1 vcpu", "0 to 100 %"],
        ),
        (
            "name",
            "vcpus = 2\ncap = 201\nname",
            Code::OutOfRange,
            (10, 7),
            &["with 2 vcpus", "0 to 200 %"],
        ),
        (
            "name",
            "pin = [0, 2]\nname",
            Code::OutOfRange,
            (9, 7),
            &["the host has no pcpu 2", "0-1", "counted from 0"],
        ),
        (
            "name",
            "pin = \"1-5\"\nname",
            Code::OutOfRange,
            (9, 7),
            &["the host has no pcpu 2-5"],
        ),
        (
            "name",
            "soft = [300]\nname",
            Code::OutOfRange,
            (9, 9),
            &["0 to 255"],
        ),
        (
            "name",
            "pin = []\nname",
            Code::OutOfRange,
            (9, 7),
            &["no pcpu is left"],
        ),
        (
            "name",
            "pin = \"all,^0-1\"\nname",
            Code::OutOfRange,
            (9, 7),
            &["no pcpu of the host is left"],
        ),
        (
            "name",
            "pin = 0\nname",
            Code::WrongType,
            (9, 7),
            &["a single pcpu is `[0]`"],
        ),
        (
            "name = \"a\"",
            "name = \"a b\"",
            Code::OutOfRange,
            (9, 8),
            &["`a b` is no name"],
        ),
        (
            "name",
            "id = 32752\nname",
            Code::OutOfRange,
            (9, 6),
            &["0 to 32751"],
        ),
        (
            "name",
            "id = 32750\ncount = 3\nname",
            Code::OutOfRange,
            (9, 6),
            &["leave no room for 3"],
        ),
        (
            "name",
            "vcpus = 10000\nname",
            Code::OutOfRange,
            (9, 9),
            &["1 to 4096"],
        ),
        (
            "name",
            "vcpus = 100\ncount = 100\nname",
            Code::Limit,
            (8, 1),
            &["10000 vcpus", "4096"],
        ),
        (
            "name",
            "start_ms = 5\nstop_ms = 5\nname",
            Code::Conflict,
            (10, 11),
            &["after 5 ms"],
        ),
        (
            "duration_s = 10",
            "duration_s = 0",
            Code::OutOfRange,
            (3, 14),
            &["longer than nothing"],
        ),
        (
            "duration_s = 10",
            "duration_s = -2",
            Code::OutOfRange,
            (3, 14),
            &["cannot be negative"],
        ),
        (
            "duration_s = 10",
            "duration_s = nan",
            Code::OutOfRange,
            (3, 14),
            &["nan is no time"],
        ),
        (
            "duration_s = 10",
            "duration_s = inf",
            Code::OutOfRange,
            (3, 14),
            &["inf is no time"],
        ),
        (
            "duration_s = 10",
            "duration_s = 1e300",
            Code::OutOfRange,
            (3, 14),
            &["too long", "1000000 s"],
        ),
        (
            "duration_s = 10",
            "duration_ns = 0.4",
            Code::OutOfRange,
            (3, 15),
            &["longer than nothing"],
        ),
        (
            "duration_s = 10",
            "duration_s = \"10 s\"",
            Code::WrongType,
            (3, 14),
            &["the unit is in the key"],
        ),
        (
            "duration_s = 10",
            "duration_s = 1\nduration_ms = 1000",
            Code::Duplicate,
            (4, 1),
            &["two units"],
        ),
        (
            "duration_s = 10",
            "",
            Code::MissingKey,
            (2, 1),
            &["`duration_s` is missing"],
        ),
        (
            "name = \"a\"",
            "",
            Code::MissingKey,
            (8, 1),
            &["`name` is missing"],
        ),
        (
            "policy = \"credit\"",
            "",
            Code::MissingKey,
            (6, 1),
            &["`policy` is missing", "credit, ", "round-robin"],
        ),
        (
            "\"credit\"",
            "\"credti\"",
            Code::UnknownName,
            (7, 10),
            &[
                "there is no policy `credti`",
                "round-robin",
                "did you mean `credit`?",
            ],
        ),
        (
            "cores = 2",
            "profile = \"fast\"",
            Code::UnknownName,
            (5, 11),
            &["no hardware profile `fast`", "ideal"],
        ),
        (
            "cores = 2",
            "xen = 4.17",
            Code::WrongType,
            (5, 7),
            &["put it in quotes: \"4.17\""],
        ),
        (
            "cores = 2",
            "xen = \"4.16\"",
            Code::UnknownName,
            (5, 7),
            &["no release of Xen `4.16`", "4.17"],
        ),
        (
            "cores = 2",
            "sockets = 4\ncores = 65",
            Code::Limit,
            (6, 9),
            &["260 pcpus", "256"],
        ),
        (
            "\"burn\"",
            "\"brun\"",
            Code::UnknownName,
            (10, 12),
            &["no workload `brun`", "replay", "did you mean `burn`?"],
        ),
        (
            "name",
            "guest = \"windows\"\nname",
            Code::UnknownName,
            (9, 9),
            &["no guest `windows`", "linux-2.6.18"],
        ),
        (
            "name",
            "guest = { tick = 10 }\nname",
            Code::UnknownKey,
            (9, 11),
            &["`tick_ms`"],
        ),
        (
            "\"credit\"",
            "\"credit\"\nratelimit_us = 50",
            Code::OutOfRange,
            (8, 16),
            &["0, or 100 to 500000 us"],
        ),
        (
            "\"credit\"",
            "\"credit\"\nratelimit_us = 2000\ntslice_ms = 1",
            Code::Conflict,
            (8, 16),
            &["2000 us is longer than the time slice of 1000 us"],
        ),
        (
            "\"credit\"",
            "\"credit\"\nversion = \"3.1\"\ntslice_ms = 5",
            Code::Conflict,
            (9, 13),
            &["Xen 3.1 has no `tslice_ms`", "4.2"],
        ),
        (
            "\"credit\"",
            "\"narrow\"\nratelimit_us = 11000",
            Code::Conflict,
            (8, 16),
            &[
                "11000 us is longer than the time slice of 10 ms",
                "10000 us at most",
            ],
        ),
        (
            "\"credit\"",
            "\"credit\"\nversion = 4.17",
            Code::WrongType,
            (8, 11),
            &["in quotes"],
        ),
        (
            "\"credit\"",
            "\"credit\"\nboost = 1",
            Code::WrongType,
            (8, 9),
            &["true or false"],
        ),
        (
            "name = \"a\"\nworkload = \"burn\"",
            &format!("{periodic}period_ms = 1\nburst_us = 2\non_ms = 1"),
            Code::UnknownKey,
            (14, 1),
            &["`on_ms` does not belong to `periodic`", "workload on-off"],
        ),
        (
            "name = \"a\"\nworkload = \"burn\"",
            &format!("{periodic}period_ms = 1"),
            Code::MissingKey,
            (10, 1),
            &["`burst_us` is missing", "workload periodic needs it"],
        ),
        (
            "name = \"a\"\nworkload = \"burn\"",
            &format!("{periodic}period_ms = 1\nburst = 3"),
            Code::WrongType,
            (13, 9),
            &["a constant needs its unit: `burst_us`"],
        ),
        (
            "name = \"a\"\nworkload = \"burn\"",
            &format!(
                "{periodic}period_ms = 1\n\
                 burst_us = {{ distribution = \"exponential\", mean_us = 3 }}"
            ),
            Code::WrongType,
            (13, 12),
            &["write `burst = { ... }`"],
        ),
        (
            "name = \"a\"\nworkload = \"burn\"",
            &format!(
                "{periodic}period_ms = 1\n\
                 burst = {{ distribution = \"uniform\", low_us = 3, high_us = 2 }}"
            ),
            Code::Conflict,
            (13, 59),
            &["at least 3 us"],
        ),
        (
            "name = \"a\"\nworkload = \"burn\"",
            &format!("{task}workload = \"burn\"\nvcpu = 1"),
            Code::OutOfRange,
            (12, 8),
            &["no vcpu 1", "0 to 0"],
        ),
        (
            "name = \"a\"\nworkload = \"burn\"",
            &format!("{task}workload = \"burn\"\nvcpu = \"any\""),
            Code::WrongType,
            (12, 8),
            &["\"all\""],
        ),
        (
            "name = \"a\"\nworkload = \"burn\"",
            &format!(
                "{task}workload = \"burn\"\nname = \"t\"\n[[domain.task]]\nworkload = \"idle\"\n\
                 name = \"t\""
            ),
            Code::Duplicate,
            (15, 8),
            &["two tasks `t`"],
        ),
        (
            "workload = \"burn\"",
            "task = []",
            Code::MissingKey,
            (10, 8),
            &["at least one [[domain.task]]"],
        ),
        (
            "workload = \"burn\"",
            "[domain.task]\nworkload = \"idle\"",
            Code::WrongType,
            (10, 1),
            &["two brackets"],
        ),
        (
            "workload = \"burn\"",
            "workload = \"burn\"\n[[domain.task]]\nworkload = \"idle\"",
            Code::Conflict,
            (10, 1),
            &["both a `workload` and tasks"],
        ),
        (
            "[run]\nduration_s = 10",
            "run = 3",
            Code::WrongType,
            (2, 7),
            &["a table, [run]"],
        ),
    ];
    for (from, to, code, place, words) in cases {
        let errors = errors(&change(from, to));
        // A refused table leaves its required keys missing; those come along.
        let p = errors.problems().iter().find(|p| p.code == *code);
        let p = p.unwrap_or_else(|| panic!("{to}: {errors}"));
        assert!(errors.total() == 1, "{to}: {errors}");
        assert_eq!((p.line, p.column), *place, "{to}: {errors}");
        let said = format!(
            "{} {} {}",
            p.message,
            p.expected,
            p.hint.as_deref().unwrap_or("")
        );
        for word in *words {
            assert!(said.contains(word), "{to}: no {word:?} in: {said}");
        }
    }
}

#[test]
fn actions_are_checked_against_the_host_at_their_time() {
    let cases: &[(&str, Code, &[&str])] = &[
        (
            "do = \"pause\"\ndomain = \"b\"",
            Code::UnknownName,
            &["no domain `b`", "one of: a, late"],
        ),
        (
            "do = \"pause\"\ndomain = \"latte\"",
            Code::UnknownName,
            &["did you mean `late`?"],
        ),
        (
            "do = \"pause\"\ndomain = \"late\"",
            Code::Action,
            &["does not exist at 0.005000000 s: it starts at"],
        ),
        (
            "do = \"set\"\ndomain = \"a\"",
            Code::MissingKey,
            &["nothing is set"],
        ),
        (
            "do = \"set\"\ndomain = \"a\"\ncap = 500",
            Code::OutOfRange,
            &["out of reach for a", "0 to 100"],
        ),
        (
            "do = \"pin\"\ndomain = \"a\"",
            Code::MissingKey,
            &["changes no affinity"],
        ),
        (
            "do = \"pin\"\ndomain = \"a\"\npin = [0]\nvcpu = 1",
            Code::OutOfRange,
            &["a has no vcpu 1"],
        ),
        (
            "do = \"pin\"\ndomain = \"a\"\npin = [7]",
            Code::OutOfRange,
            &["no pcpu 7"],
        ),
        (
            "do = \"pcpu-offline\"\npcpu = 2",
            Code::OutOfRange,
            &["no pcpu 2", "0-1"],
        ),
        (
            "do = \"pcpu-online\"\npcpu = 0",
            Code::Action,
            &["pcpu 0 is online at"],
        ),
        (
            "do = \"pcpu-offline\"\npcpu = 1\n[[action]]\nat_ms = 1\ndo = \"pcpu-offline\"\n\
             pcpu = 0",
            Code::Action,
            &["pcpu 1 is the last one"],
        ),
        (
            "do = \"pcpu-offline\"\npcpu = 1\n[[action]]\nat_ms = 6\ndo = \"pcpu-offline\"\n\
             pcpu = 1",
            Code::Action,
            &["offline at 0.006000000 s already"],
        ),
        (
            "do = \"pin\"\ndomain = \"a\"\npin = [1]\n[[action]]\nat_ms = 6\n\
             do = \"pcpu-offline\"\npcpu = 1",
            Code::Action,
            &["vcpu 0 of a is pinned to pcpu 1"],
        ),
        (
            "do = \"pcpu-offline\"\npcpu = 1\n[[action]]\nat_ms = 6\ndo = \"pin\"\n\
             domain = \"a\"\npin = [1]",
            Code::Action,
            &["every pcpu of the pin is offline"],
        ),
        (
            "do = \"pause\"\ndomain = \"a\"\npcpu = 1",
            Code::UnknownKey,
            &["`pcpu` does not belong to `pause`", "do pcpu-offline"],
        ),
        ("domain = \"a\"", Code::MissingKey, &["`do` is missing"]),
    ];
    for (action, code, words) in cases {
        let text = with(&format!(
            "[[domain]]\nname = \"late\"\nstart_ms = 20\n[[action]]\nat_ms = 5\n{action}\n"
        ));
        let p = only(&text);
        assert_eq!(p.code, *code, "{action}: {p:?}");
        let said = format!(
            "{} {} {}",
            p.message,
            p.expected,
            p.hint.as_deref().unwrap_or("")
        );
        for word in *words {
            assert!(said.contains(word), "{action}: no {word:?} in: {said}");
        }
    }
    let late = with(
        "[[domain]]\nname = \"late\"\npin = [1]\nstart_ms = 20\n[[action]]\nat_ms = 5\n\
         do = \"pcpu-offline\"\npcpu = 1\n",
    );
    assert!(
        only(&late).message.contains("late starts at"),
        "{:?}",
        only(&late)
    );
}

#[test]
fn parameters_of_a_domain_have_to_go_together() {
    let sedf = change("\"credit\"", "\"sedf\"");
    let long = "slice_us = 20001\nperiod_us = 20000";
    let p = only(&sedf.replace("name = \"a\"", &format!("name = \"a\"\n{long}")));
    assert_eq!(
        (p.code, p.line, p.column),
        (Code::Conflict, 10, 12),
        "{p:?}"
    );
    assert_eq!(p.key, "domain[0].slice_us");
    assert!(p.message.contains("longer than the period of 20000 us"));
    // The default of another parameter may be what it clashes with, and may depend on the release.
    let dom0 = sedf.replace("name = \"a\"", "name = \"Domain-0\"\nslice_us = 30000");
    assert!(
        parse(&dom0).is_ok(),
        "4.5 creates dom0 with a period of 100 ms"
    );
    let p = only(&dom0.replace("\"sedf\"", "\"sedf\"\nversion = \"3.1\""));
    assert!(
        p.message.contains("longer than the period of 20000 us"),
        "{p:?}"
    );
    // A group is told once, and a value that is refused for itself clashes with nothing.
    let p = only(&format!(
        "{sedf}[[domain]]\nname = \"g\"\ncount = 3\nextratime = false\n"
    ));
    assert_eq!((p.code, p.line), (Code::Conflict, 14), "{p:?}");
    assert!(p.hint.unwrap().contains("slice_us"));
    let p = only(&format!(
        "{sedf}[[domain]]\nname = \"b\"\nperiod_us = 5000\nslice_us = 4\n"
    ));
    assert_eq!((p.code, p.line), (Code::OutOfRange, 14), "{p:?}");
}

#[test]
fn so_have_those_that_an_action_changes() {
    let sedf = change("\"credit\"", "\"sedf\"");
    let sedf = sedf.replace(
        "name = \"a\"",
        "name = \"a\"\nslice_us = 5000\nperiod_us = 20000",
    );
    let set =
        |what: &str| format!("{sedf}[[action]]\nat_s = 1\ndo = \"set\"\ndomain = \"a\"\n{what}\n");
    let p = only(&set("period_us = 4000"));
    assert_eq!(
        (p.code, p.key.as_str()),
        (Code::Conflict, "action[0].period_us")
    );
    assert!(
        p.message.contains("the slice of 5000 us"),
        "what was set before counts: {p:?}"
    );
    assert!(parse(&set("period_us = 4000\nslice_us = 1000")).is_ok());
}

#[test]
fn names_and_ids_are_unique_over_groups_too() {
    let p = only(&with("[[domain]]\nname = \"a\"\n"));
    assert_eq!(
        (p.code, p.line, p.key.as_str()),
        (Code::Duplicate, 12, "domain[1].name")
    );
    let p = only(&with(
        "[[domain]]\nname = \"g\"\ncount = 3\n[[domain]]\nname = \"g2\"\n",
    ));
    assert!(p.message.contains("two domains `g2`"), "{p:?}");
    let p = only(&with(
        "[[domain]]\nname = \"b\"\nid = 5\ncount = 3\n[[domain]]\nname = \"c\"\nid = 7\n",
    ));
    assert!(p.message.contains("id 7 is taken"), "{p:?}");
    // A domain that is refused for something else keeps its name.
    let errors = errors(&with("[[domain]]\nname = \"a\"\npin = [9]\n"));
    assert_eq!(errors.total(), 2, "{errors}");
}

#[test]
fn a_key_of_both_task_and_policy_has_to_be_told_apart() {
    let text = change("\"credit\"", "\"reserving\"");
    let shorthand = text.replace("\"burn\"", "\"periodic\"\nperiod_us = 9\nburst_us = 3");
    let p = only(&shorthand.replace("burst_us = 3", "burst_us = 3\nbudget_us = 7"));
    assert_eq!((p.code, p.line), (Code::Conflict, 11), "{p:?}");
    assert!(p.hint.unwrap().contains("[[domain.task]]"));
    let plain = text.replace("workload = \"burn\"", "period_us = 9");
    let scenario = parse(&plain).unwrap();
    assert_eq!(
        scenario.plan().host.domains[0].params.by_name("period_us"),
        Some(9)
    );
}

#[test]
fn what_is_no_text_is_told_by_byte_and_line() {
    let mut bytes = change("\"burn\"", "\"bern\"").into_bytes();
    let at = bytes.windows(4).position(|w| w == b"name").unwrap();
    bytes.splice(at..at, *b"# caf\xe9\n");
    let errors = Scenario::parse("f.toml", &bytes, &policies()).unwrap_err();
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
    let refused = Scenario::load(&path, &policies()).unwrap_err();
    std::fs::write(&path, BASE).unwrap();
    let loaded = Scenario::load(&path, &policies());
    let missing = Scenario::load(&folder.join("none.toml"), &policies()).unwrap_err();
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
        Scenario::parse("f", &bytes, &policies())
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
  | ^^^^^^ expected one of: name, id, count, vcpus, pin, soft, start_ms, stop_ms, guest, \
workload, task, weight, cap
  |
  = help: did you mean `weight`?

1 error
";
    assert_eq!(plain, expected);
    assert!(errors.render(true).contains("\u{1b}["));
    let json = errors.to_json();
    let first = &json["errors"][0];
    assert_eq!(
        (
            first["code"].as_str(),
            first["line"].as_u64(),
            first["column"].as_u64(),
            first["file"].as_str()
        ),
        (Some("unknown-key"), Some(9), Some(1), Some("test.toml"))
    );
    assert_eq!(first["hint"], "did you mean `weight`?");
    assert_eq!(json["total"], 1);
}

#[test]
fn a_line_of_megabytes_is_shown_in_part() {
    let text = format!("{}x{}=1", BASE, " ".repeat(1_000_000));
    let rendered = errors(&text).render(false);
    assert!(rendered.len() < 2_000, "{} bytes", rendered.len());
    let far = format!("title = \"{}\" wrong", "ä".repeat(1_000_000));
    assert!(errors(&far).render(false).len() < 20_000);
}
