//! Figures of a machine that a scenario may replace: what work costs, and how a card is set up.
//!
//! Each table lists fields of a structure of the models. A test finds those that are missing.

use super::Need::Optional;
use super::{Kind, Section, Variant, Words, key, plain, variant};
use crate::check::Fields;
use domio_core::Duration;
use domio_net::host::NetCosts;
use domio_net::nic::NicConfig;
use domio_net::writers::WriterCosts;
use domio_vmm::config::KernelCosts;
use domio_vmm::profile::Profile;

/// A table of times, each with a `$name` and place `$($field).+` in `$type`, the function that puts
/// those that were given into a value of that type, and the function that lists them.
macro_rules! times {
    ($section:ident, $apply:ident, $list:ident, $type:ty, $header:literal, $doc:literal, {
        $($name:ident: $($field:ident $([$slot:literal])?).+, $what:literal;)*
    }) => {
        pub(crate) static $section: Section = plain($header, $doc, &[
            $(key(
                stringify!($name),
                Kind::Time { unit: "us", min_ns: 0 },
                Optional("the profile's"),
                $what,
            ),)*
        ]);

        /// Puts the times that `fields` give into `figures`; `None` when one of them is bad.
        pub(crate) fn $apply(fields: &Fields<'_>, figures: &mut $type) -> Option<()> {
            $(if fields.field(stringify!($name)).is_some() {
                figures.$($field $([$slot])?).+ = fields.time(stringify!($name))?;
            })*
            Some(())
        }

        /// Keys and values of all `figures`.
        pub(crate) fn $list(figures: &$type) -> Vec<(&'static str, Duration)> {
            vec![$((stringify!($name), figures.$($field $([$slot])?).+)),*]
        }
    };
}

times!(HOST_COSTS, host_costs, all_of_host, Profile, "[host.costs]",
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
    policy_instruction: policy.instruction, "Work of a policy takes multiples of this; 0 for any \
        time.";
    handler: handler, "From that to the return into the guest.";
    interrupt: interrupt, "An interrupt which wakes nobody.";
    timer_slop: timer_slop, "How far timers may fire early (3.x) or late (4.x).";
});

times!(HOST_KERNEL, host_kernel, all_of_kernel, KernelCosts, "[host.kernel]",
    "What the kernels of domains with a part in a network or a disk cost, where that is not what \
     the profile says.", {
    upcall: upcall, "Entering an upcall, and leaving it.";
    nested: nested, "An upcall that finds another one under way.";
    irq: irq, "Each interrupt, besides its driver's handler.";
    timer_irq: timer_irq, "The handler of the timer's interrupt.";
    timer_softirq: timer_softirq, "The timer softirq, which wakes processes.";
    switch: switch, "From one process to another that was woken.";
    idle: idle, "Going idle, before the hypercall that blocks.";
});

times!(NETWORK_COSTS, network_costs, all_of_network, NetCosts, "[network.costs]",
    "What the work on packets costs, where that is not what the profile says: processor time of \
     the domain that does the work, without the copying of bytes.", {
    nic_irq: nic_irq, "Driver domain: the card's interrupt handler.";
    nic_rx: nic_rx, "Driver domain: taking a packet from the card.";
    nic_tx: nic_tx, "Driver domain: giving a packet to the card.";
    nic_reap: nic_reap, "Driver domain: freeing a packet that was sent.";
    bridge: bridge, "Driver domain: through the bridge.";
    back_queue: back_queue, "Netback: a packet for a guest.";
    back_rx: back_rx, "Netback: its part of the rx tasklet, besides grant operations.";
    back_irq: back_irq, "Netback: the interrupt from a guest.";
    back_tx: back_tx, "Netback: its part of the tx tasklet, besides grant operations.";
    back_flush: back_flush, "Netback: flushing the TLB for a batch of pages that are transferred.";
    back_pages: back_pages, "Netback: getting 64 new pages from Xen, where pages are transferred.";
    back_answer: back_answer, "Netback: answering a request whose packet was sent.";
    back_drop: back_drop, "Netback: taking a packet from a guest's ring, answering, dropping it.";
    front_irq: front_irq, "Netfront: the interrupt from netback.";
    front_rx: front_rx, "Netfront: taking a packet from the ring.";
    front_remap_call: front_remap_call, "Netfront: the hypercall that maps the pages of a poll, \
        where pages are transferred.";
    front_remap: front_remap, "Netfront: mapping one of these pages.";
    front_refill: front_refill, "Netfront: a new buffer for the ring.";
    front_release_call: front_release_call, "Netfront: the hypercall that gives the pages of new \
        buffers to Xen, where pages are transferred.";
    front_release: front_release, "Netfront: giving away one of these pages.";
    front_tx: front_tx, "Netfront: giving a packet to the ring.";
    front_reap: front_reap, "Netfront: freeing a packet that was answered.";
    stack: stack, "A guest's protocols, for each packet received.";
    stack_send: stack_send, "A guest's protocols, for each packet with data that it sends.";
    read_call: read_call, "A process's call to read.";
    write_call: write_call, "A process's call to write.";
    send_event: send_event, "Sending an event.";
    copy_kib: copy_kib, "Copying a KiB within a domain.";
    grant_hypercall: grants.hypercall, "Each hypercall for grants.";
    grant_map: grants.map, "Each page mapped.";
    grant_unmap: grants.unmap, "Each page unmapped.";
    grant_copy: grants.copy, "Each grant copy, whatever its length.";
    grant_copy_kib: grants.copy_kib, "Each KiB of a grant copy.";
    grant_transfer: grants.transfer, "Each page transferred.";
});

