//! One mistake at a time: where it is told to be, and what to do about it.

use crate::common::{change, errors, says};
use domio_scenario::Code;

/// A change to the base, then code, line, column, and words that the message, what was expected or
/// the hint must hold.
type Case<'a> = (&'a str, &'a str, Code, (usize, usize), &'a [&'a str]);

/// A domain with a task, up to the task's workload.
const TASK: &str = "name = \"a\"\n[[domain.task]]\n";
/// The same with a periodic one.
const PERIODIC: &str = "name = \"a\"\n[[domain.task]]\nworkload = \"periodic\"\n";

fn each_is_told_with_its_place_and_what_to_do(cases: &[Case<'_>]) {
    for (from, to, code, place, words) in cases {
        let errors = errors(&change(from, to));
        // A refused table leaves its required keys missing; those come along.
        let p = errors.problems().iter().find(|p| p.code == *code);
        let p = p.unwrap_or_else(|| panic!("{to}: {errors}"));
        assert!(errors.total() == 1, "{to}: {errors}");
        assert_eq!((p.line, p.column), *place, "{to}: {errors}");
        says(p, words, to);
    }
}

#[test]
fn an_unknown_key() {
    each_is_told_with_its_place_and_what_to_do(&[
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
            "\"credit\"",
            "\"credit\"\nbanana = 0",
            Code::UnknownKey,
            (8, 1),
            &[
                "one of: policy, version, changeset, tslice_ms",
                "domio scenario schema",
            ],
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
            "guest = { tick = 10 }\nname",
            Code::UnknownKey,
            (9, 11),
            &["`tick_ms`"],
        ),
        (
            "name = \"a\"\nworkload = \"burn\"",
            &format!("{PERIODIC}period_ms = 1\nburst_us = 2\non_ms = 1"),
            Code::UnknownKey,
            (14, 1),
            &["`on_ms` does not belong to `periodic`", "workload on-off"],
        ),
    ]);
}

#[test]
fn a_number_or_name_out_of_range() {
    each_is_told_with_its_place_and_what_to_do(&[
        (
            "\"credit\"",
            "\"credit\"\ntslice_ms = 0",
            Code::OutOfRange,
            (8, 13),
            &[
                "1 to 1000 ms",
                "for example `tslice_ms = 30`, the default. Time slice",
            ],
        ),
        (
            "name",
            "weight = -1\nname",
            Code::OutOfRange,
            (9, 10),
            &["-1", "1 to 65535", "`weight = 256`, the default. Share of"],
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
            "name = \"a\"",
            "name = \"a b\"",
            Code::OutOfRange,
            (9, 8),
            &["`a b` is no name", "for example \"a-b\""],
        ),
        (
            "name",
            "id = 32752\nname",
            Code::OutOfRange,
            (9, 6),
            &["0 to 32751", "Xen's domid"],
        ),
        (
            "name",
            "id = 32750\ncount = 3\nname",
            Code::OutOfRange,
            (9, 6),
            &["leave no room for 3", "a lower `id`"],
        ),
        (
            "name",
            "vcpus = 10000\nname",
            Code::OutOfRange,
            (9, 9),
            &["1 to 4096", "Virtual processors of each"],
        ),
        (
            "\"credit\"",
            "\"credit\"\nratelimit_us = 50",
            Code::OutOfRange,
            (8, 16),
            &["0, or 100 to 500000 us", "not preempted, 0 for none"],
        ),
    ]);
}

#[test]
fn a_pcpu_or_vcpu_that_is_not_there() {
    each_is_told_with_its_place_and_what_to_do(&[
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
            &["0 to 255", "for example `soft = [0]`. Soft affinity"],
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
            &[
                "no pcpu of the host is left",
                "\"all\" stands for every pcpu",
            ],
        ),
        (
            "name = \"a\"\nworkload = \"burn\"",
            &format!("{TASK}workload = \"burn\"\nvcpu = 1"),
            Code::OutOfRange,
            (12, 8),
            &["no vcpu 1", "0 to 0", "counted from 0"],
        ),
    ]);
}

