//! The same operations on the kernel's own `fair.c`, compared after each (`oracle/linux`).
//!
//! A [`Recorder`] stands between the mini host and the policy. It writes down what the policy is
//! asked, and the state of every pcpu, queue, group and entity afterwards; a program that is built
//! from the kernel's source does the same and compares.

extern crate std;

use super::super::params::Class;
use super::super::state::{NIL, Queue};
use super::super::{CFS, EEVDF, Linux, QUOTAS};
use crate::conformance::rng::Rng;
use crate::conformance::{Intervention, Script, ScriptStep, host};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use domio_contract::{Cx, Descriptor, GroupId, Pause, Pick, Prev, Scheduler, StateRows, Wake};
use domio_core::{
    CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId,
};
use std::io::Write as _;
use std::process::{Child, Command, Stdio};

/// What the program begins with.
const MAGIC: i64 = 0x6b65_726e_656c;

/// Numbers of operations, as `main.c` has them.
mod op {
    pub const GROUP: i64 = 1;
    pub const GROUP_SET: i64 = 2;
    pub const THREAD: i64 = 3;
    pub const THREAD_SET: i64 = 4;
    pub const MOVE: i64 = 5;
    pub const WAKE: i64 = 6;
    pub const YIELD: i64 = 7;
    pub const PASS: i64 = 8;
    pub const TICK: i64 = 9;
    pub const QUOTA: i64 = 10;
    pub const END: i64 = 11;
}

/// Entities of groups have their group's number from here on.
const GROUP_IDS: i64 = 1_000;

struct Recorder {
    inner: Linux,
    to: std::io::BufWriter<std::process::ChildStdin>,
    /// The program has stopped reading: it found a difference.
    over: bool,
    words: Vec<i64>,
    /// By group: the program has it.
    groups: Vec<bool>,
}

impl Recorder {
    fn new(inner: Linux, pcpus: u16, to: std::process::ChildStdin) -> Recorder {
        let r = inner.rules;
        let t = r.tunables(usize::from(pcpus));
        let mut head = Vec::from([
            MAGIC,
            i64::from(pcpus),
            t.latency,
            t.min_granularity,
            t.wakeup_granularity,
            r.idle_min_granularity,
            t.base_slice,
            r.bandwidth_slice,
            i64::from(t.threads_in_latency),
        ]);
        let features = match r.eevdf {
            true => [r.run_to_parity, r.preempt_short, r.place_lag, r.delay_dequeue],
            false => [r.gentle_fair_sleepers, r.start_debit, true, true],
        };
        head.extend([r.wakeup_preemption, r.ni_random].map(i64::from));
        head.extend(features.map(i64::from));
        head.resize(18, 0);
        let mut recorder = Recorder {
            inner,
            to: std::io::BufWriter::with_capacity(1 << 16, to),
            over: false,
            words: head,
            groups: Vec::from([true]),
        };
        recorder.write();
        recorder
    }

    fn write(&mut self) {
        for word in self.words.drain(..) {
            self.over |= self.to.write_all(&word.to_le_bytes()).is_err();
        }
    }

    /// An operation whose state is not compared, as others of the same call follow.
    fn part(&mut self, cx: &Cx<'_>, op: i64, args: &[i64]) {
        if self.over {
            return;
        }
        self.groups.resize(self.inner.groups.len(), false);
        self.words
            .extend([op, self.inner.now(cx), i64::from(cx.here().0)]);
        self.words.extend(args);
        self.words.push(0);
        self.write();
    }

    /// An operation, and the state after it.
    fn whole(&mut self, cx: &Cx<'_>, op: i64, args: &[i64]) {
        if self.over {
            return;
        }
        self.groups.resize(self.inner.groups.len(), false);
        self.words
            .extend([op, self.inner.now(cx), i64::from(cx.here().0)]);
        self.words.extend(args);
        let at = self.words.len();
        self.words.push(0);
        self.inner.write_state(&self.groups, &mut self.words);
        self.words[at] = (self.words.len() - at - 1) as i64;
        self.write();
    }

