//! The two benchmarks that say whether counting packets is good accounting (Gupta et al. 2006,
//! section 3), on a host with one guest.
//!
//! The first one fixes the rate and varies the size of datagrams, the second one fixes the size and
//! varies the rate; both go in both directions. What is measured is the driver domain's use of
//! processors, as a monitor sees it, and the part of it that was done for the guest.

use domio_answer::{Answered, Inner, Sentence, Table, rows};
use domio_core::{DomainId, Duration};
use domio_net::host::{FlowConfig, FlowKind, NetworkConfig};
use domio_net::udp::UdpConfig;
use domio_run::driver_work::OwnersOnly;
use domio_run::simulate::simulate_heard;
use domio_run::{Heard, RunFault, Sample, Subject};
use domio_scenario::{Built, DeviceConfig};
use domio_stats::Estimate;

/// Sizes of packets in the first benchmark, with their IP and UDP headers (bytes).
pub const SIZES: [u16; 12] = [
    100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000, 1_100, 1_200,
];

/// Packets a second in the first benchmark.
pub const FIXED_RATE: u32 = 10_000;

/// Packets a second in the second benchmark.
pub const RATES: [u32; 10] = [
    1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 12_000, 14_000, 16_000, 18_000,
];

/// The size of packets in the second benchmark (bytes).
pub const FIXED_SIZE: u16 = 256;

/// IP and UDP header.
const HEADERS: u16 = 28;

/// When datagrams begin, and the shortest warm-up.
const BEGIN: Duration = Duration::from_millis(50);
const WARMUP: Duration = Duration::from_millis(200);

/// How much the driver domain's use may vary over sizes, in percent of its mean, to count as
/// independent of them: the claim's tolerance.
pub const INDEPENDENT_WITHIN: f64 = 5.0;

/// Where a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketWay {
    /// From the remote host to the guest.
    Receive,
    /// From the guest.
    Send,
}

/// One measurement to make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CalibrationPoint {
    /// Where the packets go.
    pub direction: PacketWay,
    /// Bytes of each.
    pub bytes: u16,
    /// How many a second.
    pub rate: u32,
}

/// What one measurement gave.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Use {
    /// The driver domain's use (% of one pcpu).
    pub driver: f64,
    /// The part of it that was done for the guest (% of one pcpu).
    pub guest: f64,
    /// Packets that were dropped on the way.
    pub lost: u64,
}

impl CalibrationPoint {
    /// What the measurement is kept as; `of` is the scenario.
    pub fn subject(&self, of: &Subject) -> Subject {
        let CalibrationPoint {
            direction,
            bytes,
            rate,
        } = self;
        let way = match direction {
            PacketWay::Receive => "receive",
            PacketWay::Send => "send",
        };
        let name = format!("calibrate {}", of.name);
        let settings = format!("{way} {bytes} bytes, {rate} packets/s");
        Subject::new(&name, &settings, &[of.fingerprint.as_bytes()])
    }
}

impl Use {
    /// The figures as they are kept.
    pub fn sample(&self) -> Sample {
        Sample::new()
            .with("driver_percent", self.driver)
            .with("guest_percent", self.guest)
            .with("lost_packets", self.lost as f64)
    }

    /// The figures that were kept as `sample`; `None` when it is of something else.
    pub fn of(sample: &Sample) -> Option<Self> {
        Some(Use {
            driver: sample.get("driver_percent")?,
            guest: sample.get("guest_percent")?,
            lost: sample.get("lost_packets")? as u64,
        })
    }
}

