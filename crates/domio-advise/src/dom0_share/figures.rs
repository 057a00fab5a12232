//! What is measured of a setting.

use super::{Dom0Setting, Job, domains};
use domio_answer::{Maybe, rows};
use domio_core::accounted::{RUNS, SHARE, TURNAROUND, WAITING};
use domio_net::class::{NET_RATE, PING_MEAN, REPLIES};
use domio_net::host::{NetworkConfig, VifConfig};
use domio_run::Sample;
use domio_stats::drivers::{self, DriverFigures};
use domio_stats::mean;
use domio_vmm::config::Workload;
use std::borrow::Cow;

rows! {
    /// What a guest is there for, as one figure.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Dom0Service {
        /// Name of the figure, as `domio run --json` has it.
        pub key: Cow<'static, str> = key("key");
        /// For people.
        pub title: Cow<'static, str> = fact("title");
        /// Unit of the figure.
        pub unit: Cow<'static, str> = fact("unit");
        /// The figure.
        pub value: f64 = fact("value");
        /// Whether more is better.
        pub higher_is_better: bool = fact("higher_is_better");
    }

    /// A guest under a setting.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Dom0Guest {
        /// Its name.
        pub name: String = key("name");
        /// What it used (of one pcpu).
        pub share_pct: f64 = share("share_pct");
        /// What it is there for.
        pub services: Vec<Dom0Service> = parts("services", []);
        /// Its services beside those of the same policy with the scenario's own setting: their
        /// geometric mean, over 1 where they are better.
        pub against_own: f64 = column("against_own", "times", ColumnKind::Mean);
        /// What dom0 worked for it (of one pcpu); absent where nothing says.
        pub dom0_work_pct: Option<f64> = share("dom0_work_pct");
        /// The same for each reply of a web server.
        pub dom0_us_per_reply: Option<f64> = column("dom0_us_per_reply", "us", ColumnKind::Mean);
        /// The same for each KiB delivered, where there are no replies.
        pub dom0_us_per_kib: Option<f64> = column("dom0_us_per_kib", "us", ColumnKind::Mean);
    }

    /// A policy with a setting.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Dom0Point {
        /// What the policy is called.
        pub policy: String = key("policy");
        /// The setting, for people.
        pub setting: String = key("setting");
        /// What differs from the scenario's own setting; empty for that itself.
        pub settings: Vec<Dom0Setting> = parts("settings", []);
        /// How it was told, as keys and values of the scenario.
        pub told: Vec<String> = fact("told");
        /// How the guests and dom0's own jobs are served beside the scenario's own setting under
        /// the first policy: the geometric mean over all of them, over 1 where they are served
        /// better.
        pub score: f64 = column("score", "times", ColumnKind::Fact);
        /// Who is served worst by that measure: a guest, or dom0.
        pub worst_guest: String = fact("worst_guest").title("worst");
        /// Its measure.
        pub worst: f64 = column("worst", "times", ColumnKind::Fact).title("worst score");
        /// What dom0 used (of one pcpu).
        pub dom0_share_pct: f64 = share("dom0_share_pct").title("dom0's share");
        /// How much of the time its vcpus waited for a pcpu.
        pub dom0_waiting_pct: f64 = share("dom0_waiting_pct").title("its vcpus wait");
        /// How often a vcpu of dom0 was dispatched in a second.
        pub dom0_runs_per_s: f64 = column("dom0_runs_per_s", "1/s", ColumnKind::Rate)
            .title("its runs");
        /// What dom0 used for nobody (of one pcpu); absent where nothing says.
        pub dom0_nobody_pct: Option<f64> = share("dom0_nobody_pct").for_programs();
        /// What dom0 itself is there for, beside its work for others: its jobs, streams and
        /// replies; null where it has none.
        pub own: Maybe<Dom0Guest> = fact("own");
        /// Over how many vcpus of dom0 its network work is spread; absent where nothing goes
        /// through it.
        pub netback_vcpus: Option<u16> = fact("netback_vcpus").for_programs();
        /// Over how many vcpus of dom0 the queues of its card are spread; absent where it has no
        /// card, or nothing goes through it.
        pub card_vcpus: Option<u16> = fact("card_vcpus").for_programs();
        /// The guests, in the scenario's order.
        pub guests: Vec<Dom0Guest> = parts("guests", []);
    }
}

