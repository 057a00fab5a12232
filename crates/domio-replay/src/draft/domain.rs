//! A domain of a real host: its name, its vcpus, its settings and its pins, each from whoever
//! tells.

use super::{Draft, Sources};
use crate::xl::{ListedDomain, SchedDomain};
use domio_contract::Policy;
use domio_trace::DomainInfo;
use std::collections::{BTreeMap, BTreeSet};

/// A domain of a draft.
#[derive(Debug)]
pub(crate) struct Domain {
    pub id: u16,
    pub name: String,
    pub vcpus: u16,
    /// The group that it is in.
    pub group: Option<String>,
    /// Keys of the policy, with their values in TOML.
    pub params: Vec<Setting>,
    /// Values of `pin` and `soft` in TOML; none where every pcpu is meant.
    pub affinity: Vec<Setting>,
    /// Vcpus whose settings differ from the domain's.
    pub own: BTreeMap<u16, Vec<Setting>>,
    /// Its tasks, each with its keys.
    pub tasks: Vec<Vec<Setting>>,
    /// Threads of the host that work for it, each with its keys.
    pub threads: Vec<Vec<Setting>>,
    /// Its disks, each with its keys.
    pub disks: Vec<Vec<Setting>>,
    /// Remarks above it.
    pub remarks: Vec<String>,
}

/// Most groups around a guest that are taken: systemd nests fewer, and what is deeper is left out.
pub(crate) const GROUPS_AROUND_MAX: usize = 16;

/// A group of domains of a draft.
#[derive(Debug)]
pub(crate) struct Group {
    pub name: String,
    /// The one that it is in, which comes before.
    pub parent: Option<String>,
    /// Keys of the policy, with their values in TOML.
    pub params: Vec<Setting>,
    /// Remarks above it.
    pub remarks: Vec<String>,
}

/// A key, and its value in TOML.
pub(crate) type Setting = (&'static str, String);

/// What a domain asks for.
#[derive(Debug, Default)]
pub(crate) struct Demanded {
    /// What is to be said of that above the domain.
    pub remarks: Vec<String>,
    /// Its tasks, each with its keys.
    pub tasks: Vec<Vec<Setting>>,
}

/// What the head of the trace is called.
const HEAD: &str = "the head of the trace";

/// Keys that policies have for domains, and what comments call them.
const KEYS: [(&str, &str); 5] = [
    ("weight", "weights"),
    ("cap", "caps"),
    ("period_us", "periods"),
    ("budget_us", "budgets"),
    ("extratime", "extra time"),
];

/// Whoever reports a domain, with the name of the file.
struct Told<'a> {
    header: Option<&'a DomainInfo>,
    sched: Option<(&'a SchedDomain, &'a str)>,
    listed: Option<(&'a ListedDomain, &'a str)>,
}

impl Told<'_> {
    fn of(id: u16, sources: &Sources) -> Told<'_> {
        let mut header = sources.header.iter().flat_map(|h| &h.domains);
        let sched = sources.sched.as_ref();
        let listed = sources.list.as_ref();
        Told {
            header: header.find(|d| d.id == id),
            sched: sched.and_then(|(sched, file)| Some((sched.domains.get(&id)?, &**file))),
            listed: listed.and_then(|(list, file)| Some((list.get(&id)?, &**file))),
        }
    }

    /// Its name, and by whom.
    fn name(&self) -> Option<(&str, &str)> {
        let listed = self
            .listed
            .and_then(|(d, file)| Some((d.name.as_deref()?, file)));
        let sched = self.sched.map(|(d, file)| (&*d.name, file));
        let header = self.header.map(|d| (&*d.name, HEAD));
        let header = header.filter(|(name, _)| !name.is_empty());
        listed.or(sched).or(header)
    }

    /// How many vcpus it has, and by whom.
    fn vcpus(&self) -> Option<(u16, &str)> {
        let listed = self.listed.and_then(|(d, file)| Some((d.vcpus?, file)));
        let sched = self.sched.and_then(|(d, file)| {
            let (last, _) = d.vcpus.last_key_value()?;
            Some((last.checked_add(1)?, file))
        });
        let header = self.header.filter(|d| d.vcpus > 0);
        let header = header.map(|d| (u16::try_from(d.vcpus).unwrap_or(u16::MAX), HEAD));
        listed.or(sched).or(header)
    }

    /// Its value of the policy's key, and by whom.
    fn param(&self, key: &str) -> Option<(i64, &str)> {
        let sched = self
            .sched
            .and_then(|(d, file)| Some((*d.params.get(key)?, file)));
        let listed = self.listed.and_then(|(d, file)| match key {
            "weight" => Some((d.weight?, file)),
            "cap" => Some((d.cap?, file)),
            _ => None,
        });
        let header = self.header.filter(|d| d.weight > 0);
        let header = header.and_then(|d| match key {
            "weight" => Some((i64::from(d.weight), HEAD)),
            "cap" => Some((i64::from(d.cap), HEAD)),
            _ => None,
        });
        sched.or(listed).or(header)
    }
}

