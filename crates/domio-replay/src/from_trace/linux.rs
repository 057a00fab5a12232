//! A scenario of a Linux host: guests and other control groups are domains, threads vcpus.

use super::Shown;
use super::inside::Inside;
use super::tree::{self, Tree};
use crate::draft::domain::{Domain, Setting, plain, unique};
use crate::draft::write::quoted;
use crate::draft::{Draft, LinuxSources, Sources};
use domio_core::VcpuName;
use domio_trace::{HostGroup, LinuxThread};
use std::collections::{BTreeMap, BTreeSet};

/// What is appended to the name of a guest for its threads beside its vcpus.
const HOST_PART: &str = ":host";

/// Threads that executed a smaller part of the time are left out, and those of the class stop.
const LEAST: f64 = 0.001;

/// Guests, and what else there is: a group of threads.
pub(super) struct Guest<'a> {
    name: String,
    pub(super) threads: Vec<&'a LinuxThread>,
}

/// Fills `draft` with the host of `sources`.
pub(super) fn fill(draft: &mut Draft, shown: &Shown, sources: &Sources, host: &LinuxSources) {
    policy(draft, host);
    topology(draft, shown, sources, host);
    let (guests, left_out) = guests(shown, sources, host);
    let wakers = shown.work().wakers();
    let mut tree = Tree::default();
    let mut names = BTreeSet::new();
    for (i, guest) in guests.iter().enumerate() {
        let place = place(guest, &guests);
        let group = tree.around(draft, &place.around, host);
        let inside = Inside::of(guest, place.own, host);
        let own = place.own.and_then(|path| tree::of(host, path));
        let id = i as u16 + 1;
        let mut remarks = Vec::new();
        let mut params = params(draft, own, host, &mut remarks);
        params.extend(inside.params(draft));
        draft_rt(draft, guest);
        let name = unique(&plain(Some(&guest.name), id), id, &mut names);
        if name != guest.name {
            remarks.push(format!("It is called {:?}.", guest.name));
        }
        let vcpus: BTreeMap<VcpuName, u16> = (0..)
            .zip(&guest.threads)
            .map(|(vcpu, thread)| (thread.name, vcpu))
            .collect();
        let woken_by = |thread: VcpuName| {
            let waker = wakers.get(&thread)?;
            vcpus.get(waker).copied()
        };
        let mut own = BTreeMap::new();
        let mut tasks = Vec::new();
        for (vcpu, thread) in (0..).zip(&guest.threads) {
            let mut settings = thread_settings(thread, host);
            settings.extend(inside.seat(thread));
            if !settings.is_empty() {
                own.insert(vcpu, settings);
            }
            let mut task = task(thread, vcpu, sources);
            let helper = vcpus
                .iter()
                .find(|(name, _)| woken_by(**name) == Some(vcpu));
            if let Some((_, helper)) = helper {
                task.push(("kicks_vcpu", helper.to_string()));
            }
            if woken_by(thread.name).is_some() {
                task.push(("kicked", "true".to_owned()));
            }
            tasks.push(task);
        }
        let affinity = pins(draft, guest, host);
        draft.domains.push(Domain {
            id,
            name,
            vcpus: guest.threads.len() as u16,
            group,
            params,
            affinity,
            own,
            tasks,
            threads: Vec::new(),
            disks: Vec::new(),
            remarks,
        });
    }
    tree.say(draft);
    say(draft, host, left_out);
    draft.tries.push(
        "domio compare THIS --policy cfs --policy eevdf --policy credit --policy credit2 --policy \
         rtds"
            .to_owned(),
    );
    if let Some(first) = draft.domains.first() {
        let key = format!("domain.{}.weight", first.name);
        let compare = format!("domio compare THIS --set {key}=100 --set {key}=400");
        draft.tries.push(compare);
    }
}

/// The policy of the kernel, with the nearest release whose rules there are.
fn policy(draft: &mut Draft, host: &LinuxSources) {
    let known = host.kernel.as_deref().and_then(version);
    let (policy, release) = nearest(known.unwrap_or((6, 12)));
    let exact = known.is_some() && version(release) == known;
    let kernel = host.kernel.as_deref().unwrap_or("unknown");
    match exact {
        true => draft.derived.push(format!(
            "the policy, {policy} {release}: the kernel is {kernel}"
        )),
        false => draft.assumed.push(format!(
            "the policy is {policy} with the rules of {release}: the kernel is {kernel}"
        )),
    }
    draft.policy = policy.to_owned();
    // These two are the defaults of their policies.
    if !["6.1", "6.12"].contains(&release) {
        draft.params.push(("release".to_owned(), quoted(release)));
    }
    draft.assumed.push(
        "250 ticks a second and the kernel's own slices: set scheduler.hz and the others to the \
         host's (`/sys/kernel/debug/sched`, `CONFIG_HZ`)"
            .to_owned(),
    );
}

