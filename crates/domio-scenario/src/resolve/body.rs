//! What a `[[domain]]` says: its keys, and what all members of a group share.

use super::group;
use super::guest::{GUEST, GUESTS, Os, guest};
use super::pool::InPools;
use super::resolved::Controlled;
use super::shared::{GivenParams, given};
use super::task::{self, TASK};
use super::vcpus::{self, Own, VCPU};
use super::work::{Task, Work};
use crate::amount::show_pcpus;
use crate::check::{Cx, Fields};
use crate::devices::{DOMAIN_HEADER, OF_DOMAIN, around, count};
use crate::limits::{MAX_DOMAIN_ID, MAX_VCPUS};
use domio_core::keys::{Code, Mistake};
use domio_core::keys::{
    Key, KeyParams, KeySection, Keys, Need, Nested, Slot, Span, VcpuPins, Words, affinity, int,
    name, nested_list, time, word_or_table, word_text,
};
use domio_core::{CpuSet, Duration, Instant, ParamSpec, ParamValues, Topology};
use domio_vmm::bus::side::DevicePart;
use std::rc::Rc;

pub(crate) static DOMAIN: KeySection = KeySection::with_params(
    DOMAIN_HEADER,
    "A domain, or several of a kind, with the parameters that the policy has for domains as \
     keys beside it, and those that the controllers have for domains. A domain with a single \
     task can name its workload, and the workload's own keys, directly here; where one of \
     those keys is also a parameter of the policy (`period_us` under rtds), the task needs \
     its `[[domain.task]]`.",
    &ALL_KEYS,
    KeyParams::Domain,
)
.by("workload", Words::Workloads);

static ALL_KEYS: [Key; count(DomainKeys::KEYS, &OF_DOMAIN, TaskKey::KEYS)] =
    around(DomainKeys::KEYS, &OF_DOMAIN, TaskKey::KEYS);

keys! {
    pub(super) struct DomainKeys {
        name: String = name(), Need::Required,
            "Unique name. With `count`, the name of the group; its members are numbered from 1 \
             (`g1`, `g2`...). `Domain-0` is the control domain.";
        id: i64 = int(0, MAX_DOMAIN_ID),
            Need::Optional("the lowest free one from 1; 0 for `Domain-0`"),
            "Xen's domid, unique. Members of a group get consecutive ones.";
        count: usize = int(1, MAX_VCPUS as i64), Need::Optional("one domain, not a group"),
            "Number of domains of this kind.";
        vcpus: usize = int(1, MAX_VCPUS as i64), Need::Int(1),
            "Virtual processors of each. All domains together have 4096 at most.";
        pin: VcpuPins = affinity(), Need::Optional("every pcpu"),
            "Hard affinity of its vcpus: they never run elsewhere. A list of texts has one a vcpu.";
        soft: VcpuPins = affinity(), Need::Optional("every pcpu"),
            "Soft affinity of its vcpus: they prefer these. A list of texts has one a vcpu.";
        pool: String = name(), Need::Optional("`Pool-0`"),
            "The cpupool in which it runs: the name of a `[[pool]]`. `Domain-0` is in `Pool-0`.";
        group: String = name(), Need::Optional("at the top"),
            "The group in which it is: the name of a `[[group]]`.";
        vcpu: Nested = nested_list(&VCPU), Need::Optional("all are alike"),
            "Vcpus that differ from the others.";
        start: Duration = time("ms", 0), Need::TimeNs(0), "When it is created (hot add).";
        stop: Duration = time("ms", 1), Need::Optional("never"),
            "When it is destroyed; after `start`.";
        guest: Os = word_or_table(&GUESTS, &GUEST), Need::Word("ideal"),
            "The operating system inside: a name, or a table.";
        "workload" = word_text(Words::Workloads),
            Need::Optional(
                "only the tasks of `[[domain.task]]`; without any, the domain idles",
            ),
            "The only task, instead of `[[domain.task]]`.";
    }
}

keys! {
    /// The key that comes after the tables of devices.
    struct TaskKey {
        task: Nested = nested_list(&TASK), Need::Optional("no task"), "Its tasks.";
    }
}

/// What all members of a group share.
#[derive(Clone)]
pub(super) struct Body {
    pub params: ParamValues,
    /// Those that were given, `None` when one was refused.
    pub given: Option<GivenParams>,
    pub os: Os,
    pub vcpus: usize,
    /// Index of its pool.
    pub pool: usize,
    /// Index of its group.
    pub group: Option<usize>,
    pub hard: VcpuPins,
    pub soft: VcpuPins,
    /// Vcpus that differ.
    pub own: Vec<Own>,
    pub tasks: Vec<Task>,
    /// By kind of device: what the domain asks for.
    pub parts: Vec<DevicePart>,
    pub controlled: Vec<Option<Controlled>>,
    pub start: Instant,
    pub stop: Option<Instant>,
}

