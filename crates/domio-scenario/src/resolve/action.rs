//! `[[action]]`: what an operator does, replayed in order of time to see that it is possible.

mod pcpu;
mod vcpu;

use super::pins::on_host;
use super::pool::InPools;
use super::resolved::{Domain, Resolved};
use super::shared::{Chosen, given, tell};
use super::together;
use crate::amount::show_pcpus;
use crate::check::{self, Cx, Fields};
use crate::limits::MAX_ACTIONS;
use crate::suggest::did_you_mean;
use domio_core::cpuset::MAX_PCPUS;
use domio_core::keys::{
    self as key, KeyParams, KeySection, Keys, Need, Nested, Slot, Typed, VcpuPins, WordOf, Words,
    domain_name, int, pcpus, time, word_text,
};
use domio_core::keys::{Code, Mistake, list, quote};
use domio_core::{CpuSet, DomainId, Duration, Instant, ParamValues, Topology};
use domio_vmm::config::Action;

/// What to do about a pin to pcpus that are offline at that time.
const ONLINE_FIRST: &str =
    "pin to another one, or bring one back before with `do = \"pcpu-online\"`";

pub(crate) static ACTION: KeySection = KeySection::plain(
    "[[action]]",
    "What an operator does during the run. Actions at the same time happen in the order of \
     the file. `do` decides about further keys.",
    ActionKeys::KEYS,
)
.by("do", Words::Of(&ACTIONS));

keys! {
    struct ActionKeys {
        at: Duration = time("ms", 0), Need::Required, "When.";
        "do" = word_text(Words::Of(&ACTIONS)), Need::Required, "What.";
    }
}

/// Does on the host what the keys of an action say.
type Act = for<'a> fn(&mut Host<'a>, &mut Cx<'_>, Instant, &Fields, &mut Vec<Action>);

static ACTIONS: [WordOf<Act>; 8] = [
    WordOf::with_keys(
        "pause",
        |host, cx, at, fields, actions| host.pause(cx, at, fields, Action::Pause, actions),
        "`xl pause`: none of its vcpus runs until it is unpaused.",
        OfDomain::KEYS,
    ),
    WordOf::with_keys(
        "unpause",
        |host, cx, at, fields, actions| host.pause(cx, at, fields, Action::Unpause, actions),
        "`xl unpause`.",
        OfDomain::KEYS,
    ),
    WordOf::with_params(
        "set",
        |host, cx, at, fields, actions| host.set(cx, at, fields, actions),
        "`xl sched-credit -d` and its like: new values for parameters that the policy has \
         for domains; those that are not named stay.",
        OfDomain::KEYS,
        KeyParams::Domain,
    ),
    WordOf::with_params(
        "set-vcpu",
        |host, cx, at, fields, actions| host.set_vcpu(cx, at, fields, actions),
        "`xl sched-rtds -d -v` and its like: new values for parameters that the policy has for \
         vcpus; those that are not named stay. `set` ends what its vcpus had of their own.",
        OfVcpu::KEYS,
        KeyParams::Vcpu,
    ),
    WordOf::with_params(
        "set-policy",
        |host, cx, at, fields, actions| host.set_policy(cx, at, fields, actions),
        "`xl sched-credit -s` and its like: new values for parameters of the policy that can \
         change in a run; those that are not named stay.",
        &[],
        KeyParams::Changeable,
    ),
    WordOf::with_keys(
        "pin",
        |host, cx, at, fields, actions| host.pin(cx, at, fields, actions),
        "`xl vcpu-pin`: new affinity, hard, soft or both.",
        Pin::KEYS,
    ),
    WordOf::with_keys(
        "pcpu-offline",
        |host, cx, at, fields, actions| host.take_offline(cx, at, fields, actions),
        "`xen-hptool cpu-offline`: the pcpu leaves. Not the last one, and not the last one of a \
         vcpu's hard affinity.",
        OfPcpu::KEYS,
    ),
    WordOf::with_keys(
        "pcpu-online",
        |host, cx, at, fields, actions| host.bring_online(cx, at, fields, actions),
        "`xen-hptool cpu-online`: it comes back.",
        OfPcpu::KEYS,
    ),
];

const DOMAIN: (Typed<String>, Need, &str) = (
    domain_name(),
    Need::Required,
    "Name of a domain, or of a group for all of its members. It must exist at that time.",
);

keys! {
    struct OfDomain {
        domain: String = DOMAIN.0, DOMAIN.1, DOMAIN.2;
    }
}

const VCPU: (Typed<Option<u16>>, Need, &str) = (
    key::vcpu(),
    Need::Optional("all of them"),
    "Index of the vcpu, or `\"all\"`.",
);

keys! {
    struct OfVcpu {
        domain: String = DOMAIN.0, DOMAIN.1, DOMAIN.2;
        vcpu: Option<u16> = VCPU.0, VCPU.1, VCPU.2;
    }
}

