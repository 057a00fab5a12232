//! What `domio run` answers: the figures of a scenario's replications.

use crate::{overhead as costs, samples, written};
use domio_answer::{Answered, Sentence, rows};
use domio_core::DomainId;
use domio_meter::RanWhere;
use domio_run::measure::Measures;
use domio_run::overhead::NetMemory;
use domio_run::{Sample, residence as places, simulate};
use domio_scenario::{Built, Scenario};
use domio_stats::Estimate;
use domio_stats::domains::{self, Jain};
use domio_stats::drivers::{self, DriverFigures};
use domio_stats::overhead::{self, OverheadFigures};
use std::borrow::Cow;

/// What the schema says of it.
const DOC: &str = "What `domio run --json` prints: figures of a simulated scenario.";

rows! {
    /// A pool of pcpus.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct PoolRow {
        /// Name of the pool.
        pub name: String = key("name");
        /// Name of its policy.
        pub policy: Cow<'static, str> = fact("policy");
    }

    /// Packets that were dropped in one place.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Dropped {
        /// Where.
        pub place: String = key("place").title("dropped at");
        /// How many.
        pub packets: Estimate = count("packets");
    }

    /// Where a vcpu ran, over all replications.
    #[derive(Clone, PartialEq, Debug)]
    pub struct VcpuResidence {
        /// Name of its domain.
        pub domain: String = key("domain");
        /// Its index in the domain.
        pub vcpu: u16 = key("vcpu");
        /// Its pcpus, cores and nodes.
        pub ran: RanWhere = key("");
    }

    /// A run, beside the figures of its domains and the overhead of driver domains.
    #[derive(Clone, PartialEq, Debug, Default)]
    pub struct RunFacts {
        /// File or name of the scenario.
        pub scenario: String = fact("scenario");
        /// Keys that the command line changed, as `key = value`.
        pub overrides: Vec<String> =
            parts("overrides", [fact("override").doc("A key and its value.")]);
        /// Name of the policy; that of Pool-0 on a host with pools.
        pub policy: Cow<'static, str> = fact("policy");
        /// Pools of a host with several, Pool-0 first; empty without.
        pub pools: Vec<PoolRow> = parts("pools", []);
        /// Seed of the random streams.
        pub seed: u64 = fact("seed");
        /// How often it was run.
        pub replications: usize = fact("replications");
        /// Simulated before measuring.
        pub warmup_s: f64 = sum("warmup_s", "s");
        /// Measured time.
        pub duration_s: f64 = sum("duration_s", "s");
        /// Jain's index of the shares of the domains in `jain_over`; null for fewer than two.
        pub jain: Option<Estimate> = fact("jain");
        /// Names of the guests that compete for processors.
        pub jain_over: Vec<String> = parts("jain_over", [key("name").doc("Name of a guest.")]);
        /// Jain's index of what those in `jain_of_disks_over` read and write; null for fewer than
        /// two.
        pub jain_of_disks: Option<Estimate> = fact("jain_of_disks");
        /// Names of the guests with virtual disks.
        pub jain_of_disks_over: Vec<String> =
            parts("jain_of_disks_over", [key("name").doc("Name of a guest.")]);
        /// What else to know: domains that never ran, vcpus that nothing loads.
        pub notices: Vec<String> = parts("notices", [fact("notice").doc("A sentence.")]);
        /// Where packets were dropped.
        pub dropped: Vec<Dropped> = parts("dropped", []);
        /// For whom driver domains worked.
        pub driver_work: Vec<DriverFigures> = parts("driver_work", []);
        /// Where each vcpu ran, over all replications.
        pub residence: Vec<VcpuResidence> = parts("residence", []);
    }
}

/// The answer of `samples`, the replications of `scenario`, which is built as `built`.
pub fn answer(scenario: &Scenario, built: &Built, samples: &[Sample]) -> Answered {
    let domains = simulate::domains(built);
    let measured_ms = built.duration.as_nanos() as f64 / 1e6;
    let driver_work = drivers::figures(samples, &domains, measured_ms);
    let overhead = overhead(built, samples, &domains, &driver_work);
    let split =
        |jain: Option<Jain>| jain.map_or_else(Default::default, |j| (Some(j.index), j.over));
    let names: Vec<String> = domains.iter().map(|(_, name)| name.clone()).collect();
    let (jain, jain_over) = split(domains::jain(samples, &names));
    let (jain_of_disks, jain_of_disks_over) = split(domains::jain_of_disks(samples, &names));
    let pool = |(name, policy): (&str, &'static str)| PoolRow {
        name: name.to_owned(),
        policy: policy.into(),
    };
    let facts = RunFacts {
        scenario: scenario.name().to_owned(),
        overrides: scenario.overrides().map(str::to_owned).collect(),
        policy: built.policy.descriptor.name.into(),
        pools: pools(built).map(pool).collect(),
        seed: built.seed,
        replications: samples.len(),
        warmup_s: built.warmup.as_nanos() as f64 / 1e9,
        duration_s: built.duration.as_nanos() as f64 / 1e9,
        jain,
        jain_over,
        jain_of_disks,
        jain_of_disks_over,
        notices: notices(scenario, built, samples),
        dropped: dropped(samples),
        driver_work,
        residence: residence(built, samples),
    };
    let mut answer = facts.answer(
        &Measures::from(scenario.parts()),
        &domains,
        samples,
        &overhead,
    );
    answer.findings = findings(&domains, samples);
    answer
}