    /// `group` is there, in the program as well.
    fn ensure(&mut self, cx: &Cx<'_>, group: u32) {
        self.groups.resize(self.inner.groups.len(), false);
        if !core::mem::replace(&mut self.groups[group as usize], true) {
            let parent = self.inner.groups[group as usize].parent;
            self.part(cx, op::GROUP, &[i64::from(group), i64::from(parent)]);
            self.group_set(cx, group, false);
        }
    }

    fn group_set(&mut self, cx: &Cx<'_>, group: u32, is_last: bool) {
        let g = &self.inner.groups[group as usize];
        let b = &g.bandwidth;
        let args = [
            i64::from(group),
            g.shares as i64,
            i64::from(g.idle),
            b.quota,
            b.period,
            b.burst,
            self.inner.phase(group),
        ];
        match is_last {
            true => self.whole(cx, op::GROUP_SET, &args),
            false => self.part(cx, op::GROUP_SET, &args),
        }
    }

    fn thread_set(&mut self, cx: &Cx<'_>, vcpu: VcpuId, is_last: bool) {
        let s = self.inner.threads[vcpu.index()].setting;
        let class = match s.class {
            Class::Other => 0,
            Class::Batch => 1,
            Class::Idle => 2,
        };
        let args = [i64::from(vcpu.0), class, s.nice, s.slice];
        match is_last {
            true => self.whole(cx, op::THREAD_SET, &args),
            false => self.part(cx, op::THREAD_SET, &args),
        }
    }
}

impl Linux {
    fn id(&self, e: u32) -> i64 {
        match e {
            NIL => -1,
            e => match self.entities[e as usize].vcpu {
                Some(vcpu) => i64::from(vcpu.0),
                None => GROUP_IDS + i64::from(self.entities[e as usize].group),
            },
        }
    }

    /// The mean of `q` as the kernel's `avg_vruntime`, without a change of the queue.
    fn mean_of(&self, q: &Queue, index: u32) -> i64 {
        let mut copy = (q.sum, q.weights);
        let runner = self.runner(index);
        if runner != NIL {
            let e = &self.entities[runner as usize];
            let weight = super::super::weights::down(e.load.weight) as i64;
            copy = (copy.0 + e.v.wrapping_sub(q.zero) * weight, copy.1 + weight);
        }
        match copy.1 {
            0 => q.zero,
            weights => q.zero.wrapping_add(copy.0.div_euclid(weights)),
        }
    }

    fn write_average(&self, a: &super::super::pelt::Average, out: &mut Vec<i64>) {
        let averages = std::env::var("LINUX_ORACLE_AVERAGES").is_ok();
        if self.multi && averages {
            out.extend([a.load_sum, a.load, a.runnable, a.util].map(|x| x as i64));
        }
    }

    fn write_entity(&self, e: u32, out: &mut Vec<i64>) {
        let e = &self.entities[e as usize];
        let weighs = e.on_queue || e.vcpu.is_some();
        out.extend([
            if weighs { e.load.weight as i64 } else { 0 },
            i64::from(e.on_queue),
            e.v,
            e.sum,
            e.sum_before,
            e.exec_start,
        ]);
        if self.rules.eevdf {
            let lag = match e.on_queue {
                true => 0,
                false => e.lag,
            };
            out.extend([e.deadline, lag, if weighs { e.slice } else { 0 }, i64::from(e.delayed)]);
        }
        self.write_average(&e.average, out);
    }