times!(NETWORK_WRITERS, network_writers, all_of_writers, WriterCosts, "[network.writers]",
    "What the remote host's processes take, those that send streams and those that ping, where \
     that is not what the profile says.", {
    wake: wake, "From the packet that frees room to the process, on an idle processor.";
    switch: switch, "From one process to another.";
    call: call, "The call, whatever it writes.";
    kib: kib, "Copying a KiB and sending it.";
});

const fn count(name: &'static str, min: i64, doc: &'static str) -> super::Key {
    let kind = Kind::Int { min, max: 65_535 };
    key(name, kind, Optional("the card's"), doc)
}

const fn wait(name: &'static str, doc: &'static str) -> super::Key {
    let kind = Kind::Time {
        unit: "us",
        min_ns: 0,
    };
    key(name, kind, Optional("the card's"), doc)
}

pub(crate) static NETWORK_CARD: Section = plain(
    "[network.card]",
    "How the card is set up, where that is not what `nic` says.",
    &[
        count("rx_ring", 1, "Descriptors for packets to receive."),
        count("tx_ring", 1, "Descriptors for packets to send."),
        wait(
            "rx_delay",
            "How old the first received packet gets before it asks for an interrupt.",
        ),
        count(
            "rx_packets",
            0,
            "How many received packets ask at once; 0 for any number.",
        ),
        wait("tx_delay", "The same of sent packets."),
        count("tx_packets", 0, "The same of sent packets."),
        wait("gap", "Least time between two interrupts."),
        key(
            "flow_control",
            Kind::Word(Words::Of(FLOW_CONTROL)),
            Optional("the card's"),
            "What becomes of packets that find no buffer.",
        ),
    ],
);

const FLOW_CONTROL: &[Variant] = &[
    variant("on", "The other end of the line waits (pause frames).", &[]),
    variant(
        "off",
        "They are dropped, as behind a switch that does not negotiate pause frames.",
        &[],
    ),
];

/// Puts the figures that `fields` give into `card`; `None` when one of them is bad.
pub(crate) fn network_card(fields: &Fields<'_>, card: &mut NicConfig) -> Option<()> {
    let counts = [
        ("rx_ring", &mut card.rx_ring),
        ("tx_ring", &mut card.tx_ring),
        ("rx_packets", &mut card.rx.packets),
        ("tx_packets", &mut card.tx.packets),
    ];
    for (name, figure) in counts {
        if fields.field(name).is_some() {
            *figure = u16::try_from(fields.int(name)?).ok()?;
        }
    }
    let times = [
        ("rx_delay", &mut card.rx.delay),
        ("tx_delay", &mut card.tx.delay),
        ("gap", &mut card.gap),
    ];
    for (name, figure) in times {
        if fields.field(name).is_some() {
            *figure = fields.time(name)?;
        }
    }
    if fields.field("flow_control").is_some() {
        card.flow_control = fields.text("flow_control")? == "on";
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;

    /// Number of times in `figures`, all of which are zero.
    fn times(figures: &impl Debug) -> usize {
        let zero = format!("{:?}", Duration::ZERO);
        format!("{figures:?}").matches(&zero).count()
    }

    /// A new cost has to become a key.
    #[test]
    fn every_cost_is_a_key() {
        let profile = Profile {
            name: "",
            source: "",
            timer_slop: Duration::ZERO,
            ..Profile::IDEAL
        };
        assert_eq!(HOST_COSTS.keys.len(), times(&profile));
        assert_eq!(HOST_KERNEL.keys.len(), times(&KernelCosts::FREE));
        assert_eq!(NETWORK_COSTS.keys.len(), times(&NetCosts::FREE));
        assert_eq!(NETWORK_WRITERS.keys.len(), times(&WriterCosts::FREE));
    }
}