impl Dom0Point {
    /// All that are served: the guests, and dom0 where it has something of its own to do.
    pub fn served(&self) -> impl Iterator<Item = &Dom0Guest> {
        self.own.0.iter().chain(&self.guests)
    }
}

/// A figure that says how somebody is served: its key, its title, its unit, and whether more is
/// better.
type Telling = (&'static str, &'static str, &'static str, bool);

/// Figures that say how a guest is served: the first of each row that it has counts.
const SERVICES: [&[Telling]; 3] = [
    &[
        (REPLIES, "replies", "1/s", true),
        (NET_RATE, "delivered", "Mb/s", true),
    ],
    &[(PING_MEAN, "round trip", "ms", false)],
    &[(TURNAROUND, "turnaround", "ms", false)],
];
/// For who has none of those.
const ONLY_SHARE: Telling = (SHARE, "share", "%", true);
/// A figure that is lower counts as this one, so that a guest which gets nothing has a score.
const LEAST: f64 = 1e-3;

/// The figures of `job`, whose domain in question is `dom0`, from its samples.
pub(super) fn point(job: &Job, dom0: &str, samples: &[Sample]) -> Dom0Point {
    let value = |domain: &str, key: &str| {
        let name = format!("{domain}.{key}");
        let values: Vec<f64> = samples.iter().filter_map(|s| s.get(&name)).collect();
        mean(&values)
    };
    let all = domains(job);
    let measured_ms = job.built.duration.as_nanos() as f64 / 1e6;
    let work = drivers::figures(samples, &all, measured_ms);
    let work = work.into_iter().find(|w| w.driver == dom0);
    let percent = |ms: f64| ms / measured_ms * 100.0;
    let nobody = work.as_ref().map(|w| percent(w.nobody.mean));
    let own = own(job, dom0, &|key| value(dom0, key), nobody);
    let guests = all.iter().filter(|(_, name)| name != dom0);
    let guests = guests.map(|(_, name)| {
        let of = |key: &str| value(name, key);
        guest(name, &of, work.as_ref(), measured_ms / 1e3)
    });
    Dom0Point {
        policy: job.label.clone(),
        setting: setting(&job.settings),
        settings: job.settings.clone(),
        told: job.told.clone(),
        score: 1.0,
        worst_guest: String::new(),
        worst: 1.0,
        dom0_share_pct: value(dom0, SHARE).unwrap_or(0.0),
        dom0_waiting_pct: value(dom0, WAITING).unwrap_or(0.0),
        dom0_runs_per_s: value(dom0, RUNS).unwrap_or(0.0),
        dom0_nobody_pct: nobody,
        own: Maybe(own),
        netback_vcpus: netback_vcpus(job, dom0),
        card_vcpus: card_vcpus(job, dom0),
        guests: guests.collect(),
    }
}

/// What differs from the scenario's own setting, for people.
fn setting(settings: &[Dom0Setting]) -> String {
    let names: Vec<String> = settings.iter().map(Dom0Setting::name).collect();
    match names.is_empty() {
        true => "as it is".to_owned(),
        false => names.join(", "),
    }
}

fn service((key, title, unit, higher_is_better): Telling, value: f64) -> Dom0Service {
    Dom0Service {
        key: key.into(),
        title: title.into(),
        unit: unit.into(),
        value,
        higher_is_better,
    }
}

/// What somebody with these figures is there for.
fn services(value: &dyn Fn(&str) -> Option<f64>) -> Vec<Dom0Service> {
    let service = |telling: &Telling| Some(service(*telling, value(telling.0)?));
    let rows = SERVICES.iter();
    let mut all: Vec<Dom0Service> = rows
        .filter_map(|row| row.iter().find_map(service))
        .collect();
    // What a web server's jobs take is a part of its replies.
    if all.iter().any(|s| s.key == REPLIES) {
        all.retain(|s| s.key != TURNAROUND);
    }
    if all.is_empty() {
        all.extend(service(&ONLY_SHARE));
    }
    all
}

/// What dom0 is there for itself, where it has tasks: its figures, and what it has for those that
/// end no job, which is what it does for nobody else.
fn own(
    job: &Job,
    dom0: &str,
    value: &dyn Fn(&str) -> Option<f64>,
    nobody: Option<f64>,
) -> Option<Dom0Guest> {
    let config = job.built.host.domains.iter().find(|d| d.name == dom0)?;
    let tasks = || config.vcpus.iter().flat_map(|vcpu| &vcpu.tasks);
    tasks().next()?;
    let share = nobody.or_else(|| value(SHARE));
    let mut services = services(&|key: &str| match key {
        SHARE => share,
        key => value(key),
    });
    let burns = tasks().any(|task| matches!(task.workload, Workload::Burn));
    if let (true, Some(share)) = (burns, share)
        && services.iter().all(|s| s.key != ONLY_SHARE.0)
    {
        services.push(service(ONLY_SHARE, share));
    }
    Some(Dom0Guest {
        name: dom0.to_owned(),
        share_pct: share.unwrap_or(0.0),
        services,
        against_own: 1.0,
        dom0_work_pct: None,
        dom0_us_per_reply: None,
        dom0_us_per_kib: None,
    })
}

/// Over how many vcpus of dom0 its work on packets is spread, the least of all networks with
/// traffic. Each interface is one vcpu's, so that there are no more than interfaces.
fn netback_vcpus(job: &Job, dom0: &str) -> Option<u16> {
    let id = job.built.host.domains.iter().find(|d| d.name == dom0)?.id;
    let networks = job.built.networks();
    let threads = networks.flat_map(|network| {
        let first = (network.driver, None, network.netback.vcpus());
        let behind = (0..).zip(&network.behind);
        let behind = behind.map(|(place, b)| (b.driver, Some(place), b.netback.vcpus()));
        let all = std::iter::once(first).chain(behind);
        all.filter_map(|(driver, place, threads)| {
            let vifs = network.vifs.iter().filter(|vif| vif.behind == place);
            let vifs = vifs
                .clone()
                .any(|vif| passes(network, vif))
                .then(|| vifs.count() as u16);
            Some((driver, threads.min(vifs?)))
        })
        .collect::<Vec<_>>()
    });
    threads
        .filter(|(driver, _)| *driver == id)
        .map(|(_, n)| n)
        .min()
}

/// Over how many vcpus of dom0 the queues of a card are spread, the least of all cards with
/// traffic.
fn card_vcpus(job: &Job, dom0: &str) -> Option<u16> {
    let id = job.built.host.domains.iter().find(|d| d.name == dom0)?.id;
    let networks = job.built.networks();
    let own = networks.filter(|n| n.driver == id && n.vifs.iter().any(|vif| passes(n, vif)));
    own.map(|n| n.nic.queues_on(n.card_vcpus).min(n.card_vcpus.max(1)))
        .min()
}

/// Whether anything goes through `vif`, be it for somebody behind.
fn passes(network: &NetworkConfig, vif: &VifConfig) -> bool {
    let drives = network.behind.iter().any(|b| b.driver == vif.domain);
    drives || !vif.flows.is_empty()
}

fn guest(
    name: &str,
    value: &dyn Fn(&str) -> Option<f64>,
    work: Option<&DriverFigures>,
    seconds: f64,
) -> Dom0Guest {
    let services = services(value);
    let work_ms = work.map(|w| {
        let own = w.done_for.iter().find(|(owner, _)| owner == name);
        own.map_or(0.0, |(_, estimate)| estimate.mean)
    });
    let each = |units: Option<f64>| {
        let units = units.filter(|units| *units > 0.0)?;
        Some(work_ms? * 1e3 / units)
    };
    let replies = value(REPLIES).map(|rate| rate * seconds);
    let kib = value(NET_RATE).map(|rate| rate * 1e6 / 8.0 / 1024.0 * seconds);
    Dom0Guest {
        name: name.to_owned(),
        share_pct: value(SHARE).unwrap_or(0.0),
        services,
        against_own: 1.0,
        dom0_work_pct: work_ms.map(|ms| ms / (seconds * 1e3) * 100.0),
        dom0_us_per_reply: each(replies),
        dom0_us_per_kib: match replies {
            Some(_) => None,
            None => each(kib),
        },
    }
}

/// Says of each point how its guests are served: beside the first point of all, and of the policy.
pub(super) fn score(points: &mut [Dom0Point]) {
    let Some(first) = points.first().cloned() else {
        return;
    };
    let own: Vec<Dom0Point> = points
        .iter()
        .filter(|p| p.settings.is_empty())
        .cloned()
        .collect();
    for point in points {
        let measures: Vec<(String, f64)> = point
            .served()
            .map(|guest| (guest.name.clone(), ratio(guest, &first)))
            .collect();
        point.score = geometric(measures.iter().map(|(_, measure)| *measure));
        let worst = measures.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((name, measure)) = worst {
            (point.worst_guest, point.worst) = (name, measure);
        }
        if let Some(own) = own.iter().find(|own| own.policy == point.policy) {
            for guest in point.own.0.iter_mut().chain(&mut point.guests) {
                guest.against_own = ratio(guest, own);
            }
        }
    }
}

/// How `guest` is served beside the guest of its name in `other`.
fn ratio(guest: &Dom0Guest, other: &Dom0Point) -> f64 {
    let before = other.served().find(|g| g.name == guest.name);
    let before = before.map_or(&[][..], |g| &g.services[..]);
    let both = before.iter().map(|old| {
        let now = guest.services.iter().find(|s| s.key == old.key);
        // Nobody answered, or nothing was done: of what should be low there is no figure.
        let now = now.map_or(0.0, |s| s.value);
        match (old.higher_is_better, now > 0.0) {
            (true, _) => now.max(LEAST) / old.value.max(LEAST),
            (false, true) => old.value.max(LEAST) / now.max(LEAST),
            (false, false) => LEAST,
        }
    });
    geometric(both)
}

/// The geometric mean; 1 of nothing.
fn geometric(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0_f64);
    for value in values {
        sum += value.max(1e-9).ln();
        count += 1.0;
    }
    (sum / count.max(1.0)).exp()
}

