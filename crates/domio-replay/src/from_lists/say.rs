//! What the head of a scenario says: what is told and by what, what is assumed, and what nothing
//! has told.

use super::demand::{Guessed, NEVER_RESTS};
use super::load::{By, Used};
use super::options::ListOptions;
use super::snapshots::Changes;
use crate::draft::domain::Domain;
use crate::draft::{Draft, Sources, write};
use crate::xl::HostLists;
use std::collections::BTreeMap;

/// Which settings are from which list.
pub(super) fn sources(
    draft: &mut Draft,
    lists: &HostLists,
    sources: &Sources,
    loads: &BTreeMap<u16, (Used, By)>,
) {
    draft.say_taken();
    draft.say_pins(sources);
    if lists.pools.len() > 1 {
        draft.assumed.push(format!(
            "one pool: settings are of {} ({}), of which those of the first hold for all",
            lists.pools.len(),
            lists.pools.iter().cloned().collect::<Vec<_>>().join(", ")
        ));
    }
    let by = |is_one: fn(&By) -> bool| loads.values().any(|(_, by)| is_one(by));
    if by(|by| matches!(by, By::Lists(_))) {
        draft
            .derived
            .push("how busy domains are: the column Time(s) of two lists".to_owned());
    }
    if by(|by| matches!(by, By::Uptime(_))) {
        draft.derived.push(
            "how busy domains are on average since they started: the column Time(s) and `xl uptime`"
                .to_owned(),
        );
    }
}

/// What is assumed of the work of domains.
pub(super) fn assumed(
    draft: &mut Draft,
    options: &ListOptions,
    loads: &BTreeMap<u16, (Used, By)>,
    guessed: &Guessed,
) {
    let names = |of: &BTreeMap<u16, String>| {
        let names: Vec<&str> = of.values().map(String::as_str).collect();
        write::listed(&names)
    };
    let assumed = &mut draft.assumed;
    if !guessed.busy.is_empty() {
        let what = match options.load_pct {
            100 => "takes all the time that it can get".to_owned(),
            percent => format!("is busy for {percent} % of the time"),
        };
        assumed.push(format!(
            "each vcpu of {} {what} (--load {}): no list shows the load",
            names(&guessed.busy),
            options.load_pct
        ));
    }
    if !guessed.one_vcpu.is_empty() {
        let who = names(&guessed.one_vcpu);
        assumed.push(format!("1 vcpu for {who}: no list shows the number"));
    }
    if !guessed.idle.is_empty() {
        assumed.push(format!(
            "{} idles: no list shows the load",
            names(&guessed.idle)
        ));
    }
    if !loads.is_empty() {
        assumed.push(
            "the used time is the demand: a domain that waited for a pcpu asked for more than it \
             used"
                .to_owned(),
        );
    }
    if guessed.stretches {
        assumed.push(format!(
            "work comes in stretches of {} us on average, with rests between them, both \
             exponentially distributed (--work-us)",
            options.work_us
        ));
    }
    assumed.push("no traffic and no disks, and dom0 works for nobody".to_owned());
    assumed.push(
        "a hypervisor whose work takes no time: set host.profile to a machine like the host"
            .to_owned(),
    );
}

/// What is another host than that of the first list.
pub(super) fn changed(draft: &mut Draft, changes: &Changes) {
    let anew: Vec<u16> = changes.fresh.values().flatten().copied().collect();
    for domain in &draft.domains {
        if let Some(Some(old)) = changes.fresh.get(&domain.id) {
            draft.derived.push(format!(
                "{} was started anew between the lists: id {old} before, {} in the last one, with \
                 the settings of id {old} where no list has new ones",
                domain.name, domain.id
            ));
        }
    }
    let gone = changes.gone.iter().filter(|(id, _)| !anew.contains(id));
    let gone: Vec<String> = gone.map(|(id, name)| format!("{name} (id {id})")).collect();
    if !gone.is_empty() {
        let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
        draft.derived.push(format!(
            "without {}: the last list does not have what the first one had",
            write::listed(&gone)
        ));
    }
}

/// What nothing has told, and what would.
pub(super) fn unknown(
    draft: &mut Draft,
    (lists, options): (&HostLists, &ListOptions),
    (loads, changes): (&BTreeMap<u16, (Used, By)>, &Changes),
    guessed: &Guessed,
) {
    let mut first = Vec::new();
    let is_given = options.interval_ms.is_some();
    let all = guessed.busy.iter().chain(&guessed.idle);
    let is_fresh = |id: &u16| is_given && changes.fresh.contains_key(id);
    let (fresh, others): (Vec<_>, Vec<_>) = all.partition(|(id, _)| is_fresh(id));
    let names = |of: &[(&u16, &String)]| {
        let names: Vec<&str> = of.iter().map(|(_, name)| name.as_str()).collect();
        write::listed(&names)
    };
    if !others.is_empty() {
        let how = match (lists.times.len(), is_given) {
            (_, true) => "no two lists with the column Time(s) have it; give two that do",
            (0 | 1, false) => "`xl list; sleep 10; xl list`, with --interval 10",
            (_, false) => "--interval, the seconds from the first list to the last",
        };
        first.push(format!("the load of {}: {how}", names(&others)));
    }
    if !fresh.is_empty() {
        first.push(format!(
            "the load of {}, started between the lists: give two lists that both have it",
            names(&fresh)
        ));
    }
    first.push(
        "how long a stretch of work is and when it comes, which waits follow from: half a minute \
         of `xentrace` (docs/trace-analysis.md); until then compare --work-us 1000 with 10000"
            .to_owned(),
    );
    let between = loads.values().filter(|(_, by)| matches!(by, By::Lists(_)));
    let used: u64 = between.map(|(used, _)| used.sum()).sum();
    let busy = used / 10 / u64::from(draft.pcpus.max(1));
    if busy >= NEVER_RESTS / 10 {
        first.push(format!(
            "who asked for more than was used: all pcpus were busy for {} % of the time; give \
             `workload = \"burn\"` to who computes without rest",
            busy.min(100)
        ));
    }
    if !guessed.one_vcpu.is_empty() {
        first.push("how many vcpus domains have: `xl list`".to_owned());
    }
    if lists.sched.is_none() {
        let command = match &*draft.policy {
            "credit" => "xl sched-credit",
            "rtds" => "xl sched-rtds",
            _ => "xl sched-credit2",
        };
        first.push(format!("weights and caps: `{command}`"));
    }
    let mut sets = lists.domains.values().map(|d| d.hard.len());
    if sets.all(|n| n == 0) {
        first.push("pins and soft affinity: `xl vcpu-list`".to_owned());
    }
    first.append(&mut draft.unknown);
    draft.unknown = first;
}

/// Commands to continue with.
pub(super) fn tries(draft: &mut Draft) {
    draft.tries = vec![
        "domio run THIS (shares have to be those of the host)".to_owned(),
        "domio explain THIS".to_owned(),
    ];
    let has_weight = |d: &&Domain| d.id != 0 && d.params.iter().any(|(key, _)| *key == "weight");
    if let Some(first) = draft.domains.iter().find(has_weight) {
        let key = format!("domain.{}.weight", first.name);
        let compare = format!("domio compare THIS --set {key}=256 --set {key}=1024");
        draft.tries.push(compare);
    }
}
