//! `[network.costs]`, `[network.writers]`, `[network.card]`: figures of a machine that a scenario
//! may replace. A test finds those that are missing.

use crate::host::NetCosts;
use crate::nic::NicConfig;
use crate::writers::WriterCosts;
use domio_core::Duration;
use domio_core::keys::{Given, KeySection, Keys, Need, Slot, Typed, WordOf, int, time, word};
use domio_vmm::Hardware;

domio_core::times!(NETWORK_COSTS, network_costs, all_of_network, NetCosts, "[network.costs]",
    "What the work on packets costs, where that is not what the profile says: processor time of \
     the domain that does the work, without the copying of bytes.", {
    nic_irq: nic_irq, "Driver domain: the card's interrupt handler.";
    nic_rx: nic_rx, "Driver domain: taking a packet from the card.";
    nic_tx: nic_tx, "Driver domain: giving a packet to the card.";
    nic_reap: nic_reap, "Driver domain: freeing a packet that was sent.";
    bridge: bridge, "Driver domain: through the bridge.";
    back_queue: back_queue, "Netback: a packet for a guest.";
    back_rx: back_rx, "Netback: its part of the rx tasklet, without grant operations.";
    back_irq: back_irq, "Netback: the interrupt from a guest.";
    back_tx: back_tx, "Netback: its part of the tx tasklet, without grant operations.";
    back_flush: back_flush, "Netback: flushing the TLB for a batch of pages that are transferred.";
    back_unmap_flush: back_unmap_flush, "Netback: flushing the TLB for a batch of pages that are \
        unmapped.";
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

domio_core::times!(NETWORK_WRITERS, network_writers, all_of_writers, WriterCosts,
    "[network.writers]",
    "What the remote host's processes take, those that send streams and those that ping, where \
     that is not what the profile says.", {
    wake: wake, "From the packet that frees room to the process, on an idle processor.";
    switch: switch, "From one process to another.";
    call: call, "The call, whatever it writes.";
    kib: kib, "Copying a KiB and sending it.";
});

impl NetCosts {
    /// What the work on packets costs on `machine`.
    ///
    /// # Panics
    /// When that is not known: [`Hardware::table`] of [`NETWORK_COSTS`] says so.
    #[track_caller]
    pub fn on(machine: &Hardware) -> NetCosts {
        machine.figures(&NETWORK_COSTS, network_costs, NetCosts::FREE)
    }
}

impl WriterCosts {
    /// What processes of the remote host beside `machine` take.
    ///
    /// # Panics
    /// As [`NetCosts::on`].
    #[track_caller]
    pub fn beside(machine: &Hardware) -> WriterCosts {
        machine.figures(&NETWORK_WRITERS, network_writers, WriterCosts::FREE)
    }
}

/// `[network.card]`.
pub static NETWORK_CARD: KeySection = KeySection::plain(
    "[network.card]",
    "How the card is set up, where that is not what `nic` says.",
    Card::KEYS,
);

static FLOW_CONTROL: [WordOf<bool>; 2] = [
    WordOf::new(
        "on",
        true,
        "The other end of the line waits (pause frames).",
    ),
    WordOf::new(
        "off",
        false,
        "They are dropped, as behind a switch that does not negotiate pause frames.",
    ),
];

static TSO: [WordOf<bool>; 2] = [
    WordOf::new(
        "on",
        true,
        "In frames of up to 64 KiB, which pass netfront, netback and the bridge as one packet; the \
         card cuts them. A frame takes a slot of the ring for each page.",
    ),
    WordOf::new("off", false, "In packets of the line."),
];

static GRO: [WordOf<bool>; 2] = [
    WordOf::new(
        "on",
        true,
        "They are joined to one frame of up to 64 KiB, which is one packet from there on.",
    ),
    WordOf::new("off", false, "Each stays a separate packet."),
];

const THE_CARDS: Need = Need::Optional("the card's");

const fn count(min: i64) -> Typed<u16> {
    int(min, 65_535)
}

keys! {
    struct Card {
        queues: u16 = int(1, NicConfig::QUEUES_MAX as i64), THE_CARDS,
            "Queues, each with rings and interrupts by these keys, in turn on the vcpus of the \
             driver domain. A connection's packets come by one queue; a vcpu sends by its own.";
        rx_ring: u16 = count(1), THE_CARDS, "Descriptors for packets to receive.";
        tx_ring: u16 = count(1), THE_CARDS, "Descriptors for packets to send.";
        rx_delay: Duration = time("us", 0), THE_CARDS,
            "How old the first received packet gets before it asks for an interrupt.";
        rx_packets: u16 = count(0), THE_CARDS,
            "How many received packets ask for an interrupt immediately; 0 for any number.";
        tx_delay: Duration = time("us", 0), THE_CARDS, "Like `rx_delay`, for sent packets.";
        tx_packets: u16 = count(0), THE_CARDS, "Like `rx_packets`, for sent packets.";
        gap: Duration = time("us", 0), THE_CARDS, "Least time between two interrupts.";
        flow_control: bool = word(&FLOW_CONTROL), THE_CARDS,
            "What happens to packets that find no buffer.";
        tso: bool = word(&TSO), THE_CARDS,
            "How TCP of the guests hands data down (`ethtool -K`).";
        gro: bool = word(&GRO), THE_CARDS,
            "What the driver domain does with packets of a stream that have come together, and the \
             remote host with the packets of one interrupt (`remote_gap`).";
    }
}

/// Puts the figures that `table` gives into `card`; `None` when one of them is bad.
pub(super) fn network_card(table: &dyn Given, card: &mut NicConfig) -> Option<()> {
    fn put<T: Clone>(slot: &Slot<T>, figure: &mut T) -> Option<()> {
        if slot.given {
            *figure = slot.get()?;
        }
        Some(())
    }
    let keys = Card::read(table);
    if keys.queues.given {
        card.queues = Some(keys.queues.get()?);
    }
    put(&keys.rx_ring, &mut card.rx_ring)?;
    put(&keys.tx_ring, &mut card.tx_ring)?;
    put(&keys.rx_packets, &mut card.rx.packets)?;
    put(&keys.tx_packets, &mut card.tx.packets)?;
    put(&keys.rx_delay, &mut card.rx.delay)?;
    put(&keys.tx_delay, &mut card.tx.delay)?;
    put(&keys.gap, &mut card.gap)?;
    put(&keys.flow_control, &mut card.flow_control)?;
    put(&keys.tso, &mut card.tso)?;
    put(&keys.gro, &mut card.gro)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use core::fmt::Debug;

    /// Number of times in `figures`, all of which are zero.
    fn times(figures: &impl Debug) -> usize {
        let zero = format!("{:?}", Duration::ZERO);
        format!("{figures:?}").matches(&zero).count()
    }

    /// A new cost has to become a key.
    #[test]
    fn every_cost_is_a_key() {
        assert_eq!(NETWORK_COSTS.keys.len(), times(&NetCosts::FREE));
        assert_eq!(NETWORK_WRITERS.keys.len(), times(&WriterCosts::FREE));
    }
}
