//! What is right by itself and wrong together.

use crate::common::{change, errors, only, parse, says, with};
use domio_scenario::{Code, Problem};
use domio_vmm::config::Action;

/// An action, the code, and words that the message, what was expected or the hint must hold.
static ACTIONS: &[(&str, Code, &[&str])] = &[
    (
        "do = \"pause\"\ndomain = \"b\"",
        Code::UnknownName,
        &["no domain `b`", "one of: a, late", "add a [[domain]]"],
    ),
    (
        "do = \"pause\"\ndomain = \"latte\"",
        Code::UnknownName,
        &["did you mean `late`?"],
    ),
    (
        "do = \"pause\"\ndomain = \"late\"",
        Code::Action,
        &[
            "does not exist at 0.005000000 s: it starts at",
            "change the action's time",
        ],
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
        "do = \"set-policy\"",
        Code::MissingKey,
        &["nothing is set", "can change in a run"],
    ),
    (
        "do = \"set-policy\"\nboost = false",
        Code::UnknownKey,
        &["boost", "tslice_ms, ratelimit_us, migration_delay_us"],
    ),
    (
        "do = \"set-policy\"\ntslice_ms = 1\nratelimit_us = 2000",
        Code::Conflict,
        &["2000 us is longer than the time slice of 1000 us"],
    ),
    (
        "do = \"pin\"\ndomain = \"a\"",
        Code::MissingKey,
        &["changes no affinity"],
    ),
    (
        "do = \"pin\"\ndomain = \"a\"\npin = [0]\nvcpu = 1",
        Code::OutOfRange,
        &["a has no vcpu 1", "counted from 0"],
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
        &["pcpu 0 is online at", "remove the action"],
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
        &["offline at 0.006000000 s already", "remove the action"],
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
        &["every pcpu of the pin is offline", "pcpu-online"],
    ),
    (
        "do = \"pause\"\ndomain = \"a\"\npcpu = 1",
        Code::UnknownKey,
        &["`pcpu` does not belong to `pause`", "do pcpu-offline"],
    ),
    ("domain = \"a\"", Code::MissingKey, &["`do` is missing"]),
];

