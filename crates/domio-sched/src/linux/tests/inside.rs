//! Groups inside those of domains, as libvirt makes them (linux-spec 9.6).

use super::*;
use domio_contract::{Scheduler as _, WorksFor};
use domio_core::{DomainId, ParamValues};

/// A policy with groups, on so many pcpus, of each release.
fn rigs(pcpus: u16) -> [Rig<Linux>; 3] {
    [
        cfs_with(pcpus, &[]),
        eevdf_with(pcpus, "6.12", &[]),
        eevdf_with(pcpus, "6.18", &[]),
    ]
}

const LIBVIRT: (&str, i64) = ("layout", 1);

/// A thread of the host that computes, a vcpu of `domain`.
fn thread(rig: &mut Rig<Linux>, domain: DomainId, works: WorksFor) -> VcpuId {
    let next = VcpuId(rig.tables.vcpus.len() as u32);
    rig.call(|s, cx| s.host_thread(cx, next, works));
    let vcpu = rig.vcpu(domain);
    rig.wake(vcpu);
    rig.settle();
    vcpu
}

fn burner(rig: &mut Rig<Linux>, domain: DomainId) -> VcpuId {
    let vcpu = rig.vcpu(domain);
    rig.wake(vcpu);
    rig.settle();
    vcpu
}

fn ms(rig: &Rig<Linux>, vcpu: VcpuId) -> i64 {
    rig.ran(vcpu).as_nanos() as i64 / MS
}

/// Whether `found` is `due`, within a quota and the turns of a few ticks.
#[track_caller]
fn near(found: i64, due: i64) {
    assert!((found - due).abs() <= 50, "{found} ms for {due} ms");
}

/// The emulator's group weighs as much as one vcpu, however many threads it has: three threads and
/// two vcpus have five equal parts in a flat group, and three in this one.
#[test]
fn the_group_of_the_emulator_weighs_as_much_as_a_vcpu() {
    for layout in [0, 1] {
        for mut rig in rigs(1) {
            let guest = rig.domain(&[("layout", layout)]);
            let host = rig.domain(&[]);
            let vcpus = [(); 2].map(|()| burner(&mut rig, guest));
            let works = WorksFor::Emulator(guest);
            let threads = [(); 3].map(|()| thread(&mut rig, host, works));
            rig.run_to(at(9_000));
            let (vcpu, each) = [(1_800, 1_800), (3_000, 1_000)][layout as usize];
            for v in vcpus {
                near(ms(&rig, v), vcpu);
            }
            for t in threads {
                near(ms(&rig, t), each);
            }
        }
    }
}

/// Each group has its own quota: the vcpus', the emulator's and those of I/O threads hold nobody
/// else.
#[test]
fn quotas_hold_their_own_group_alone() {
    for mut rig in rigs(1) {
        let guest = rig.domain(&[
            LIBVIRT,
            ("vcpu_quota_us", 20_000),
            ("emulator_quota_us", 5_000),
            ("emulator_period_us", 50_000),
            ("iothread_quota_us", 30_000),
        ]);
        let host = rig.domain(&[]);
        let vcpu = burner(&mut rig, guest);
        let vhost = thread(&mut rig, host, WorksFor::Emulator(guest));
        let worker = thread(&mut rig, host, WorksFor::Emulator(guest));
        let io = thread(&mut rig, host, WorksFor::Iothread(guest, 1));
        rig.run_to(at(4_000));
        near(ms(&rig, vcpu), 800);
        near(ms(&rig, vhost) + ms(&rig, worker), 400);
        near(ms(&rig, io), 1_200);
        // Each says of itself that its own group holds it, and of which group that is.
        assert!(!rig.notes_of(12).is_empty());
        let (d, of) = (u32::from(guest.0), |rig: &Rig<Linux>, n| rig.notes_of(n));
        assert!(of(&rig, 6).iter().all(|words| *words == [d]));
        assert!(of(&rig, 8).iter().all(|words| *words == [d, 0]));
        assert!(of(&rig, 10).iter().all(|words| *words == [d, 1]));
        assert!([6, 8, 10].iter().all(|n| !of(&rig, *n).is_empty()));
        assert!(of(&rig, 1).is_empty(), "the guest has no quota of its own");
    }
}

