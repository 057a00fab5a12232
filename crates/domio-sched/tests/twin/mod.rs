//! The slow twin of credit: xen-spec 3.1, 3.2 and 3.4 as written there, sentence by sentence.
//!
//! It shares no code with credit. Every queue and list is a `Vec` that is searched, and every sum
//! is added up again when it is needed. Releases between the epochs follow the table of xen-spec
//! 3.3. Where the specification is silent (first values of the biases, pcpus that leave, the
//! migrating flag, the unit of the shortest timer) it does what Xen 4.17's sched/credit.c does.

mod accounting;
mod placing;

use domio_core::{
    CpuSet, DomainId, Duration, Instant, ParamValues, PcpuId, Topology, VcpuId, VcpuName,
    XenVersion,
};
use domio_sched::{Conflict, Cx, Descriptor, Pick, Prev, Scheduler, Wake, find};

/// Priorities (3.1). The order of the numbers is the order of importance.
const BOOST: i32 = 0;
const UNDER: i32 = -1;
const OVER: i32 = -2;
const IDLE: i32 = -64;

const MS: i64 = 1_000_000;

/// Xen's shortest timer, 100, is meant in microseconds but compared with nanoseconds.
const MIN_TIMER: i64 = 100;

/// Timers of a pcpu.
const TICK: u8 = 0;
const ACCOUNTING: u8 = 1;

/// A vcpu.
#[derive(Clone, Debug)]
struct Vcpu {
    domain: DomainId,
    /// Whether its first pcpu was picked.
    placed: bool,
    /// A pcpu was picked for it since it last woke up (4.7).
    migrating: bool,
    credit: i64,
    pri: i32,
    parked: bool,
    yielding: bool,
    /// Nanoseconds; an instant while it runs, relative to now while it does not.
    start: i64,
    residual: i64,
    /// When it was last switched out.
    stopped: Instant,
}

#[derive(Clone, Debug)]
struct Domain {
    id: DomainId,
    weight: i64,
    cap: i64,
    /// Active vcpus, in list order.
    active: Vec<VcpuId>,
}

#[derive(Clone, Debug)]
struct Pcpu {
    /// Runnable vcpus that do not run; the idle vcpu, always last, is not written down.
    queue: Vec<VcpuId>,
    ticks: u64,
    sorted: u64,
    idle_bias: PcpuId,
    last_tickle: PcpuId,
}

impl Pcpu {
    fn new(pcpus: usize, epoch: u64) -> Self {
        Pcpu {
            queue: Vec::new(),
            ticks: 0,
            sorted: epoch,
            idle_bias: PcpuId(pcpus as u16 - 1),
            last_tickle: PcpuId(0),
        }
    }
}

/// The policy.
pub struct TwinCredit {
    params: ParamValues,
    version: XenVersion,
    tslice_ms: i64,
    ratelimit: i64,
    migration_delay: Duration,
    power_savings: bool,
    vcpus: Vec<Option<Vcpu>>,
    /// Every vcpu that was ever placed.
    names: Vec<(VcpuName, VcpuId)>,
    domains: Vec<Domain>,
    /// Active domains, in list order.
    active: Vec<DomainId>,
    pcpus: Vec<Pcpu>,
    idlers: CpuSet,
    /// Pcpus that have joined and not left.
    joined: CpuSet,
    master: Option<PcpuId>,
    next_accounting: Instant,
    balance: i64,
    epoch: u64,
    /// By node.
    balance_bias: Vec<PcpuId>,
}

/// The rate limit that `version` makes of `us`: 4.2.0 takes 0 for "not given".
fn limit_in_force(version: XenVersion, us: i64) -> i64 {
    match (version, us) {
        (XenVersion::V4_2, 0) => 1000,
        (_, us) => us,
    }
}

