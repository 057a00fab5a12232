//! `[[pool]]`: cpupools, each with pcpus and a policy of its own.

use super::body::on_host;
use super::group::Group;
use super::host::HostKeys;
use super::release::has_policy;
use super::resolved::Resolved;
use super::scheduler::params_agree;
use super::shared::Chosen;
use crate::amount::show_pcpus;
use crate::check::{self, Cx, Fields};
use crate::suggest::did_you_mean;
use crate::value::{Node, Table};
use domio_contract::Policy;
use domio_core::keys::Span;
use domio_core::keys::{Code, Mistake, list, quote};
use domio_core::keys::{
    KeyParams, KeySection, Keys, Need, Nested, Slot, VcpuPins, Words, name, pcpus, word_text,
};
use domio_core::{CpuSet, ParamValues, Topology, XenVersion};
use domio_vmm::config::PoolConfig;

/// Xen's name of the pool that every host has.
const FIRST: &str = "Pool-0";

/// The first release with cpupools.
const SINCE: XenVersion = XenVersion::V4_1;

pub(crate) static POOL: KeySection = KeySection::with_params(
    "[[pool]]",
    "A cpupool (`xl cpupool-create`): pcpus that have a scheduler of their own, with its \
     parameters as keys beside it. Every other pcpu is in `Pool-0`, whose scheduler is \
     `[scheduler]` and where domains are that name no pool. A table with the name `Pool-0` says \
     which pcpus that has; one that is in no pool then is free, and nobody runs there. Since Xen \
     4.1.",
    PoolKeys::KEYS,
    KeyParams::Policy,
);

keys! {
    struct PoolKeys {
        name: String = name(), Need::Required, "Unique name, by which domains choose it.";
        pcpus: CpuSet = pcpus(), Need::Required, "Its pcpus, which no other pool has.";
        "policy" = word_text(Words::Policies),
            Need::Optional("that of `[scheduler]`, with its parameters where none are given here"),
            "Name of the policy.";
    }
}

/// A pool after its own checks.
pub(crate) struct Pool {
    pub name: String,
    pub pcpus: CpuSet,
    pub policy: Policy,
    pub params: ParamValues,
    span: Span,
}

/// The pools of a host, of which the first is Pool-0; none where the text has no `[[pool]]`.
#[derive(Clone, Copy)]
pub(super) struct InPools<'a> {
    /// What `[scheduler]` says.
    pub first: Option<Chosen<'a>>,
    pub pools: &'a [Pool],
    pub groups: &'a [Group],
}

impl<'a> InPools<'a> {
    /// The policy of the pool with index `pool`.
    pub fn chosen(&self, pool: usize) -> Option<Chosen<'a>> {
        match self.pools.get(pool).filter(|_| pool > 0) {
            Some(own) => Some(Chosen {
                policy: &own.policy,
                params: &own.params,
                pool,
            }),
            None => self.first,
        }
    }

    /// The policies of all pools.
    pub fn all(self) -> impl Iterator<Item = Chosen<'a>> {
        (0..self.pools.len().max(1)).filter_map(move |pool| self.chosen(pool))
    }

    /// The policy for which the keys of `table`, a `[[domain]]`, are.
    pub fn of_table(&self, table: &Table) -> Option<Chosen<'a>> {
        let name = table.get("pool").and_then(|entry| entry.node.as_text());
        let found = self
            .pools
            .iter()
            .position(|p| Some(p.name.as_str()) == name);
        self.chosen(found.unwrap_or(0))
    }

    /// Index of the pool that the domain of `fields` chooses at `slot`.
    pub fn of_domain(
        &self,
        cx: &mut Cx<'_>,
        fields: &Fields,
        slot: &Slot<String>,
    ) -> Option<usize> {
        let Some(name) = slot.if_given()? else {
            return Some(0);
        };
        if name == FIRST {
            return Some(0);
        }
        let found = self.pools.iter().position(|pool| pool.name == name);
        if found.is_none() && !cx.partial {
            let known = || self.pools.iter().map(|p| p.name.as_str());
            let known = || known().chain(self.pools.is_empty().then_some(FIRST));
            let unknown = format!("there is no pool `{}`", quote(&name));
            cx.push(
                Mistake::new(Code::UnknownName, fields.span(slot), unknown)
                    .key(fields.path_of(slot))
                    .found(quote(&name))
                    .expected(format!("one of: {}", list(known())))
                    .hint_or(
                        did_you_mean(&name, known()),
                        "add a [[pool]] of that name with its `pcpus`",
                    ),
            );
        }
        found
    }

    /// The pcpus of the pool with index `pool`.
    pub fn pcpus(&self, pool: usize) -> CpuSet {
        self.pools.get(pool).map_or(CpuSet::ALL, |pool| pool.pcpus)
    }

    /// Whether `hard`, an affinity that was given at `key`, leaves any pcpu of the pool. Says if it
    /// does not.
    pub fn reaches(
        &self,
        cx: &mut Cx<'_>,
        (key, span): (String, Span),
        hard: &VcpuPins,
        pool: usize,
    ) -> bool {
        let own = self.pcpus(pool);
        let sets = match hard {
            VcpuPins::Alike(set) => std::slice::from_ref(set),
            VcpuPins::Each(sets) => sets.as_slice(),
        };
        let Some(outside) = sets.iter().find(|set| !set.intersects(&own)) else {
            return true;
        };
        let pool = &self.pools[pool];
        let message = format!("the pin has no pcpu of the pool `{}`", pool.name);
        cx.push(
            Mistake::new(Code::Conflict, span, message)
                .key(key)
                .found(show_pcpus(outside))
                .expected(format!("pcpus of the pool: {}", show_pcpus(&own)))
                .related(pool.span, "the pool")
                .hint("pin within the pool, give the pool that pcpu, or choose another `pool`"),
        );
        false
    }
}