keys! {
    struct OfPcpu {
        pcpu: u16 = int(0, MAX_PCPUS as i64 - 1), Need::Required, "Number of the pcpu.";
    }
}

keys! {
    struct Pin {
        domain: String = DOMAIN.0, DOMAIN.1, DOMAIN.2;
        vcpu: Option<u16> = VCPU.0, VCPU.1, VCPU.2;
        pin: CpuSet = pcpus(), Need::Optional("unchanged"),
            "New hard affinity; at least one pcpu of it is online.";
        soft: CpuSet = pcpus(), Need::Optional("unchanged"), "New soft affinity.";
    }
}

/// The actions at `slot` in order of time.
pub(super) fn actions(
    cx: &mut Cx<'_>,
    top: &Fields,
    slot: &Slot<Nested>,
    pools: InPools<'_>,
    topology: Option<&Topology>,
    resolved: &Resolved,
) -> Vec<(Instant, Action)> {
    let mut listed = Vec::new();
    for (node, table, path) in top.tables(slot) {
        let policy = pools.first.map(|c| c.policy);
        let fields = check::table(cx, table, node.span, &ACTION, &path, policy);
        if let Some(at) = fields.read::<ActionKeys>().at.get() {
            listed.push((Instant::ZERO + at, fields));
        }
    }
    listed.sort_by_key(|(at, _)| *at);
    let Some(topology) = topology else {
        return Vec::new();
    };
    let mut host = Host::new(topology, pools, resolved);
    let mut actions = Vec::new();
    for (at, fields) in &listed {
        host.start_until(cx, *at);
        let act = fields.variant.and_then(|v| WordOf::find(&ACTIONS, v.word));
        if let Some(act) = act {
            let mut own = Vec::new();
            act(&mut host, cx, *at, fields, &mut own);
            actions.extend(own.into_iter().map(|action| (*at, action)));
        }
        if actions.len() > MAX_ACTIONS {
            cx.push(
                Mistake::new(Code::Limit, fields.header, "there are too many actions")
                    .key(&fields.path)
                    .expected(format!(
                        "{MAX_ACTIONS} at most, counted for each domain and vcpu"
                    ))
                    .hint("let actions name single domains instead of large groups"),
            );
            return Vec::new();
        }
    }
    host.start_until(cx, Instant::MAX);
    actions
}

/// Reports an action that sets something, but names no parameter.
fn nothing_set(cx: &mut Cx<'_>, fields: &Fields, expected: &str) {
    let tried = fields.params.is_empty()
        && !cx.partial
        && cx.problems.none_at(&format!("{}.", fields.path));
    if tried {
        cx.push(
            Mistake::new(Code::MissingKey, fields.header, "nothing is set")
                .key(&fields.path)
                .expected(expected)
                .hint("a policy without such parameters leaves nothing to set"),
        );
    }
}

/// What the actions so far have made of the host.
struct Host<'a> {
    topology: &'a Topology,
    pools: InPools<'a>,
    /// The policy of Pool-0.
    chosen: Option<Chosen<'a>>,
    resolved: &'a Resolved,
    online: CpuSet,
    /// Those of the policy as a whole, once they have changed.
    policy_params: Option<ParamValues>,
    /// By domain.
    params: Vec<ParamValues>,
    /// By domain and vcpu: its own parameters, if it has any.
    own: Vec<Vec<Option<ParamValues>>>,
    /// By domain and vcpu: hard and soft affinity.
    affinity: Vec<Vec<(CpuSet, CpuSet)>>,
    /// Domains by the time of their start, those that have not started yet.
    to_start: Vec<usize>,
}

impl<'a> Host<'a> {
    fn new(topology: &'a Topology, pools: InPools<'a>, resolved: &'a Resolved) -> Self {
        let domains = &resolved.domains;
        let mut to_start: Vec<usize> = (0..domains.len()).collect();
        // The next one is at the end.
        to_start.sort_by_key(|d| std::cmp::Reverse(domains[*d].config.start));
        Host {
            topology,
            pools,
            chosen: pools.first,
            resolved,
            online: topology.all(),
            policy_params: None,
            params: domains.iter().map(|d| d.config.params).collect(),
            own: domains
                .iter()
                .map(|d| d.config.vcpus.iter().map(|v| v.params).collect())
                .collect(),
            affinity: domains
                .iter()
                .map(|d| d.config.vcpus.iter().map(|v| (v.hard, v.soft)).collect())
                .collect(),
            to_start,
        }
    }

