//! Figures that cells declare, from what was seen in the measured time.
//!
//! | measure | of a domain |
//! |---|---|
//! | `share_pct`, `waiting_pct` and others of `domio run` | as [`Measures::figures`] has them |
//! | `rate_mbps` | bytes that its processes read from the network |
//! | `round_trip_ms` | of each ping of the measured time that was answered, however late |
//! | `turnaround_s` | of its last task that ended, once all of them have |
//! | `jobs_per_s` | jobs of its tasks that ended, such as blocks of `dd` |
//! | `wake_ups` | how often it was woken |
//! | `boost_ends`, `earning_starts` | records of credit: a tick ended a boost, or began to charge |
//! | `allocation_error_pct` | its share less what it is allocated, in percent of that |
//! | `allocation_error_size_pct` | the same without the sign |
//! | `served_pct`, `charged_pct` and others | what driver domains did for it: [`super::traffic`] |
//! | `pool_mb` | memory that it holds for pools of small packets |
//! | `balance_factor` | of all domains together: how evenly boosts are spread ([`super::boosts`]) |
//! | `queue_balance_factor` | the same of wake-ups with a boost |
//! | `drawn_ms` | of no domain: what the replication drew for a key of `[[vary]]` |
//!
//! Over all domains of a figure, or over all round trips: `count`, `sum`, `average`, `deviation`,
//! `lowest`, `highest`, `spread` (highest less lowest), `fairness` (Jain's index), and `p50`,
//! `p95`, `p99`.

use super::boosts::{Boosts, Counting};
use super::cell::PaperCell;
use super::file::MeasureFile;
use super::traffic::{self, Packets};
use domio_core::accounted::SHARE;
use domio_core::{ActorId, Adds, Declared, DomainId, Kind, Names, Record, Says};
use domio_meter::{PacketWeight, Summary};
use domio_net::class::DELIVERED;
use domio_run::Sample;
use domio_run::allocation::allocated;
use domio_run::measure::Measures;
use domio_scenario::{Built, Scenario};

/// What was seen of each domain in addition to what the meter sums up.
#[derive(Default)]
pub(super) struct Tally {
    /// By id.
    domains: Vec<Counts>,
    packets: Packets,
}

#[derive(Default)]
struct Counts {
    /// Delivered to its processes.
    bytes: u64,
    /// In nanoseconds.
    round_trips: Vec<u64>,
    wake_ups: u64,
    boost_ends: u64,
    earning_starts: u64,
    /// Tasks that ended, and the longest time that one took.
    done: u64,
    longest: u64,
}

impl Tally {
    /// Number of credit's record that a vcpu earns credit from now on: a tick that finds a vcpu
    /// running ends its boost, charges it and puts it among those that earn (xen-spec 3.1).
    const EARNS: u8 = 2;

    /// Takes a record of the measured time, but for replies.
    #[inline]
    pub fn record(&mut self, names: &Names, record: &Record) {
        match record.kind() {
            Some(Kind::Wake) => self.of(names, record.actor).wake_ups += 1,
            Some(Kind::JobDone) => {
                let took = record.job().map_or(0, |(_, took, _)| took);
                let counts = self.of(names, record.actor);
                counts.done += 1;
                counts.longest = counts.longest.max(took);
            }
            Some(_) => {}
            None => self.class(names, record),
        }
    }

    /// Takes a record of a policy or device.
    fn class(&mut self, names: &Names, record: &Record) {
        let Some(declared) = names.declared(record) else {
            return;
        };
        match declared.says {
            Says::Moved { .. } => self.packets.moved(names, record),
            Says::BoostOver => self.of(names, record.actor).boost_ends += 1,
            _ => {}
        }
        if let Some(bytes) = added(declared, record, &DELIVERED) {
            self.of(names, record.actor).bytes += bytes;
        }
        let class = names.class(record.class).map(|class| class.name);
        if declared.number == Self::EARNS && class == Some("credit") {
            self.of(names, record.actor).earning_starts += 1;
        }
    }

    /// A reply to a request of the measured time took `ns`.
    pub fn reply(&mut self, domain: DomainId, ns: u64) {
        self.named(domain).round_trips.push(ns);
    }

    fn of(&mut self, names: &Names, actor: ActorId) -> &mut Counts {
        // Whoever has a record of these has a name.
        self.named(names.vcpu(actor).unwrap_or_default().domain)
    }

    fn named(&mut self, domain: DomainId) -> &mut Counts {
        let index = domain.index();
        if self.domains.len() <= index {
            self.domains.resize_with(index + 1, Counts::default);
        }
        &mut self.domains[index]
    }
}