/// The pools at `slot`; Pool-0 comes first.
pub(super) fn pools(
    cx: &mut Cx<'_>,
    top: &Fields,
    slot: &Slot<Nested>,
    first: Option<Chosen<'_>>,
    topology: Option<&Topology>,
) -> Vec<Pool> {
    let tables = top.tables(slot);
    let (Some(first), Some(topology), false) = (first, topology, tables.is_empty()) else {
        return Vec::new();
    };
    let mut pools: Vec<Pool> = Vec::new();
    for (node, table, path) in tables {
        if let Some(pool) = pool(cx, node, table, &path, first, topology)
            && stands_alone(cx, &pool, &path, &pools)
        {
            pools.push(pool);
        }
    }
    let taken = |pools: &[Pool]| {
        let pcpus = pools.iter().flat_map(|pool| pool.pcpus.iter());
        pcpus.collect::<CpuSet>()
    };
    match pools.iter().position(|pool| pool.name == FIRST) {
        Some(given) => pools[..=given].rotate_right(1),
        None => {
            let rest = topology.all() & !taken(&pools);
            if rest.is_empty() {
                let last = pools.last().map_or(top.header, |pool| pool.span);
                let message = format!("no pcpu is left for {FIRST}, where Domain-0 is");
                cx.push(
                    Mistake::new(Code::Conflict, last, message)
                        .key("pool")
                        .expected("a pcpu that is in none of the pools")
                        .hint("take a pcpu out of one of them: `pcpus` of its table"),
                );
                return Vec::new();
            }
            let rest = Pool {
                name: FIRST.to_owned(),
                pcpus: rest,
                policy: *first.policy,
                params: *first.params,
                span: top.header,
            };
            pools.insert(0, rest);
        }
    }
    let free = topology.all() & !taken(&pools);
    if !free.is_empty() {
        let free = show_pcpus(&free);
        let notice = format!("pcpus in no pool are free, and nobody runs there: {free}");
        cx.notices.push(notice);
    }
    pools
}