    /// The state, word by word as `main.c` has it.
    fn write_state(&self, known: &[bool], out: &mut Vec<i64>) {
        let cpus = self.cpus.len();
        for c in &self.cpus {
            out.extend([
                c.clock,
                self.id(c.current),
                i64::from(c.resched || c.lazy),
                i64::from(c.skip_clock),
            ]);
        }
        for (g, group) in self.groups.iter().enumerate().filter(|(g, _)| known[*g]) {
            for cpu in 0..cpus {
                let index = g * cpus + cpu;
                let q = &self.queues[index];
                let v = match (self.rules.eevdf, q.count) {
                    (false, _) => q.min_v,
                    (true, 0) => 0,
                    (true, _) => self.mean_of(q, index as u32),
                };
                out.extend([
                    i64::from(q.count),
                    q.load as i64,
                    self.id(q.current),
                    self.id(q.next),
                    i64::from(q.threads),
                    v,
                    self.id(q.last),
                    self.id(q.skip),
                    i64::from(q.idlers),
                    match q.limited {
                        true => q.remaining,
                        false => 0,
                    },
                    i64::from(q.throttled),
                    i64::from(q.throttles),
                ]);
                self.write_average(&q.average, out);
            }
            if g == 0 {
                continue;
            }
            let b = &group.bandwidth;
            out.extend([
                group.shares as i64,
                b.pool,
                if b.periods { b.expires } else { -1 },
                b.slack_at.unwrap_or(-1),
            ]);
            for cpu in 0..cpus as u32 {
                self.write_entity(self.queues[g * cpus + cpu as usize].entity, out);
            }
        }
        for t in self.threads.iter().filter(|t| t.entity != NIL) {
            self.write_entity(t.entity, out);
        }
    }
}

impl Scheduler for Recorder {
    fn descriptor(&self) -> &'static Descriptor {
        self.inner.descriptor()
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.inner.pcpu_online(cx, pcpu);
    }

    fn pcpu_offline(&mut self, _: &mut Cx<'_>, _: PcpuId) {
        unreachable!("no script takes pcpus away");
    }

    fn set_domain(&mut self, cx: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        let before = self.inner.threads.clone();
        self.inner.set_domain(cx, domain, params);
        let (group, _) = self.inner.domains[domain.index()].expect("it has a group");
        let members = self.inner.groups[group as usize].members.iter();
        let changed: Vec<VcpuId> = members
            .copied()
            .filter(|v| before[v.index()].setting != self.inner.threads[v.index()].setting)
            .collect();
        // Before the domain has vcpus it may still get into a group.
        if self.groups.get(group as usize) == Some(&true) {
            self.group_set(cx, group, changed.is_empty());
        }
        for (i, vcpu) in changed.iter().enumerate() {
            self.thread_set(cx, *vcpu, i + 1 == changed.len());
        }
    }

    fn set_group(
        &mut self,
        cx: &mut Cx<'_>,
        group: GroupId,
        parent: Option<GroupId>,
        params: &ParamValues,
    ) {
        self.inner.set_group(cx, group, parent, params);
        let group = self.inner.named[group.index()];
        match self.groups.get(group as usize) {
            Some(true) => self.group_set(cx, group, true),
            _ => self.ensure(cx, group),
        }
    }

    fn join(&mut self, cx: &mut Cx<'_>, domain: DomainId, group: Option<GroupId>) {
        let (own, _) = self.inner.domains[domain.index()].expect("it has a group");
        assert!(self.inner.groups[own as usize].members.is_empty(), "no script moves domains");
        self.inner.join(cx, domain, group);
    }

    fn set_vcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, params: &ParamValues) {
        let before = self.inner.threads[vcpu.index()].setting;
        self.inner.set_vcpu(cx, vcpu, params);
        if before != self.inner.threads[vcpu.index()].setting {
            self.thread_set(cx, vcpu, true);
        }
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.inner.insert(cx, vcpu);
        let e = self.inner.entity_of(vcpu);
        let group = self.inner.entities[e as usize].group;
        self.ensure(cx, group);
        self.part(cx, op::THREAD, &[i64::from(vcpu.0), i64::from(group), 0]);
        self.thread_set(cx, vcpu, false);
    }

    fn remove(&mut self, _: &mut Cx<'_>, _: VcpuId) {
        unreachable!("no script takes vcpus away");
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let pcpu = self.inner.pick_pcpu(cx, vcpu);
        self.part(cx, op::MOVE, &[i64::from(vcpu.0), i64::from(pcpu.0)]);
        pcpu
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, why: Wake) {
        let is_new = !self.inner.threads[vcpu.index()].known;
        self.inner.wake(cx, vcpu, why);
        self.whole(cx, op::WAKE, &[i64::from(vcpu.0), i64::from(is_new)]);
    }

    fn sleep(&mut self, _: &mut Cx<'_>, _: VcpuId) {
        unreachable!("no script pauses anybody");
    }

    fn yielded(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.inner.yielded(cx, vcpu);
        let pcpu = cx.vcpu(vcpu).pcpu;
        self.whole(cx, op::YIELD, &[i64::from(pcpu.0)]);
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let pause = prev.vcpu.map_or(0, |v| cx.vcpu(v).pause.bits());
        let pick = self.inner.schedule(cx, pcpu, prev);
        let blocked = i64::from(pause & Pause::BLOCKED != 0);
        self.whole(cx, op::PASS, &[i64::from(pcpu.0), blocked]);
        pick
    }

    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, slot: u8) -> Option<Instant> {
        let next = self.inner.timer(cx, pcpu, slot);
        if slot == QUOTAS {
            let named: Vec<u32> = self.inner.named.iter().copied().filter(|g| *g != NIL).collect();
            for (i, group) in named.iter().enumerate() {
                let args = [i64::from(*group)];
                match i + 1 == named.len() {
                    true => self.whole(cx, op::QUOTA, &args),
                    false => self.part(cx, op::QUOTA, &args),
                }
            }
            return next;
        }
        self.whole(cx, op::TICK, &[i64::from(pcpu.0)]);
        next
    }

    fn domain_timer(&mut self, cx: &mut Cx<'_>, domain: DomainId) -> Option<Instant> {
        let next = self.inner.domain_timer(cx, domain);
        let (group, _) = self.inner.domains[domain.index()].expect("it has a group");
        self.whole(cx, op::QUOTA, &[i64::from(group)]);
        next
    }

    fn state(&self, out: &mut StateRows) {
        self.inner.state(out);
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.words.extend([op::END, 0, 0]);
        self.write();
    }
}

