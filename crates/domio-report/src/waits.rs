//! What guests and their packets wait for, as figures: the same for terminal and report.

use crate::data::{Chart, DataTable, Figure, Quantity, Section, Stack, StackBar};
use crate::driver_work;
use crate::figure;
use domio_core::DomainId;
use domio_meter::{Explanation, PacketQueue, PacketWaits};
use domio_stats::drivers::DriverFigures;
use std::collections::BTreeMap;

/// Most domains that are told apart as those behind whom others wait; a picture has no more colours
/// and a terminal not much more room.
const BLAMED_MAX: usize = 7;

/// Most bars of one picture.
const BARS_MAX: usize = 24;

/// Parts of a whole, in percent, a row for each domain.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Shares {
    /// Names of the parts.
    pub parts: Vec<String>,
    /// Names of domains, with their parts in the same order.
    pub rows: Vec<(String, Vec<f64>)>,
}

impl Shares {
    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// An explanation with the names of the domains in it.
#[derive(Clone, Copy, Debug)]
pub struct Waits<'a> {
    /// The sums.
    pub explanation: &'a Explanation,
    /// Ids and names; a domain without a name is shown with its id.
    pub names: &'a [(DomainId, String)],
}

/// Time by domain that ran meanwhile.
type Behind = BTreeMap<Option<DomainId>, u64>;

