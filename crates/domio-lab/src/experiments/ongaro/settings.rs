//! What the cells of an experiment have in common.

use super::suite::{Role, Test};
use domio_core::Duration;
use domio_net::host::{NetCosts, OtherPorts, StreamConfig, VifConfig};
use domio_net::nic::NicConfig;
use domio_net::tcp::{Control, TcpConfig};
use domio_net::writers::WriterCosts;
use domio_vmm::Profile;
use domio_vmm::config::{Distribution, KernelCosts, Workload};
use domio_vmm::evtchn::Width;

/// Times and costs of all cells. The defaults are those of `domio reproduce`; a test of how robust
/// the verdicts are sets others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Time before the measured time of a cell with streams. The flows begin in it, at
    /// [`FLOWS_BEGIN`](super::host::FLOWS_BEGIN) after their guest.
    pub warmup: Duration,
    /// The same of a cell without streams. Under some configurations those are in one of two
    /// states, for tens of seconds each, and always begin in the same one.
    pub warmup_without_streams: Duration,
    /// Measured time of a cell with streams where nobody burns.
    pub streams_alone: Duration,
    /// Measured time of a cell with streams where guests burn. Who waits there waits for them, and
    /// times without any packet last for tens of seconds in one configuration.
    pub streams_and_burning: Duration,
    /// Measured time of a cell without streams. Times without a reply last for tens of seconds
    /// there in one configuration, and events are few.
    pub without_streams: Duration,
    /// How long replies to requests of the measured time are waited for after it: longer than the
    /// longest times without a reply, of about a minute.
    pub patience: Duration,
    /// What the hypervisor's work costs.
    pub profile: Profile,
    /// What the work on packets costs.
    pub network: NetCosts,
    /// What the other work of the kernels costs.
    pub kernel: KernelCosts,
    /// The driver domain's card.
    pub nic: NicConfig,
    /// From one host's card to the other's, through a switch, with half of the least that the
    /// remote host takes to answer. With it and the interrupt moderation of both cards a guest that
    /// is boosted answers a ping in 0.2 ms at least: calibrated on figure 4, which has 0.2 to 0.3.
    pub latency: Duration,
    /// Least time between two interrupts of the remote host's card.
    pub remote_gap: Duration,
    /// Most that the remote host takes to handle one, which makes the same guest's pings take up to
    /// 0.3 ms: calibrated on figure 4 as well.
    pub remote_irq_latency: Duration,
    /// Both ends of a stream.
    pub streams: StreamConfig,
    /// Buffers that guests want to have posted when they begin.
    pub rx_target: u32,
    /// Words of the kernels' pending ports.
    pub words: Width,
    /// Ports of the driver domain that others use.
    pub other_ports: OtherPorts,
    /// What the remote host's processes take: those that send streams, and ping.
    pub writers: WriterCosts,
    /// What the driver domain does besides.
    pub housekeeping: Housekeeping,
}

/// What a driver domain does that serves nobody: little, but a tick that finds it there puts the
/// domain on credit's list of active ones, where it takes a share that it does not use, and what it
/// has gathered by the time it reaches 300 is lost. Without it the credit of the others piles up,
/// for each share is rounded up, until hardly anyone is ever OVER.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Housekeeping {
    /// Mean time that the kernel and the daemons compute after a wake-up; exponential.
    pub work: Duration,
    /// Mean time that they sleep then; exponential.
    pub sleep: Duration,
    /// Time between two readings of the trace buffers by the monitor that measures the shares.
    pub reading: Duration,
    /// Mean time that a reading takes; exponential.
    pub read: Duration,
}

impl Housekeeping {
    /// Kernel and daemons as in the traces of an idle dom0 in `testdata/xen-traces`: 29 wake-ups a
    /// second of 43 us. The monitor as XenMon: 1 to 2 % of a processor (README of Xen 3.1), all
    /// 100 ms (Gupta et al. 2006, section 3).
    pub const XENMON: Housekeeping = Housekeeping {
        work: Duration::from_micros(43),
        sleep: Duration::from_millis(34),
        reading: Duration::from_millis(100),
        read: Duration::from_micros(1_500),
    };

    /// The tasks that do it. The first reading of the trace buffers is at `phase`.
    pub fn tasks(&self, phase: Duration) -> Vec<Workload> {
        vec![
            Workload::OnOff {
                on: Distribution::Exponential(self.work),
                off: Distribution::Exponential(self.sleep),
            },
            Workload::Periodic {
                period: self.reading,
                phase,
                burst: Distribution::Exponential(self.read),
            },
        ]
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            warmup: Duration::from_secs(2),
            warmup_without_streams: Duration::from_secs(60),
            streams_alone: Duration::from_secs(20),
            streams_and_burning: Duration::from_secs(60),
            without_streams: Duration::from_secs(240),
            patience: Duration::from_secs(120),
            profile: Profile::OPTERON_242,
            network: NetCosts::OPTERON_242,
            kernel: KernelCosts::OPTERON_242,
            nic: NicConfig::TG3,
            latency: Duration::from_micros(62),
            remote_gap: NicConfig::E1000.gap,
            remote_irq_latency: Duration::from_micros(80),
            streams: StreamConfig::XEN_2_6_18,
            rx_target: VifConfig::RX_TARGET,
            words: Width::Bits64,
            other_ports: OtherPorts::default(),
            writers: WriterCosts::PENTIUM_4,
            housekeeping: Housekeeping::XENMON,
        }
    }
}

