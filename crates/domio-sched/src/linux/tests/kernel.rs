//! The same operations on the kernel's own `fair.c`, compared after each (`oracle/linux`).
//!
//! A [`Recorder`] stands between the mini host and the policy. It writes down what the policy is
//! asked, and the state of every pcpu, queue, group and entity afterwards; a program that is built
//! from the kernel's source does the same and compares.

extern crate std;

mod scenarios;

use super::super::params::Class;
use super::super::state::{NIL, Queue};
use super::super::{Linux, QUOTAS};
use crate::conformance::host;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use domio_contract::{Cx, Descriptor, GroupId, Pause, Pick, Prev, Scheduler, StateRows, Wake};
use domio_core::{DomainId, Instant, ParamValues, PcpuId, VcpuId};
use scenarios::{With, policy, script};
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
            true => [
                r.run_to_parity,
                r.preempt_short,
                r.place_lag,
                r.delay_dequeue,
            ],
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
            // The program has `fair.c` alone.
            Class::Fifo | Class::RoundRobin | Class::Deadline => unreachable!("not drawn"),
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
            let sums = [a.load_sum, a.runnable_sum, a.util_sum];
            out.extend(sums.map(|x| x as i64));
            out.extend([a.load, a.runnable, a.util].map(|x| x as i64));
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
            out.extend([
                e.deadline,
                lag,
                if weighs { e.slice } else { 0 },
                i64::from(e.delayed),
            ]);
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
        let group = self.inner.domain(domain).group;
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
        let own = self.inner.domain(domain).group;
        assert!(
            self.inner.groups[own as usize].members.is_empty(),
            "no script moves domains"
        );
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
            let named: Vec<u32> = self
                .inner
                .named
                .iter()
                .copied()
                .filter(|g| *g != NIL)
                .collect();
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
        let group = self.inner.domain(domain).group;
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
    if program.is_empty() {
        // Among the other long tests: oracle/linux/run.sh has a step of its own.
        return;
    }
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
