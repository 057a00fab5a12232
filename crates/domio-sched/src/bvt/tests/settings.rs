//! Parameters, and starting in the middle of a run.

use super::super::params::{DESCRIPTOR, Settings};
use super::*;
use domio_contract::StateRows;
use domio_core::XenVersion;

#[test]
fn every_version_is_a_release() {
    let of = |name: &&str| XenVersion::of_release(name).expect("a release");
    let releases: Vec<_> = crate::rig::versions(&DESCRIPTOR).iter().map(of).collect();
    let [two, three] = [XenVersion::V2_0, XenVersion::V3_0];
    assert_eq!(releases, [two, three, three]);
}

#[test]
fn the_allowance_has_a_floor_and_changes_in_a_run() {
    let mut values = ParamValues::defaults(DESCRIPTOR.params);
    assert_eq!(Settings::new(&values).ctx_allow, 5_000_000);
    assert!(values.set("ctx_allow_us", 9).is_err());
    values.set("ctx_allow_us", 10).unwrap();
    assert_eq!(Settings::new(&values).ctx_allow, 10_000);

    let mut rig = Rig::new("3.0", 1);
    let [a, _] = [rig.hog(10), rig.hog(10)];
    rig.run_to(at_ms(11));
    let mut values = *rig.policy.params().unwrap();
    values.set("ctx_allow_us", 1_000).unwrap();
    rig.call(|s, cx| s.set_params(cx, &values)).unwrap();
    let before = rig.switches.len();
    rig.run_to(at_ms(15));
    assert_eq!(rig.switches.len(), before, "the slice that runs stays");
    // First whoever is behind by 5 ms catches up.
    rig.run_to(at_ms(41));
    assert!(rig.switches.len() >= before + 20, "{:?}", rig.turns());
    assert!(rig.ran(a) > ms(15));
    values.choose("version", "2.0").unwrap();
    assert!(rig.call(|s, cx| s.set_params(cx, &values)).is_err());
}

#[test]
fn a_domain_without_weight_is_refused() {
    let mut values = ParamValues::defaults(DESCRIPTOR.domain_params);
    assert!(values.set("mcu_advance", 0).is_err());
    assert!(values.set("mcu_advance", 1).is_ok());
}

#[test]
fn who_runs_at_the_start_is_charged_from_there() {
    let mut rig = Rig::new("3.0", 1);
    let [a, b] = [rig.guest(&[]), rig.guest(&[])];
    for v in [a, b] {
        rig.tables.vcpus[v.index()].pause.clear(Pause::BLOCKED);
    }
    rig.now = at_ms(10_000);
    rig.tables.pcpus[P0].current = Some(a);
    rig.tables.vcpus[a.index()].on_pcpu = true;
    rig.call(|s, cx| s.resume(cx, &[a, b], &StateRows::default()));
    rig.now += ms(1);
    rig.pass(P0);
    assert_eq!((rig.state(a).avt, rig.state(b).avt), (100, 0));
    assert_eq!(rig.current(P0), Some(b));
}

#[test]
fn the_state_can_be_read() {
    let mut rig = Rig::new("3.0", 1);
    let v = rig.guest(&warps(7));
    rig.wake(v);
    let text = alloc::format!("{}", domio_contract::StateRows::of(&rig.policy));
    for part in ["allowance 5", "list 0", "vcpu 0 of d1 on p0", "warps by 7"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