rows! {
    /// Both directions of one row of a benchmark.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct CalibrationRow {
        /// Bytes of each packet, with its IP and UDP header.
        pub bytes: u16 = key("bytes").title("size").unit("bytes");
        /// Packets a second.
        pub packets_per_s: u32 = key("packets_per_s").title("rate").unit("packets/s");
        /// The driver domain's use when the guest receives.
        pub receive_percent: f64 = share("receive_percent")
            .title("receiving")
            .unit("% of one pcpu");
        /// The driver domain's use when the guest sends.
        pub send_percent: f64 = share("send_percent").title("sending").unit("% of one pcpu");
        /// What was done for the guest when it receives (% of one pcpu), of which the simulator
        /// knows.
        pub receive_owned_percent: f64 = share("receive_owned_percent").for_programs();
        /// What was done for the guest when it sends (% of one pcpu).
        pub send_owned_percent: f64 = share("send_owned_percent").for_programs();
        /// Sending over receiving.
        pub weight: f64 = fact("weight").title("sending, over receiving");
        /// Packets that were dropped, in both directions and all replications.
        pub lost: u64 = count("lost").unit("packets");
    }

    /// How use depends on size, in one direction.
    #[derive(Clone, Copy, PartialEq, Debug, Default)]
    pub struct SizeEffect {
        /// Largest use less smallest use, in percent of the mean.
        pub spread_percent: f64 = share("spread_percent");
        /// Whether that is over 5 %.
        pub depends: bool = fact("depends");
    }

    /// Both benchmarks.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct Calibration {
        /// Name of the driver domain.
        pub driver: String = fact("driver");
        /// Name of the guest.
        pub guest: String = fact("guest");
        /// Packets of several sizes at a fixed rate.
        pub sizes: Vec<CalibrationRow> = parts("sizes", []);
        /// Packets of a fixed size at several rates.
        pub rates: Vec<CalibrationRow> = parts("rates", []);
        /// How use depends on size when the guest receives.
        pub receive_size: Inner<SizeEffect> = fact("receive_size");
        /// How use depends on size when the guest sends.
        pub send_size: Inner<SizeEffect> = fact("send_size");
        /// Mean over the rates of sending over receiving.
        pub weight: f64 = fact("weight");
        /// Standard deviation of that.
        pub weight_deviation: f64 = fact("weight_deviation");
        /// The mean of the same ratio of what was done for the guest.
        pub owned_weight: f64 = fact("owned_weight");
        /// The weight as scenarios have it.
        pub send_weight_thousandths: u32 = fact("send_weight_thousandths");
    }
}

impl Calibration {
    /// The calibration for programs.
    pub fn answer(&self) -> Answered {
        let doc = "What `domio calibrate --json` prints: what packets cost a driver domain.";
        let mut answer = Answered::of("calibrate", 2, doc, self);
        answer.findings = self.findings().into_iter().map(Sentence::new).collect();
        answer
    }

    /// Both benchmarks as people read them.
    pub fn tables(&self) -> [Table; 2] {
        let driver = &self.driver;
        let sizes = format!("{driver}'s use, {FIXED_RATE} packets/s of several sizes");
        let rates = format!("{driver}'s use, packets of {FIXED_SIZE} bytes at several rates");
        [Table::of(sizes, &self.sizes), Table::of(rates, &self.rates)]
    }

    /// What was found, a sentence each.
    pub fn findings(&self) -> Vec<String> {
        let effects = [
            ("receiving", self.receive_size),
            ("sending", self.send_size),
        ];
        let effects = effects.map(|(what, Inner(effect))| {
            let verdict = match effect.depends {
                true => "depends on size",
                false => "does not depend on size",
            };
            let spread = effect.spread_percent;
            format!("The cost of {what} {verdict}: it varies by {spread:.1} % of its mean.")
        });
        let weight = format!(
            "Sending over receiving: {:.3}, standard deviation {:.3}; of the work for {} alone \
             {:.3}.",
            self.weight, self.weight_deviation, self.guest, self.owned_weight
        );
        let thousandths = self.send_weight_thousandths;
        let scenario = format!("In a scenario: send_weight_thousandths = {thousandths}");
        let rows = self.sizes.iter().chain(&self.rates);
        let lost: u64 = rows.map(|row| row.lost).sum();
        let lost = (lost > 0).then(|| {
            format!(
                "{lost} packets were lost on the way: where that is many, the host cannot keep up, \
                 and its figures are of what it got to."
            )
        });
        let found = effects.into_iter().chain([weight, scenario]);
        found.chain(lost).collect()
    }
}