impl RunFacts {
    /// The answer with these facts, the figures of `domains` of which `measures` has some, and the
    /// overhead of driver domains.
    pub fn answer(
        &self,
        measures: &Measures,
        domains: &[(DomainId, String)],
        samples: &[Sample],
        overhead: &[(OverheadFigures, NetMemory)],
    ) -> Answered {
        let mut answer = Answered::of("run", 2, DOC, self);
        let doc = "By order of creation, each with the figures of which the host has some, as \
                   means over replications; null without a sample.";
        let figures = samples::of_domains(samples, domains, measures.figures());
        answer.derive_table("domains", doc, figures);
        let doc = "What driver domains of networks cost.";
        answer.derive_table("overhead", doc, costs::table(overhead));
        answer
    }
}

/// How fairly `domains` shared the processors, and the disks.
pub fn findings(domains: &[(DomainId, String)], samples: &[Sample]) -> Vec<Sentence> {
    let names: Vec<String> = domains.iter().map(|(_, name)| name.clone()).collect();
    let told = |jain: Option<Jain>, of: &str, which: &str| {
        let jain = jain?;
        let index = written::estimate(&jain.index);
        let over = written::names(jain.over);
        Some(format!("Jain's index of {of}{over}{which}: {index}"))
    };
    let told = [
        told(
            domains::jain(samples, &names),
            "the shares of ",
            ", which compete",
        ),
        told(
            domains::jain_of_disks(samples, &names),
            "what ",
            " read and write",
        ),
    ];
    told.into_iter().flatten().map(Sentence::new).collect()
}

/// Where packets were dropped.
pub fn dropped(samples: &[Sample]) -> Vec<Dropped> {
    let all = domains::drops(samples).into_iter();
    all.map(|(place, packets)| Dropped { place, packets })
        .collect()
}

/// What those of `drivers`, which worked for others in `samples`, cost that serve interfaces of
/// guests; `domains` gives ids and names.
pub fn overhead(
    built: &Built,
    samples: &[Sample],
    domains: &[(DomainId, String)],
    drivers: &[DriverFigures],
) -> Vec<(OverheadFigures, NetMemory)> {
    let figures = overhead::figures(samples, domains, drivers).into_iter();
    let with_memory = figures.map(|figures| {
        let memory = built.network_memory(figures.id);
        (figures, memory)
    });
    with_memory.collect()
}

/// Where each vcpu of `built` ran in `samples`.
pub fn residence(built: &Built, samples: &[Sample]) -> Vec<VcpuResidence> {
    let of_host = places::places(built);
    let all = places::of(samples).into_iter();
    let named = all.filter_map(|(name, residence)| {
        let mut domains = built.host.domains.iter();
        Some(VcpuResidence {
            domain: domains.find(|d| d.id == name.domain)?.name.clone(),
            vcpu: name.index,
            ran: RanWhere::new(name, &residence, Some(&of_host)),
        })
    });
    named.collect()
}

/// What to say of domains that never ran in `samples`.
pub fn starvation(built: &Built, samples: &[Sample]) -> Option<String> {
    let vcpus = built.host.domains.iter();
    let vcpus: Vec<(String, usize)> = vcpus.map(|d| (d.name.clone(), d.vcpus.len())).collect();
    domains::starvation(samples, &vcpus, built.policy.descriptor.name)
}

/// What is worth knowing of a run: notices of the scenario, of the files that it names, and of
/// domains that never ran in `samples`.
pub fn notices(scenario: &Scenario, built: &Built, samples: &[Sample]) -> Vec<String> {
    let notices = scenario.notices().iter().chain(&built.notices).cloned();
    notices.chain(starvation(built, samples)).collect()
}

/// Names of the pools of a host with several, each with its policy.
pub fn pools(built: &Built) -> impl Iterator<Item = (&str, &'static str)> {
    let pools = built.host.pools.iter().zip(&built.pools);
    pools.map(|(pool, (policy, _))| (pool.name.as_str(), policy.descriptor.name))
}