impl TwinCredit {
    /// A twin with the parameters of credit.
    pub fn new(params: &ParamValues, topology: &Topology) -> Self {
        let param = |name: &str| params.by_name(name).expect("credit declares it");
        let versions: Vec<XenVersion> = XenVersion::ALL
            .into_iter()
            .filter(|v| *v >= XenVersion::V3_0_3)
            .collect();
        let version = versions[param("version") as usize];
        let since =
            |v: XenVersion, value: i64, before: i64| if version >= v { value } else { before };
        let ratelimit = limit_in_force(version, param("ratelimit_us"));
        let mut in_force = *params;
        // What a release does not have is as it was built.
        for (name, built, first) in [
            ("tslice_ms", 30, XenVersion::V4_2),
            ("ratelimit_us", 1000, XenVersion::V4_2),
            ("migration_delay_us", 0, XenVersion::V3_4),
            ("smt_power_savings", 0, XenVersion::V3_4),
        ] {
            if version < first {
                in_force.set(name, built).expect("credit declares it");
            }
        }
        TwinCredit {
            params: in_force,
            version,
            tslice_ms: since(XenVersion::V4_2, param("tslice_ms"), 30),
            ratelimit: since(XenVersion::V4_2, ratelimit * 1000, 0),
            migration_delay: Duration::from_micros(since(
                XenVersion::V3_4,
                param("migration_delay_us"),
                0,
            ) as u64),
            power_savings: version >= XenVersion::V3_4 && param("smt_power_savings") == 1,
            vcpus: Vec::new(),
            names: Vec::new(),
            domains: Vec::new(),
            active: Vec::new(),
            pcpus: vec![Pcpu::new(topology.pcpus(), 0); topology.pcpus()],
            idlers: CpuSet::EMPTY,
            joined: CpuSet::EMPTY,
            master: None,
            next_accounting: Instant::ZERO,
            balance: 0,
            epoch: 0,
            balance_bias: vec![PcpuId(0); topology.sockets()],
        }
    }

    fn v(&self, v: VcpuId) -> &Vcpu {
        self.vcpus[v.index()].as_ref().expect("an inserted vcpu")
    }

    fn v_mut(&mut self, v: VcpuId) -> &mut Vcpu {
        self.vcpus[v.index()].as_mut().expect("an inserted vcpu")
    }

    fn domain_mut(&mut self, id: DomainId) -> &mut Domain {
        let found = self.domains.iter_mut().find(|d| d.id == id);
        found.expect("a domain with parameters")
    }

    /// Priority of a vcpu, or of idle.
    fn pri(&self, vcpu: Option<VcpuId>) -> i32 {
        vcpu.map_or(IDLE, |v| self.v(v).pri)
    }

    fn is_queued(&self, v: VcpuId) -> bool {
        self.pcpus.iter().any(|p| p.queue.contains(&v))
    }

    fn unqueue(&mut self, v: VcpuId) {
        for p in &mut self.pcpus {
            p.queue.retain(|q| *q != v);
        }
    }

    fn since(&self, version: XenVersion) -> bool {
        self.version >= version
    }

    /// 3.1: before the first entry of strictly lower priority. 3.4 (4.1): if it yields and there
    /// is an entry that is not idle at that point, one place further.
    fn queue_insert(&mut self, p: PcpuId, v: VcpuId) {
        let queue = &self.pcpus[p.index()].queue;
        let lower = queue.iter().position(|q| self.v(*q).pri < self.v(v).pri);
        let mut at = lower.unwrap_or(queue.len());
        if self.v(v).yielding && at < queue.len() {
            at += 1;
        }
        self.pcpus[p.index()].queue.insert(at, v);
    }

    fn tick_length(&self) -> Duration {
        let ticks = if self.tslice_ms < 3 { 1 } else { 3 };
        // Xen keeps whole microseconds.
        Duration::from_micros((self.tslice_ms * 1000 / ticks) as u64)
    }

    fn tslice(&self) -> Duration {
        Duration::from_millis(self.tslice_ms as u64)
    }

    // ---- wake-up ----------------------------------------------------------------------------

    /// `here` is the pcpu that the waker runs on.
    fn wake_on(&mut self, cx: &mut Cx<'_>, here: PcpuId, v: VcpuId) {
        if cx.is_current(v) || self.is_queued(v) {
            return;
        }
        let migrates = core::mem::take(&mut self.v_mut(v).migrating);
        let boosts = !(migrates && self.since(XenVersion::V4_7));
        if self.v(v).pri == UNDER && !self.v(v).parked && boosts {
            self.v_mut(v).pri = BOOST;
        }
        let p = cx.vcpu(v).pcpu;
        self.queue_insert(p, v);
        if self.since(XenVersion::V4_3) {
            self.tickle_c(cx, here, v, p);
        } else {
            self.tickle_a(cx, here, v, p);
        }
    }