/// What `record` adds to `tally` of its domain, if it adds anything.
pub(super) fn added(
    declared: &Declared,
    record: &Record,
    tally: &domio_core::Tally,
) -> Option<u64> {
    let own = declared.tallies.iter().find(|t| t.name == tally.name)?;
    Some(match own.adds {
        Adds::One => 1,
        Adds::Sum(field) | Adds::Spent(field) | Adds::Sample(field) => {
            declared.value(record, field)
        }
    })
}

/// What was seen in a stretch of time.
pub(super) struct Stretch {
    pub summary: Summary,
    pub tally: Tally,
    /// Empty unless a figure is made of them.
    pub boosts: Boosts,
}

/// What was seen of a cell.
pub(super) struct Seen {
    /// In the measured time.
    pub whole: Stretch,
    /// In each interval of it, where the suite has any.
    pub stretches: Vec<Stretch>,
}

/// Measures of a domain that [`Measures::figures`] does not have.
const OTHERS: [&str; 12] = [
    "rate_mbps",
    "round_trip_ms",
    "turnaround_s",
    "jobs_per_s",
    "wake_ups",
    "boost_ends",
    "earning_starts",
    ALLOCATION_ERROR,
    ALLOCATION_ERROR_SIZE,
    BALANCE,
    QUEUE_BALANCE,
    POOL,
];

/// How far a domain's share is from its allocation, in percent of the allocation; and the same
/// without the sign.
const ALLOCATION_ERROR: &str = "allocation_error_pct";
const ALLOCATION_ERROR_SIZE: &str = "allocation_error_size_pct";

/// The measure that is of no domain.
const DRAWN: &str = "drawn_ms";

/// Measures of all domains together, of boosts and of wake-ups with a boost.
const BALANCE: &str = "balance_factor";
const QUEUE_BALANCE: &str = "queue_balance_factor";

/// The measure of memory.
const POOL: &str = "pool_mb";

/// A declared figure, with the domains that it is of.
pub(super) struct DeclaredMeasure {
    file: MeasureFile,
    /// By id: name, and number of tasks that end.
    domains: Vec<(DomainId, String, u64)>,
    weight: PacketWeight,
    /// What domains are allocated (% of one pcpu), where they are.
    allocations: Vec<(DomainId, f64)>,
    /// Bytes of pools that domains hold.
    pools: Vec<(DomainId, u64)>,
    /// Pcpus of the host.
    pcpus: usize,
}

/// The figures of `cell`, whose host is `built` and may have the figures of `known`.
///
/// # Errors
/// When one asks for a measure, a group or a domain that is not there.
pub(super) fn declared(
    cell: &PaperCell<'_>,
    known: &Measures,
    built: &Built,
) -> Result<Vec<DeclaredMeasure>, String> {
    let groups = cell.groups();
    let all = built.host.domains.iter().map(|domain| {
        let tasks = domain
            .vcpus
            .iter()
            .map(|vcpu| vcpu.tasks.len() as u64)
            .sum();
        (domain.id, domain.name.clone(), tasks)
    });
    let all: Vec<(DomainId, String, u64)> = all.collect();
    let figure = |file: &MeasureFile| {
        let own = known.figures().map(|f| f.key).chain(OTHERS);
        let known = own.chain(traffic::MEASURES).chain([DRAWN]);
        let known: Vec<&str> = known.collect();
        if !known.contains(&file.measure.as_str()) {
            let list = known.join(", ");
            let suite = &cell.suite.name;
            return Err(format!(
                "suite {suite}: no measure is called \"{}\"; expected one of {list}",
                file.measure
            ));
        }
        let suite = &cell.suite;
        if let Some(list) = &file.over_time {
            if matches!(
                file.measure.as_str(),
                "round_trip_ms" | DRAWN | BALANCE | QUEUE_BALANCE
            ) {
                return Err(format!(
                    "suite {}: {list} is {} over time; expected a measure of the time itself",
                    suite.name, file.measure
                ));
            }
            if suite.every_ms.is_none() {
                return Err(format!(
                    "suite {}: {list} is over time; expected `every_ms` in the suite, the length \
                     of an interval",
                    suite.name
                ));
            }
        }
        let weight = match file.send_weight {
            None => PacketWeight::GUPTA,
            Some(weight) if (0.01..=100.0).contains(&weight) => {
                PacketWeight((weight * 1000.0).round() as u32)
            }
            Some(weight) => {
                return Err(format!(
                    "suite {}: send_weight is {weight}; expected 0.01 to 100",
                    suite.name
                ));
            }
        };
        let mut domains = all.clone();
        if let Some(group) = &file.group {
            let members = groups.get(group.as_str());
            domains.retain(|(_, name, _)| members.is_some_and(|m| m.contains(name)));
        }
        if let Some(own) = &file.domain {
            domains.retain(|(_, name, _)| name == own);
            if domains.is_empty() {
                return Err(format!("{}: there is no domain \"{own}\"", cell.path()));
            }
        }
        for over in file.over.keys() {
            of_all(over, &[1.0]).ok_or_else(|| {
                format!(
                    "suite {}: no figure over several domains is called \"{over}\"; expected \
                     count, sum, average, deviation, lowest, highest, spread, fairness, or p50 and \
                     the like",
                    cell.suite.name
                )
            })?;
        }
        let allocation = |(id, ..): &(DomainId, String, u64)| Some((*id, allocated(built, *id)?));
        Ok(DeclaredMeasure {
            allocations: domains.iter().filter_map(allocation).collect(),
            pools: domains
                .iter()
                .map(|(id, ..)| (*id, built.pool_bytes(*id)))
                .collect(),
            pcpus: built.host.topology.pcpus(),
            file: file.clone(),
            domains,
            weight,
        })
    };
    cell.suite.figure.iter().map(figure).collect()
}

