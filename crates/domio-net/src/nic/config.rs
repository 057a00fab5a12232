//! Settings of a card: its rings, and when it asks for an interrupt.

use domio_core::{Duration, Instant};

use crate::link::Rate;

/// When packets of one direction ask for an interrupt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coalesce {
    /// How long the timer runs that asks. Zero: a packet asks immediately.
    pub delay: Duration,
    /// How many new packets ask immediately, whatever their age; 0 for any number.
    pub packets: u16,
    /// Each new packet restarts the timer. Otherwise it runs from the first one.
    pub restarts: bool,
}

impl Coalesce {
    /// Each packet asks immediately.
    pub const NONE: Coalesce = Coalesce {
        delay: Duration::ZERO,
        packets: 1,
        restarts: false,
    };

    /// A timer of `delay` from the first new packet, or `packets` of them.
    pub const fn since_first(delay: Duration, packets: u16) -> Coalesce {
        Coalesce {
            delay,
            packets,
            restarts: false,
        }
    }

    /// A timer of `delay` from the last new packet, or `packets` of them.
    pub const fn since_last(delay: Duration, packets: u16) -> Coalesce {
        Coalesce {
            delay,
            packets,
            restarts: true,
        }
    }
}

/// Settings of a card.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NicConfig {
    /// Descriptors for packets to receive, at least 1.
    pub rx_ring: u16,
    /// Descriptors for packets to send, at least 1.
    pub tx_ring: u16,
    /// Interrupts for received packets.
    pub rx: Coalesce,
    /// Interrupts for sent packets.
    pub tx: Coalesce,
    /// Least time between two interrupts; zero for none.
    pub gap: Duration,
    /// It has the other end of the line wait while no receive buffer is empty (pause frames), and
    /// its own memory holds what is under way by then. Otherwise such packets are dropped.
    pub flow_control: bool,
    /// Rate at which the card moves packets to and from memory, both directions together; none for
    /// a bus that nobody has to wait for.
    pub bus: Option<Rate>,
    /// TCP of the guests hands down [frames](crate::offload) of up to 64 KiB, which the card cuts.
    pub tso: bool,
    /// The driver domain's kernel joins packets of one stream that it takes in one poll.
    pub gro: bool,
    /// Queues, 1 to [`QUEUES_MAX`](Self::QUEUES_MAX): each has both rings, moderation and an
    /// interrupt of its own, and takes packets by [RSS](super::receive_queue). None for one on each
    /// vcpu of the driver domain, as drivers since about 2010 ask for.
    pub queues: Option<u16>,
}

impl NicConfig {
    /// Most queues of a card (`MLX5E_MAX_NUM_CHANNELS` of Linux 5.x, mlx5; i40e has 64, ixgbe 16).
    pub const QUEUES_MAX: u16 = 128;

    /// Queues of the card where its interrupts may go to so many `vcpus`.
    pub fn queues_on(&self, vcpus: u16) -> u16 {
        self.queues.unwrap_or(vcpus).clamp(1, Self::QUEUES_MAX)
    }

    /// An interrupt for each packet, as old cards and simple drivers have it. Rings of 256.
    pub const PLAIN: NicConfig = NicConfig {
        rx_ring: 256,
        tx_ring: 256,
        rx: Coalesce::NONE,
        tx: Coalesce::NONE,
        gap: Duration::ZERO,
        flow_control: false,
        bus: None,
        tso: false,
        gro: false,
        queues: Some(1),
    };

    /// Broadcom's tg3 as Linux 2.6 sets it up: `TG3_DEF_RX_RING_PENDING` 200 of 512 descriptors,
    /// `TG3_DEF_TX_RING_PENDING` 511. Every chip but 5700 and 5788 has tagged status
    /// (`drivers/net/tg3.c`), and then each packet restarts both timers: `LOW_RXCOL_TICKS_CLRTCKS`
    /// 20 us or `LOW_RXMAX_FRAMES` 5, `LOW_TXCOL_TICKS_CLRTCKS` 72 us or `LOW_TXMAX_FRAMES` 53
    /// (`drivers/net/tg3.h`). Flow control is negotiated unless `ethtool` says otherwise
    /// (`TG3_FLAG_PAUSE_AUTONEG`).
    pub const TG3: NicConfig = NicConfig {
        rx_ring: 200,
        tx_ring: 511,
        rx: Coalesce::since_last(Duration::from_micros(20), 5),
        tx: Coalesce::since_last(Duration::from_micros(72), 53),
        gap: Duration::ZERO,
        flow_control: true,
        bus: None,
        tso: false,
        gro: false,
        queues: Some(1),
    };