/// A host that benchmarks can be run on.
#[derive(Clone)]
pub struct Bench {
    built: Built,
    /// Place of the network among the devices.
    network: usize,
    driver: (DomainId, String),
    /// Place of the guest among the domains.
    guest: usize,
}

impl Bench {
    /// The host of `built`, whose guest is to do nothing but what the benchmarks want.
    ///
    /// # Errors
    /// When there is not one network with one vif: what there is and what to do about it.
    pub fn new(mut built: Built) -> Result<Self, String> {
        let all = built.devices.iter().enumerate();
        let networks: Vec<(usize, &NetworkConfig)> = all
            .filter_map(|(i, device)| Some((i, device.of()?)))
            .collect();
        let vifs: usize = networks.iter().map(|(_, network)| network.vifs.len()).sum();
        let [(network, config)] = &networks[..] else {
            return Err(format!(
                "the host has {} networks with interfaces; expected one: leave the others out",
                networks.len()
            ));
        };
        let [vif] = &config.vifs[..] else {
            return Err(format!(
                "guests of the host have {vifs} interfaces; expected one guest with one: what \
                 others do would be counted as its"
            ));
        };
        let (network, driver, guest) = (*network, config.driver, vif.domain);
        let domains = &mut built.host.domains;
        let find = |id| domains.iter().position(|d| d.id == id);
        let missing = || format!("domain {guest} is not there; expected it from the start");
        let (driver_at, guest) = find(driver).zip(find(guest)).ok_or_else(missing)?;
        let driver = (driver, domains[driver_at].name.clone());
        for vcpu in &mut domains[guest].vcpus {
            vcpu.tasks.clear();
        }
        built.warmup = built.warmup.max(WARMUP);
        Ok(Bench {
            built,
            network,
            driver,
            guest,
        })
    }

    /// Seed of all random streams.
    pub fn seed(&self) -> u64 {
        self.built.seed
    }

    /// The host with the datagrams of `point`.
    fn with(&self, point: CalibrationPoint) -> Built {
        let mut built = self.built.clone();
        let udp = UdpConfig {
            bytes: point.bytes.saturating_sub(HEADERS),
            rate: point.rate,
            wake: Duration::ZERO,
            jitter: Duration::ZERO,
        };
        let kind = match point.direction {
            PacketWay::Receive => FlowKind::UdpIn(udp),
            PacketWay::Send => FlowKind::UdpOut(udp),
        };
        let DeviceConfig::Network(config) = &mut built.devices[self.network] else {
            return built;
        };
        config.vifs[0].flows = vec![FlowConfig {
            kind,
            start: BEGIN,
            stop: None,
        }];
        let domain = &mut built.host.domains[self.guest];
        let process = config.process(self.network as u16, 0, 0, domain.start);
        let vcpu = usize::from(config.vifs[0].vcpu);
        domain.vcpus[vcpu].tasks.extend(process);
        built
    }

    /// Measures `point` in replication `replication`.
    ///
    /// # Errors
    /// When the policy breaks its contract or the run does not progress.
    pub fn measure(
        &self,
        point: CalibrationPoint,
        replication: u32,
        heard: Heard<'_>,
    ) -> Result<Use, RunFault> {
        let built = self.with(point);
        let guest = built.host.domains[self.guest].id;
        let simulated = simulate_heard(&built, replication, OwnersOnly, heard)?;
        let all = built.duration.as_nanos() as f64 / 100.0;
        let mut works = simulated.summary.driver_work.iter();
        let work = works.find(|work| work.driver == self.driver.0);
        let (busy, own) = work.map_or((0, 0), |work| {
            (work.busy, work.done_for.get(&guest).copied().unwrap_or(0))
        });
        Ok(Use {
            driver: busy as f64 / all,
            guest: own as f64 / all,
            lost: simulated.dropped.iter().map(|(_, n)| n).sum(),
        })
    }