#[test]
fn a_time_out_of_range() {
    each_is_told_with_its_place_and_what_to_do(&[
        (
            "duration_s = 10",
            "duration_s = 0",
            Code::OutOfRange,
            (3, 14),
            &["longer than nothing", "`duration_s = 10`. Time that is"],
        ),
        (
            "duration_s = 10",
            "duration_s = -2",
            Code::OutOfRange,
            (3, 14),
            &["cannot be negative", "for example `duration_s = 10`"],
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
    ]);
}

#[test]
fn an_unknown_name() {
    each_is_told_with_its_place_and_what_to_do(&[
        (
            "\"credit\"",
            "\"xyz\"",
            Code::UnknownName,
            (7, 10),
            &["no policy `xyz`", "domio policy list"],
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
            &[
                "no hardware profile `fast`",
                "`profile = \"ideal\"`, the default",
            ],
        ),
        (
            "cores = 2",
            "xen = \"4.21\"",
            Code::UnknownName,
            (5, 7),
            &["no release of Xen `4.21`", "4.20"],
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
            &[
                "no guest `windows`",
                "linux-2.6.18",
                "for example `guest = \"ideal\"`",
            ],
        ),
    ]);
}

#[test]
fn a_value_of_the_wrong_type() {
    each_is_told_with_its_place_and_what_to_do(&[
        (
            "[run]",
            "title = 3\n[run]",
            Code::WrongType,
            (2, 9),
            &["a string", "put it in quotes: \"3\""],
        ),
        (
            "[run]",
            "title = []\n[run]",
            Code::WrongType,
            (2, 9),
            &["a string", "`title = \"some text\"`. One line that says"],
        ),
        (
            "name",
            "weight = \"256\"\nname",
            Code::WrongType,
            (9, 10),
            &[
                "a string, not a whole number",
                "1 to 65535",
                "leave the quotes out: 256",
            ],
        ),
        (
            "name",
            "weight = 1.5\nname",
            Code::WrongType,
            (9, 10),
            &["whole number", "for example `weight = 256`"],
        ),
        (
            "name",
            "pin = 0\nname",
            Code::WrongType,
            (9, 7),
            &["a single pcpu is `[0]`"],
        ),
        (
            "duration_s = 10",
            "duration_s = \"10 s\"",
            Code::WrongType,
            (3, 14),
            &["the unit is in the key"],
        ),
        (
            "cores = 2",
            "xen = 4.17",
            Code::WrongType,
            (5, 7),
            &["put it in quotes: \"4.17\""],
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
            &["true or false", "for example `boost = true`"],
        ),
    ]);
}

#[test]
fn a_part_of_the_wrong_type() {
    each_is_told_with_its_place_and_what_to_do(&[
        (
            "name = \"a\"\nworkload = \"burn\"",
            &format!("{PERIODIC}period_ms = 1\nburst = 3"),
            Code::WrongType,
            (13, 9),
            &["`burst` needs a unit", "write `burst_us = 3`"],
        ),
        (
            "name = \"a\"\nworkload = \"burn\"",
            &format!(
                "{PERIODIC}period_ms = 1\n\
                 burst_us = {{ distribution = \"exponential\", mean_us = 3 }}"
            ),
            Code::WrongType,
            (13, 12),
            &["write `burst = { ... }`"],
        ),
        (
            "name = \"a\"\nworkload = \"burn\"",
            &format!("{TASK}workload = \"burn\"\nvcpu = \"any\""),
            Code::WrongType,
            (12, 8),
            &["\"all\"", "for example `vcpu = 0`"],
        ),
        (
            "workload = \"burn\"",
            "[domain.task]\nworkload = \"idle\"",
            Code::WrongType,
            (10, 1),
            &["two brackets"],
        ),
        (
            "[run]\nduration_s = 10",
            "run = 3",
            Code::WrongType,
            (2, 7),
            &["a table, [run]", "write [run] with its keys below it"],
        ),
    ]);
}

#[test]
fn a_value_beyond_a_limit() {
    each_is_told_with_its_place_and_what_to_do(&[
        (
            "name",
            "vcpus = 100\ncount = 100\nname",
            Code::Limit,
            (8, 1),
            &["10000 vcpus", "4096"],
        ),
        (
            "cores = 2",
            "sockets = 4\ncores = 65",
            Code::Limit,
            (6, 9),
            &["260 pcpus", "256"],
        ),
    ]);
}

#[test]
fn keys_that_contradict_each_other() {
    each_is_told_with_its_place_and_what_to_do(&[
        (
            "name",
            "start_ms = 5\nstop_ms = 5\nname",
            Code::Conflict,
            (10, 11),
            &["after 5 ms", "without a `stop`"],
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
            "name = \"a\"\nworkload = \"burn\"",
            &format!(
                "{PERIODIC}period_ms = 1\n\
                 burst = {{ distribution = \"uniform\", low_us = 3, high_us = 2 }}"
            ),
            Code::Conflict,
            (13, 59),
            &["at least 3 us", "exchanged"],
        ),
        (
            "workload = \"burn\"",
            "workload = \"burn\"\n[[domain.task]]\nworkload = \"idle\"",
            Code::Conflict,
            (10, 1),
            &["both a `workload` and tasks"],
        ),
    ]);
}

#[test]
fn a_name_given_twice() {
    each_is_told_with_its_place_and_what_to_do(&[
        (
            "duration_s = 10",
            "duration_s = 1\nduration_ms = 1000",
            Code::Duplicate,
            (4, 1),
            &["two units"],
        ),
        (
            "name = \"a\"\nworkload = \"burn\"",
            &format!(
                "{TASK}workload = \"burn\"\nname = \"t\"\n[[domain.task]]\nworkload = \"idle\"\n\
                 name = \"t\""
            ),
            Code::Duplicate,
            (15, 8),
            &["two tasks `t`", "called after its workload"],
        ),
    ]);
}

#[test]
fn a_missing_key() {
    each_is_told_with_its_place_and_what_to_do(&[
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
            "name = \"a\"\nworkload = \"burn\"",
            &format!("{PERIODIC}period_ms = 1"),
            Code::MissingKey,
            (10, 1),
            &["`burst_us` is missing", "workload periodic needs it"],
        ),
        (
            "workload = \"burn\"",
            "task = []",
            Code::MissingKey,
            (10, 8),
            &["at least one [[domain.task]]"],
        ),
    ]);
}