/// The policy of a kernel, and the release whose rules are nearest to its own: of one between two,
/// the earlier one, but 6.17 has the rules of 6.18 apart from quotas.
fn nearest(version: (u32, u32)) -> (&'static str, &'static str) {
    const FROM: [((u32, u32), &str, &str); 5] = [
        ((7, 3), "eevdf", "7.3"),
        ((7, 2), "eevdf", "7.2"),
        ((7, 0), "eevdf", "7.0"),
        ((6, 17), "eevdf", "6.18"),
        ((6, 6), "eevdf", "6.12"),
    ];
    let found = FROM.iter().find(|(from, ..)| version >= *from);
    found.map_or(("cfs", "6.1"), |(_, policy, release)| (policy, release))
}

/// The first two numbers of a release.
fn version(kernel: &str) -> Option<(u32, u32)> {
    let mut parts = kernel.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Sockets, cores and threads.
fn topology(draft: &mut Draft, shown: &Shown, sources: &Sources, host: &LinuxSources) {
    let header = sources.header.as_ref().map_or(0, |h| h.pcpus);
    let cpus = u32::from(shown.pcpus()).max(header);
    let cpus = u16::try_from(cpus).unwrap_or(u16::MAX);
    draft.pcpus = cpus;
    let (nodes, cores) = match &host.host {
        Some(file) => (&file.nodes[..], &file.cores[..]),
        None => (&[][..], &[][..]),
    };
    let count = |list: &[u32]| list.iter().collect::<BTreeSet<_>>().len() as u16;
    let known = nodes.len() == usize::from(cpus) && cores.len() == usize::from(cpus);
    let (sockets, all) = (count(nodes).max(1), count(cores).max(1));
    // Cpus are numbered as domio's, thread by thread of a core and core by core of a socket.
    let in_order = nodes.is_sorted() && cores.is_sorted();
    let alike = all % sockets == 0 && cpus % all == 0;
    let (sockets, cores, threads) = match known && in_order && alike {
        true => (sockets, all / sockets, cpus / all),
        false => (1, cpus, 1),
    };
    let plural = if cpus == 1 { "" } else { "s" };
    match known && in_order && alike {
        true => draft.derived.push(format!(
            "{cpus} cpu{plural}, nodes and cores: the file beside the trace"
        )),
        false => {
            draft.derived.push(format!("{cpus} cpu{plural}: the trace"));
            draft.assumed.push(
                "one socket of cores without threads: the topology is not known, or its cpus are \
                 numbered in another order"
                    .to_owned(),
            );
        }
    }
    draft.host = vec![
        ("profile", "\"ideal\"".to_owned()),
        ("sockets", sockets.to_string()),
        ("cores", cores.to_string()),
        ("threads", threads.to_string()),
    ];
}

/// The groups of threads, and how many threads are left out. A guest's vcpus come first.
fn guests<'a>(shown: &Shown, sources: &Sources, host: &'a LinuxSources) -> (Vec<Guest<'a>>, usize) {
    let header = sources.header.iter().flat_map(|h| &h.domains);
    let names: BTreeMap<u16, &str> = header.map(|d| (d.id, d.name.as_str())).collect();
    let mut found: BTreeMap<&str, Vec<&LinuxThread>> = BTreeMap::new();
    let mut order = Vec::new();
    let mut left_out = 0;
    for thread in &host.threads {
        if !shown.vcpus().contains_key(&thread.name) {
            continue;
        }
        // The kernel's own class, stop, is above all others.
        if thread.comm.starts_with("migration/") || shown.work().share(thread.name) < LEAST {
            left_out += 1;
            continue;
        }
        let domain = thread.name.domain.0;
        let name = names.get(&domain).copied().unwrap_or("threads");
        let name = name.strip_suffix(HOST_PART).unwrap_or(name);
        let threads = found.entry(name).or_default();
        if threads.is_empty() {
            order.push(name);
        }
        threads.push(thread);
    }
    let guests = order.into_iter().map(|name| {
        let mut threads = found.remove(name).unwrap_or_default();
        threads.sort_by_key(|thread| (!thread.is_vcpu, thread.name));
        Guest {
            name: name.to_owned(),
            threads,
        }
    });
    (guests.collect(), left_out)
}