/// A random time in microseconds, of any order of magnitude from 10^1 to 10^`most`.
fn some_time(rng: &mut Rng, most: u64) -> Duration {
    let order = 10_u64.pow(rng.between(1, most) as u32);
    let us = rng.between(order / 2, order * 3);
    let extra = match rng.one_in(3) {
        true => 0,
        false => rng.below(1_000),
    };
    Duration::from_nanos(us * 1_000 + extra)
}

/// What scripts have.
#[derive(Clone, Copy)]
struct With {
    pcpus: u16,
    quotas: bool,
    changes: bool,
    groups: bool,
    /// Vcpus of one domain are on several pcpus.
    spread: bool,
}

fn script(seed: u64, seconds: u64, eevdf: bool, with: With) -> Script {
    let mut rng = Rng::new(seed ^ 0x6b65_726e);
    let topology = Topology::flat(with.pcpus).expect("a few pcpus");
    let end = Instant::ZERO + Duration::from_millis(seconds * 1_000);
    let mut script = Script::new("random", topology, end);
    let weights = [10, 20, 33, 34, 50, 100, 100, 100, 137, 200, 400, 1_000, 10_000];
    let idle_class = rng.one_in(4);
    let nices = rng.one_in(2);
    // Linux sets a slice and the idle class in two steps, each of which moves the thread.
    let slices = eevdf && !idle_class && rng.one_in(2);
    let yields = rng.one_in(3);
    let limits = |rng: &mut Rng| {
        let period = *rng.pick(&[5_000, 10_000, 20_000, 50_000, 100_000, 33_333]);
        let quota = (period * rng.between(3, 140) as i64 / 100).max(1_000);
        let burst = match rng.one_in(3) {
            true => quota * rng.between(1, 100) as i64 / 100,
            false => 0,
        };
        [("period_us", period), ("quota_us", quota), ("burst_us", burst)]
    };
    let thread = |rng: &mut Rng| -> (&'static str, i64) {
        match rng.below(4) {
            0 if idle_class => ("class", rng.below(3) as i64),
            1 if slices => ("slice_us", *rng.pick(&[0, 100, 300, 1_000, 5_000, 100_000])),
            _ => ("nice", *rng.pick(&[-20, -10, -5, -1, 0, 1, 3, 5, 10, 19])),
        }
    };
    let groups = match with.groups && rng.one_in(2) {
        true => rng.between(1, 4),
        false => 0,
    };
    for i in 0..groups {
        let parent = (i > 0 && rng.one_in(2)).then(|| GroupId(rng.below(i) as u16));
        let mut params = Vec::from([("weight", *rng.pick(&weights))]);
        if idle_class && rng.one_in(4) {
            params.push(("idle", 1));
        }
        if with.quotas && rng.one_in(3) {
            params.extend(limits(&mut rng));
        }
        script.group(parent, &params);
    }
    for _ in 0..rng.between(1, 6) {
        let mut params = Vec::new();
        if rng.one_in(2) {
            params.push(("weight", *rng.pick(&weights)));
        }
        if idle_class && rng.one_in(4) {
            params.push(("idle", 1));
        }
        if with.quotas && rng.one_in(2) {
            params.extend(limits(&mut rng));
        }
        let domain = script.domain(&params);
        if groups > 0 && !rng.one_in(4) {
            let group = GroupId(rng.below(groups) as u16);
            script.domains[domain.index()].group = Some(group);
        }
        let pcpu = PcpuId(rng.below(u64::from(with.pcpus)) as u16);
        for _ in 0..rng.between(1, 3) {
            let mut steps = Vec::new();
            match rng.below(5) {
                0 | 1 => steps.push(ScriptStep::Burn),
                2 => {
                    steps.push(ScriptStep::Run(some_time(&mut rng, 4)));
                    steps.push(ScriptStep::Block(some_time(&mut rng, 4)));
                }
                _ => {
                    for _ in 0..rng.between(1, 5) {
                        steps.push(ScriptStep::Run(some_time(&mut rng, 4)));
                        steps.push(match rng.below(6) {
                            0 if yields => ScriptStep::Yield,
                            _ => ScriptStep::Block(some_time(&mut rng, 5)),
                        });
                    }
                }
            }
            let id = script.vcpu(domain, &steps);
            let vcpu = &mut script.vcpus[id.index()];
            if nices && rng.one_in(2) {
                vcpu.params.push(thread(&mut rng));
            }
            if rng.one_in(3) {
                vcpu.starts = Instant::ZERO + some_time(&mut rng, 6);
            }
            vcpu.hard = match with.spread {
                true => CpuSet::of(PcpuId(rng.below(u64::from(with.pcpus)) as u16)),
                false => CpuSet::of(pcpu),
            };
        }
    }
    if with.changes && rng.one_in(2) {
        for _ in 0..rng.between(1, 40) {
            let at = Duration::from_nanos(rng.below(seconds * 1_000_000_000));
            let domain = DomainId(rng.below(script.domains.len() as u64) as u16);
            let vcpu = VcpuId(rng.below(script.vcpus.len() as u64) as u32);
            if groups > 0 && rng.one_in(4) {
                let group = GroupId(rng.below(groups) as u16);
                let changes = match with.quotas && rng.one_in(2) {
                    true => Vec::from(limits(&mut rng)),
                    false => Vec::from([("weight", *rng.pick(&weights))]),
                };
                for (name, value) in changes {
                    script.at(at, Intervention::SetGroup(group, name, value));
                }
                continue;
            }
            match rng.below(5) {
                0 if with.quotas => {
                    for (name, value) in limits(&mut rng) {
                        script.at(at, Intervention::Set(domain, name, value));
                    }
                }
                1 if idle_class => {
                    script.at(at, Intervention::Set(domain, "idle", rng.below(2) as i64));
                }
                2 if with.quotas => script.at(at, Intervention::Set(domain, "quota_us", 0)),
                0..=2 => {
                    script.at(at, Intervention::Set(domain, "weight", *rng.pick(&weights)));
                }
                _ => {
                    let (name, value) = thread(&mut rng);
                    script.at(at, Intervention::SetVcpu(vcpu, name, value));
                }
            }
        }
    }
    script
}