impl DeclaredMeasure {
    /// Whether it is made of round trips.
    pub fn is_of_replies(&self) -> bool {
        self.file.measure == "round_trip_ms" && !self.domains.is_empty()
    }

    /// Whether it is made of what driver domains do.
    pub fn is_of_traffic(&self) -> bool {
        traffic::MEASURES.contains(&self.file.measure.as_str())
    }

    /// Whether it is made of boosts by pcpu.
    pub fn is_of_boosts(&self) -> bool {
        self.counting().is_some()
    }

    /// What counts as a boost, if it is made of boosts.
    fn counting(&self) -> Option<Counting> {
        match self.file.measure.as_str() {
            BALANCE => Some(Counting::Entries),
            QUEUE_BALANCE => Some(Counting::WakeUps),
            _ => None,
        }
    }

    /// Domains that it is of.
    pub fn domains(&self) -> impl Iterator<Item = DomainId> {
        self.domains.iter().map(|(id, ..)| *id)
    }

    /// Puts its values into `sample`.
    ///
    /// # Errors
    /// When a task that should have ended has not.
    pub fn note(&self, seen: &Seen, sample: &mut Sample) -> Result<(), String> {
        if let Some(counting) = self.counting() {
            self.note_balance(counting, seen, sample);
            return Ok(());
        }
        let values = match &self.file.over_time {
            Some(list) => self.over_time(list, seen, sample)?,
            None => self.of_all_time(&seen.whole, sample)?,
        };
        let file = &self.file;
        if !self.domains.is_empty() {
            for (over, name) in &file.over {
                if let Some(value) = of_all(over, &values).flatten() {
                    sample.set(name, value);
                }
            }
        }
        if let Some(first) = &file.first
            && !values.is_empty()
        {
            let shown = values.len().min(first.count);
            sample.set_list(&first.name, values[..shown].to_vec());
        }
        Ok(())
    }

    /// Puts the balance of boosts into `sample`: the mean of those of the intervals with any, or of
    /// the whole time where the suite has no intervals.
    fn note_balance(&self, counting: Counting, seen: &Seen, sample: &mut Sample) {
        let whole = std::slice::from_ref(&seen.whole);
        let stretches = match &seen.stretches[..] {
            [] => whole,
            some => some,
        };
        let of = |stretch: &Stretch| {
            let boosts = &stretch.boosts;
            boosts.balance(counting, self.domains(), self.pcpus)
        };
        let factors: Vec<f64> = stretches.iter().filter_map(of).collect();
        if let Some(mean) = domio_stats::mean(&factors) {
            let name = self.file.name.as_deref();
            sample.set(name.unwrap_or(&self.file.measure), mean);
        }
    }

    /// Puts a list for each domain into `sample`, and returns all of their values.
    fn over_time(&self, list: &str, seen: &Seen, sample: &mut Sample) -> Result<Vec<f64>, String> {
        let mut all = Vec::new();
        for (id, name, tasks) in &self.domains {
            let mut values = Vec::new();
            for stretch in &seen.stretches {
                let value = self.values_of(*id, *tasks, stretch);
                values.extend(value.map_err(|why| format!("{name}: {why}"))?);
            }
            all.extend_from_slice(&values);
            sample.set_list(&list.replace("{domain}", name), values);
        }
        Ok(all)
    }

    /// Puts the figures of single domains into `sample`, and returns their values.
    fn of_all_time(&self, seen: &Stretch, sample: &mut Sample) -> Result<Vec<f64>, String> {
        let file = &self.file;
        let mut values = Vec::new();
        for (id, name, tasks) in &self.domains {
            let own = self.values_of(*id, *tasks, seen);
            let own = own.map_err(|why| format!("{name}: {why}"))?;
            let each = match &file.name {
                Some(template) => Some(template.replace("{domain}", name)),
                None if file.over.is_empty() => Some(format!("{name}.{}", file.measure)),
                None => None,
            };
            if let (Some(each), [value]) = (each, &own[..]) {
                sample.set(&each, *value);
            }
            values.extend(own);
        }
        Ok(values)
    }