impl Waits<'_> {
    fn name(&self, id: DomainId) -> String {
        let named = self.names.iter().find(|(d, _)| *d == id);
        named.map_or_else(|| id.to_string(), |(_, name)| name.clone())
    }

    /// Length of the time that counts, in milliseconds.
    pub fn elapsed_ms(&self) -> f64 {
        self.explanation.elapsed() as f64 / 1e6
    }

    /// For whom driver domains worked.
    pub fn driver_work(&self) -> Vec<DriverFigures> {
        let work = self.explanation.driver_work.iter();
        work.map(|w| DriverFigures::of(w, self.names)).collect()
    }

    /// Guests whose packets took time.
    pub fn guests(&self) -> impl Iterator<Item = (String, &PacketWaits)> {
        let domains = self.explanation.domains.iter();
        domains.filter_map(|d| {
            let packets = d.packets.as_ref().filter(|p| p.total() > 0)?;
            Some((self.name(d.id), packets))
        })
    }

    /// Where the time of each guest's packets went, in percent of it. Time of a rate limit and
    /// unknown time are parts only where there is some.
    pub fn packets(&self) -> Shares {
        let found = |queue| {
            let mut guests = self.guests();
            guests.any(|(_, packets)| packets.queues().contains_key(&queue))
        };
        let shown = |queue: &PacketQueue| {
            !matches!(queue, PacketQueue::Limit | PacketQueue::Unknown) || found(*queue)
        };
        let queues: Vec<PacketQueue> = PacketQueue::ALL.into_iter().filter(shown).collect();
        let row = |(name, packets): (String, &PacketWaits)| {
            let times = packets.queues();
            let time = |queue: &PacketQueue| times.get(queue).copied().unwrap_or(0);
            let part = |queue| percent(time(queue), packets.total());
            (name, queues.iter().map(part).collect())
        };
        Shares {
            parts: queues.iter().map(|q| q.name().to_owned()).collect(),
            rows: self.guests().map(row).collect(),
        }
    }

    /// Behind whom each guest's packets were in run queues, the guest's and the driver domain's, in
    /// percent of their time.
    pub fn packets_behind(&self) -> Shares {
        let rows = self
            .guests()
            .map(|(name, packets)| (name, packets.behind(), packets.total()));
        self.behind(rows.collect())
    }

    /// Behind whom each domain's vcpus were runnable, in percent of the time that passed; of
    /// several vcpus the sum.
    pub fn run_queues(&self) -> Shares {
        let elapsed = self.explanation.elapsed();
        let rows = self
            .explanation
            .domains
            .iter()
            .map(|d| (self.name(d.id), d.run_queue.clone(), elapsed));
        self.behind(rows.collect())
    }

    /// Rows of a name, times, and what they are parts of.
    fn behind(&self, rows: Vec<(String, Behind, u64)>) -> Shares {
        let mut sums = Behind::new();
        for (behind, time) in rows.iter().flat_map(|(_, behind, _)| behind) {
            *sums.entry(*behind).or_default() += time;
        }
        let mut blamed: Vec<(u64, DomainId)> = sums
            .into_iter()
            .filter_map(|(behind, time)| Some((time, behind?)))
            .collect();
        blamed.sort_by_key(|(time, id)| (u64::MAX - time, *id));
        blamed.truncate(BLAMED_MAX);
        let mut blamed: Vec<DomainId> = blamed.into_iter().map(|(_, id)| id).collect();
        blamed.sort();
        let row = |(name, behind, whole): (String, Behind, u64)| {
            let mut rest: u64 = behind.values().sum();
            let mut parts: Vec<f64> = Vec::new();
            for id in &blamed {
                let time = behind.get(&Some(*id)).copied().unwrap_or(0);
                rest -= time;
                parts.push(percent(time, whole));
            }
            parts.push(percent(rest, whole));
            (name, parts)
        };
        let names = blamed.iter().map(|id| self.name(*id));
        Shares {
            parts: names.chain(["others, none".to_owned()]).collect(),
            rows: rows.into_iter().map(row).collect(),
        }
    }

    /// What each guest's packets waited for most, one sentence each.
    pub fn verdicts(&self) -> Vec<String> {
        let verdict = |(name, packets): (String, &PacketWaits)| match packets.largest_wait() {
            Some((queue, time)) => {
                let part = percent(time, packets.total());
                let place = match queue {
                    PacketQueue::GuestRunq => "for their guest in the run queue",
                    PacketQueue::DriverRunq => "for the driver domain in the run queue",
                    PacketQueue::Scan => "for the event-channel scan of the driver domain",
                    PacketQueue::Card => "in the NIC, for a driver domain that runs or sleeps",
                    PacketQueue::Limit => "for their rate limit",
                    _ => "in a ring, for a driver domain that runs or sleeps",
                };
                format!("Packets of {name} waited most {place}: {part:.1} % of their time.")
            }
            None => format!("Packets of {name} did not wait."),
        };
        self.guests().map(verdict).collect()
    }

    /// Mean time of a guest's packet on its way, in milliseconds; `None` when none began its way.
    pub fn mean_ms(packets: &PacketWaits) -> Option<f64> {
        (packets.begun > 0).then(|| packets.total() as f64 / packets.begun as f64 / 1e6)
    }

    /// The report's sections.
    pub fn sections(&self) -> Vec<Section> {
        let mut sections = Vec::new();
        if self.guests().next().is_some() {
            sections.push(Section {
                title: "Where packets wait".to_owned(),
                text: self.verdicts().join(" "),
                figures: vec![
                    picture(
                        "The time of each guest's packets, by what they waited for",
                        "time of the packets",
                        self.packets(),
                    ),
                    picture(
                        "Of it, what they spent in run queues, by the domain that ran meanwhile",
                        "time of the packets",
                        self.packets_behind(),
                    ),
                    Figure::new("Packets", Chart::Table(self.counts())),
                ],
            });
        }
        sections.push(Section {
            title: "Where domains wait".to_owned(),
            text: String::new(),
            figures: vec![picture(
                "Time of each domain in the run queue, by the domain that ran meanwhile",
                "time",
                self.run_queues(),
            )],
        });
        let order: Vec<String> = self.names.iter().map(|(_, name)| name.clone()).collect();
        let work = driver_work::section(&self.driver_work(), &order, self.elapsed_ms());
        sections.extend(work);
        sections
    }

    fn counts(&self) -> DataTable {
        let row = |(name, packets): (String, &PacketWaits)| {
            let mean = Self::mean_ms(packets).map_or("none".to_owned(), figure::number);
            vec![
                name,
                packets.begun.to_string(),
                packets.under_way.to_string(),
                mean,
            ]
        };
        let head = ["", "packets", "under way at the end", "time of one [ms]"];
        DataTable {
            head: head.map(str::to_owned).into(),
            rows: self.guests().map(row).collect(),
        }
    }
}

fn picture(caption: &str, quantity: &str, shares: Shares) -> Figure {
    let left_out = shares.rows.len().saturating_sub(BARS_MAX);
    let caption = match left_out {
        0 => caption.to_owned(),
        n => format!("{caption}; the first {BARS_MAX} domains, {n} more are left out"),
    };
    let bars = shares.rows.into_iter().take(BARS_MAX);
    Figure::new(
        caption,
        Chart::Stack(Stack {
            value: Quantity::new(quantity, "%"),
            parts: shares.parts,
            bars: bars
                .map(|(name, lengths)| StackBar { name, lengths })
                .collect(),
        }),
    )
}