fn policy(seed: u64, release: &str, pcpus: u16) -> Linux {
    let topology = Topology::flat(pcpus).expect("a few pcpus");
    let cfs = release == "6.1";
    let descriptor = if cfs { &CFS } else { &EEVDF };
    let mut params = ParamValues::defaults(descriptor.params);
    params.choose("release", release).expect("a known release");
    let mut rng = Rng::new(seed ^ 0x7061_7261);
    if rng.one_in(2) {
        for spec in descriptor.params {
            let value = match spec.name {
                "sched_latency_ns" => *rng.pick(&[0, 0, 1_000_000, 3_000_000]),
                "base_slice_ns" => *rng.pick(&[0, 500_000, 1_000_000, 3_000_000]),
                "wakeup_granularity_ns" => *rng.pick(&[0, 100_000, 3_000_000]),
                "bandwidth_slice_us" => *rng.pick(&[1_000, 5_000, 20_000]),
                "gentle_fair_sleepers" | "start_debit" | "wakeup_preemption"
                | "run_to_parity" | "preempt_short" | "place_lag" | "delay_dequeue" => {
                    i64::from(!rng.one_in(6))
                }
                _ => continue,
            };
            params.set(spec.name, value).expect("a value in range");
        }
    }
    let mut policy = match cfs {
        true => Linux::cfs(&params, &topology),
        false => Linux::eevdf(&params, &topology),
    };
    policy.balances = false;
    policy
}

