//! Several pcpus: where wake-ups go, balancing, weights of groups (linux-spec 1.6, 5, 6; 12,
//! vectors 11 and 25).

use super::*;

/// New threads spread over idle pcpus.
#[test]
fn new_threads_spread() {
    let mut rig = cfs_with(4, &[]);
    for _ in 0..4 {
        hog(&mut rig, &[]);
    }
    for p in 0..4 {
        assert!(rig.current(PcpuId(p)).is_some(), "p{p} idles");
    }
}

/// Vector 11: the weight of a group on each pcpu follows the load that it has there.
#[test]
fn weights_of_groups_follow_the_load_on_each_pcpu() {
    let mut rig = cfs_with(2, &[]);
    let domain = rig.domain(&[]);
    let on = |p: u16| [PcpuId(p)].into_iter().collect();
    let first = rig.vcpu_within(domain, on(0));
    rig.wake(first);
    rig.run_to(at(100));
    let weight = |rig: &Rig<Linux>, v| {
        rig.policy.entities[entity(rig, v, true) as usize]
            .load
            .weight
    };
    assert_eq!(weight(&rig, first), 1_048_576);
    let second = rig.vcpu_within(domain, on(1));
    rig.wake(second);
    rig.run_to(at(2_000));
    for v in [first, second] {
        let share = weight(&rig, v) as f64 / 524_288.0;
        assert!((share - 1.0).abs() < 0.03, "{share}");
    }
    for _ in 0..2 {
        let more = rig.vcpu_within(domain, on(0));
        rig.wake(more);
    }
    rig.run_to(at(4_000));
    let share = weight(&rig, first) as f64 / 786_432.0;
    assert!((share - 1.0).abs() < 0.03, "{share}");
    let share = weight(&rig, second) as f64 / 262_144.0;
    assert!((share - 1.0).abs() < 0.03, "{share}");
}

/// Vector 25: the waker runs on 0, the woken was on 1, which idles.
#[test]
fn who_wakes_goes_back_to_its_idle_pcpu() {
    let mut rig = cfs_with(2, &[]);
    let domain = rig.domain(&[]);
    let waker = rig.vcpu_within(domain, [P0].into_iter().collect());
    rig.wake(waker);
    rig.settle();
    let woken = hog(&mut rig, &[]);
    assert_eq!(rig.home(woken), PcpuId(1));
    rig.run_to(at(10));
    rig.block_now(woken);
    rig.tables.here = P0;
    rig.wake(woken);
    rig.settle();
    assert_eq!(rig.home(woken), PcpuId(1));
}

/// A busy pcpu's waiting thread is pulled to one that idles.
#[test]
fn a_waiting_thread_is_pulled() {
    for release in ["6.1", "6.12", "6.18", "7.3"] {
        let mut rig = match release {
            "6.1" => cfs_with(2, &[]),
            release => eevdf_with(2, release, &[]),
        };
        let vcpus = [(); 4].map(|()| hog(&mut rig, &[]));
        rig.run_to(at(100));
        for p in [P0, PcpuId(1)] {
            assert!(rig.current(p).is_some(), "{release}: {p} idles");
        }
        // Two of one pcpu stop: those of the other one are shared.
        let home = rig.home(vcpus[0]);
        let stay: Vec<VcpuId> = vcpus.into_iter().filter(|v| rig.home(*v) == home).collect();
        for v in vcpus.into_iter().filter(|v| !stay.contains(v)) {
            rig.stop(v, domio_contract::Pause::PAUSED);
        }
        rig.run_to(at(200));
        for p in [P0, PcpuId(1)] {
            assert!(rig.current(p).is_some(), "{release}: {p} idles");
        }
    }
}

/// `vcpu` goes to sleep where it runs; where it waits it cannot.
fn sleep_if_running(rig: &mut Rig<Linux>, vcpu: VcpuId) {
    if rig.current(rig.home(vcpu)) == Some(vcpu) {
        rig.block_now(vcpu);
    }
}

/// Three hogs on two pcpus take turns in pairs, where a fourth thread wakes now and then: without
/// any disturbance balancings fall into step with the turns, and move the same hog each time.
#[test]
fn three_hogs_share_two_pcpus() {
    for release in ["6.1", "6.12", "6.18", "7.3"] {
        let mut rig = match release {
            "6.1" => cfs_with(2, &[]),
            release => eevdf_with(2, release, &[]),
        };
        let vcpus = [(); 3].map(|()| hog(&mut rig, &[]));
        let other = hog(&mut rig, &[]);
        let mut now = at(0);
        while now < at(60_000) {
            now += Duration::from_micros(10_300);
            rig.run_to(now);
            rig.wake(other);
            rig.run_to(now + Duration::from_micros(50));
            sleep_if_running(&mut rig, other);
        }
        let ran = vcpus.map(|v| rig.ran(v).as_nanos() as f64 / 6e10);
        let mean = ran.iter().sum::<f64>() / 3.0;
        let even = ran.iter().all(|share| (share - mean).abs() < 0.03);
        assert!(even && mean > 0.6, "{release} {ran:?}");
    }
}

/// The load of a pcpu is that of the groups there as soon as their threads come, so that the
/// threads of many guests spread from the start (`update_tg_cfs_load`).
#[test]
fn threads_of_groups_spread_from_the_start() {
    for release in ["6.1", "6.12", "6.18", "7.3"] {
        let mut rig = match release {
            "6.1" => cfs_with(8, &[]),
            release => eevdf_with(8, release, &[]),
        };
        let mut on = [0; 8];
        for _ in 0..6 {
            let domain = rig.domain(&[]);
            for _ in 0..4 {
                let vcpu = rig.vcpu(domain);
                rig.wake(vcpu);
                rig.settle();
                on[rig.home(vcpu).index()] += 1;
            }
        }
        assert!(on.iter().all(|n| (2..=4).contains(n)), "{release} {on:?}");
    }
}

/// What a pcpu counts as its load is what its groups have there, whoever comes and leaves.
#[test]
fn the_load_of_a_pcpu_is_that_of_its_groups() {
    let mut rig = eevdf_with(2, "6.12", &[]);
    let domains = [(); 3].map(|()| rig.domain(&[]));
    let vcpus: Vec<VcpuId> = (0..9).map(|i| rig.vcpu(domains[i % 3])).collect();
    for (step, &vcpu) in vcpus.iter().cycle().take(400).enumerate() {
        rig.run_to(at(step as u64 * 7));
        match step / 9 % 2 {
            0 => rig.wake(vcpu),
            _ => sleep_if_running(&mut rig, vcpu),
        }
        rig.settle();
        for cpu in 0..2_u16 {
            let linux = &rig.policy;
            let now = linux.queues[usize::from(cpu)].average.last;
            // Groups whose threads sleep are not looked at meanwhile.
            let faded = |g: u32| {
                let queue = &linux.queues[linux.queue_on(g, cpu) as usize];
                let entity = &linux.entities[queue.entity as usize];
                let mut average = entity.average;
                if !average.is_attached() {
                    return 0;
                }
                average.advance(now, u64::from(entity.on_queue), 0, false);
                average.settle(entity.load.weight >> 10);
                average.load
            };
            let all: u64 = (1..linux.groups.len() as u32).map(faded).sum();
            let root = linux.queues[usize::from(cpu)].average.load;
            let apart = root.abs_diff(all);
            assert!(
                apart <= 8 + all / 20,
                "{step}: {root} on p{cpu}, groups {all}"
            );
        }
    }
}