    /// Both benchmarks, from the uses of each of [`points`] over the replications.
    pub fn calibration(&self, uses: &[Vec<Use>]) -> Calibration {
        let (sizes, rates) = uses.split_at(SIZES.len() * 2);
        let points = points();
        let rows = |points: &[CalibrationPoint], uses: &[Vec<Use>]| -> Vec<CalibrationRow> {
            let pairs = points.chunks_exact(2).zip(uses.chunks_exact(2));
            pairs.map(|(p, u)| row(p[0], &u[0], &u[1])).collect()
        };
        let sizes = rows(&points[..SIZES.len() * 2], sizes);
        let weights: Vec<f64> = rates.chunks_exact(2).flat_map(weights).collect();
        let owned: Vec<f64> = rates.chunks_exact(2).flat_map(owned_weights).collect();
        let weight = Estimate::of(&weights);
        let mean = weight.as_ref().map_or(f64::NAN, |w| w.mean);
        Calibration {
            driver: self.driver.1.clone(),
            guest: self.built.host.domains[self.guest].name.clone(),
            receive_size: Inner(effect(sizes.iter().map(|r| r.receive_percent))),
            send_size: Inner(effect(sizes.iter().map(|r| r.send_percent))),
            sizes,
            rates: rows(&points[SIZES.len() * 2..], rates),
            weight: mean,
            weight_deviation: weight.and_then(|w| w.deviation).unwrap_or(0.0),
            owned_weight: Estimate::of(&owned).map_or(f64::NAN, |w| w.mean),
            send_weight_thousandths: (mean * 1_000.0).round() as u32,
        }
    }
}

/// Everything that is to be measured: sizes, then rates, receiving before sending.
pub fn points() -> Vec<CalibrationPoint> {
    let both = |bytes, rate| {
        [PacketWay::Receive, PacketWay::Send].map(|direction| CalibrationPoint {
            direction,
            bytes,
            rate,
        })
    };
    let sizes = SIZES.iter().flat_map(|bytes| both(*bytes, FIXED_RATE));
    let rates = RATES.iter().flat_map(|rate| both(FIXED_SIZE, *rate));
    sizes.chain(rates).collect()
}

fn mean(uses: &[Use], of: impl Fn(&Use) -> f64) -> f64 {
    uses.iter().map(of).sum::<f64>() / uses.len().max(1) as f64
}

fn row(point: CalibrationPoint, receive: &[Use], send: &[Use]) -> CalibrationRow {
    let (receive_percent, send_percent) = (mean(receive, |u| u.driver), mean(send, |u| u.driver));
    CalibrationRow {
        bytes: point.bytes,
        packets_per_s: point.rate,
        receive_percent,
        send_percent,
        receive_owned_percent: mean(receive, |u| u.guest),
        send_owned_percent: mean(send, |u| u.guest),
        weight: send_percent / receive_percent,
        lost: receive.iter().chain(send).map(|u| u.lost).sum(),
    }
}

/// Sending over receiving, in each replication.
fn weights(pair: &[Vec<Use>]) -> Vec<f64> {
    let both = pair[0].iter().zip(&pair[1]);
    both.map(|(receive, send)| send.driver / receive.driver)
        .collect()
}

fn owned_weights(pair: &[Vec<Use>]) -> Vec<f64> {
    let both = pair[0].iter().zip(&pair[1]);
    both.map(|(receive, send)| send.guest / receive.guest)
        .collect()
}

