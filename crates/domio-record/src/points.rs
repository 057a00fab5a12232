//! What is recorded: trace points of the kernel, the same both ways.

/// What a trace point is recorded for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// Threads. The kernel must have it, or recording is of no use.
    Threads,
    /// Names and control groups of threads.
    Names,
    /// Interrupts and softirqs.
    Interrupts,
    /// Requests of disks.
    Disks,
}

/// A trace point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub part: Part,
    /// Folder of tracefs.
    pub system: &'static str,
    pub name: &'static str,
    /// The program of `bpf/record.bpf.c`.
    #[cfg(feature = "bpf")]
    pub program: &'static str,
}

const fn point(
    part: Part,
    system: &'static str,
    name: &'static str,
    #[cfg_attr(
        not(feature = "bpf"),
        expect(unused_variables, reason = "a build without BPF has no programs")
    )]
    program: &'static str,
) -> Point {
    Point {
        part,
        system,
        name,
        #[cfg(feature = "bpf")]
        program,
    }
}

/// All of them.
pub(crate) const POINTS: [Point; 16] = {
    use Part::*;
    [
        point(Threads, "sched", "sched_switch", "do_switch_state"),
        point(Threads, "sched", "sched_wakeup", "do_wakeup"),
        point(Threads, "sched", "sched_wakeup_new", "do_wakeup_new"),
        point(Threads, "sched", "sched_migrate_task", "do_migrate"),
        point(Threads, "sched", "sched_process_fork", "do_fork"),
        point(Threads, "sched", "sched_process_exit", "do_exit"),
        point(Names, "task", "task_rename", "do_rename"),
        point(Names, "cgroup", "cgroup_attach_task", "do_attach"),
        point(Interrupts, "irq", "irq_handler_entry", "do_irq_entry"),
        point(Interrupts, "irq", "irq_handler_exit", "do_irq_exit"),
        point(Interrupts, "irq", "softirq_entry", "do_softirq_entry"),
        point(Interrupts, "irq", "softirq_exit", "do_softirq_exit"),
        point(Disks, "block", "block_bio_queue", "do_bio"),
        point(Disks, "block", "block_rq_insert", "do_insert"),
        point(Disks, "block", "block_rq_issue", "do_issue"),
        point(Disks, "block", "block_rq_complete", "do_complete"),
    ]
};
