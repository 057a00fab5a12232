//! Which pcpus share a run queue, and what comes of it when they come and go.

use super::*;

/// The pcpus of each run queue.
fn arranged(topology: (u16, u16, u16), params: &[(&str, i64)]) -> Vec<Vec<u16>> {
    let (sockets, cores, threads) = topology;
    let rig = Rig::with(Topology::new(sockets, cores, threads).unwrap(), params);
    let pcpus = |r: usize| rig.policy.runqs[r].active.iter().map(|p| p.0).collect();
    rig.policy.existing().map(pcpus).collect()
}

#[test]
fn run_queues_follow_the_topology() {
    let by = |arrangement| arranged((2, 2, 2), &[("runqueue", arrangement)]);
    assert_eq!(by(0), (0..8).map(|p| alloc::vec![p]).collect::<Vec<_>>());
    assert_eq!(by(1), [[0, 1], [2, 3], [4, 5], [6, 7]]);
    assert_eq!(by(2), [[0, 1, 2, 3], [4, 5, 6, 7]]);
    assert_eq!(by(3), by(2));
    assert_eq!(by(4), [[0, 1, 2, 3, 4, 5, 6, 7]]);
}

#[test]
fn large_sockets_are_split_evenly_and_cores_stay_whole() {
    let halves = arranged((1, 20, 1), &[]);
    assert_eq!(halves.iter().map(Vec::len).collect::<Vec<_>>(), [10, 10]);
    // 24 threads make two of at most twelve: six whole cores each.
    let halves = arranged((1, 12, 2), &[]);
    assert_eq!(halves.iter().map(Vec::len).collect::<Vec<_>>(), [12, 12]);
    assert!(halves.iter().all(|q| q.chunks(2).all(|c| c[0] + 1 == c[1])));
    // A limit under the size of a core is passed.
    assert_eq!(
        arranged((1, 2, 2), &[("max_cpus_runqueue", 1)]),
        [[0, 1], [2, 3]]
    );
}

#[test]
fn a_run_queue_ends_with_its_last_pcpu_and_its_number_is_used_again() {
    let mut rig = Rig::with(Topology::new(3, 1, 1).unwrap(), &[]);
    rig.unplug(P1);
    assert_eq!(rig.policy.existing().collect::<Vec<_>>(), [0, 2]);
    rig.plug(P1);
    assert_eq!(rig.policy.runq_of(P1), 1);
}

#[test]
fn a_core_idles_only_with_all_of_its_threads() {
    let mut rig = Rig::with(Topology::new(1, 2, 2).unwrap(), &[]);
    let idle_cores = |rig: &Rig| rig.policy.runqs[0].smt_idle;
    assert_eq!(idle_cores(&rig), set(&[0, 1, 2, 3]));
    let v = rig.running_on(P0, 9 * MS);
    assert_eq!(idle_cores(&rig), set(&[2, 3]));
    rig.block(v);
    rig.pass(P0);
    assert_eq!(idle_cores(&rig), set(&[0, 1, 2, 3]));
}

#[test]
fn a_thread_that_comes_back_beside_a_busy_one_counts_as_an_idle_core() {
    let mut rig = Rig::with(Topology::new(1, 1, 2).unwrap(), &[]);
    rig.running_on(P0, 9 * MS);
    rig.unplug(P1);
    assert_eq!(rig.policy.pcpus[P0].core, set(&[0]));
    rig.plug(P1);
    assert_eq!(rig.policy.pcpus[P0].core, set(&[0, 1]));
    assert_eq!(rig.policy.runqs[0].smt_idle, set(&[1]));
    // And goes on to when it is busy itself: Xen clears the core as a whole or not at all.
    let v = rig.guest_on(P1);
    rig.wake(v);
    assert_eq!(rig.pass(P1).next, Some(v));
    assert_eq!(rig.policy.runqs[0].smt_idle, set(&[1]));
}

#[test]
fn a_pcpu_that_leaves_takes_nobody() {
    let mut rig = Rig::new(2);
    rig.running_on(P0, 9 * MS);
    let v = rig.guest_on(P1);
    rig.wake(v);
    rig.tables.online.remove(P1);
    assert_eq!(rig.pass(P1), Pick::IDLE);
}

#[test]
fn a_host_that_starts_in_the_middle_knows_who_runs() {
    let mut rig = Rig::with(Topology::new(2, 1, 1).unwrap(), &[]);
    let (a, b) = (rig.guest(256), rig.guest(256));
    for v in [a, b] {
        rig.tables.vcpus[v.index()].pause = Pause::NONE;
        rig.tables.vcpus[v.index()].pcpu = P1;
    }
    rig.tables.vcpus[a.index()].on_pcpu = true;
    rig.tables.pcpus[P1].current = Some(a);
    rig.call(|c, cx| c.resume(cx, &[a, b], &domio_contract::StateRows::default()));
    assert_eq!(rig.queue(1), [b]);
    assert_eq!((rig.policy.runqs[0].load, rig.policy.runqs[1].load), (0, 2));
    assert!(rig.has(a, flag::SCHEDULED));
    assert_eq!(rig.policy.runqs[1].idle, CpuSet::EMPTY);
}