impl Settings {
    /// Buffers and programs of Linux 2.6.18, with the classic congestion control: another machine,
    /// for comparison. What it does to the rows is told in `papers/ongaro2008/diary.md`.
    pub const NEW_RENO: StreamConfig = StreamConfig {
        tcp: TcpConfig {
            control: Control::Reno,
            selective: false,
            ..TcpConfig::XEN_2_6_18
        },
        ..StreamConfig::XEN_2_6_18
    };

    /// The default with the measured times divided by `divisor`, which is over zero, and no longer
    /// warm-up for cells without streams than for others.
    pub fn shortened(divisor: u32) -> Self {
        let whole = Settings::default();
        let divisor = u64::from(divisor);
        Settings {
            streams_alone: whole.streams_alone / divisor,
            streams_and_burning: whole.streams_and_burning / divisor,
            without_streams: whole.without_streams / divisor,
            warmup_without_streams: whole.warmup,
            ..whole
        }
    }

    /// The same, with all cells that have streams measured for `time`.
    pub fn with_streams_for(self, time: Duration) -> Self {
        Settings {
            streams_alone: time,
            streams_and_burning: time,
            ..self
        }
    }

    /// The same, with every cell measured for `time`.
    pub fn with_cells_for(self, time: Duration) -> Self {
        Settings {
            without_streams: time,
            ..self.with_streams_for(time)
        }
    }

    /// Time before the measured time of a cell of `test`.
    pub fn warmup(&self, test: &Test) -> Duration {
        match test.has(Role::streams) {
            true => self.warmup,
            false => self.warmup_without_streams,
        }
    }

    /// Measured time of a cell of `test`.
    pub fn measured(&self, test: &Test) -> Duration {
        match (test.has(Role::streams), test.has(Role::burns)) {
            (true, false) => self.streams_alone,
            (true, true) => self.streams_and_burning,
            (false, _) => self.without_streams,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::run::{PINGS, run};
    use super::super::suite::{FIGURE_4, TESTS};
    use super::*;
    use crate::registry::LabContext;
    use crate::stats::quantile;
    use domio_core::NullSink;

    /// The calibration on figure 4: round trips "usually around 0.2-0.3ms", and spikes.
    #[test]
    fn pings_of_figure_4_take_as_long_as_published() {
        let (settings, cx) = (Settings::default(), LabContext { seed: 1 });
        let cell = "fig4/tb".parse().expect("a cell");
        let round_trips: Vec<f64> = (0..5)
            .flat_map(|replication| {
                let (sample, _) =
                    run(cell, &settings, &cx, replication, NullSink).expect("it runs");
                sample.list(PINGS).to_vec()
            })
            .collect();
        let usual = round_trips.iter().copied().filter(|ms| *ms < 1.0);
        let usual: Vec<f64> = usual.collect();
        assert!(usual.len() * 10 > round_trips.len() * 7, "{round_trips:?}");
        let [low, high] = [0.02, 0.98].map(|q| quantile(&usual, q).expect("some are usual"));
        let published = [(low, 0.2), (high, 0.3)];
        let near = |(ms, published): &(f64, f64)| (ms - published).abs() < 0.01;
        assert!(published.iter().all(near), "{published:?}");
    }

    #[test]
    fn how_long_a_cell_is_measured_follows_from_who_streams_and_who_burns() {
        let settings = Settings::default();
        let seconds = |test: &Test| settings.measured(test).as_nanos() / 1_000_000_000;
        let by_test = TESTS.each_ref().map(seconds);
        assert_eq!(by_test, [20, 60, 240, 240, 20, 20, 60, 60]);
        assert_eq!(seconds(&FIGURE_4), 240);
        let ten = settings.with_streams_for(Duration::from_secs(10));
        let by_test = TESTS.each_ref().map(|t| ten.measured(t).as_nanos());
        assert_eq!(by_test[1], 10_000_000_000);
        assert_eq!(by_test[2], 240_000_000_000);
        let all = settings.with_cells_for(Duration::from_secs(30));
        assert_eq!(
            TESTS.each_ref().map(|t| all.measured(t).as_nanos()),
            [30_000_000_000; 8]
        );
    }
}