    /// 3.1; since 4.1 one idler only.
    fn tickle_a(&mut self, cx: &mut Cx<'_>, here: PcpuId, new: VcpuId, p: PcpuId) {
        let mut mask = CpuSet::EMPTY;
        let curr = cx.current(p);
        if self.v(new).pri > self.pri(curr) {
            mask.insert(p);
        }
        if curr.is_some() && !self.idlers.is_empty() {
            let idlers = self.idlers & cx.hard(new);
            if !self.since(XenVersion::V4_1) {
                mask = (mask | idlers) & cx.hard(new);
            } else if let Some(one) = self.one_of(here, idlers) {
                mask.insert(one);
            }
        }
        for tickled in mask.iter() {
            cx.tickle(tickled);
        }
    }

    /// 3.4.
    fn tickle_c(&mut self, cx: &mut Cx<'_>, here: PcpuId, new: VcpuId, p: PcpuId) {
        let idle = self.idlers & cx.online();
        let curr = cx.current(p);
        let preempts = self.v(new).pri > self.pri(curr);
        let mut chosen = None;
        let pinned = cx.hard(new).len() == 1 && self.since(XenVersion::V4_11);
        if (pinned && idle.contains(p)) || curr.is_none() || (idle.is_empty() && preempts) {
            chosen = Some(p);
        } else if !idle.is_empty() {
            for (step, affinity) in self.affinity_steps(cx, new) {
                let suitable = affinity & idle;
                if suitable.is_empty() && step == AffinityStep::Soft {
                    continue;
                }
                if suitable.is_empty() && preempts {
                    self.kick_away(cx, curr, idle);
                    chosen = Some(p);
                } else if self.tickles_any() && !suitable.is_empty() {
                    // 4.6 and 4.7 cycle through the wrong mask.
                    chosen = self.one_of(here, idle);
                } else {
                    chosen = self.one_of(here, suitable);
                }
                if chosen.is_some() {
                    break;
                }
            }
        }
        if let Some(chosen) = chosen {
            if self.since(XenVersion::V4_9) {
                self.idlers.remove(chosen);
            }
            cx.tickle(chosen);
        }
    }

    /// Whether it is 4.6 or 4.7.
    fn tickles_any(&self) -> bool {
        self.since(XenVersion::V4_6) && !self.since(XenVersion::V4_8)
    }

    /// The idler after the one that was tickled last from here.
    fn one_of(&mut self, here: PcpuId, idlers: CpuSet) -> Option<PcpuId> {
        let one = idlers.cycle(self.pcpus[here.index()].last_tickle)?;
        self.pcpus[here.index()].last_tickle = one;
        Some(one)
    }

    /// 4.3: whoever must be preempted although there are idlers is sent away. Since 4.7 only if
    /// one of them suits him; in 4.17 the test looks at the wrong vcpu and is never true.
    fn kick_away(&self, cx: &mut Cx<'_>, curr: Option<VcpuId>, idle: CpuSet) {
        let Some(curr) = curr else { return };
        let sends = if self.since(XenVersion::V4_13) {
            false
        } else if self.since(XenVersion::V4_7) {
            cx.hard(curr).intersects(&idle)
        } else {
            true
        };
        if sends {
            cx.migrate(curr);
        }
    }

    /// Soft (only where it is effective), then hard.
    fn affinity_steps(&self, cx: &Cx<'_>, v: VcpuId) -> Vec<(AffinityStep, CpuSet)> {
        let (hard, soft) = (cx.hard(v), cx.soft(v));
        // 4.5.0 asks only whether the mask is full.
        let covers = if self.since(XenVersion::V4_6) {
            hard.is_subset(&soft) || cx.online().is_subset(&soft)
        } else {
            soft == CpuSet::ALL
        };
        let effective = soft.intersects(&hard) && !covers;
        let mut steps = Vec::new();
        if effective && self.since(XenVersion::V4_5) {
            steps.push((AffinityStep::Soft, soft & hard));
        }
        steps.push((AffinityStep::Hard, hard));
        steps
    }

