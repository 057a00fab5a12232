//! Figures of a machine as keys: what work costs. A test finds those that are missing.

use super::Hardware;
use crate::config::{ControllerCosts, KernelCosts};
use crate::profile::Profile;

domio_core::times!(HOST_COSTS, host_costs, all_of_host, Profile, "[host.costs]",
    "Costs of the hypervisor's work that differ from the profile. `policy_` keys are the costs \
     of work that a policy reports.", {
    wake_to_pass: wake_to_pass, "From a wake-up to the scheduler pass that it caused.";
    tickle: tickle, "Tickling, which is a part of `wake_to_pass`.";
    wake_first: wake_first, "A wake-up so soon after a pass was due comes before the pass.";
    wake_note: wake_note, "Added to `wake_to_pass` for each private trace record beyond the first.";
    timer_to_pass: timer_to_pass, "From the expiry of a slice timer to the scheduler pass.";
    block_to_pass: block_to_pass, "From a block or yield hypercall to the scheduler pass.";
    ipi_to_pass: ipi_to_pass, "From the arrival of a rescheduling IPI to the scheduler pass.";
    switch: switch, "From the scheduler's decision to the start of another vcpu.";
    idle_switch: idle_switch, "From the scheduler's decision to idling, and from idling to the \
    vcpu that ran before.";
    idle_exit: idle_exit, "Added when a pcpu leaves idling: the processor wakes from its sleep.";
    keep: keep, "From the scheduler's decision to the return into the guest if its vcpu continues.";
    resume: resume, "From \"running\" to the first instruction of the guest.";
    cache_refill: cache_refill, "Extra time before a vcpu makes progress after another one ran.";
    migration_refill: migration_refill, "Added to `cache_refill` when the vcpu comes from another \
    pcpu.";
    socket_refill: socket_refill, "Added to both when the other pcpu is in another socket.";
    refill_span: refill_span, "In which progress after a move a vcpu pays `migration_refill` and \
    `socket_refill`, in proportion; 0: all before its first instruction.";
    ipi: ipi, "From sending an IPI to its arrival.";
    tlb_wait: tlb_wait, "Waiting until other pcpus have flushed their TLBs.";
    tlb_flush: tlb_flush, "Time that a pcpu loses when it flushes its TLB for another one.";
    tick_to_handler: timer_to_handler[0], "From the expiry of the policy's first timer, credit's \
        tick, to its handler.";
    accounting_to_handler: timer_to_handler[1], "From the expiry of the policy's second timer, \
        credit's accounting, to its handler.";
    third_to_handler: timer_to_handler[2], "From the expiry of the policy's third timer to its \
    handler.";
    fourth_to_handler: timer_to_handler[3], "From the expiry of the policy's fourth timer to its \
    handler.";
    softirq_entry: softirq.entry, "From the expiry of a timer to the softirq's first reading of \
        the clock.";
    softirq_guest: softirq.guest, "The handler of a timer of a guest that does not sleep.";
    softirq_again: softirq.again, "The rest of the handler of a policy's timer.";
    softirq_exit: softirq.exit, "From the end of the last handler to the second reading.";
    softirq_heap: softirq.heap, "Added to a handler for the timers of a second sleeping vcpu.";
    softirq_after_pass: softirq.after_pass, "From the end of a pass to the end of the softirq of \
        its slice timer.";
    softirq_after_wake: softirq.after_wake, "From a wake-up to the end of the softirq that woke.";
    policy_search: policy.search, "A search for work on another pcpu.";
    policy_rate_limit: policy.rate_limit, "A pass that the rate limit ends.";
    policy_look: policy.look, "A look at another run queue.";
    policy_unboost: policy.unboost, "The end of a boost.";
    policy_sort: policy.sort, "Sorting a run queue.";
    policy_sorted: policy.sorted, "Each entry of a run queue that is sorted.";
    policy_grant: policy.grant, "Credit for a vcpu.";
    policy_stop: policy.stop, "A vcpu that stops earning credit.";
    policy_park: policy.park, "Parking a vcpu.";
    policy_unpark: policy.unpark, "Unparking a vcpu.";
    policy_note: policy.note, "A private trace record of a pass or of a timer.";
    policy_balance: policy.balance, "Looking at one pcpu, or at one vcpu in its queue, for a \
        boosted vcpu that wakes.";
    policy_instruction: policy.instruction, "Work of a policy takes multiples of this time; 0 for \
     any time.";
    handler: handler, "From the handler's reading of the clock to the return into the guest.";
    interrupt: interrupt, "An interrupt that wakes no vcpu.";
    timer_slop: timer_slop, "How far timers may fire early (3.x) or late (4.x).";
});

domio_core::times!(HOST_KERNEL, host_kernel, all_of_kernel, KernelCosts, "[host.kernel]",
    "Costs of the kernels of domains with a part in a network or a disk that differ from the \
     profile.", {
    upcall: upcall, "Entering an upcall, and leaving it.";
    nested: nested, "An upcall that finds another one under way.";
    irq: irq, "Each interrupt, without its driver's handler.";
    timer_irq: timer_irq, "The handler of the timer's interrupt.";
    timer_softirq: timer_softirq, "The timer softirq, which wakes processes.";
    switch: switch, "Switching from one process to another that was woken.";
    idle: idle, "Going idle, before the hypercall that blocks.";
    send_ipi: send_ipi, "Sending an interrupt to another vcpu of the domain.";
    lock_line: lock_line, "Taking a lock that another vcpu of the domain had last.";
});

domio_core::times!(CONTROLLER_COSTS, controller_costs, all_of_controller, ControllerCosts,
    "[controller.costs]", "Costs of the processes of controllers.", {
    read: read, "Reading the hypervisor's figures: the call, whatever its size.";
    read_vcpu: read_vcpu, "Reading the figures of one vcpu.";
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