    /// A tg3 without tagged status, the chips 5700 and 5788: `LOW_RXCOL_TICKS` 50 us and
    /// `LOW_TXCOL_TICKS` 150 us from the first new packet, and the same numbers of frames.
    pub const TG3_UNTAGGED: NicConfig = NicConfig {
        rx: Coalesce::since_first(Duration::from_micros(50), 5),
        tx: Coalesce::since_first(Duration::from_micros(150), 53),
        ..NicConfig::TG3
    };

    /// Intel's e1000 as Linux 2.6.18 sets it up: 256 descriptors each way; `RxIntDelay` 0, without
    /// which the absolute delay has no effect; `TxIntDelay` and `TxAbsIntDelay` 64 units of
    /// 1.024 us, of which the latter counts here (`drivers/net/e1000/e1000_param.c`);
    /// `InterruptThrottleRate` fixed at 8000 interrupts a second. `FlowControl` is what the card's
    /// EEPROM says, which is both ways.
    pub const E1000: NicConfig = NicConfig {
        rx_ring: 256,
        tx_ring: 256,
        rx: Coalesce::since_first(Duration::ZERO, 0),
        tx: Coalesce::since_first(Duration::from_nanos(64 * 1_024), 0),
        gap: Duration::from_micros(125),
        flow_control: true,
        bus: None,
        tso: false,
        gro: false,
        queues: Some(1),
    };

    /// Intel's ixgbe (10 Gb/s) and i40e (10 to 40 Gb/s) as Linux 5.x sets them up: a queue for each
    /// processor (`num_online_cpus` in `i40e_init_msix` and `ixgbe_set_rss_queues`), which has 512
    /// descriptors each way (`IXGBE_DEFAULT_RXD`, `I40E_DEFAULT_NUM_DESCRIPTORS`); 50 us
    /// from one interrupt to the next (`IXGBE_20K_ITR`, `drivers/net/ethernet/intel/ixgbe/ixgbe.h`;
    /// `I40E_ITR_20K`, `i40e/i40e_txrx.h`). Both drivers adapt that to the traffic, which is left
    /// out. i40e has no flow control unless `ethtool` asks for it, and nor has this. Both drivers
    /// switch TSO and GRO on.
    pub const I40E: NicConfig = NicConfig {
        rx_ring: 512,
        tx_ring: 512,
        rx: Coalesce::since_first(Duration::ZERO, 0),
        tx: Coalesce::since_first(Duration::ZERO, 0),
        gap: Duration::from_micros(50),
        flow_control: false,
        bus: None,
        tso: true,
        gro: true,
        queues: None,
    };

    /// Mellanox's ConnectX-4 and later (10 to 100 Gb/s) as Linux 5.x sets them up: a queue for each
    /// processor (`mlx5e_get_max_num_channels`), which has 1024 descriptors each way
    /// (`MLX5E_PARAMS_DEFAULT_LOG_RQ_SIZE` and `_LOG_SQ_SIZE` 10), an interrupt 16 us after the
    /// first new packet or after 32 of them (`MLX5E_PARAMS_DEFAULT_RX_CQ_MODERATION_USEC`, `_PKTS`
    /// and those of TX, `drivers/net/ethernet/mellanox/mlx5/core/en.h`). Adapting that to the
    /// traffic is left out. TSO and GRO are on.
    pub const MLX5: NicConfig = NicConfig {
        rx_ring: 1024,
        tx_ring: 1024,
        rx: Coalesce::since_first(Duration::from_micros(16), 32),
        tx: Coalesce::since_first(Duration::from_micros(16), 32),
        gap: Duration::ZERO,
        flow_control: true,
        bus: None,
        tso: true,
        gro: true,
        queues: None,
    };
}

/// When new packets ask for an interrupt; `nth` gives the time of the nth new one, from 0.
#[inline]
pub(super) fn due(coalesce: Coalesce, nth: impl Fn(usize) -> Option<Instant>) -> Option<Instant> {
    let mut timer = nth(0)? + coalesce.delay;
    let enough = usize::from(coalesce.packets).checked_sub(1);
    if coalesce.restarts {
        let mut n = 0;
        while Some(n) != enough {
            n += 1;
            match nth(n) {
                Some(at) if at <= timer => timer = at + coalesce.delay,
                _ => return Some(timer),
            }
        }
    }
    match enough.and_then(nth) {
        Some(by_number) => Some(timer.min(by_number)),
        None => Some(timer),
    }
}
