//! Declarations of the policies' trace records: sound in themselves, and true of what Xen 4.17
//! wrote on a real host.

use domio_core::Class;
use domio_core::class::Says;
use std::collections::BTreeMap;
use std::path::Path;

fn class(policy: &str) -> &'static Class {
    let policy = domio_sched::find(policy).expect("a policy of that name");
    policy.descriptor.class.expect("it writes records")
}

#[test]
fn declarations_are_sound() {
    for policy in domio_sched::policies() {
        let Some(class) = policy.descriptor.class else {
            continue;
        };
        let name = policy.descriptor.name;
        let ascending = class.records.is_sorted_by(|a, b| a.number < b.number);
        assert!(ascending, "{name}: numbers ascend, each once");
        for declared in class.records {
            assert!(
                declared.number < 64,
                "{name}: Xen has 6 bits for events here"
            );
            assert!(declared.words <= 4, "{name} {}", declared.name);
            let fields = declared.fields.len() as u8;
            let named: &[u8] = match declared.says {
                Says::Tickled { pcpu } | Says::Wants { pcpu } => &[pcpu],
                Says::Credit {
                    credit,
                    budget: Some(budget),
                } => &[credit, budget],
                Says::Credit { credit, .. } => &[credit],
                Says::Budget { left } => &[left],
                _ => &[],
            };
            assert!(
                named.iter().all(|field| *field < fields),
                "{name} {}",
                declared.name
            );
        }
    }
}

/// What each policy's records say of waits, by number.
#[test]
fn numbers_mean_what_they_mean_in_xen() {
    let said = |policy| {
        let records = class(policy).records.iter();
        let telling = records.filter(|d| d.says != Says::Nothing);
        telling.map(|d| (d.number, d.says)).collect::<Vec<_>>()
    };
    let credit = |credit| Says::Credit {
        credit,
        budget: None,
    };
    assert_eq!(
        said("credit"),
        [
            (5, Says::Wants { pcpu: 0 }),
            (6, Says::Tickled { pcpu: 0 }),
            (7, Says::Boosted),
            (8, Says::BoostOver),
            (9, Says::Pass),
            (10, Says::RateLimited),
            // Not Xen's.
            (48, Says::Queued { pcpu: 1 }),
            (49, Says::Dispatches),
        ]
    );
    // 7, 9 and 10 are a reset, loads and an assignment here, 8 is nothing.
    let burned = Says::Credit {
        credit: 0,
        budget: Some(1),
    };
    assert_eq!(
        said("credit2"),
        [
            (3, burned),
            (6, Says::Tickled { pcpu: 0 }),
            (7, credit(1)),
            (13, credit(1)),
            (21, Says::Pass),
            (22, Says::RateLimited),
        ]
    );
    assert_eq!(
        said("rtds"),
        [
            (1, Says::Tickled { pcpu: 0 }),
            (3, Says::Budget { left: 0 }),
            (4, Says::Filled),
            (6, Says::Pass),
        ]
    );
    // Not Xen's: its SEDF wrote no records.
    assert_eq!(
        said("sedf"),
        [
            (5, Says::Budget { left: 2 }),
            (6, Says::Budget { left: 2 }),
            (7, Says::Budget { left: 2 }),
            (14, Says::Budget { left: 0 }),
            (15, Says::Filled),
        ]
    );
    assert_eq!(
        said("null"),
        [(1, Says::Wants { pcpu: 0 }), (5, Says::Pass)]
    );
    let silent = ["arinc653", "round-robin"];
    let none = |name: &&str| domio_sched::find(name).is_some_and(|p| p.descriptor.class.is_none());
    assert!(silent.iter().all(none));
}

/// How often Xen's scheduler `id` wrote each event, with so many words.
fn written(trace: &str, id: u32) -> BTreeMap<(u8, usize), usize> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/xen-traces");
    let bytes = std::fs::read(root.join(trace).join("trace.bin")).expect("a shipped trace");
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let mut found = BTreeMap::new();
    let mut at = 0;
    while let Some(&header) = words.get(at) {
        let (event, extra) = (header & 0x0fff_ffff, (header >> 28 & 7) as usize);
        let time = if header >> 31 == 1 { 2 } else { 0 };
        if event & 0xffff_f000 == 0x2_2000 && event >> 9 & 7 == id {
            *found.entry(((event & 0x1ff) as u8, extra)).or_default() += 1;
        }
        at += 1 + time + extra;
    }
    found
}

/// Words by which an event of credit2 names the vcpu that it is about.
fn vcpu_words(number: u8) -> usize {
    usize::from(![6, 9, 12, 14, 16, 17, 21].contains(&number))
}

#[test]
fn credit2_declares_what_xen_wrote_word_for_word() {
    for trace in ["c2-cap30", "c2-weights-1-2-4"] {
        let found = written(trace, 1);
        assert!(found.len() > 10, "{found:?}");
        for ((number, words), times) in found {
            let declared = class("credit2").declared(number);
            let declared = declared.unwrap_or_else(|| panic!("{trace}: {number}, {times} times"));
            let known = usize::from(declared.words) + vcpu_words(number);
            // The loads of a run queue are followed by its number and the shift.
            let further = if number == 12 { 2 } else { 0 };
            assert_eq!(known + further, words, "{trace}: {}", declared.name);
        }
    }
}

#[test]
fn credit_declares_what_xen_wrote_word_for_word() {
    for trace in ["c1-cap30", "c1-burn7"] {
        for ((number, words), times) in written(trace, 0) {
            let declared = class("credit").declared(number);
            let declared = declared.unwrap_or_else(|| panic!("{trace}: {number}, {times} times"));
            let vcpu = match number {
                2..=5 | 7 | 8 => 2,
                10 => 1,
                _ => 0,
            };
            let known = usize::from(declared.words) + vcpu;
            assert_eq!(known, words, "{trace}: {}", declared.name);
        }
    }
}
