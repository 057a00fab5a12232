//! The communication-aware variant: who runs by what was heard of packets.
//!
//! Domains reserve 5 ms of every 20 and share no extra time. They wake at 0, when their period has
//! already begun, so that the first whole one begins at 5 ms, for all, and ends at 25.

use super::*;
use crate::conformance::log::Occurrence;
use crate::conformance::script::{Intervention, Script, ScriptStep};
use crate::conformance::{host, library};
use crate::sedf::{DESCRIPTOR, aware};
use alloc::boxed::Box;
use domio_contract::PacketsMoved;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Who ran when, in ms, under the communication-aware variant with such windows.
fn runs(s: &Script, window_ms: i64) -> Vec<(u64, u64, u32)> {
    let mut params = ParamValues::defaults(aware::DESCRIPTOR.params);
    params.set("window_ms", window_ms).unwrap();
    let policy = Sedf::listening(&params, &s.topology);
    let run = host::run(s, Box::new(policy)).expect("a sound script");
    let ms = |at: Instant| at.as_nanos() / 1_000_000;
    let mut runs = Vec::new();
    let mut since = Instant::ZERO;
    for entry in &run.log {
        if let Occurrence::Switch(_, from, _) = entry.what {
            runs.extend(from.map(|v| (ms(since), ms(entry.at), v.0)));
            since = entry.at;
        }
    }
    runs
}

/// Three burning domains on one pcpu.
fn three() -> Script {
    let mut s = Script::new("test", Topology::flat(1).unwrap(), at_ms(32));
    for _ in 0..3 {
        let d = s.domain(&capped(20_000, 5_000));
        s.vcpu(d, &[ScriptStep::Burn]);
    }
    s
}

fn told(s: &mut Script, at_ms: u64, driver: u16, guest: u16, sent: u32, received: u32) {
    let moved = PacketsMoved {
        driver: DomainId(driver),
        guest: DomainId(guest),
        sent,
        received,
    };
    s.at(ms(at_ms), Intervention::Packets(moved));
}

/// Nobody has this id.
const OUTSIDE: u16 = 3;

#[test]
fn without_packets_the_earliest_deadline_runs_as_under_sedf() {
    let first = [(5, 10, 0), (10, 15, 1), (15, 20, 2)];
    assert_eq!(runs(&three(), 100)[..3], first);
    let mut params = ParamValues::defaults(DESCRIPTOR.params);
    params.choose("version", "3.0").unwrap();
    let heard = ParamValues::defaults(aware::DESCRIPTOR.params);
    for mut script in library::scripts() {
        script
            .actions
            .retain(|(_, a)| !matches!(a, Intervention::Packets(_)));
        let plain = Box::new(Sedf::new(&params, &script.topology));
        let aware = Box::new(Sedf::listening(&heard, &script.topology));
        let [plain, aware] = [host::run(&script, plain), host::run(&script, aware)];
        assert_eq!(plain.unwrap().log, aware.unwrap().log, "{}", script.name);
    }
}

#[test]
fn who_has_most_packets_runs_first_in_either_direction() {
    for (sent, received) in [(1, 0), (0, 1)] {
        let mut s = three();
        s.domain(&[]);
        told(&mut s, 2, OUTSIDE, 2, sent, received);
        let first = [(5, 10, 2), (10, 15, 0), (15, 20, 1)];
        assert_eq!(runs(&s, 100)[..3], first);
        told(&mut s, 3, OUTSIDE, 1, sent, 2 * received + 1);
        let first = [(5, 10, 1), (10, 15, 2), (15, 20, 0)];
        assert_eq!(runs(&s, 100)[..3], first);
    }
}

#[test]
fn who_has_used_its_slice_up_waits_for_its_next_period() {
    let mut s = three();
    s.domain(&[]);
    for at in [2, 8, 12, 18, 24] {
        told(&mut s, at, OUTSIDE, 2, 1_000, 1_000);
    }
    let all = [(5, 10, 2), (10, 15, 0), (15, 20, 1), (25, 30, 2)];
    assert_eq!(runs(&s, 100)[..4], all);
}

#[test]
fn packets_that_come_interrupt_nobody() {
    let mut s = three();
    s.domain(&[]);
    told(&mut s, 7, OUTSIDE, 2, 0, 10);
    let first = [(5, 10, 0), (10, 15, 2), (15, 20, 1)];
    assert_eq!(runs(&s, 100)[..3], first);
}

#[test]
fn a_driver_domain_has_the_packets_of_all_whom_it_serves() {
    let mut s = three();
    told(&mut s, 1, 2, 0, 3, 0);
    told(&mut s, 2, 2, 1, 2, 2);
    let first = [(5, 10, 2), (10, 15, 1), (15, 20, 0)];
    assert_eq!(runs(&s, 100)[..3], first);
}

#[test]
fn packets_count_until_the_end_of_the_next_window() {
    let mut s = three();
    s.domain(&[]);
    told(&mut s, 2, OUTSIDE, 2, 0, 10);
    // At 5 ms: in windows of 3 ms the one before is that from 0 to 3; in those of 1 ms that from 4
    // to 5.
    assert_eq!(runs(&s, 3)[0], (5, 10, 2));
    assert_eq!(runs(&s, 1)[0], (5, 10, 0));
}

#[test]
fn extra_time_is_shared_as_ever() {
    let script = |packets: bool| {
        let mut s = Script::new("test", Topology::flat(1).unwrap(), at_ms(50));
        for _ in 0..2 {
            let d = s.domain(&[]);
            s.vcpu(d, &[ScriptStep::Burn]);
        }
        // Dom0 of 3.0 has a reservation; these two do not.
        s.domains[0].params.push(("weight", 1));
        s.domain(&[]);
        if packets {
            for n in 0..40 {
                told(&mut s, n, 2, 1, 9, 9);
            }
        }
        runs(&s, 100)
    };
    assert_eq!(script(true), script(false));
}

#[test]
fn the_record_of_such_a_pick_tells_packets_and_the_other_deadline() {
    let mut rig = Rig::new("3.0", 1);
    let params = ParamValues::defaults(aware::DESCRIPTOR.params);
    rig.policy = Sedf::listening(&params, &rig.tables.topology.clone());
    let first = rig.guest(&capped(20_000, 5_000));
    let second = rig.guest(&capped(20_000, 4_000));
    rig.wake(first);
    rig.wake(second);
    let guest = rig.tables.vcpus[first.index()].name.domain;
    let mut effects = Vec::new();
    let mut cx = Cx::new(rig.now, &mut rig.tables, &mut effects, true);
    let moved = PacketsMoved {
        driver: DomainId(9),
        guest,
        sent: 4,
        received: 3,
    };
    rig.policy.packets(&mut cx, moved);
    assert!(effects.is_empty());
    // The second one's first whole period is from 4 to 24 ms, the other's from 5 to 25: at 5 ms the
    // first one has the packets, the second one 19 ms to its deadline.
    rig.run_to(at_ms(5));
    let name = rig.tables.vcpus[first.index()].name.word();
    let picks = rig.notes.iter().filter(|(event, _)| *event == 13);
    let picks: Vec<_> = picks.map(|(_, words)| words.clone()).collect();
    assert_eq!(picks, [[name, 7, 19_000_000]]);
    assert_eq!(rig.switches.last(), Some(&(5_000, Some(first))));
    let dump = alloc::format!("{}", domio_contract::StateRows::of(&rig.policy));
    assert!(dump.contains("d1 0+7"), "{dump}");
}