#[test]
fn actions_are_checked_against_the_host_at_their_time() {
    for (action, code, words) in ACTIONS {
        let text = with(&format!(
            "[[domain]]\nname = \"late\"\nstart_ms = 20\n[[action]]\nat_ms = 5\n{action}\n"
        ));
        let p = only(&text);
        assert_eq!(p.code, *code, "{action}: {p:?}");
        says(&p, words, action);
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
fn parameters_of_the_policy_change_one_after_the_other_as_far_as_the_release_can() {
    let set =
        |at: u64, what: &str| format!("[[action]]\nat_ms = {at}\ndo = \"set-policy\"\n{what}\n");
    // Those that are not named stay as the action before left them.
    let text = with(&(set(2, "tslice_ms = 5") + &set(1, "ratelimit_us = 3000")));
    let scenario = parse(&text).unwrap();
    let values = scenario.plan().host.actions.iter().map(|(_, a)| match a {
        Action::SetPolicy(params) => ["tslice_ms", "ratelimit_us"].map(|n| params.by_name(n)),
        other => panic!("{other:?}"),
    });
    let values: Vec<_> = values.collect();
    assert_eq!(
        values,
        [[Some(30), Some(3000)], [Some(5), Some(3000)]],
        "in order of time"
    );
    let late = with(&(set(1, "tslice_ms = 5") + &set(2, "ratelimit_us = 6000")));
    let p = only(&late);
    assert_eq!(
        (p.code, p.key.as_str()),
        (Code::Conflict, "action[1].ratelimit_us")
    );
    let old = change("\"credit\"", "\"credit\"\nversion = \"4.1\"") + &set(1, "tslice_ms = 5");
    let p = only(&old);
    says(
        &p,
        &["Xen 4.1 cannot change `tslice_ms` in a run", "version 4.2"],
        "4.1",
    );
    let none = change("\"credit\"", "\"sedf\"") + &set(1, "tslice_ms = 5");
    assert_eq!(only(&none).code, Code::UnknownKey);
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
fn so_have_those_of_all_domains_together() {
    let arinc = change("\"credit\"", "\"arinc653\"\nmajor_frame_us = 30000");
    let arinc = arinc.replace("name = \"a\"", "name = \"a\"\nruntime_us = 12000");
    let second = |count, more: &str| {
        format!("{arinc}[[domain]]\nname = \"b\"\ncount = {count}\nruntime_us = 8000\n{more}")
    };
    // 12 + 2 * 8 ms fit in 30 ms; the third member of the group has no room.
    assert!(parse(&second(2, "")).is_ok());
    let p = only(&second(3, ""));
    assert_eq!(
        (p.code, p.line, p.key.as_str()),
        (Code::Conflict, 16, "domain[1].runtime_us"),
        "{p:?}"
    );
    says(
        &p,
        &[
            "b3: no gap of 8000 us is left in the major frame of 30000 us",
            "fit in major_frame_us",
            "Xen refuses it too",
        ],
        "8000",
    );
    // Every vcpu of a domain counts, and a default, too.
    let p = only(&arinc.replace("name = \"a\"", "name = \"a\"\nvcpus = 3"));
    assert_eq!(p.key, "domain[0].runtime_us");
    let p = only(&(second(1, "") + "[[domain]]\nname = \"c\"\nvcpus = 2\n"));
    assert_eq!((p.line, p.key.as_str()), (17, "domain[2].runtime_us"));
    // An action has to keep to it, the policy's as well as a domain's.
    let set = |action: &str| second(2, "") + "[[action]]\nat_s = 1\n" + action;
    let p = only(&set("do = \"set\"\ndomain = \"a\"\nruntime_us = 15000\n"));
    assert_eq!(p.key, "action[0].runtime_us");
    says(&p, &["b2: no gap of 8000 us"], "15000");
    let p = only(&set("do = \"set-policy\"\nmajor_frame_us = 27999\n"));
    assert_eq!(p.code, Code::Conflict);
    assert!(parse(&set("do = \"set-policy\"\nmajor_frame_us = 28000\n")).is_ok());
    // A value that is refused for itself is told alone.
    let p = only(&second(3, "offset_us = -2\n"));
    assert_eq!(
        (p.code, p.key.as_str()),
        (Code::OutOfRange, "domain[1].offset_us")
    );
}

fn hint_of(p: &Problem) -> &str {
    p.hint.as_deref().unwrap_or("")
}

#[test]
fn a_group_is_not_called_as_a_domain_is() {
    // The domain may be another one, before or after the group, or a member of another group.
    let group = "[[domain]]\nname = \"g\"\ncount = 3\n";
    let domain = "[[domain]]\nname = \"g\"\n";
    let other = "[[domain]]\nname = \"g1\"\ncount = 2\n";
    for (text, name, line, key) in [
        (format!("{domain}{group}"), "g", 14, "domain[2].name"),
        (format!("{group}{domain}"), "g", 15, "domain[2].name"),
        (format!("{group}{other}"), "g1", 15, "domain[2].name"),
        (format!("{other}{group}"), "g1", 15, "domain[2].name"),
    ] {
        let p = only(&with(&text));
        assert_eq!(
            (p.code, p.line, p.key.as_str()),
            (Code::Duplicate, line, key),
            "{text}"
        );
        let message = format!("a domain and a group `{name}`");
        assert!(p.message.contains(&message), "{text}: {p:?}");
        assert!(hint_of(&p).contains("another name"), "{text}: {p:?}");
    }
}

#[test]
fn names_and_ids_are_unique_over_groups_too() {
    let p = only(&with("[[domain]]\nname = \"a\"\n"));
    assert_eq!(
        (p.code, p.line, p.key.as_str()),
        (Code::Duplicate, 12, "domain[1].name")
    );
    assert!(!hint_of(&p).contains("group"), "there is none: {p:?}");
    assert!(hint_of(&p).contains("another name"), "{p:?}");
    let p = only(&with(
        "[[domain]]\nname = \"g\"\ncount = 3\n[[domain]]\nname = \"g2\"\n",
    ));
    assert!(p.message.contains("two domains `g2`"), "{p:?}");
    assert!(
        hint_of(&p).contains("`g2` is a member of the group `g`"),
        "{p:?}"
    );
    // The group may come second, or have its own name twice.
    let p = only(&with(
        "[[domain]]\nname = \"g2\"\n[[domain]]\nname = \"g\"\ncount = 3\n",
    ));
    assert!(
        hint_of(&p).contains("`g2` is a member of the group `g`"),
        "{p:?}"
    );
    let group = "[[domain]]\nname = \"g\"\ncount = 2\n";
    for p in errors(&with(&group.repeat(2))).problems() {
        assert!(hint_of(p).contains("member of the group `g`"), "{p:?}");
    }
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
