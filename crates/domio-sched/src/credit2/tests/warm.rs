//! Starting from a given state.

use super::*;
use domio_contract::StateRows;
use domio_contract::state::About;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A vcpu of 256 that runs since 600 us, one of 512 and one of 256 that wait, and one that is
/// parked since its domain, which may use 30 %, has nothing left until 1,003 ms.
fn rig() -> (Rig, [VcpuId; 4]) {
    let mut rig = Rig::new(1);
    let capped = rig.domain(256, 30);
    let [runs, heavy, waits] = [256, 512, 256].map(|weight| rig.guest(weight));
    let parked = rig.vcpu_within(capped, CpuSet::ALL, CpuSet::ALL);
    rig.place(parked);
    rig.now = at(1_000);
    for vcpu in [runs, heavy, waits] {
        rig.tables.vcpus[vcpu.index()].pause = Pause::NONE;
    }
    rig.tables.vcpus[parked.index()].pause = Pause::NONE;
    rig.tables.vcpus[parked.index()].pause.set(Pause::PARKED);
    rig.tables.vcpus[runs.index()].on_pcpu = true;
    rig.tables.pcpus[P0].current = Some(runs);
    let mut state = StateRows::default();
    let entered = (rig.now - Duration::from_micros(600)).as_nanos() as i64;
    for (vcpu, credit) in [(waits, 2), (runs, 3), (heavy, 5), (parked, 4)] {
        let row = state.row("", About::Vcpu(vcpu));
        row.hold("credit", "", credit * MS)
            .hold("own_load", "", 1i64 << 17)
            .flag("parked", "", vcpu == parked);
        if vcpu == runs {
            row.hold("residual", "", 255u32)
                .hold("entered", "", entered);
        }
    }
    state
        .row("", About::Domain(capped))
        .hold("budget", "", -MS / 2)
        .hold("refill_at", "", at(1_003).as_nanos());
    state
        .row("", About::Runq(0))
        .hold("pcpus", "", CpuSet::of(P0))
        .hold("whole_load", "", 3i64 << 18)
        .hold("balanced_load", "", 2i64 << 18);
    rig.tickled();
    rig.call(|c, cx| c.resume(cx, &[runs, heavy, waits], &state));
    (rig, [runs, heavy, waits, parked])
}

#[test]
fn it_goes_on_as_if_it_had_run_before() {
    let (mut rig, [runs, heavy, waits, _]) = rig();
    assert_eq!(rig.queue(0), [heavy, waits]);
    assert_eq!(rig.tickled(), [], "nobody wakes");
    let load = (rig.policy.runqs[0].load, rig.policy.runqs[0].average);
    assert_eq!(load, (3, 3 << 18));
    // It ran for 600 us when the state began, so that 400 us of the rate limit are left.
    rig.wait_us(399);
    assert_eq!(rig.pass(P0).next, Some(runs));
    // At 512 to 256, 399 us cost twice as much.
    assert_eq!(rig.credit(runs), 3 * MS - 798 * US);
    rig.wait_us(1);
    assert_eq!(rig.pass(P0).next, Some(heavy));
    assert_eq!(
        rig.policy.vcpus[runs.index()].residual,
        255,
        "512 a ns leave nothing over"
    );
}

#[test]
fn a_pool_is_filled_up_when_it_was_due() {
    let (mut rig, [.., parked]) = rig();
    assert_eq!(rig.refill, Some(at(1_003)));
    rig.now = at(1_003);
    rig.refill();
    // 3 ms less the debt, of which 2.5 ms are there for whoever runs.
    assert_eq!(rig.policy.domains[0].budget, 5 * MS / 2);
    assert!(rig.queue(0).contains(&parked));
    assert_eq!(rig.refill, Some(at(1_013)));
}
