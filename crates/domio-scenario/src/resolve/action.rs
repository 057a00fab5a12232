//! `[[action]]`: what an operator does, replayed in order of time to see that it is possible.

mod vcpu;

use super::domain::{Domain, Resolved, pcpus};
use super::{Chosen, given, tell, together};
use crate::amount::show_pcpus;
use crate::check::{self, Cx, Fields};
use crate::keys::ACTION;
use crate::limits::MAX_ACTIONS;
use crate::problem::{Code, Problem, list, quote};
use crate::suggest::did_you_mean;
use crate::value::Value;
use domio_core::{CpuSet, Instant, ParamValues, PcpuId, Topology};
use domio_vmm::config::Action;

/// What to do about a pin to pcpus that are offline at that time.
const ONLINE_FIRST: &str =
    "pin to another one, or bring one back before with `do = \"pcpu-online\"`";

/// The actions in order of time.
pub(super) fn actions(
    cx: &mut Cx<'_>,
    top: &Fields<'_>,
    chosen: Option<Chosen<'_>>,
    topology: Option<&Topology>,
    resolved: &Resolved,
) -> Vec<(Instant, Action)> {
    let Some(Value::Array(nodes)) = top.node("action").map(|n| &n.value) else {
        return Vec::new();
    };
    let mut listed = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        let Some(table) = node.as_table() else {
            continue;
        };
        let path = format!("action[{i}]");
        let policy = chosen.map(|c| c.policy);
        let fields = check::table(cx, table, node.span, &ACTION, &path, policy);
        if let Some(at) = fields.time("at") {
            listed.push((Instant::ZERO + at, fields));
        }
    }
    listed.sort_by_key(|(at, _)| *at);
    let Some(topology) = topology else {
        return Vec::new();
    };
    let mut host = Host::new(topology, chosen, resolved);
    let mut actions = Vec::new();
    for (at, fields) in &listed {
        host.start_until(cx, *at);
        host.act(cx, *at, fields, &mut actions);
        if actions.len() > MAX_ACTIONS {
            cx.push(
                Problem::new(Code::Limit, fields.header, "there are too many actions")
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

/// Tells of an action that sets something, but names no parameter.
fn nothing_set(cx: &mut Cx<'_>, fields: &Fields<'_>, expected: &str) {
    let tried = fields.params.is_empty()
        && !cx.partial
        && cx.problems.none_at(&format!("{}.", fields.path));
    if tried {
        cx.push(
            Problem::new(Code::MissingKey, fields.header, "nothing is set")
                .key(&fields.path)
                .expected(expected)
                .hint("a policy without such parameters leaves nothing to set"),
        );
    }
}

/// What the actions so far have made of the host.
struct Host<'a> {
    topology: &'a Topology,
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
    fn new(topology: &'a Topology, chosen: Option<Chosen<'a>>, resolved: &'a Resolved) -> Self {
        let domains = &resolved.domains;
        let mut to_start: Vec<usize> = (0..domains.len()).collect();
        // The next one is at the end.
        to_start.sort_by_key(|d| std::cmp::Reverse(domains[*d].config.start));
        Host {
            topology,
            chosen,
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
                    Problem::new(
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

    fn act(
        &mut self,
        cx: &mut Cx<'_>,
        at: Instant,
        fields: &Fields<'_>,
        actions: &mut Vec<(Instant, Action)>,
    ) {
        let Some(variant) = fields.variant else {
            return;
        };
        let mut push = |action| actions.push((at, action));
        match variant.word {
            "pcpu-offline" => {
                if let Some(pcpu) = self.pcpu(cx, fields)
                    && self.take_offline(cx, at, pcpu, fields)
                {
                    push(Action::PcpuOffline(pcpu));
                }
            }
            "pcpu-online" => {
                if let Some(pcpu) = self.pcpu(cx, fields)
                    && self.bring_online(cx, at, pcpu, fields)
                {
                    push(Action::PcpuOnline(pcpu));
                }
            }
            "set-policy" => self.set_policy(cx, fields, push),
            word => {
                let domains = self.targets(cx, at, fields);
                match word {
                    "pause" | "unpause" => {
                        for d in domains {
                            let id = self.domain(d).config.id;
                            push(if word == "pause" {
                                Action::Pause(id)
                            } else {
                                Action::Unpause(id)
                            });
                        }
                    }
                    "set" => self.set(cx, fields, &domains, push),
                    "set-vcpu" => self.set_vcpu(cx, fields, &domains, push),
                    _ => self.pin(cx, fields, &domains, push),
                }
            }
        }
    }

    fn set_policy(&mut self, cx: &mut Cx<'_>, fields: &Fields<'_>, mut push: impl FnMut(Action)) {
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
        push(Action::SetPolicy(wanted));
    }

    /// Tells whether the parameters of all domains still go together, unless something was told
    /// about them or about this action.
    fn domains_agree(&self, cx: &mut Cx<'_>, fields: &Fields<'_>) {
        let policy = self.policy_params.as_ref();
        if let Some(chosen) = self.chosen
            && self.resolved.complete
            && ["domain[", "scheduler.", "action["]
                .iter()
                .all(|path| cx.problems.none_at(path))
            && let policy = policy.unwrap_or(chosen.params)
            && let Err((_, conflict)) = together::check(chosen, policy, self.resolved, &self.params)
        {
            tell(cx, conflict, &given(fields), fields.header, &fields.path);
        }
    }

    /// The domains that the action names and that exist at `at`.
    fn targets(&self, cx: &mut Cx<'_>, at: Instant, fields: &Fields<'_>) -> Vec<usize> {
        let Some(name) = fields.text("domain") else {
            return Vec::new();
        };
        let Some(domains) = self.resolved.by_name.get(&name) else {
            // A domain that could not be understood may be the one.
            if self.resolved.complete {
                let known = || self.resolved.by_name.keys().map(String::as_str);
                cx.push(
                    Problem::new(
                        Code::UnknownName,
                        fields.span("domain"),
                        format!("there is no domain `{}`", quote(&name)),
                    )
                    .key(fields.key_path("domain"))
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
                Problem::new(
                    Code::Action,
                    fields.span("at"),
                    format!("{} does not exist at {at}: {why}", config.name),
                )
                .key(fields.key_path("at"))
                .found(at.to_string())
                .expected("a time at which the domain exists")
                .related(self.domain(d).span, "the domain")
                .hint("change the action's time, or `start` or `stop` of the domain"),
            );
        }
        existing
    }

    fn set(
        &mut self,
        cx: &mut Cx<'_>,
        fields: &Fields<'_>,
        domains: &[usize],
        mut push: impl FnMut(Action),
    ) {
        nothing_set(cx, fields, "a parameter that the policy has for domains");
        for &d in domains {
            let values = fields.values(self.params[d]);
            let config = &self.domain(d).config;
            let most = 100 * config.vcpus.len() as i64;
            if let Some(cap) = fields.param("cap").filter(|g| g.value > most) {
                cx.push(
                    Problem::new(
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
            push(Action::SetParams(config.id, values));
        }
    }

    fn pin(
        &mut self,
        cx: &mut Cx<'_>,
        fields: &Fields<'_>,
        domains: &[usize],
        mut push: impl FnMut(Action),
    ) {
        let (hard, soft) = (
            fields.field("pin").is_some(),
            fields.field("soft").is_some(),
        );
        if !hard && !soft && !cx.partial {
            cx.push(
                Problem::new(
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
            pcpus(cx, fields, "pin", Some(self.topology)),
            pcpus(cx, fields, "soft", Some(self.topology)),
        ) else {
            return;
        };
        if !new_hard.intersects(&self.online) {
            cx.push(
                Problem::new(
                    Code::Action,
                    fields.span("pin"),
                    "every pcpu of the pin is offline then",
                )
                .key(fields.key_path("pin"))
                .found(show_pcpus(&new_hard))
                .expected(format!(
                    "one of the online pcpus: {}",
                    show_pcpus(&self.online)
                ))
                .hint(ONLINE_FIRST),
            );
            return;
        }
        let Some(vcpu) = vcpu::named(fields) else {
            return;
        };
        for &d in domains {
            let config = &self.domain(d).config;
            for v in vcpu::of(cx, fields, config, vcpu) {
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
                    push(Action::Pin {
                        domain: config.id,
                        vcpu: v as u16,
                        hard: now.0,
                        soft: now.1,
                    });
                }
            }
        }
    }

    fn pcpu(&self, cx: &mut Cx<'_>, fields: &Fields<'_>) -> Option<PcpuId> {
        let pcpu = PcpuId(fields.int("pcpu")? as u16);
        let all = self.topology.all();
        if all.contains(pcpu) {
            return Some(pcpu);
        }
        cx.push(
            Problem::new(
                Code::OutOfRange,
                fields.span("pcpu"),
                format!("the host has no pcpu {}", pcpu.0),
            )
            .key(fields.key_path("pcpu"))
            .found(pcpu.0.to_string())
            .expected(format!("pcpus of the host: {}", show_pcpus(&all)))
            .hint("pcpus are counted from 0; [host] says how many there are"),
        );
        None
    }

    fn take_offline(
        &mut self,
        cx: &mut Cx<'_>,
        at: Instant,
        pcpu: PcpuId,
        fields: &Fields<'_>,
    ) -> bool {
        let mut left = self.online;
        left.remove(pcpu);
        let expected = format!("one of the online pcpus: {}", show_pcpus(&self.online));
        let refused = |message: String| {
            Problem::new(Code::Action, fields.span("pcpu"), message)
                .key(fields.key_path("pcpu"))
                .found(pcpu.0.to_string())
                .expected(expected.clone())
        };
        if left == self.online {
            let message = format!("pcpu {} is offline at {at} already", pcpu.0);
            cx.push(refused(message).hint("remove the action, or one of those before it"));
            return false;
        }
        if left.is_empty() {
            let hint = "a host keeps at least one pcpu online";
            cx.push(refused(format!("pcpu {} is the last one at {at}", pcpu.0)).hint(hint));
            return false;
        }
        for (d, domain) in self.resolved.domains.iter().enumerate() {
            let alive = domain.config.start <= at && domain.config.stop.is_none_or(|s| at < s);
            let pinned = self.affinity[d]
                .iter()
                .position(|(hard, _)| !hard.intersects(&left));
            if let Some(vcpu) = pinned.filter(|_| alive) {
                cx.push(
                    refused(format!(
                        "vcpu {vcpu} of {} is pinned to pcpu {} and has no other online at {at}",
                        domain.config.name, pcpu.0
                    ))
                    .related(domain.span, "the domain")
                    .hint("pin it elsewhere with an action before this one"),
                );
                return false;
            }
        }
        self.online = left;
        true
    }

    fn bring_online(
        &mut self,
        cx: &mut Cx<'_>,
        at: Instant,
        pcpu: PcpuId,
        fields: &Fields<'_>,
    ) -> bool {
        if !self.online.contains(pcpu) {
            self.online.insert(pcpu);
            return true;
        }
        cx.push(
            Problem::new(
                Code::Action,
                fields.span("pcpu"),
                format!("pcpu {} is online at {at} already", pcpu.0),
            )
            .key(fields.key_path("pcpu"))
            .found(pcpu.0.to_string())
            .expected("a pcpu that an earlier action took offline")
            .hint("all pcpus are online at first; remove the action, or take it offline before"),
        );
        false
    }
}