/// The domain `id`, with as many vcpus as are told, and so many at least; `demanded` says what that
/// many ask for.
pub(crate) fn domain(
    draft: &mut Draft,
    (id, vcpus): (u16, u16),
    sources: &Sources,
    policy: Option<&Policy>,
    names: &mut BTreeSet<String>,
    demanded: impl FnOnce(u16) -> Demanded,
) -> Domain {
    let told = Told::of(id, sources);
    let mut remarks = Vec::new();
    let called = told.name();
    let name = unique(&plain(called.map(|(name, _)| name), id), id, names);
    if let Some((told, source)) = called {
        draft.take("names", source);
        if told != name {
            remarks.push(format!("It is called {told:?}."));
        }
    }
    let mut vcpus = vcpus.max(1);
    if let Some((told, source)) = told.vcpus() {
        draft.take("vcpus", source);
        vcpus = vcpus.max(told);
    }
    let Demanded {
        remarks: of_demand,
        tasks,
    } = demanded(vcpus);
    remarks.extend(of_demand);
    let params = params(draft, &told, policy, &mut remarks);
    let own = told.sched.map(|(d, _)| own(d, policy, vcpus));
    let affinity = told.listed.map(|listed| affinity(draft, listed, vcpus));
    Domain {
        id,
        name,
        vcpus,
        group: None,
        params,
        affinity: affinity.unwrap_or_default(),
        own: own.unwrap_or_default(),
        tasks,
        threads: Vec::new(),
        disks: Vec::new(),
        remarks,
    }
}

fn has(policy: Option<&Policy>, key: &str) -> bool {
    policy.is_some_and(|p| p.descriptor.domain_params.iter().any(|s| s.name == key))
}

/// Keys of the policy, told or assumed.
fn params(
    draft: &mut Draft,
    told: &Told<'_>,
    policy: Option<&Policy>,
    remarks: &mut Vec<String>,
) -> Vec<Setting> {
    let mut params = Vec::new();
    for (key, what) in KEYS {
        let found = told.param(key);
        if !has(policy, key) {
            if let Some((_, source)) = found.filter(|(value, _)| *value != 0) {
                let unused = format!("{what} of {source} count for nothing: {}", draft.policy);
                let unused = format!("{unused} has none");
                if !draft.assumed.contains(&unused) {
                    draft.assumed.push(unused);
                }
            }
            continue;
        }
        if let Some((_, source)) = found {
            draft.take(what, source);
        }
        match (key, found) {
            ("weight", None) => {
                remarks.push("Assumed: Xen's default weight.".to_owned());
                params.push((key, "256".to_owned()));
            }
            ("cap", None) => remarks.push("Assumed: no cap.".to_owned()),
            ("period_us", None) => {
                remarks.push("Assumed: Xen's default reservation.".to_owned());
            }
            (_, None) | ("cap", Some((0, _))) => {}
            (_, Some((value, _))) => params.push((key, in_toml(key, value))),
        }
    }
    params
}

fn in_toml(key: &str, value: i64) -> String {
    match key {
        "extratime" => (value != 0).to_string(),
        _ => value.to_string(),
    }
}

/// Vcpus whose settings differ from those of the domain.
fn own(sched: &SchedDomain, policy: Option<&Policy>, vcpus: u16) -> BTreeMap<u16, Vec<Setting>> {
    let mut own = BTreeMap::new();
    for (vcpu, params) in sched.vcpus.range(..vcpus) {
        let params = params.iter();
        let differ = params.filter(|(k, v)| has(policy, k) && sched.params.get(*k) != Some(*v));
        let differ: Vec<Setting> = differ.map(|(k, v)| (*k, in_toml(k, *v))).collect();
        if !differ.is_empty() {
            own.insert(*vcpu, differ);
        }
    }
    own
}

/// The pcpus that each vcpu may use, and those that it prefers.
fn affinity(draft: &mut Draft, (listed, file): (&ListedDomain, &str), vcpus: u16) -> Vec<Setting> {
    let kinds = [
        ("pin", "pins", &listed.hard),
        ("soft", "soft affinity", &listed.soft),
    ];
    let mut found = Vec::new();
    for (key, what, sets) in kinds {
        let of = |vcpu| sets.get(&vcpu).map_or(&[][..], Vec::as_slice);
        let words: Vec<String> = (0..vcpus).map(|v| words(of(v), draft.pcpus)).collect();
        if words.iter().all(|word| *word == ALL) {
            continue;
        }
        draft.take(what, file);
        let quoted = |word: &String| format!("\"{word}\"");
        let value = match words.iter().all(|word| *word == words[0]) {
            true => quoted(&words[0]),
            false => {
                let each: Vec<String> = words.iter().map(quoted).collect();
                format!("[{}]", each.join(", "))
            }
        };
        found.push((key, value));
    }
    found
}

/// Every pcpu.
const ALL: &str = "all";

/// A set of pcpus in `xl`'s notation, on a host of `pcpus`; none are all.
fn words(set: &[u16], pcpus: u16) -> String {
    if set.is_empty() || set.len() >= usize::from(pcpus) {
        return ALL.to_owned();
    }
    let stretches = set.chunk_by(|before, next| before + 1 == *next);
    let words: Vec<String> = stretches
        .map(|stretch| match stretch {
            [only] => only.to_string(),
            _ => format!("{}-{}", stretch[0], stretch[stretch.len() - 1]),
        })
        .collect();
    words.join(",")
}

/// Longest name of a domain.
pub(crate) const NAME_MAX: usize = 64;

/// `told` as scenarios take a name.
pub(crate) fn plain(told: Option<&str>, id: u16) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || "_-.+".contains(c);
    let name = told.unwrap_or_default().chars();
    let name: String = name
        .map(|c| if kept(c) { c } else { '-' })
        .take(NAME_MAX - 8)
        .collect();
    match (name.trim_matches('-').is_empty(), id) {
        (false, _) => name,
        (true, 0) => "Domain-0".to_owned(),
        (true, id) => format!("d{id}"),
    }
}

/// `name`, with the id behind it where another domain has that name.
pub(crate) fn unique(name: &str, id: u16, names: &mut BTreeSet<String>) -> String {
    let is_taken = |name: &str| names.contains(name) || name == "Domain-0" && id != 0;
    let mut name = name.to_owned();
    while is_taken(&name) {
        name = format!("{name}-{id}");
        if name.len() > NAME_MAX {
            name = format!("d{id}");
        }
    }
    names.insert(name.clone());
    name
}
