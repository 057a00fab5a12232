//! Figures of a machine as keys: what work costs. A test finds those that are missing.

use super::Hardware;
use crate::config::{ControllerCosts, KernelCosts};
use crate::profile::Profile;

domio_core::times!(HOST_COSTS, host_costs, all_of_host, Profile, "[host.costs]",
    "What the hypervisor's work costs, where that is not what the profile says. `policy_` keys \
     price what a policy reports of its work.", {
    wake_to_pass: wake_to_pass, "From a wake-up to the scheduler pass that it caused.";
    tickle: tickle, "The part of that which tickling takes.";
    wake_first: wake_first, "A wake-up so soon after a pass was due comes before the pass.";
    wake_note: wake_note, "What each private trace record beyond the first adds to that.";
    timer_to_pass: timer_to_pass, "From the expiry of a slice timer to the scheduler pass.";
    block_to_pass: block_to_pass, "From a block or yield hypercall to the scheduler pass.";
    ipi_to_pass: ipi_to_pass, "From the arrival of a rescheduling IPI to the scheduler pass.";
    switch: switch, "From the decision of a pass to the running of another vcpu.";
    idle_switch: idle_switch, "The same to idle, and from there to the vcpu that ran before.";
    keep: keep, "From the decision to the return into the guest when the same vcpu goes on.";
    resume: resume, "From \"running\" to the first instruction of the guest.";
    cache_refill: cache_refill, "Extra time before a vcpu makes progress after another one ran.";
    migration_refill: migration_refill, "The same, on top, when it comes from another pcpu.";
    socket_refill: socket_refill, "The same, on top of both, when that is in another socket.";
    ipi: ipi, "From sending an IPI to its arrival.";
    tlb_wait: tlb_wait, "Waiting until other pcpus have flushed their TLBs.";
    tlb_flush: tlb_flush, "What a pcpu loses that flushes its TLB for another one.";
    tick_to_handler: timer_to_handler[0], "From the expiry of the policy's first timer, credit's \
        tick, to its handler.";
    accounting_to_handler: timer_to_handler[1], "The same of its second timer, credit's \
        accounting.";
    third_to_handler: timer_to_handler[2], "The same of its third timer.";
    fourth_to_handler: timer_to_handler[3], "The same of its fourth timer.";
    softirq_entry: softirq.entry, "From the expiry of a timer to the softirq's first reading of \
        the clock.";
    softirq_guest: softirq.guest, "The handler of a timer of a guest that does not sleep.";
    softirq_again: softirq.again, "What is left of the handler of a policy's timer.";
    softirq_exit: softirq.exit, "From the end of the last handler to the second reading.";
    softirq_heap: softirq.heap, "What timers of a second sleeping vcpu add to a handler.";
    softirq_after_pass: softirq.after_pass, "From the end of a pass to the end of the softirq of \
        its slice timer.";
    softirq_after_wake: softirq.after_wake, "From a wake-up to the end of the softirq that woke.";
    policy_search: policy.search, "A search for work on another pcpu.";
    policy_rate_limit: policy.rate_limit, "A pass that the rate limit ends.";
    policy_look: policy.look, "A look at another run queue.";
    policy_unboost: policy.unboost, "The end of a boost.";
    policy_sort: policy.sort, "Sorting a run queue.";
    policy_sorted: policy.sorted, "Each entry of it.";
    policy_grant: policy.grant, "Credit for a vcpu.";
    policy_stop: policy.stop, "A vcpu that stops earning credit.";
    policy_park: policy.park, "Parking a vcpu.";
    policy_unpark: policy.unpark, "Unparking a vcpu.";
    policy_note: policy.note, "A private trace record of a pass or of a timer.";
    policy_balance: policy.balance, "Looking at one pcpu, or at one vcpu in its queue, for a \
        boosted vcpu that wakes.";
    policy_instruction: policy.instruction, "Work of a policy takes multiples of this; 0 for any \
        time.";
    handler: handler, "From that to the return into the guest.";
    interrupt: interrupt, "An interrupt which wakes nobody.";
    timer_slop: timer_slop, "How far timers may fire early (3.x) or late (4.x).";
});

domio_core::times!(HOST_KERNEL, host_kernel, all_of_kernel, KernelCosts, "[host.kernel]",
    "What the kernels of domains with a part in a network or a disk cost, where that is not what \
     the profile says.", {
    upcall: upcall, "Entering an upcall, and leaving it.";
    nested: nested, "An upcall that finds another one under way.";
    irq: irq, "Each interrupt, besides its driver's handler.";
    timer_irq: timer_irq, "The handler of the timer's interrupt.";
    timer_softirq: timer_softirq, "The timer softirq, which wakes processes.";
    switch: switch, "From one process to another that was woken.";
    idle: idle, "Going idle, before the hypercall that blocks.";
    send_ipi: send_ipi, "Sending an interrupt to another vcpu of the domain.";
    lock_line: lock_line, "Taking a lock that another vcpu of the domain had last.";
});

domio_core::times!(CONTROLLER_COSTS, controller_costs, all_of_controller, ControllerCosts,
    "[controller.costs]", "What the processes of controllers take.", {
    read: read, "Reading what the hypervisor knows: the call, whatever there is to read.";
    read_vcpu: read_vcpu, "Reading it for one vcpu.";
    decide: decide, "Deciding.";
    adjust: adjust, "Carrying out one adjustment.";
});

impl KernelCosts {
    /// What kernels cost on `machine`; nothing where that is not known.
    pub fn on(machine: &Hardware) -> KernelCosts {
        match machine.table(&HOST_KERNEL) {
            Some(_) => machine.figures(&HOST_KERNEL, host_kernel, KernelCosts::FREE),
            None => KernelCosts::FREE,
        }
    }
}

impl ControllerCosts {
    /// What the processes of controllers take on `machine`.
    ///
    /// # Panics
    /// When that is not known: [`Hardware::table`] of [`CONTROLLER_COSTS`] says so.
    #[track_caller]
    pub fn on(machine: &Hardware) -> ControllerCosts {
        machine.figures(&CONTROLLER_COSTS, controller_costs, ControllerCosts::FREE)
    }
}