/// The table `table`, which was found at `path`.
fn pool(
    cx: &mut Cx<'_>,
    node: &Node,
    table: &Table,
    path: &str,
    first: Chosen<'_>,
    topology: &Topology,
) -> Option<Pool> {
    let named = table.get("policy");
    let word = named.and_then(|entry| entry.node.as_text());
    let own = word.and_then(|word| cx.parts.policy(word));
    let policy = own.copied().unwrap_or(*first.policy);
    let fields = check::table(cx, table, node.span, &POOL, path, Some(&policy));
    let keys: PoolKeys = fields.read();
    let name = keys.name.get()?;
    let given = fields.params.first().map(|p| (p.spec.name, p.span));
    let given = named.map(|e| ("policy", e.node.span)).or(given);
    if let Some((key, span)) = given.filter(|_| name == FIRST) {
        cx.push(
            Mistake::new(
                Code::Conflict,
                span,
                format!("{FIRST} has its scheduler already"),
            )
            .key(format!("{path}.{key}"))
            .expected(format!("`name` and `pcpus` of {FIRST} alone"))
            .hint("its policy and parameters are keys of [scheduler]"),
        );
        return None;
    }
    let same = policy.descriptor.name == first.policy.descriptor.name;
    let defaults = match same {
        true => *first.params,
        false => ParamValues::defaults(policy.descriptor.params),
    };
    let params = fields.values(defaults);
    params_agree(cx, &fields, &policy, &params);
    let pcpus = on_host(cx, &fields, &keys.pcpus, Some(topology))?;
    Some(Pool {
        name,
        pcpus: pcpus & topology.all(),
        policy,
        params,
        span: fields.span(&keys.pcpus),
    })
}

/// Whether `pool`, at `path`, has neither a name nor a pcpu of an earlier one. Says if it has.
fn stands_alone(cx: &mut Cx<'_>, pool: &Pool, path: &str, earlier: &[Pool]) -> bool {
    if let Some(other) = earlier.iter().find(|other| other.name == pool.name) {
        let name = quote(&pool.name);
        cx.push(
            Mistake::new(
                Code::Duplicate,
                pool.span,
                format!("there are two pools `{name}`"),
            )
            .key(format!("{path}.name"))
            .found(name)
            .expected("a unique name")
            .related(other.span, "the first one")
            .hint("give one of the two another name"),
        );
        return false;
    }
    let Some(other) = earlier
        .iter()
        .find(|other| other.pcpus.intersects(&pool.pcpus))
    else {
        return true;
    };
    let both = show_pcpus(&(other.pcpus & pool.pcpus));
    let message = format!("pcpu {both} is in the pool `{}` already", other.name);
    cx.push(
        Mistake::new(Code::Conflict, pool.span, message)
            .key(format!("{path}.pcpus"))
            .found(both)
            .expected("pcpus that no other pool has")
            .related(other.span, "the other pool")
            .hint("a pcpu is in one pool; take it out of one of the two"),
    );
    false
}

/// The pools as a host has them, with their domains.
pub(super) fn configs(pools: &[Pool], resolved: &Resolved) -> Vec<PoolConfig> {
    let domains = |index: usize| {
        let own = resolved.domains.iter();
        own.filter(move |d| index > 0 && d.pool == index)
    };
    let config = |(index, pool): (usize, &Pool)| PoolConfig {
        name: pool.name.clone(),
        pcpus: pool.pcpus,
        domains: domains(index).map(|d| d.config.id).collect(),
    };
    pools.iter().enumerate().map(config).collect()
}

/// Reports what does not go together with pools, where there are any.
pub(super) fn fit(
    cx: &mut Cx<'_>,
    pools: &[Pool],
    host: (&Fields, &HostKeys),
    controllers: (&Fields, &Slot<Nested>),
) {
    let Some(last) = pools.last() else { return };
    let (fields, keys) = host;
    for own in &pools[1..] {
        has_policy(cx, fields, keys, &own.policy);
    }
    let version = keys.version().filter(|version| *version < SINCE);
    if let Some(version) = version.filter(|_| keys.xen.given) {
        cx.push(
            Mistake::new(
                Code::Conflict,
                fields.span(&keys.xen),
                format!("Xen {version} has no cpupools"),
            )
            .key(fields.path_of(&keys.xen))
            .found(version.to_string())
            .expected(format!("Xen {SINCE} or later"))
            .related(last.span, "a pool")
            .hint("take such a release, or pin domains instead"),
        );
    }
    let (top, slot) = controllers;
    if top.node(slot).is_some() {
        cx.push(
            Mistake::new(
                Code::Conflict,
                top.span(slot),
                "controllers know nothing of pools",
            )
            .key(top.path_of(slot))
            .expected("controllers or pools, not both")
            .related(last.span, "a pool")
            .hint("a controller sets what one policy has for all domains: leave one of them out"),
        );
    }
}