/// A vcpu with the seat of an I/O thread, and I/O threads with the number of the vcpu or with none
/// in their names, have a group each: each has a quota of its own.
#[test]
fn a_vcpu_seated_as_an_io_thread_shares_no_group_with_one() {
    for mut rig in rigs(1) {
        let guest = rig.domain(&[LIBVIRT, ("iothread_quota_us", 10_000)]);
        let host = rig.domain(&[]);
        let vcpu = burner(&mut rig, guest);
        let mut seat = ParamValues::defaults(rig.policy.descriptor().vcpu_params);
        seat.set("seat", 2).expect("a parameter of it");
        rig.call(|s, cx| s.set_vcpu(cx, vcpu, &seat));
        let numbers = [0, WorksFor::UNNUMBERED, WorksFor::UNNUMBERED + 65_535];
        let all = numbers.map(|n| thread(&mut rig, host, WorksFor::Iothread(guest, n)));
        rig.run_to(at(4_000));
        for v in [vcpu].into_iter().chain(all) {
            near(ms(&rig, v), 400);
        }
    }
}

/// The quota of the guest holds all of its groups together.
#[test]
fn the_quota_of_the_guest_is_around_those_of_its_groups() {
    for mut rig in rigs(1) {
        let guest = rig.domain(&[LIBVIRT, ("quota_us", 50_000), ("vcpu_quota_us", 10_000)]);
        let host = rig.domain(&[]);
        let vcpu = burner(&mut rig, guest);
        let io = thread(&mut rig, host, WorksFor::Iothread(guest, 1));
        rig.run_to(at(4_000));
        near(ms(&rig, vcpu), 400);
        near(ms(&rig, vcpu) + ms(&rig, io), 2_000);
    }
}

/// A thread of the host may be there before anything is known of its guest, as vhost threads are.
/// It follows its guest's layout when that is told, and when that changes.
#[test]
fn threads_follow_a_change_of_the_layout() {
    for mut rig in rigs(1) {
        let host = rig.domain(&[]);
        let guest = DomainId(77);
        let vhost = thread(&mut rig, host, WorksFor::Emulator(guest));
        let worker = thread(&mut rig, host, WorksFor::Emulator(guest));
        rig.adjust(guest, &[LIBVIRT]);
        let vcpu = burner(&mut rig, guest);
        rig.run_to(at(2_000));
        near(ms(&rig, vcpu), 1_000);
        near(ms(&rig, vhost), 500);
        rig.adjust(guest, &[LIBVIRT, ("vcpu_quota_us", 1_000)]);
        rig.run_to(at(2_050));
        rig.adjust(guest, &[]);
        rig.run_to(at(5_050));
        near(ms(&rig, vcpu), 2_000);
        near(ms(&rig, worker), 1_525);
        let groups = rig.policy.groups.iter();
        let empty = groups.filter(|g| g.owner != super::super::event::Owner::Root);
        let with_quota = empty.filter(|g| g.bandwidth.quota > 0).count();
        assert_eq!(with_quota, 0, "quotas of groups that are gone are gone");
    }
}

/// A guest that goes into another group takes the groups inside its own along.
#[test]
fn a_guest_takes_its_groups_along() {
    for mut rig in rigs(2) {
        let mut values = ParamValues::defaults(rig.policy.descriptor.group_params);
        values.set("cap", 40).unwrap();
        let slice = domio_contract::GroupId(0);
        rig.call(|s, cx| s.set_group(cx, slice, None, &values));
        let guest = rig.domain(&[LIBVIRT]);
        let vcpus = [(); 2].map(|()| burner(&mut rig, guest));
        rig.run_to(at(1_000));
        rig.call(|s, cx| s.join(cx, guest, Some(slice)));
        rig.run_to(at(3_000));
        let both = |rig: &Rig<Linux>| ms(rig, vcpus[0]) + ms(rig, vcpus[1]);
        near(both(&rig), 2_000 + 800);
        for v in vcpus {
            let depth = rig.policy.entities[entity(&rig, v, false) as usize].depth;
            assert_eq!(depth, 4, "slice, guest, libvirt, vcpu");
        }
        rig.call(|s, cx| s.join(cx, guest, None));
        rig.run_to(at(4_000));
        near(both(&rig), 2_000 + 800 + 2_000);
    }
}