impl Body {
    /// Number of tasks of one domain; a device may count a task several times.
    pub fn tasks(&self) -> usize {
        self.tasks
            .iter()
            .map(|t| match &t.work {
                Work::Device(_, work) if work.tasks.is_some() => work.tasks.unwrap_or(1),
                _ if t.vcpu.is_some() => 1,
                _ => self.vcpus,
            })
            .sum()
    }
}

/// What `fields`, a `[[domain]]` that was read as `keys`, say of each member.
pub(super) fn body_of(
    cx: &mut Cx<'_>,
    fields: &Fields,
    keys: &DomainKeys,
    pools: InPools<'_>,
    topology: Option<&Topology>,
) -> Option<Body> {
    let pool = pools.of_domain(cx, fields, &keys.pool);
    let policy = pools.chosen(pool.unwrap_or(0)).map(|c| c.policy);
    let group = group::of_domain(cx, pools.groups, fields, &keys.group, pool);
    let vcpus = keys.vcpus.get();
    // Values that were refused are at their defaults, which may not go with the others.
    let all_good = cx.problems.none_at(&format!("{}.", fields.path));
    let params = policy.map(|p| fields.values(ParamValues::defaults(p.descriptor.domain_params)));
    if let (Some(vcpus), Some(params)) = (vcpus, &params) {
        cap_reachable(cx, fields, vcpus, params);
    }
    let hard = of_vcpus(cx, fields, &keys.pin, vcpus, topology);
    let soft = of_vcpus(cx, fields, &keys.soft, vcpus, topology);
    let own = vcpus::vcpus(
        cx,
        fields,
        &keys.vcpu,
        vcpus,
        params.as_ref(),
        policy,
        topology,
    );
    let mut reached = true;
    if let (Some(pool), Some(hard), Some(own)) = (pool, &hard, &own) {
        let place = (fields.path_of(&keys.pin), fields.span(&keys.pin));
        reached = pools.reaches(cx, place, hard, pool)
            && own.iter().all(|own| own.reaches(cx, pools, pool));
    }
    let start = keys.start.get();
    let stop = match (start, keys.stop.given) {
        (Some(start), true) => stop_after(cx, fields, &keys.stop, start),
        _ => None,
    };
    let slot = fields.read::<TaskKey>().task;
    let tasks = task::tasks(cx, fields, &slot, vcpus);
    let asks = fields.selected().or(fields.field(&slot));
    let asks = asks.map_or(fields.header, |f| f.key_span);
    let parts = parts(cx, fields, &tasks, asks);
    let controlled = controlled(cx, fields);
    let guest = guest(cx, fields, &keys.guest);
    Some(Body {
        // Without a policy the plan is lost anyway, but the rest can be checked.
        params: params.unwrap_or(ParamValues::defaults(&[])),
        given: all_good.then(|| given(fields)),
        os: guest?,
        vcpus: vcpus?,
        pool: pool.filter(|_| reached)?,
        group: group?,
        hard: hard?,
        soft: soft?,
        own: own?,
        tasks,
        parts: parts?,
        controlled,
        start: Instant::ZERO + start?,
        stop,
    })
}

/// By kind of device, what the domain of `fields` asks for with its `tasks`; `asks` is where.
fn parts(cx: &mut Cx<'_>, fields: &Fields, tasks: &[Task], asks: Span) -> Option<Vec<DevicePart>> {
    let sides = Rc::clone(&cx.known.devices);
    let parts = sides.iter().enumerate().map(|(kind, side)| {
        let own = tasks.iter().filter_map(|task| task.of_device(kind));
        side.part(cx, fields, &own.collect::<Vec<_>>(), asks)
    });
    // All kinds are asked, whatever is wrong with the first.
    let parts: Vec<Option<DevicePart>> = parts.collect();
    parts.into_iter().collect()
}

/// By controller of the scenario, its parameters of the domain that `fields` describe.
fn controlled(cx: &Cx<'_>, fields: &Fields) -> Vec<Option<Controlled>> {
    let of = |specs: &'static [ParamSpec]| {
        let own = |name: &str| specs.iter().any(|spec| spec.name == name);
        let given = given(fields);
        let given: GivenParams = given.into_iter().filter(|(name, _)| own(name)).collect();
        (!given.is_empty()).then(|| Controlled {
            params: fields.values(ParamValues::defaults(specs)),
            given,
            path: fields.path.clone(),
        })
    };
    let controllers = cx.known.controllers.iter();
    controllers
        .map(|e| of(e.descriptor.domain_params))
        .collect()
}