#[cfg(test)]
mod tests {
    use super::super::Dom0Axis;
    use super::*;

    fn served(services: &[(&'static str, f64, bool)]) -> Dom0Guest {
        let service = |(key, value, higher): &(&'static str, f64, bool)| {
            service((key, key, "", *higher), *value)
        };
        Dom0Guest {
            name: "g".to_owned(),
            share_pct: 0.0,
            services: services.iter().map(service).collect(),
            against_own: 1.0,
            dom0_work_pct: None,
            dom0_us_per_reply: None,
            dom0_us_per_kib: None,
        }
    }

    fn point(settings: &[Dom0Setting], guest: Dom0Guest) -> Dom0Point {
        Dom0Point {
            policy: "p".to_owned(),
            setting: setting(settings),
            settings: settings.to_vec(),
            told: Vec::new(),
            score: 0.0,
            worst_guest: String::new(),
            worst: 0.0,
            dom0_share_pct: 0.0,
            dom0_waiting_pct: 0.0,
            dom0_runs_per_s: 0.0,
            dom0_nobody_pct: None,
            own: Maybe(None),
            netback_vcpus: None,
            card_vcpus: None,
            guests: vec![guest],
        }
    }

    #[test]
    fn a_score_is_the_geometric_mean_of_how_much_better_each_is_served() {
        let own = served(&[("net_mbps", 100.0, true), ("ping_mean_ms", 4.0, false)]);
        let better = served(&[("net_mbps", 200.0, true), ("ping_mean_ms", 2.0, false)]);
        let mixed = served(&[("net_mbps", 400.0, true), ("ping_mean_ms", 16.0, false)]);
        let nothing = served(&[("net_mbps", 0.0, true)]);
        let pin = [Dom0Setting {
            axis: Dom0Axis::Pin,
            value: None,
        }];
        let mut points = vec![
            point(&[], own),
            point(&pin, better),
            point(&pin, mixed),
            point(&pin, nothing),
        ];
        score(&mut points);
        let scores: Vec<f64> = points.iter().map(|p| p.score).collect();
        assert!((scores[0] - 1.0).abs() < 1e-9 && (scores[1] - 2.0).abs() < 1e-9);
        // Four times as much, a quarter as quick.
        assert!((scores[2] - 1.0).abs() < 1e-9);
        assert!(scores[3] < 0.001, "{scores:?}");
        assert_eq!(
            (points[3].worst_guest.as_str(), points[1].worst),
            ("g", scores[1])
        );
    }
}