fn percent(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 * 100.0 / whole as f64,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use domio_core::{Instant, NetPlace};
    use domio_meter::{Cause, DomainWaits, DriverWork, Side};

    /// Domain 1 with packets that waited 60 ms for the scan and 30 behind domain 2, of 100 ms; it
    /// was runnable for 5 ms behind each of domains 2 to 10 and a millisecond behind nobody.
    pub fn explanation() -> Explanation {
        let ms = |ms: u64| ms * 1_000_000;
        let driver = Cause::RunQueue(Side::Driver, Some(DomainId(2)));
        let guest = DomainWaits {
            id: DomainId(1),
            running: ms(54),
            at_rest: 0,
            run_queue: (2..11)
                .map(|d| (Some(DomainId(d)), ms(5)))
                .chain([(None, ms(1))])
                .collect(),
            packets: Some(PacketWaits {
                begun: 4,
                under_way: 1,
                times: [
                    ((NetPlace::TxRing, Cause::Scan), ms(60)),
                    ((NetPlace::Card, driver), ms(30)),
                    ((NetPlace::DriverIn, Cause::Work(Side::Driver)), ms(10)),
                ]
                .into(),
            }),
        };
        let idle = DomainWaits {
            id: DomainId(2),
            packets: Some(PacketWaits::default()),
            ..DomainWaits::default()
        };
        Explanation {
            start: Instant::ZERO,
            end: Instant::from_nanos(ms(100)),
            lost_records: 0,
            domains: vec![guest, idle],
            driver_work: Vec::new(),
        }
    }

    /// Domain 2 worked 20 ms for domain 1 and 5 for nobody.
    pub fn driver_work() -> DriverWork {
        DriverWork {
            driver: DomainId(2),
            busy: 25_000_000,
            done_for: [(DomainId(1), 20_000_000)].into(),
        }
    }

    pub fn names() -> Vec<(DomainId, String)> {
        vec![(DomainId(1), "web".to_owned())]
    }

    #[test]
    fn parts_are_percent_of_the_packets_time() {
        let (explanation, names) = (explanation(), names());
        let waits = Waits {
            explanation: &explanation,
            names: &names,
        };
        let shares = waits.packets();
        assert_eq!(shares.parts.len(), 7, "nothing is unknown");
        assert_eq!(
            shares.rows,
            [("web".to_owned(), vec![0.0, 30.0, 60.0, 0.0, 0.0, 10.0, 0.0])]
        );
        let behind = waits.packets_behind();
        assert_eq!(behind.parts, ["d2", "others, none"]);
        assert_eq!(behind.rows[0].1, [30.0, 0.0]);
        let verdicts = waits.verdicts();
        assert!(verdicts[0].contains("web waited most for the event-channel scan"));
        assert!(verdicts[0].contains("60.0 %"), "{verdicts:?}");
        assert_eq!(verdicts.len(), 1, "none for a guest without packets");
        assert_eq!(waits.sections().len(), 2);
    }

    #[test]
    fn work_of_driver_domains_is_a_section_where_there_is_any() {
        let (mut explanation, names) = (explanation(), names());
        explanation.driver_work = vec![driver_work()];
        let waits = Waits {
            explanation: &explanation,
            names: &names,
        };
        let sections = waits.sections();
        assert_eq!(sections.len(), 3);
        let Chart::Stack(stack) = &sections[2].figures[0].chart else {
            panic!("no stack");
        };
        assert_eq!(stack.parts, ["web", "nobody"]);
        assert_eq!(stack.bars[0].lengths, [20.0, 5.0]);
    }

    #[test]
    fn a_rate_limit_is_a_part_where_there_is_one() {
        let (mut explanation, names) = (explanation(), names());
        let packets = explanation.domains[0].packets.as_mut().unwrap();
        let limit = (NetPlace::TxRing, Cause::Limit);
        packets.times.insert(limit, 100_000_000);
        let waits = Waits {
            explanation: &explanation,
            names: &names,
        };
        let shares = waits.packets();
        let part = shares.parts.iter().position(|p| p == "rate limit");
        assert_eq!(shares.rows[0].1[part.expect("a part")], 50.0);
        assert_eq!(
            waits.verdicts(),
            ["Packets of web waited most for their rate limit: 50.0 % of their time."]
        );
    }

    #[test]
    fn domains_beyond_the_colours_are_one_part() {
        let (explanation, names) = (explanation(), names());
        let waits = Waits {
            explanation: &explanation,
            names: &names,
        };
        let shares = waits.run_queues();
        assert_eq!(shares.parts.len(), BLAMED_MAX + 1);
        let (name, parts) = &shares.rows[0];
        assert_eq!(name, "web");
        assert_eq!(parts.iter().sum::<f64>(), 46.0);
        assert_eq!(parts.last(), Some(&11.0), "two domains and nobody");
    }
}