fn effect(uses: impl Iterator<Item = f64> + Clone) -> SizeEffect {
    let n = uses.clone().count().max(1) as f64;
    let mean = uses.clone().sum::<f64>() / n;
    let most = uses.clone().fold(f64::MIN, f64::max);
    let least = uses.fold(f64::MAX, f64::min);
    let spread_percent = (most - least) / mean * 100.0;
    SizeEffect {
        spread_percent,
        depends: spread_percent > INDEPENDENT_WITHIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_scenario::{NoReplay, Scenario, example};

    fn built(changes: &[(&str, &str)]) -> Built {
        let text = example("calibrate").expect("it is shipped");
        let policies = domio_sched::policies();
        let scenario = Scenario::parse("calibrate.toml", text.as_bytes(), policies);
        let scenario = scenario.unwrap_or_else(|e| panic!("{}", e.render(false)));
        let scenario = scenario.with(changes);
        let scenario = scenario.unwrap_or_else(|e| panic!("{}", e.render(false)));
        scenario.build(&NoReplay).expect("nothing is replayed")
    }

    fn point(direction: PacketWay, bytes: u16, rate: u32) -> CalibrationPoint {
        CalibrationPoint {
            direction,
            bytes,
            rate,
        }
    }

    #[test]
    fn a_benchmark_measures_what_it_says() {
        let bench = Bench::new(built(&[("run.duration_s", "0.2")])).expect("one guest");
        let of = |p| bench.measure(p, 0, &|_| {}).expect("it runs");
        for direction in [PacketWay::Receive, PacketWay::Send] {
            let few = of(point(direction, 256, 2_000));
            let many = of(point(direction, 256, 8_000));
            assert_eq!((few.lost, many.lost), (0, 0), "{direction:?}");
            assert!(few.guest > 0.5 && few.guest < few.driver, "{few:?}");
            // Four times the packets; interrupts are shared by more of them.
            let times = many.guest / few.guest;
            assert!((2.0..4.3).contains(&times), "{direction:?}: {times}");
        }
    }

    #[test]
    fn copying_is_what_size_costs() {
        let sizes = |changes: &[(&str, &str)]| {
            let mut all = vec![("run.duration_s", "0.2")];
            all.extend(changes);
            let bench = Bench::new(built(&all)).expect("one guest");
            let of = |bytes| bench.measure(point(PacketWay::Receive, bytes, 5_000), 0, &|_| {});
            [100, 1_200].map(|bytes| of(bytes).expect("it runs").guest)
        };
        let [small, large] = sizes(&[]);
        // 1,100 bytes more at 0.8 us a KiB are 0.86 us of each packet: 0.43 % at 5,000 a second.
        assert!((large - small - 0.43).abs() < 0.02, "{small} and {large}");
        let [small, large] = sizes(&[("network.costs.copy_kib_us", "0")]);
        assert!((large - small).abs() < 0.01, "{small} and {large}");
    }

    #[test]
    fn figures_are_put_together_pair_by_pair() {
        let bench = Bench::new(built(&[])).expect("one guest");
        let one = |driver| Use {
            driver,
            guest: driver / 2.0,
            lost: 1,
        };
        let uses: Vec<Vec<Use>> = points()
            .iter()
            .map(|p| {
                let base = f64::from(p.rate) / 1_000.0;
                let sent = match p.direction {
                    PacketWay::Receive => base,
                    PacketWay::Send if p.bytes == 1_200 => base * 1.5,
                    PacketWay::Send => base * 1.25,
                };
                vec![one(sent), one(sent)]
            })
            .collect();
        let calibration = bench.calibration(&uses);
        assert_eq!(
            (calibration.weight, calibration.weight_deviation),
            (1.25, 0.0)
        );
        assert_eq!(calibration.send_weight_thousandths, 1_250);
        assert!(!calibration.receive_size.0.depends && calibration.send_size.0.depends);
        assert_eq!(calibration.sizes.len(), 12);
        assert_eq!(calibration.rates[9].packets_per_s, 18_000);
        assert_eq!(calibration.rates[9].send_percent, 22.5);
        assert_eq!(calibration.sizes[0].lost, 4);
    }

    #[test]
    fn a_host_without_one_guest_and_its_vif_is_refused() {
        let text = example("two-driver-domains").expect("it is shipped");
        let policies = domio_sched::policies();
        let scenario = Scenario::parse("two.toml", text.as_bytes(), policies).expect("good");
        let built = scenario.build(&NoReplay).expect("nothing is replayed");
        let why = Bench::new(built).map(|_| ()).unwrap_err();
        assert!(why.contains("2 networks"), "{why}");
        let text = example("udp-rate-limit").expect("it is shipped");
        let scenario = Scenario::parse("udp.toml", text.as_bytes(), policies).expect("good");
        let built = scenario.build(&NoReplay).expect("nothing is replayed");
        let why = Bench::new(built).map(|_| ()).unwrap_err();
        assert!(why.contains("2 interfaces"), "{why}");
    }
}