    /// The values of the domain `id` in `seen`: one, or one for each reply.
    fn values_of(&self, id: DomainId, tasks: u64, seen: &Stretch) -> Result<Vec<f64>, String> {
        let (summary, tally) = (&seen.summary, &seen.tally);
        if self.is_of_traffic() {
            let measure = &self.file.measure;
            let value = traffic::value(measure, id, self.weight, summary, &tally.packets);
            return Ok(value.into_iter().collect());
        }
        if self.file.measure == POOL {
            let found = self.pools.iter().find(|(other, _)| *other == id);
            return Ok(found
                .map(|(_, bytes)| *bytes as f64 / 1e6)
                .into_iter()
                .collect());
        }
        if let ALLOCATION_ERROR | ALLOCATION_ERROR_SIZE = self.file.measure.as_str() {
            let found = self.allocations.iter().find(|(other, _)| *other == id);
            let (_, allocated) = found.ok_or("it is allocated nothing that is known")?;
            let share = summary.percent(summary.domain(id).map_or(0, |d| d.total.running));
            let error = (share - allocated) / allocated * 100.0;
            let signed = self.file.measure == ALLOCATION_ERROR;
            return Ok(vec![if signed { error } else { error.abs() }]);
        }
        values_of(&self.file.measure, id, tasks, summary, tally)
    }

    /// Puts what replication `replication` of `scenario` drew into `sample`.
    pub fn note_drawn(&self, scenario: &Scenario, replication: u32, sample: &mut Sample) {
        let key = self.file.key.as_deref().unwrap_or_default();
        let plan = scenario.plan();
        if self.file.measure != DRAWN {
            return;
        }
        if let Some(vary) = plan.vary.iter().find(|vary| vary.key == key) {
            let drawn = vary.draw(plan.seed, replication).as_nanos() as f64 / 1e6;
            sample.set(self.file.name.as_deref().unwrap_or(DRAWN), drawn);
        }
    }
}

/// The values of a measure of the domain `id`: one, or one for each reply.
fn values_of(
    measure: &str,
    id: DomainId,
    tasks: u64,
    summary: &Summary,
    seen: &Tally,
) -> Result<Vec<f64>, String> {
    let none = Counts::default();
    let counts = seen.domains.get(usize::from(id.0)).unwrap_or(&none);
    let one = match measure {
        DRAWN => return Ok(Vec::new()),
        "round_trip_ms" => {
            let ms = counts.round_trips.iter().map(|ns| *ns as f64 / 1e6);
            return Ok(ms.collect());
        }
        "turnaround_s" => {
            if counts.done < tasks {
                let done = counts.done;
                return Err(format!(
                    "{done} of {tasks} tasks ended in the measured time; make it longer"
                ));
            }
            counts.longest as f64 / 1e9
        }
        "jobs_per_s" => summary.per_second(counts.done),
        "rate_mbps" => summary.per_second(counts.bytes) * 8.0 / 1e6,
        "wake_ups" => counts.wake_ups as f64,
        "boost_ends" => counts.boost_ends as f64,
        "earning_starts" => counts.earning_starts as f64,
        SHARE => {
            // A domain that nothing was recorded of had none.
            summary.percent(summary.domain(id).map_or(0, |d| d.total.running))
        }
        other => {
            let domain = summary.domain(id);
            let value = domain.and_then(|domain| summary.figure(domain, other));
            return Ok(value.into_iter().collect());
        }
    };
    Ok(vec![one])
}

/// The figure called `over` of all `values`: `None` when there is no such figure, `Some(None)` when
/// these values have none.
fn of_all(over: &str, values: &[f64]) -> Option<Option<f64>> {
    let lowest = || values.iter().copied().min_by(f64::total_cmp);
    let value = match over {
        "count" => Some(values.len() as f64),
        "sum" => Some(values.iter().sum()),
        "average" => domio_stats::mean(values),
        "deviation" => lowest().map(|_| domio_stats::deviation(values).unwrap_or(0.0)),
        "lowest" => lowest(),
        "highest" => values.iter().copied().max_by(f64::total_cmp),
        "spread" => domio_stats::spread(values),
        "fairness" => domio_stats::jain(values),
        _ => {
            let percent: f64 = over.strip_prefix('p')?.parse().ok()?;
            domio_stats::quantile(values, percent / 100.0)
        }
    };
    Some(value)
}