/// A domain cannot get more than all of its vcpus do.
fn cap_reachable(cx: &mut Cx<'_>, fields: &Fields, vcpus: usize, params: &ParamValues) {
    let Some(cap) = params.by_name("cap") else {
        return;
    };
    let most = 100 * vcpus as i64;
    if cap <= most {
        return;
    }
    let span = fields.param("cap").map_or(fields.header, |g| g.span);
    let vcpus = if vcpus == 1 {
        "1 vcpu".to_owned()
    } else {
        format!("{vcpus} vcpus")
    };
    cx.push(
        Mistake::new(
            Code::OutOfRange,
            span,
            format!("a cap of {cap} is out of reach for a domain with {vcpus}"),
        )
        .key(fields.key_path("cap"))
        .found(cap.to_string())
        .expected(format!("0 to {most} % of one pcpu"))
        .hint("0 means no cap; each vcpu can use 100 % of one pcpu"),
    );
}

/// The set of pcpus at `slot`, every one of which must exist; all of them when it was not given.
pub(super) fn on_host(
    cx: &mut Cx<'_>,
    fields: &Fields,
    slot: &Slot<CpuSet>,
    topology: Option<&Topology>,
) -> Option<CpuSet> {
    match slot.if_given()? {
        Some(set) => set_on_host(cx, fields, slot, set, topology),
        None => Some(CpuSet::ALL),
    }
}

/// The sets of pcpus at `slot` for a domain with `vcpus` vcpus, where that is known.
fn of_vcpus(
    cx: &mut Cx<'_>,
    fields: &Fields,
    slot: &Slot<VcpuPins>,
    vcpus: Option<usize>,
    topology: Option<&Topology>,
) -> Option<VcpuPins> {
    let sets = match slot.if_given()? {
        None => return Some(VcpuPins::Alike(CpuSet::ALL)),
        Some(VcpuPins::Alike(set)) => {
            return set_on_host(cx, fields, slot, set, topology).map(VcpuPins::Alike);
        }
        Some(VcpuPins::Each(sets)) => sets,
    };
    if let Some(vcpus) = vcpus.filter(|vcpus| *vcpus != sets.len()) {
        let plural = |n: usize, what: &str| match n {
            1 => format!("1 {what}"),
            n => format!("{n} {what}s"),
        };
        let (texts, vcpus) = (plural(sets.len(), "text"), plural(vcpus, "vcpu"));
        let name = slot.name;
        let message = format!("`{name}` has {texts} for a domain with {vcpus}");
        cx.push(
            Mistake::new(Code::Conflict, fields.span(slot), message)
                .key(fields.path_of(slot))
                .found(texts)
                .expected("as many texts as the domain has vcpus, one for each in order")
                .hint(format!(
                    "one text is for all of them, as `{name} = \"4-5\"`, as is a list of numbers"
                )),
        );
        return None;
    }
    let on_host = sets
        .into_iter()
        .map(|set| set_on_host(cx, fields, slot, set, topology));
    let sets: Option<Vec<CpuSet>> = on_host.collect();
    sets.map(VcpuPins::Each)
}

/// `set`, which stands at `slot`, every pcpu of which must exist.
fn set_on_host<T>(
    cx: &mut Cx<'_>,
    fields: &Fields,
    slot: &Slot<T>,
    set: CpuSet,
    topology: Option<&Topology>,
) -> Option<CpuSet> {
    let all = topology?.all();
    if set == CpuSet::ALL {
        return Some(set);
    }
    // `all,^0` names pcpus that no host of this size has; a list of numbers does so by mistake.
    let beyond = set & !all;
    let relative = beyond == !all;
    if !beyond.is_empty() && !relative {
        let has = show_pcpus(&all);
        cx.push(
            Mistake::new(
                Code::OutOfRange,
                fields.span(slot),
                format!("the host has no pcpu {}", show_pcpus(&beyond)),
            )
            .key(fields.path_of(slot))
            .found(show_pcpus(&set))
            .expected(format!("pcpus of the host: {has}"))
            .hint("pcpus are counted from 0; [host] says how many there are"),
        );
        return None;
    }
    if (set & all).is_empty() {
        cx.push(
            Mistake::new(
                Code::OutOfRange,
                fields.span(slot),
                "no pcpu of the host is left to run on",
            )
            .key(fields.path_of(slot))
            .expected(format!("pcpus of the host: {}", show_pcpus(&all)))
            .hint("\"all\" stands for every pcpu; `^` takes pcpus out"),
        );
        return None;
    }
    Some(if relative { set & all } else { set })
}

fn stop_after(
    cx: &mut Cx<'_>,
    fields: &Fields,
    slot: &Slot<Duration>,
    start: Duration,
) -> Option<Instant> {
    let stop = slot.get()?;
    if stop > start {
        return Some(Instant::ZERO + stop);
    }
    cx.push(
        Mistake::new(
            Code::Conflict,
            fields.span(slot),
            format!("the domain stops at {stop} but starts at {start}"),
        )
        .key(fields.key_path(fields.field(slot).map_or("stop", |f| &f.written)))
        .found(stop.to_string())
        .expected(format!("after {start}"))
        .hint("both count from the start of the run; without a `stop` the domain stays to the end"),
    );
    None
}