/// Names of groups that libvirt makes below a guest's (`libvirt/vcpu0`).
fn is_below_guest(name: &str) -> bool {
    let numbered = |prefix: &str| {
        let number = name.strip_prefix(prefix);
        number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    ["libvirt", "emulator"].contains(&name) || numbered("vcpu") || numbered("iothread")
}

/// The folder `path` and all around it, from the outermost one; the root is none.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    let path = path.trim_end_matches('/');
    let ends = path.match_indices('/').map(|(end, _)| end);
    let ends = ends.chain([path.len()]).filter(|end| *end > 0);
    ends.map(move |end| &path[..end])
}

/// Where the threads of a guest are in the tree of control groups.
struct InTree<'a> {
    /// The group of the guest alone; `None` where it has none.
    own: Option<&'a str>,
    /// The groups around that, or around its threads, the outermost first.
    around: Vec<&'a str>,
}

/// The place of `guest`, which is that of its vcpus where it has some.
fn place<'a>(guest: &Guest<'a>, guests: &[Guest<'_>]) -> InTree<'a> {
    let has_vcpus = guest.threads.iter().any(|thread| thread.is_vcpu);
    let counts = guest.threads.iter().filter(|t| t.is_vcpu || !has_vcpus);
    let mut paths = counts.map(|thread| thread.cgroup.as_deref().unwrap_or("/"));
    let first: Vec<&str> = folders(paths.next().unwrap_or("/")).collect();
    let common = paths.fold(first, |common, path| {
        let other: Vec<&str> = folders(path).collect();
        let alike = common.iter().zip(&other).take_while(|(a, b)| a == b);
        common[..alike.count()].to_vec()
    });
    let mut around = common;
    let last = |path: &&str| path.rsplit('/').next().is_some_and(is_below_guest);
    while around.len() > 1 && around.last().is_some_and(last) {
        around.pop();
    }
    let others = || {
        let others = guests.iter().filter(|other| other.name != guest.name);
        others.flat_map(|other| &other.threads)
    };
    let own = around.last().copied();
    let own = own.filter(|own| !others().any(|thread| is_in(thread, own)));
    if own.is_some() {
        around.pop();
    }
    InTree { own, around }
}

/// Whether `thread` is in the control group `path`, or in one below.
fn is_in(thread: &LinuxThread, path: &str) -> bool {
    let cgroup = thread.cgroup.as_deref().unwrap_or("/");
    let rest = cgroup.strip_prefix(path.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Weight and limit of a guest, whose control group is `own`, as far as that is known.
fn params(
    draft: &mut Draft,
    own: Option<&HostGroup>,
    host: &LinuxSources,
    remarks: &mut Vec<String>,
) -> Vec<Setting> {
    let mut params = own.map_or_else(Vec::new, |group| tree::settings(draft, group));
    if params.iter().all(|(key, _)| *key != "weight") {
        if host.host.is_some() {
            remarks.push("Assumed: the default weight.".to_owned());
        }
        params.insert(0, ("weight", "100".to_owned()));
    }
    params
}

/// What a thread has as its own.
fn thread_settings(thread: &LinuxThread, host: &LinuxSources) -> Vec<Setting> {
    let files = host.host.iter().flat_map(|file| &file.threads);
    let told = files.into_iter().find(|told| told.tid == thread.tid);
    let of_trace = thread.prio.filter(|prio| (100..140).contains(prio));
    let nice = of_trace.map(|prio| i32::from(prio) - 120);
    let nice = nice.or(told.map(|told| told.nice)).unwrap_or(0);
    let mut settings = Vec::new();
    if nice != 0 {
        settings.push(("nice", nice.clamp(-20, 19).to_string()));
    }
    let class = told.map_or("", |told| told.policy.as_str());
    let rt = thread.prio.and_then(rt_priority);
    if let Some(priority) = rt {
        let class = match class {
            "SCHED_RR" => "rr",
            _ => "fifo",
        };
        settings.push(("class", quoted(class)));
        settings.push(("rt_priority", priority.to_string()));
        return settings;
    }
    if let Some(class) = [("SCHED_BATCH", "batch"), ("SCHED_IDLE", "idle")]
        .into_iter()
        .find_map(|(theirs, own)| (class == theirs).then_some(own))
    {
        settings.push(("class", quoted(class)));
    }
    settings
}

/// The priority in fifo or rr of a thread that the kernel counts as `prio`; none of the fair
/// classes. What a thread of the class deadline reserves is not recorded: the highest one.
fn rt_priority(prio: i16) -> Option<i16> {
    match prio {
        ..0 => Some(99),
        0..100 => Some((99 - prio).max(1)),
        _ => None,
    }
}

/// Says what is taken and assumed of threads of `guest` above the fair classes.
fn draft_rt(draft: &mut Draft, guest: &Guest<'_>) {
    let prios = || guest.threads.iter().filter_map(|thread| thread.prio);
    if prios().any(|prio| (0..100).contains(&prio)) {
        draft.take("classes fifo and rr with their priorities", "the trace");
    }
    if prios().any(|prio| prio < 0) {
        let what = "threads of the class deadline are of fifo with the priority 99: what they \
                    reserve is not recorded";
        if draft.assumed.iter().all(|said| said != what) {
            draft.assumed.push(what.to_owned());
        }
    }
}

/// Which cpus the threads may use.
fn pins(draft: &mut Draft, guest: &Guest<'_>, host: &LinuxSources) -> Vec<Setting> {
    let Some(file) = &host.host else {
        return Vec::new();
    };
    let lists = guest.threads.iter().map(|thread| {
        let told = file.threads.iter().find(|told| told.tid == thread.tid);
        let own = told.and_then(|told| told.cpus.clone());
        let path = thread.cgroup.as_deref().unwrap_or("/");
        let groups = file.groups.iter().filter(|group| {
            let rest = path.strip_prefix(group.path.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        let nearest = groups.filter(|group| group.cpus.is_some());
        let nearest = nearest.max_by_key(|group| group.path.len());
        own.or(nearest.and_then(|group| group.cpus.clone()))
    });
    let lists: Vec<Option<String>> = lists.collect();
    if lists.iter().all(Option::is_none) {
        return Vec::new();
    }
    draft.take("affinity", "the file beside the trace");
    let words = lists.iter().map(|list| match list {
        Some(list) => quoted(&list.replace(' ', "")),
        None => "\"all\"".to_owned(),
    });
    let words: Vec<String> = words.collect();
    vec![("pin", format!("[{}]", words.join(", ")))]
}

/// The task that replays a thread.
fn task(thread: &LinuxThread, vcpu: u16, sources: &Sources) -> Vec<Setting> {
    let name = match thread.is_vcpu {
        true => format!("v{}", thread.name.index),
        false => plain(Some(&thread.comm), vcpu),
    };
    vec![
        ("name", quoted(&name)),
        ("workload", "\"replay\"".to_owned()),
        ("vcpu", vcpu.to_string()),
        ("trace", quoted(&sources.trace)),
        ("trace_domain", thread.name.domain.0.to_string()),
        ("trace_vcpu", thread.name.index.to_string()),
    ]
}

/// What is from where, and what is assumed.
fn say(draft: &mut Draft, host: &LinuxSources, left_out: usize) {
    draft
        .derived
        .push("what each thread asks for: replayed from the trace".to_owned());
    draft.say_taken();
    if host.host.is_none() {
        draft.unknown.push(
            "weights, limits and affinity: a file NAME.host.json beside the trace (docs/linux.md)"
                .to_owned(),
        );
    }
    if left_out > 0 {
        draft.assumed.push(format!(
            "{left_out} threads that executed less than 0.1 % of the time are left out"
        ));
    }
    draft
        .assumed
        .push("groups below a guest's that libvirt does not make are left out".to_owned());
    draft.assumed.push(
        "threads outside of guests have a control group together by their name, with the weight \
         of one"
            .to_owned(),
    );
    draft.assumed.push(
        "a kernel whose work takes no time: set host.profile to a machine like the host".to_owned(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kernel_has_the_nearest_rules() {
        let of = |kernel: &str| nearest(version(kernel).unwrap()).1;
        let kernels = [
            "5.10.0",
            "6.1.192",
            "6.6.8",
            "6.12.117+deb13-amd64",
            "6.17.1",
            "6.18.15",
        ];
        assert_eq!(
            kernels.map(of),
            ["6.1", "6.1", "6.12", "6.12", "6.18", "6.18"]
        );
        let later = [
            "6.19.2",
            "7.0.14",
            "7.1.3",
            "7.2.12",
            "7.3.4-cloud-amd64",
            "8.0",
        ];
        assert_eq!(later.map(of), ["6.18", "7.0", "7.0", "7.2", "7.3", "7.3"]);
    }
}