    // ---- the pass ---------------------------------------------------------------------------

    fn pass(&mut self, cx: &mut Cx<'_>, p: PcpuId, prev: Prev) -> Pick {
        let now = cx.now();
        if let Some(curr) = prev.vcpu {
            if self.since(XenVersion::V4_0) {
                self.burn(curr, now);
                self.v_mut(curr).start -= now.as_nanos() as i64;
            }
            self.v_mut(curr).stopped = now;
            if let Some(pick) = self.rate_limited(cx, curr, prev) {
                self.v_mut(curr).start += now.as_nanos() as i64;
                return pick;
            }
            if cx.vcpu(curr).runnable() {
                self.queue_insert(p, curr);
            }
            self.v_mut(curr).yielding = false;
        }
        let head = self.pcpus[p.index()].queue.first().copied();
        let next = if self.pri(head) > OVER {
            head
        } else {
            self.load_balance(cx, p, head).or(head)
        };
        let Some(v) = next else {
            self.idlers.insert(p);
            if self.since(XenVersion::V3_4) {
                cx.stop_timer(p, TICK);
                return Pick::IDLE;
            }
            return Pick {
                next,
                time_slice: Some(self.tslice()),
            };
        };
        self.unqueue(v);
        self.idlers.remove(p);
        if self.since(XenVersion::V4_0) {
            self.v_mut(v).start += now.as_nanos() as i64;
        }
        if prev.vcpu.is_none() && self.since(XenVersion::V3_4) {
            let tick = self.tick_length();
            let into = Duration::from_nanos(now.as_nanos()) % tick;
            cx.set_timer(p, TICK, now + (tick - into));
        }
        Pick {
            next,
            time_slice: Some(self.tslice()),
        }
    }

    /// 3.4; until 4.8 a whole rate limit more, yield or not.
    fn rate_limited(&self, cx: &Cx<'_>, curr: VcpuId, prev: Prev) -> Option<Pick> {
        let ran = prev.ran.as_nanos() as i64;
        let since_4_8 = self.since(XenVersion::V4_8);
        let yields = self.v(curr).yielding && since_4_8;
        let keeps = cx.vcpu(curr).runnable() && !yields && ran < self.ratelimit;
        keeps.then(|| {
            let slice = if !since_4_8 {
                self.ratelimit
            } else if ran < MIN_TIMER {
                MIN_TIMER
            } else {
                self.ratelimit - ran
            };
            Pick {
                next: Some(curr),
                time_slice: Some(Duration::from_nanos(slice as u64)),
            }
        })
    }

    /// Debit for time since the last one: 3.2 for 4.0, 3.4.
    fn burn(&mut self, v: VcpuId, now: Instant) {
        let with_residual = self.since(XenVersion::V4_3);
        let v = self.v_mut(v);
        let delta = now.as_nanos() as i64 - v.start;
        if delta <= 0 {
            return;
        }
        let credits = if with_residual {
            let value = delta * 10 + v.residual;
            v.residual = value % MS;
            value / MS
        } else {
            (delta * 10 + MS / 2) / MS
        };
        v.credit -= credits;
        v.start += credits * (MS / 10);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AffinityStep {
    Soft,
    Hard,
}

impl Scheduler for TwinCredit {
    fn descriptor(&self) -> &'static Descriptor {
        find("credit")
            .expect("credit is in the registry")
            .descriptor
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        let node = cx.topology().socket_of(pcpu);
        if (*cx.topology().node(node) & cx.online()).len() == 1 {
            self.balance_bias[node] = pcpu;
        }
        self.idlers.insert(pcpu);
        self.joined.insert(pcpu);
        let last_tickle = self.pcpus[pcpu.index()].last_tickle;
        self.pcpus[pcpu.index()] = Pcpu::new(cx.pcpus(), self.epoch);
        if self.version >= XenVersion::V4_12 {
            self.pcpus[pcpu.index()].last_tickle = last_tickle;
        }
        if self.master.is_none() {
            self.master = Some(pcpu);
            self.arm_accounting(cx);
        }
        cx.set_timer_in(pcpu, TICK, self.tick_length());
    }

    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.idlers.remove(pcpu);
        self.joined.remove(pcpu);
        let node = cx.topology().socket_of(pcpu);
        if self.balance_bias[node] == pcpu
            && let Some(other) = (*cx.topology().node(node) & cx.online()).first()
        {
            self.balance_bias[node] = other;
        }
        if self.master == Some(pcpu) {
            self.master = cx.online().first();
            if let Some(master) = self.master
                && self.since(XenVersion::V3_4)
            {
                cx.stop_timer(pcpu, ACCOUNTING);
                cx.set_timer(master, ACCOUNTING, self.next_accounting);
            }
        }
        cx.stop_timer(pcpu, TICK);
    }