    fn domain(&self, index: usize) -> &'a Domain {
        &self.resolved.domains[index]
    }

    /// Starts the domains whose time comes until `now`.
    fn start_until(&mut self, cx: &mut Cx<'_>, now: Instant) {
        while let Some(&index) = self.to_start.last()
            && self.domain(index).config.start <= now
        {
            self.to_start.pop();
            let domain = self.domain(index);
            let homeless = domain
                .config
                .vcpus
                .iter()
                .any(|v| !v.hard.intersects(&self.online));
            if homeless {
                cx.push(
                    Mistake::new(
                        Code::Action,
                        domain.span,
                        format!(
                            "{} starts at {}, when every pcpu that it is pinned to is offline",
                            domain.config.name, domain.config.start
                        ),
                    )
                    .expected(format!(
                        "one of the online pcpus: {}",
                        show_pcpus(&self.online)
                    ))
                    .hint(ONLINE_FIRST),
                );
            }
        }
    }

    /// Pauses domains, or lets them continue.
    fn pause(
        &mut self,
        cx: &mut Cx<'_>,
        at: Instant,
        fields: &Fields,
        action: fn(DomainId) -> Action,
        actions: &mut Vec<Action>,
    ) {
        let domains = self.targets(cx, at, fields, &fields.read::<OfDomain>().domain);
        actions.extend(domains.iter().map(|d| action(self.domain(*d).config.id)));
    }

    fn set_policy(
        &mut self,
        cx: &mut Cx<'_>,
        _: Instant,
        fields: &Fields,
        actions: &mut Vec<Action>,
    ) {
        let Some(chosen) = self.chosen else {
            return;
        };
        nothing_set(
            cx,
            fields,
            "a parameter of the policy that can change in a run",
        );
        let now = self.policy_params.unwrap_or(*chosen.params);
        let wanted = fields.values(now);
        let refused = chosen.policy.check_change(&now, &wanted);
        if let Err(conflict) = refused
            && cx.problems.none_at(&format!("{}.", fields.path))
        {
            tell(cx, conflict, &given(fields), fields.header, &fields.path);
        }
        self.policy_params = Some(wanted);
        self.domains_agree(cx, fields);
        actions.push(Action::SetPolicy(wanted));
    }

    /// Says whether the parameters of all domains still go together, unless something was told
    /// about them or about this action.
    pub(super) fn domains_agree(&self, cx: &mut Cx<'_>, fields: &Fields) {
        let policy = self.policy_params.as_ref();
        if let Some(chosen) = self.chosen
            && self.resolved.complete
            && ["domain[", "scheduler.", "action["]
                .iter()
                .all(|path| cx.problems.none_at(path))
            && let policy = policy.unwrap_or(chosen.params)
            && let pcpus = self.topology.pcpus()
            && let Err((_, conflict)) = together::check(
                chosen,
                policy,
                pcpus,
                self.resolved,
                (&self.params, &self.own),
            )
        {
            tell(cx, conflict, &given(fields), fields.header, &fields.path);
        }
    }

    /// The domains that the action names and that exist at `at`.
    fn targets(
        &self,
        cx: &mut Cx<'_>,
        at: Instant,
        fields: &Fields,
        slot: &Slot<String>,
    ) -> Vec<usize> {
        let Some(name) = slot.get() else {
            return Vec::new();
        };
        let Some(domains) = self.resolved.by_name.get(&name) else {
            // A domain that could not be understood may be the one.
            if self.resolved.complete {
                let known = || self.resolved.by_name.keys().map(String::as_str);
                cx.push(
                    Mistake::new(
                        Code::UnknownName,
                        fields.span(slot),
                        format!("there is no domain `{}`", quote(&name)),
                    )
                    .key(fields.path_of(slot))
                    .found(quote(&name))
                    .expected(format!("one of: {}", list(known())))
                    .hint_or(
                        did_you_mean(&name, known()),
                        "add a [[domain]] of that name, or remove the action",
                    ),
                );
            }
            return Vec::new();
        };
        let mut existing = Vec::new();
        let when = fields.read::<ActionKeys>().at;
        for &d in domains {
            let config = &self.domain(d).config;
            let why = if at < config.start {
                format!("it starts at {}", config.start)
            } else if let Some(stop) = config.stop.filter(|s| at >= *s) {
                format!("it stops at {stop}")
            } else {
                existing.push(d);
                continue;
            };
            cx.push(
                Mistake::new(
                    Code::Action,
                    fields.span(&when),
                    format!("{} does not exist at {at}: {why}", config.name),
                )
                .key(fields.path_of(&when))
                .found(at.to_string())
                .expected("a time at which the domain exists")
                .related(self.domain(d).span, "the domain")
                .hint("change the action's time, or `start` or `stop` of the domain"),
            );
        }
        existing
    }

    /// Whether `domains`, which the action names at `slot`, are in Pool-0, whose policy the
    /// action's parameters are of. Reports one that is not.
    fn in_first_pool(
        &self,
        cx: &mut Cx<'_>,
        fields: &Fields,
        slot: &Slot<String>,
        domains: &[usize],
    ) -> bool {
        let elsewhere = domains.iter().find(|d| self.domain(**d).pool > 0);
        let Some(domain) = elsewhere.map(|d| self.domain(*d)) else {
            return true;
        };
        let name = &domain.config.name;
        let pool = &self.pools.pools[domain.pool].name;
        let message = format!("{name} is in the pool `{pool}`, whose parameters stay as they are");
        cx.push(
            Mistake::new(Code::Action, fields.span(slot), message)
                .key(fields.path_of(slot))
                .found(quote(name))
                .expected("a domain of Pool-0")
                .related(domain.span, "the domain")
                .hint("give the domain the parameters from the start, in its [[domain]]"),
        );
        false
    }

    fn set(&mut self, cx: &mut Cx<'_>, at: Instant, fields: &Fields, actions: &mut Vec<Action>) {
        let slot = fields.read::<OfDomain>().domain;
        let domains = self.targets(cx, at, fields, &slot);
        if !self.in_first_pool(cx, fields, &slot, &domains) {
            return;
        }
        nothing_set(cx, fields, "a parameter that the policy has for domains");
        for d in domains {
            let values = fields.values(self.params[d]);
            let config = &self.domain(d).config;
            let most = 100 * config.vcpus.len() as i64;
            if let Some(cap) = fields.param("cap").filter(|g| g.value > most) {
                cx.push(
                    Mistake::new(
                        Code::OutOfRange,
                        cap.span,
                        format!("a cap of {} is out of reach for {}", cap.value, config.name),
                    )
                    .key(fields.key_path("cap"))
                    .found(cap.value.to_string())
                    .expected(format!("0 to {most} % of one pcpu"))
                    .hint("0 means no cap; each vcpu can use 100 % of one pcpu"),
                );
            }
            if let Some(chosen) = self.chosen
                && let policy_params = self.policy_params.as_ref().unwrap_or(chosen.params)
                && let Err(conflict) =
                    (chosen.policy.validate_domain)(policy_params, config.id, &values)
                && cx.problems.none_at(&format!("{}.", fields.path))
            {
                tell(cx, conflict, &given(fields), fields.header, &fields.path);
            }
            self.params[d] = values;
            self.inherit(d);
            self.domains_agree(cx, fields);
            actions.push(Action::SetParams(config.id, values));
        }
    }

    fn pin(&mut self, cx: &mut Cx<'_>, at: Instant, fields: &Fields, actions: &mut Vec<Action>) {
        let keys: Pin = fields.read();
        let domains = self.targets(cx, at, fields, &keys.domain);
        let (hard, soft) = (keys.pin.given, keys.soft.given);
        if !hard && !soft && !cx.partial {
            cx.push(
                Mistake::new(
                    Code::MissingKey,
                    fields.header,
                    "the action changes no affinity",
                )
                .key(&fields.path)
                .expected("`pin`, `soft` or both")
                .hint("pin = \"all\" lifts a pin"),
            );
        }
        let (Some(new_hard), Some(new_soft)) = (
            on_host(cx, fields, &keys.pin, Some(self.topology)),
            on_host(cx, fields, &keys.soft, Some(self.topology)),
        ) else {
            return;
        };
        if !new_hard.intersects(&self.online) {
            cx.push(
                Mistake::new(
                    Code::Action,
                    fields.span(&keys.pin),
                    "every pcpu of the pin is offline then",
                )
                .key(fields.path_of(&keys.pin))
                .found(show_pcpus(&new_hard))
                .expected(format!(
                    "one of the online pcpus: {}",
                    show_pcpus(&self.online)
                ))
                .hint(ONLINE_FIRST),
            );
            return;
        }
        let Some(vcpu) = keys.vcpu.or(None) else {
            return;
        };
        for d in domains {
            let pool = self.domain(d).pool;
            let place = (fields.path_of(&keys.pin), fields.span(&keys.pin));
            let pinned = VcpuPins::Alike(new_hard);
            if hard && !self.pools.reaches(cx, place, &pinned, pool) {
                return;
            }
            let new_hard = new_hard & self.pools.pcpus(pool);
            let config = &self.domain(d).config;
            for v in vcpu::of(cx, fields, config, &keys.vcpu, vcpu) {
                let now = &mut self.affinity[d][v];
                // Who changes both changes one after the other.
                for (changes, is_hard) in [(hard, true), (soft, false)] {
                    if !changes {
                        continue;
                    }
                    match is_hard {
                        true => now.0 = new_hard,
                        false => now.1 = new_soft,
                    }
                    actions.push(Action::Pin {
                        domain: config.id,
                        vcpu: v as u16,
                        hard: now.0,
                        soft: now.1,
                    });
                }
            }
        }
    }
}
