//! Tests of ARINC 653, on scripts of the mini host and by hand.

use super::{
    Arinc653, Asked, DESCRIPTOR, FrameTable, MAX_ENTRIES, Refused, TableEntry, validate_domains,
};
use crate::conformance::host;
use crate::conformance::log::{Occurrence, PolicyCall, Run};
use crate::conformance::script::{Intervention, Script, ScriptStep};
use alloc::boxed::Box;
use alloc::vec::Vec;
use domio_core::{
    CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId, VcpuName,
};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at_ms(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

fn script(pcpus: u16, end_ms: u64) -> Script {
    Script::new("test", Topology::flat(pcpus).unwrap(), at_ms(end_ms))
}

/// A burning vcpu of a domain of its own.
fn hog(s: &mut Script, params: &[(&'static str, i64)]) -> VcpuId {
    let domain = s.domain(params);
    s.vcpu(domain, &[ScriptStep::Burn])
}

fn framed(s: &Script, major_frame_us: i64) -> Run {
    let mut params = ParamValues::defaults(DESCRIPTOR.params);
    params.set("major_frame_us", major_frame_us).unwrap();
    host::run(s, Box::new(Arinc653::new(&params, &s.topology))).expect("a sound script")
}

/// From when to when `vcpu` had a pcpu, in ms.
fn runs_of(run: &Run, vcpu: VcpuId) -> Vec<(u64, u64)> {
    let ms = |at: Instant| at.as_nanos() / 1_000_000;
    let turns = run.turns_of(vcpu).into_iter();
    turns.map(|(from, to)| (ms(from), ms(to))).collect()
}

/// Times and slices of all passes on `pcpu`, in ms.
fn passes(run: &Run, on: PcpuId) -> Vec<(u64, u64)> {
    let passes = run.log.iter().filter_map(|e| match e.what {
        Occurrence::Call(PolicyCall::Schedule(pcpu, _, pick)) if pcpu == on => {
            let slice = pick.time_slice.expect("a slice for idling, too");
            Some((e.at.as_nanos() / 1_000_000, slice.as_nanos() / 1_000_000))
        }
        _ => None,
    });
    passes.collect()
}

/// Without a table of the operator's, every vcpu has 10 ms, as those of dom0 in Xen.
#[test]
fn entries_of_10_ms_take_turns_and_the_frame_is_their_sum() {
    let mut s = script(1, 70);
    let (a, b, c) = (hog(&mut s, &[]), hog(&mut s, &[]), hog(&mut s, &[]));
    let ran = framed(&s, 0);
    assert_eq!(runs_of(&ran, a), [(0, 10), (30, 40), (60, 70)]);
    assert_eq!(runs_of(&ran, b), [(10, 20), (40, 50)]);
    assert_eq!(runs_of(&ran, c), [(20, 30), (50, 60)]);
}

#[test]
fn what_is_left_of_the_major_frame_is_idle() {
    let mut s = script(1, 60);
    let a = hog(&mut s, &[("runtime_us", 3_000)]);
    let b = hog(&mut s, &[("runtime_us", 4_000)]);
    let ran = framed(&s, 25_000);
    assert_eq!(runs_of(&ran, a), [(0, 3), (25, 28), (50, 53)]);
    assert_eq!(runs_of(&ran, b), [(3, 7), (28, 32), (53, 57)]);
    // Idling has a slice, too: to the end of the frame.
    let expected = [(0, 3), (3, 4), (7, 18), (25, 3), (28, 4), (32, 18)];
    assert_eq!(passes(&ran, PcpuId(0))[..6], expected);
}

#[test]
fn time_that_is_not_used_is_nobodys() {
    let mut s = script(1, 40);
    let domain = s.domain(&[]);
    let sleeper = s.vcpu(
        domain,
        &[ScriptStep::Run(ms(4)), ScriptStep::Block(ms(1_000))],
    );
    let burner = hog(&mut s, &[]);
    let ran = framed(&s, 0);
    assert_eq!(runs_of(&ran, sleeper), [(0, 4)]);
    assert_eq!(runs_of(&ran, burner), [(10, 20), (30, 40)]);
}

#[test]
fn who_wakes_in_its_entry_runs_to_its_end_and_who_wakes_elsewhere_waits() {
    let mut s = script(1, 60);
    let domain = s.domain(&[]);
    // Blocked from 2 to 7 ms, and from 9 to 14.
    let steps = [ScriptStep::Run(ms(2)), ScriptStep::Block(ms(5))];
    let sleeper = s.vcpu(domain, &steps);
    let burner = hog(&mut s, &[]);
    let ran = framed(&s, 0);
    // At 14 ms the other one has the pcpu, until 20.
    assert_eq!(
        runs_of(&ran, sleeper),
        [(0, 2), (7, 9), (20, 22), (27, 29), (40, 42), (47, 49)]
    );
    assert_eq!(runs_of(&ran, burner), [(10, 20), (30, 40), (50, 60)]);
}

/// One table for all pcpus: there is never more than one vcpu that runs, wherever it belongs.
#[test]
fn one_table_serves_all_pcpus() {
    let mut s = script(2, 60);
    let domain = s.domain(&[]);
    let first = s.vcpu(domain, &[ScriptStep::Burn]);
    let second = s.vcpu(domain, &[ScriptStep::Burn]);
    let other = hog(&mut s, &[]);
    let ran = framed(&s, 0);
    assert_eq!(runs_of(&ran, first), [(0, 10), (30, 40)]);
    assert_eq!(runs_of(&ran, second), [(10, 20), (40, 50)]);
    assert_eq!(runs_of(&ran, other), [(20, 30), (50, 60)]);
    // The second vcpu of a domain begins next to the first one, the first one on the lowest pcpu.
    let on = |vcpu| {
        ran.log.iter().find_map(|e| match e.what {
            Occurrence::Switch(pcpu, _, to) if to == Some(vcpu) => Some(pcpu),
            _ => None,
        })
    };
    assert_eq!(
        [first, second, other].map(on),
        [0, 1, 0].map(|p| Some(PcpuId(p)))
    );
}

#[test]
fn entries_can_be_placed_and_repeated() {
    let mut s = script(1, 50);
    let b = hog(
        &mut s,
        &[
            ("runtime_us", 2_000),
            ("offset_us", 5_000),
            ("every_us", 10_000),
        ],
    );
    let a = hog(&mut s, &[("runtime_us", 6_000)]);
    let c = hog(&mut s, &[("runtime_us", 4_000)]);
    let ran = framed(&s, 20_000);
    assert_eq!(
        runs_of(&ran, b)[..4],
        [(5, 7), (15, 17), (25, 27), (35, 37)]
    );
    // 0 to 5 is too short for a; it is long enough for c.
    assert_eq!(runs_of(&ran, a)[..2], [(7, 13), (27, 33)]);
    assert_eq!(runs_of(&ran, c)[..2], [(0, 4), (20, 24)]);
}

#[test]
fn without_an_entry_a_vcpu_never_runs() {
    let mut s = script(2, 50);
    let out = hog(&mut s, &[("runtime_us", 0)]);
    let ran = framed(&s, 0);
    assert_eq!(runs_of(&ran, out), []);
    // Every pcpu looks again after 10 ms, Xen's default slice.
    assert_eq!(passes(&ran, PcpuId(0))[..2], [(0, 10), (10, 10)]);

    let mut s = script(1, 50);
    let out = hog(&mut s, &[("runtime_us", 0)]);
    let a = hog(&mut s, &[]);
    let ran = framed(&s, 0);
    assert_eq!(
        (runs_of(&ran, out), runs_of(&ran, a)),
        ([].into(), [(0, 50)].into())
    );
}

/// `arinc653_sched_set`: the next pass begins a major frame with the new table, and comes when it
/// would have come.
#[test]
fn a_new_table_begins_with_the_next_pass() {
    let mut s = script(1, 60);
    let (a, b) = (hog(&mut s, &[]), hog(&mut s, &[]));
    s.at(ms(23), Intervention::Set(DomainId(0), "runtime_us", 5_000));
    let ran = framed(&s, 0);
    // The pass of 30 ms, which would have been b's, begins the new frame of 15 ms.
    assert_eq!(runs_of(&ran, a), [(0, 10), (20, 35), (45, 50)]);
    assert_eq!(runs_of(&ran, b), [(10, 20), (35, 45), (50, 60)]);
}

#[test]
fn a_new_major_frame_length_begins_with_the_next_pass() {
    let mut s = script(1, 60);
    let (a, b) = (hog(&mut s, &[]), hog(&mut s, &[]));
    s.at(ms(5), Intervention::SetPolicy("major_frame_us", 30_000));
    // This one is too short for the table, and refused.
    s.at(ms(6), Intervention::SetPolicy("major_frame_us", 15_000));
    let ran = framed(&s, 0);
    assert_eq!(runs_of(&ran, a), [(0, 20), (40, 50)]);
    assert_eq!(runs_of(&ran, b), [(20, 30), (50, 60)]);
}

#[test]
fn a_domain_that_comes_later_begins_a_frame_and_its_entry_outlives_it() {
    let mut s = script(1, 80);
    let a = hog(&mut s, &[]);
    let b = hog(&mut s, &[]);
    s.vcpus[b.index()].starts = at_ms(15);
    s.vcpus[b.index()].stops = Some(at_ms(50));
    let ran = framed(&s, 0);
    // Its wake-up asks for a pass.
    assert_eq!(runs_of(&ran, b), [(25, 35), (45, 50)]);
    assert_eq!(runs_of(&ran, a), [(0, 25), (35, 45), (55, 65), (75, 80)]);
}

#[test]
fn a_change_that_xen_refuses_leaves_the_table_as_it_was() {
    let mut s = script(1, 60);
    let (a, b) = (hog(&mut s, &[]), hog(&mut s, &[]));
    // 31 ms do not fit beside 10.
    s.at(ms(5), Intervention::Set(DomainId(0), "runtime_us", 31_000));
    s.at(ms(6), Intervention::Set(DomainId(1), "every_us", 7_000));
    let ran = framed(&s, 40_000);
    assert_eq!(runs_of(&ran, a), [(0, 10), (40, 50)]);
    assert_eq!(runs_of(&ran, b), [(10, 20), (50, 60)]);
}

#[test]
fn a_pause_in_ones_entry_leaves_it_idle() {
    let mut s = script(1, 40);
    let (a, b) = (hog(&mut s, &[]), hog(&mut s, &[]));
    s.at(ms(3), Intervention::Pause(a));
    s.at(ms(6), Intervention::Unpause(a));
    s.at(ms(12), Intervention::Pause(b));
    s.at(ms(24), Intervention::Unpause(b));
    let ran = framed(&s, 0);
    assert_eq!(runs_of(&ran, a), [(0, 3), (6, 10), (20, 30)]);
    assert_eq!(runs_of(&ran, b), [(10, 12), (30, 40)]);
}

#[test]
fn a_pinned_vcpu_has_its_entry_on_its_pcpu() {
    let mut s = script(3, 40);
    let (a, b) = (hog(&mut s, &[]), hog(&mut s, &[]));
    s.vcpus[b.index()].hard = CpuSet::of(PcpuId(2));
    s.at(
        ms(15),
        Intervention::Affinity {
            vcpu: a,
            hard: CpuSet::of(PcpuId(1)),
            soft: CpuSet::ALL,
        },
    );
    let ran = framed(&s, 0);
    let switches: Vec<_> = ran
        .log
        .iter()
        .filter_map(|e| match e.what {
            Occurrence::Switch(pcpu, _, Some(to)) => Some((pcpu.0, to)),
            _ => None,
        })
        .collect();
    assert_eq!(switches, [(0, a), (2, b), (1, a), (2, b)]);
}

fn asked(domain: u16, runtime: i64, offset: Option<i64>, every: i64) -> Asked {
    Asked {
        domain: DomainId(domain),
        vcpus: 1,
        runtime,
        offset,
        every,
    }
}

#[test]
fn gaps_before_an_entry_are_entries_of_nobody() {
    let table = FrameTable::new(100, &[asked(3, 10, Some(20), 50), asked(1, 15, None, 0)]).unwrap();
    let entry = |domain: Option<u16>, runtime| TableEntry {
        whose: domain.map(|d| VcpuName::new(DomainId(d), 0)),
        runtime,
    };
    let expected = [
        entry(Some(1), 15),
        entry(None, 5),
        entry(Some(3), 10),
        entry(None, 40),
        entry(Some(3), 10),
    ];
    assert_eq!(table.entries, expected);
    assert_eq!(table.major_frame, 100);
}

#[test]
fn a_repeated_entry_without_an_offset_finds_room_for_all_of_them() {
    // 0..30 is taken, and so is 60..70: in every 50 that leaves 30 to 50.
    let fixed = [asked(1, 30, Some(0), 0), asked(2, 10, Some(60), 0)];
    let with = |runtime| {
        let all = [fixed[0], fixed[1], asked(3, runtime, None, 50)];
        FrameTable::new(100, &all)
    };
    let starts = |table: FrameTable| {
        let mut at = 0;
        let mut starts = Vec::new();
        for entry in table.entries {
            if entry.whose == Some(VcpuName::new(DomainId(3), 0)) {
                starts.push(at);
            }
            at += entry.runtime;
        }
        starts
    };
    assert_eq!(starts(with(20).unwrap()), [30, 80]);
    let refused = Refused::NoRoom {
        runtime: 21,
        frame: 100,
    };
    assert_eq!(with(21), Err((DomainId(3), refused)));
}

#[test]
fn tables_that_cannot_be_are_refused_with_who_is_to_change() {
    let refused = |frame, domains: &[Asked]| FrameTable::new(frame, domains).unwrap_err();
    let overlap = Refused::Overlap {
        start: 5,
        end: 15,
        with: DomainId(0),
    };
    let two = [asked(0, 10, Some(0), 0), asked(1, 10, Some(5), 0)];
    assert_eq!(refused(0, &two), (DomainId(1), overlap));
    let late = Refused::PastFrame { end: 21, frame: 20 };
    assert_eq!(
        refused(20, &[asked(4, 11, Some(10), 0)]),
        (DomainId(4), late)
    );
    assert_eq!(
        refused(100, &[asked(4, 11, Some(10), 20)]),
        (DomainId(4), late)
    );
    assert_eq!(
        refused(0, &[asked(4, 1, None, 10)]),
        (DomainId(4), Refused::NoFrame)
    );
    let uneven = Refused::NoDivisor {
        every: 7,
        frame: 20,
    };
    assert_eq!(refused(20, &[asked(4, 1, None, 7)]), (DomainId(4), uneven));
    let full = Refused::NoRoom {
        runtime: 11,
        frame: 20,
    };
    assert_eq!(
        refused(20, &[asked(0, 10, None, 0), asked(1, 11, None, 0)]),
        (DomainId(1), full)
    );
    // Exactly as long as the frame will do.
    assert!(FrameTable::new(20, &[asked(0, 10, None, 0), asked(1, 10, None, 0)]).is_ok());
}

#[test]
fn a_table_has_64_entries_at_most() {
    let most = MAX_ENTRIES as i64;
    let many = |n| {
        let mut asked = asked(2, 1, None, 0);
        asked.vcpus = n;
        FrameTable::new(0, &[asked])
    };
    assert_eq!(many(64).unwrap().entries.len(), MAX_ENTRIES);
    let refused = (DomainId(2), Refused::TooMany { most: MAX_ENTRIES });
    assert_eq!(many(65), Err(refused));
    // Gaps count: 33 entries with gaps between them are 65.
    let spaced = |n: i64| FrameTable::new(10 * n, &[asked(2, 9, Some(0), 10)]);
    assert_eq!(spaced(32).unwrap().entries.len(), 63);
    assert_eq!(spaced(33), Err(refused));
    assert_eq!(spaced(most + 1), Err(refused));
}

#[test]
fn a_vcpu_over_the_64th_has_no_entry() {
    let mut s = script(1, 800);
    let domain = s.domain(&[]);
    let hogs: Vec<VcpuId> = (0..65)
        .map(|_| s.vcpu(domain, &[ScriptStep::Burn]))
        .collect();
    let ran = framed(&s, 0);
    assert_eq!(runs_of(&ran, hogs[63]), [(630, 640)]);
    assert_eq!(runs_of(&ran, hogs[64]), []);
    assert_eq!(runs_of(&ran, hogs[0]), [(0, 10), (640, 650)]);
}

#[test]
fn the_check_of_all_domains_names_domain_and_parameter() {
    let mut params = ParamValues::defaults(DESCRIPTOR.params);
    let mut domain = ParamValues::defaults(DESCRIPTOR.domain_params);
    let check = |params: &ParamValues, vcpus, domain: &ParamValues| {
        validate_domains(params, &[(DomainId(7), vcpus, domain)])
    };
    assert_eq!(check(&params, 3, &domain), Ok(()));
    params.set("major_frame_us", 25_000).unwrap();
    let (who, conflict) = check(&params, 3, &domain).unwrap_err();
    assert_eq!((who, conflict.param), (DomainId(7), "runtime_us"));
    assert_eq!(
        conflict.problem,
        "no gap of 10000 us is left in the major frame of 25000 us"
    );
    assert_eq!(check(&params, 2, &domain), Ok(()));
    domain.set("every_us", 10_000).unwrap();
    let (_, conflict) = check(&params, 2, &domain).unwrap_err();
    assert_eq!(
        (conflict.param, conflict.expected.as_str()),
        ("every_us", "a divisor of 25000")
    );
}