/// Does one scenario on both sides. `Err`: what the program says of the difference.
fn compare(
    program: &str,
    release: &str,
    seed: u64,
    seconds: u64,
    with: With,
) -> Result<(u64, u64), String> {
    let mut child: Child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program is there");
    let to = child.stdin.take().expect("a pipe");
    let script = script(seed, seconds, release != "6.1", with);
    let recorder = Recorder::new(policy(seed, release, with.pcpus), with.pcpus, to);
    host::run(&script, Box::new(recorder)).expect("a sound script");
    let output = child.wait_with_output().expect("the program ends");
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{text}{error}{}", output.status));
    }
    let mut numbers = text.split(' ').filter_map(|word| word.parse::<u64>().ok());
    Ok((
        numbers.next().expect("operations"),
        numbers.next().expect("words"),
    ))
}

/// Compares as the environment says: `LINUX_ORACLE` is the program, `LINUX_ORACLE_RELEASE` the
/// release that it was built from, and `LINUX_ORACLE_SEEDS`, `_SECONDS`, `_PCPUS`, `_WITH` what is
/// to be compared.
#[test]
#[ignore = "needs a program that is built from the kernel's source: oracle/linux/run.sh"]
fn the_kernel_does_the_same() {
    let var = |name: &str, default: &str| {
        std::env::var(format!("LINUX_ORACLE{name}")).unwrap_or_else(|_| default.into())
    };
    let number = |name: &str, default: &str| var(name, default).parse::<u64>().expect("a number");
    let (program, release) = (var("", ""), var("_RELEASE", "6.1"));
    let (first, count) = (number("_FIRST", "1"), number("_COUNT", "20"));
    let seconds = number("_SECONDS", "10");
    let words = var("_WITH", "quotas,changes,groups");
    let with = With {
        pcpus: number("_PCPUS", "1") as u16,
        quotas: words.contains("quotas"),
        changes: words.contains("changes"),
        groups: words.contains("groups"),
        spread: words.contains("spread"),
    };
    let (mut operations, mut compared, mut different) = (0, 0, Vec::new());
    for seed in first..first + count {
        match compare(&program, &release, seed, seconds, with) {
            Ok((o, w)) => (operations, compared) = (operations + o, compared + w),
            Err(text) => {
                if different.is_empty() {
                    std::println!("seed {seed}: {text}");
                }
                different.push(seed);
            }
        }
    }
    std::println!(
        "linux {release}, {} pcpus: {} of {count} scenarios the same, {operations} operations, \
         {compared} words",
        with.pcpus,
        count - different.len() as u64
    );
    assert!(different.is_empty(), "seeds that differ: {different:?}");
}
