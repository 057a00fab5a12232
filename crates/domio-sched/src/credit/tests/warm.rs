//! Warm starts and the view of the state.

use super::*;
use domio_contract::StateRows;
use domio_contract::state::{About, StateRow};

/// Three hogs of different weights on one pcpu.
fn hogs(version: &str) -> (Rig, Vec<VcpuId>) {
    let mut rig = Rig::new(version, 1);
    let vcpus = [256, 512, 1024]
        .into_iter()
        .map(|weight| {
            let domain = rig.domain(weight, 0);
            rig.vcpu_on(domain, P0)
        })
        .collect();
    (rig, vcpus)
}

/// Who runs at each of these milliseconds.
fn history(rig: &mut Rig, from: u64, to: u64) -> Vec<Option<VcpuId>> {
    (from..to)
        .map(|t| {
            rig.run_to(at_ms(t) + us(500));
            rig.current(P0)
        })
        .collect()
}

#[test]
fn a_run_continues_from_the_state_of_another() {
    for version in crate::rig::versions(&super::super::DESCRIPTOR) {
        let (mut first, vcpus) = hogs(version);
        for &v in &vcpus {
            first.wake(v);
        }
        // At the end of a slice, so that the next pass is due at once on both sides.
        first.run_to(at_ms(900) - us(1));
        let accounting = first.timers[0][1].unwrap_or(first.timers[0][0].unwrap());
        let mut state = StateRows::of(&first.credit);
        let tick = first.timers[0][0].unwrap();
        state.row("", About::Pcpu(P0)).hold("tick", "", tick);
        if !first.credit.rules.accounting_timer {
            state
                .row("", About::Policy)
                .hold("accounting", "", accounting);
        }
        let told = |name: &str| {
            state
                .rows()
                .iter()
                .filter(|r| r.int(name).is_some())
                .count()
        };
        assert_eq!(
            told("earns"),
            2 + 3,
            "{version}: three hogs earn, two of them queue"
        );

        let (mut second, _) = hogs(version);
        second.now = first.now;
        second.since = first.since.clone();
        second.slices = first.slices.clone();
        for (to, from) in second.tables.vcpus.iter_mut().zip(&first.tables.vcpus) {
            (to.pause, to.on_pcpu) = (from.pause, from.on_pcpu);
        }
        second.tables.pcpus = first.tables.pcpus.clone();
        second.call(|c, cx| c.resume(cx, &vcpus, &state));
        // All that is told was taken, to the last word.
        assert_eq!(
            StateRows::of(&second.credit),
            StateRows::of(&first.credit),
            "{version}"
        );

        assert_eq!(second.timers, first.timers, "{version}");
        assert_eq!(second.queue(P0), first.queue(P0), "{version}");
        let (a, b) = (
            history(&mut first, 900, 2400),
            history(&mut second, 900, 2400),
        );
        assert!(a == b, "{version}: the two part");
        for &v in &vcpus {
            assert_eq!(first.credit.credit(v), second.credit.credit(v), "{version}");
        }
    }
}

/// A vcpu with this credit and remainder, in this place of those that earn.
fn row(
    state: &mut StateRows,
    vcpu: VcpuId,
    (credit, residual): (i64, u32),
    priority: Priority,
    start: i64,
    place: u32,
) -> &mut StateRow {
    let row = state.row("", About::Vcpu(vcpu));
    row.hold("credit", "", credit)
        .hold("residual", "", residual)
        .hold("priority", "", priority.word())
        .hold("start", "", start)
        .hold("earns", "", place)
}

#[test]
fn a_warm_start_shows_in_every_view() {
    let mut rig = Rig::new("4.17", 2);
    let running = rig.guest_on(P0);
    let queued = rig.guest_on(P0);
    let parked = rig.guest_on(P0);
    for v in [running, queued, parked] {
        rig.tables.vcpus[v.index()].pause = Pause::NONE;
    }
    rig.tables.pcpus[PcpuId(0)].current = Some(running);
    rig.tables.vcpus[running.index()].on_pcpu = true;
    let mut state = StateRows::default();
    let policy = state.row("", About::Policy);
    policy.hold("accounting", "", at_ms(21));
    state.row("", About::Pcpu(P0)).hold("tick", "", at_ms(9));
    rig.now = at_ms(7);
    // It is 30 us behind.
    let behind = rig.now.as_nanos() as i64 - 30_000;
    row(&mut state, running, (120, 5), BOOST, behind, 7);
    row(&mut state, queued, (-20, 5), OVER, -30_000, 9);
    row(&mut state, parked, (-150, 5), OVER, -30_000, 3).flag("parked", "", true);
    rig.call(|c, cx| c.resume(cx, &[running, queued], &state));
    assert_eq!(
        rig.timers,
        [[Some(at_ms(9)), Some(at_ms(21))], [None, None]]
    );
    assert_eq!(rig.queue(P0), [queued]);
    assert_eq!(rig.credit.pcpus[PcpuId(0)].runnable, 2);
    // 16 of 30 ms are over, and one pcpu is busy.
    assert_eq!(rig.credit.balance, -50 + 160);
    assert!(!rig.credit.idlers.contains(P0) && rig.credit.idlers.contains(P1));
    assert!(rig.credit.is_parked(parked) && !rig.tables.vcpus[parked.index()].runnable());
    assert_eq!(rig.credit.residual(running), 5);
    assert_eq!(rig.credit.weight, 3 * 256);
    let order: Vec<_> = rig.credit.active_domains().collect();
    assert_eq!(order, [DomainId(2), DomainId(0), DomainId(1)], "by place");
    // It is charged from now on only, and for the 30 us that its start is behind: three tenths of a
    // credit, which count again next time.
    rig.skip(ms(1));
    rig.tick(P0);
    let charged = |rig: &Rig| (rig.credit.credit(running), rig.credit.residual(running));
    assert_eq!(charged(&rig), (110, 300_005));
    rig.skip(ms(1));
    rig.tick(P0);
    assert_eq!(charged(&rig), (100, 600_005));
    assert_eq!(rig.credit.vcpus[queued.index()].start, -30_000);
}

#[test]
fn a_warm_start_of_3_1_meets_the_accounting_tick() {
    for (accounting, ticks) in [(15, 1), (16, 2), (25, 2), (35, 3)] {
        let mut rig = Rig::new("3.1", 1);
        let v = rig.guest_on(P0);
        let mut state = StateRows::default();
        let policy = state.row("", About::Policy);
        policy.hold("accounting", "", at_ms(accounting));
        state.row("", About::Pcpu(P0)).hold("tick", "", at_ms(15));
        row(&mut state, v, (-300, 0), OVER, 0, 0);
        rig.call(|c, cx| c.resume(cx, &[], &state));
        let needed = (1..=3).find(|_| {
            rig.tick(P0);
            rig.credit.credit(v) != -300
        });
        assert_eq!(needed, Some(ticks), "accounting at {accounting} ms");
    }
}

#[test]
fn the_dump_names_everyone() {
    let (mut rig, vcpus) = hogs("4.17");
    for &v in &vcpus {
        rig.wake(v);
    }
    rig.run_to(at_ms(500));
    let text = alloc::format!("{}", StateRows::of(&rig.credit));
    assert!(
        text.starts_with("credit 4.17: 1 pcpus, weight 1792"),
        "{text}"
    );
    assert_eq!(text.matches("queued vcpu").count(), 2, "{text}");
    assert_eq!(text.matches("active vcpu").count(), 3, "{text}");
}