    fn set_domain(&mut self, _: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        let param = |name: &str| params.by_name(name).expect("credit declares it");
        let (weight, cap) = (param("weight"), param("cap"));
        match self.domains.iter_mut().find(|d| d.id == domain) {
            Some(d) => (d.weight, d.cap) = (weight, cap),
            None => self.domains.push(Domain {
                id: domain,
                weight,
                cap,
                active: Vec::new(),
            }),
        }
    }

    fn params(&self) -> Option<&ParamValues> {
        Some(&self.params)
    }

    /// 4.2 and later: every figure is replaced at once; timers and slices that are set stay. The
    /// migration delay is one of the pool's since 4.11.
    fn set_params(&mut self, _: &mut Cx<'_>, params: &ParamValues) -> Result<(), Conflict> {
        let param = |name: &str| params.by_name(name).expect("credit declares it");
        let delay = param("migration_delay_us");
        let (tslice_ms, ratelimit_us) = (param("tslice_ms"), param("ratelimit_us"));
        let moves = self.params.by_name("migration_delay_us") != Some(delay);
        let refuses = self.version < XenVersion::V4_2 && *params != self.params
            || self.version < XenVersion::V4_11 && moves
            || self.version >= XenVersion::V4_2 && ratelimit_us > tslice_ms * 1000;
        if refuses {
            return Err(Conflict::fixed("tslice_ms"));
        }
        self.params = *params;
        if self.version >= XenVersion::V4_2 {
            let limit = limit_in_force(self.version, ratelimit_us);
            (self.tslice_ms, self.ratelimit) = (tslice_ms, limit * 1000);
            self.migration_delay = Duration::from_micros(delay as u64);
        }
        Ok(())
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if self.vcpus.len() <= vcpu.index() {
            self.vcpus.resize(vcpu.index() + 1, None);
        }
        self.vcpus[vcpu.index()] = Some(Vcpu {
            domain: cx.vcpu(vcpu).name.domain,
            placed: false,
            migrating: false,
            credit: 0,
            pri: UNDER,
            parked: false,
            yielding: false,
            start: 0,
            residual: 0,
            stopped: Instant::ZERO,
        });
    }

    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.unqueue(vcpu);
        if self.v(vcpu).parked {
            let runnable = cx.unpark(vcpu);
            assert!(!runnable, "a vcpu that goes is down");
        }
        self.deactivate(vcpu);
        self.vcpus[vcpu.index()] = None;
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let mut own = cx.vcpu(vcpu).pcpu;
        if !self.v(vcpu).placed {
            own = self.first_pcpu(cx, vcpu);
            self.v_mut(vcpu).placed = true;
            self.names.push((cx.vcpu(vcpu).name, vcpu));
            if !self.since(XenVersion::V4_8) {
                return own;
            }
        }
        self.v_mut(vcpu).migrating = true;
        self.cpu_pick(cx, vcpu, own, true)
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        self.wake_on(cx, cx.here(), vcpu);
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if cx.is_current(vcpu) {
            cx.tickle(cx.vcpu(vcpu).pcpu);
        } else {
            self.unqueue(vcpu);
        }
    }

    fn yielded(&mut self, _: &mut Cx<'_>, vcpu: VcpuId) {
        if self.since(XenVersion::V4_1) {
            self.v_mut(vcpu).yielding = true;
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        self.pass(cx, pcpu, prev)
    }

    fn timer(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, slot: u8) -> Option<Instant> {
        if slot == TICK {
            self.tick(cx, pcpu);
        } else {
            self.account(cx, pcpu);
            self.arm_accounting(cx);
        }
        None
    }
}
