//! Warm starts and the view of the state.

use super::*;

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
        let order: Vec<_> = first
            .current(P0)
            .into_iter()
            .chain(first.queue(P0))
            .collect();
        // The start of one that does not run is kept without the time.
        let counted_from = |vcpu| match first.current(P0) == Some(vcpu) {
            true => first.now.as_nanos() as i64,
            false => 0,
        };
        let warm: Vec<_> = (0..)
            .zip(&order)
            .map(|(place, &vcpu)| WarmVcpu {
                vcpu,
                credit: first.credit.credit(vcpu),
                residual: first.credit.residual(vcpu),
                ahead: first.credit.vcpus[vcpu.index()].start - counted_from(vcpu),
                priority: first.credit.priority(vcpu),
                active: first.credit.is_active(vcpu).then_some(place),
                parked: first.credit.is_parked(vcpu),
            })
            .collect();
        assert!(
            warm.iter().all(|w| w.active.is_some()),
            "{version}: three hogs are active"
        );

        let (mut second, _) = hogs(version);
        second.now = first.now;
        second.since = first.since.clone();
        second.slices = first.slices.clone();
        for (to, from) in second.tables.vcpus.iter_mut().zip(&first.tables.vcpus) {
            (to.pause, to.on_pcpu) = (from.pause, from.on_pcpu);
        }
        second.tables.pcpus = first.tables.pcpus.clone();
        let ticks = [(P0, first.timers[0][0].unwrap())];
        second.call(|c, cx| c.warm_start(cx, &ticks, accounting, &warm));
        second.credit.set_balance(first.credit.balance());
        // What ran since the last debit is not part of a warm start.
        for &v in &vcpus {
            second.credit.vcpus[v.index()].start = first.credit.vcpus[v.index()].start;
        }

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
    let base = WarmVcpu {
        vcpu: running,
        credit: 120,
        residual: 5,
        ahead: -30_000,
        priority: BOOST,
        active: Some(7),
        parked: false,
    };
    let vcpus = [
        base,
        WarmVcpu {
            vcpu: queued,
            credit: -20,
            priority: OVER,
            active: Some(9),
            ..base
        },
        WarmVcpu {
            vcpu: parked,
            credit: -150,
            priority: OVER,
            active: Some(3),
            parked: true,
            ..base
        },
    ];
    rig.now = at_ms(7);
    rig.call(|c, cx| c.warm_start(cx, &[(P0, at_ms(9))], at_ms(21), &vcpus));
    assert_eq!(
        rig.timers,
        [[Some(at_ms(9)), Some(at_ms(21))], [None, None]]
    );
    assert_eq!(rig.queue(P0), [queued]);
    assert_eq!(rig.credit.pcpus[PcpuId(0)].runnable, 2);
    // 16 of 30 ms are over, and one pcpu is busy.
    assert_eq!(rig.credit.balance(), -50 + 160);
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
        let warm = WarmVcpu {
            vcpu: v,
            credit: -300,
            residual: 0,
            ahead: 0,
            priority: OVER,
            active: Some(0),
            parked: false,
        };
        let first_tick = [(P0, at_ms(15))];
        rig.call(|c, cx| c.warm_start(cx, &first_tick, at_ms(accounting), &[warm]));
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
    let text = alloc::format!("{}", domio_contract::StateRows::of(&rig.credit));
    assert!(
        text.starts_with("credit 4.17: 1 pcpus, weight 1792"),
        "{text}"
    );
    assert_eq!(text.matches("queued vcpu").count(), 2, "{text}");
    assert_eq!(text.matches("active vcpu").count(), 3, "{text}");
}
