//! The slow twin of ARINC 653: xen-spec 4.3 as written there.
//!
//! It shares no code with the policy. Its table is a list of who has each part of the major frame,
//! all parts being equally long ([`CELL`]); where it stands follows from the time since the frame
//! began, counted anew at each pass. So the twin takes part only in scripts whose tables consist of
//! such parts.

use domio_core::{DomainId, Duration, ParamValues, PcpuId, VcpuId, VcpuName};
use domio_sched::{Conflict, Cx, Descriptor, Pick, Prev, Scheduler, Wake, find};

/// Length of a part of the major frame, in nanoseconds.
pub const CELL: u64 = 500_000;

/// Owner of each part of the major frame, with the number of the entry among the owner's.
type Cells = Vec<Option<(VcpuName, usize)>>;

/// A table: parts with an end, or as many as there are entries for.
#[derive(Clone, Default)]
struct Table {
    cells: Cells,
    frame: usize,
}

/// The policy.
pub struct TwinArinc653 {
    params: ParamValues,
    domains: Vec<(DomainId, ParamValues, u16)>,
    units: Vec<(VcpuName, VcpuId)>,
    awake: Vec<VcpuId>,
    new: Vec<VcpuId>,
    table: Table,
    frame_began: Option<u64>,
    last: Option<(VcpuName, PcpuId)>,
}

fn cells_of(params: &ParamValues, name: &str) -> i64 {
    let us = params.by_name(name).expect("declared");
    if us < 0 { us } else { us * 1_000 / CELL as i64 }
}

impl Table {
    /// Entries and gaps between them, each as its length, the last gap left out.
    fn entries(&self) -> Vec<usize> {
        let Some(last) = self.cells.iter().rposition(Option::is_some) else {
            return Vec::new();
        };
        let mut lengths = vec![1];
        for i in 1..=last {
            if self.cells[i] == self.cells[i - 1] {
                *lengths.last_mut().expect("it has one") += 1;
            } else {
                lengths.push(1);
            }
        }
        lengths
    }

    /// Whether a vcpu may have these parts.
    fn free(&self, frame: usize, from: usize, runtime: usize) -> bool {
        let taken = |i: usize| self.cells.get(i).is_some_and(Option::is_some);
        (frame == 0 || from + runtime <= frame) && !(from..from + runtime).any(taken)
    }

    fn give(&mut self, from: usize, runtime: usize, whose: (VcpuName, usize)) {
        if self.cells.len() < from + runtime {
            self.cells.resize(from + runtime, None);
        }
        self.cells[from..from + runtime].fill(Some(whose));
    }

    /// The table that the parameters ask for.
    fn of(params: &ParamValues, domains: &[(DomainId, ParamValues, u16)]) -> Option<Table> {
        let frame = cells_of(params, "major_frame_us") as usize;
        let mut table = Table::default();
        let mut sorted = domains.to_vec();
        sorted.sort_by_key(|(id, ..)| *id);
        for with_offset in [true, false] {
            for (id, params, vcpus) in &sorted {
                let get = |name| cells_of(params, name);
                let (runtime, offset) = (get("runtime_us") as usize, get("offset_us"));
                let every = get("every_us") as usize;
                if (offset >= 0) != with_offset || runtime == 0 {
                    continue;
                }
                if every > 0 && *vcpus > 0 && (frame == 0 || !frame.is_multiple_of(every)) {
                    return None;
                }
                let times = frame.checked_div(every).unwrap_or(1);
                for index in 0..*vcpus {
                    let name = VcpuName::new(*id, index);
                    let fits = |from: usize| {
                        let one = |i| table.free(frame, from + i * every, runtime);
                        (every == 0 || from + runtime <= every) && (0..times).all(one)
                    };
                    let from = if with_offset {
                        Some(offset as usize + usize::from(index) * runtime).filter(|f| fits(*f))
                    } else {
                        let last = if frame == 0 { table.cells.len() } else { frame };
                        (0..=last).find(|f| fits(*f))
                    };
                    let from = from?;
                    for i in 0..times {
                        table.give(from + i * every, runtime, (name, i));
                    }
                    if table.entries().len() > 64 && times > 1 {
                        return None;
                    }
                }
            }
        }
        table.frame = if frame == 0 { table.cells.len() } else { frame };
        (table.entries().len() <= 64).then_some(table)
    }
}

impl TwinArinc653 {
    /// A twin of an ARINC 653 policy.
    pub fn new(params: &ParamValues) -> Self {
        TwinArinc653 {
            params: *params,
            domains: Vec::new(),
            units: Vec::new(),
            awake: Vec::new(),
            new: Vec::new(),
            table: Table::default(),
            frame_began: None,
            last: None,
        }
    }

    /// Takes `params` and `domains` if Xen would take their table.
    fn adjust(&mut self, params: ParamValues, domains: Vec<(DomainId, ParamValues, u16)>) -> bool {
        let Some(table) = Table::of(&params, &domains) else {
            return false;
        };
        self.table = table;
        self.params = params;
        self.domains = domains;
        self.frame_began = None;
        true
    }

    fn unit(&self, name: VcpuName) -> Option<VcpuId> {
        let mut units = self.units.iter();
        units.find(|(n, _)| *n == name).map(|(_, v)| *v)
    }

    /// Who has the time at `now`, and until when.
    fn at(&mut self, now: u64) -> (Option<VcpuId>, u64) {
        let lengths = self.table.entries();
        if lengths.is_empty() {
            return (None, now + 10_000_000);
        }
        let frame = self.table.frame as u64 * CELL;
        let began = match self.frame_began {
            Some(began) if now < began + frame => began,
            _ => now,
        };
        self.frame_began = Some(began);
        let mut first = 0;
        for length in lengths {
            let end = began + (first + length) as u64 * CELL;
            if now < end {
                let whose = self.table.cells[first];
                return (whose.and_then(|(name, _)| self.unit(name)), end);
            }
            first += length;
        }
        (None, began + frame)
    }
}

impl Scheduler for TwinArinc653 {
    fn descriptor(&self) -> &'static Descriptor {
        find("arinc653").expect("in the registry").descriptor
    }

    fn pcpu_online(&mut self, _: &mut Cx<'_>, _: PcpuId) {}

    fn pcpu_offline(&mut self, _: &mut Cx<'_>, _: PcpuId) {}

    fn set_domain(&mut self, _: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        let mut wanted = self.domains.clone();
        match wanted.iter_mut().find(|(id, ..)| *id == domain) {
            Some(known) => {
                known.1 = *params;
                self.adjust(self.params, wanted);
            }
            None => self.domains.push((domain, *params, 0)),
        }
    }

    fn params(&self) -> Option<&ParamValues> {
        Some(&self.params)
    }

    fn set_params(&mut self, _: &mut Cx<'_>, params: &ParamValues) -> Result<(), Conflict> {
        match self.adjust(*params, self.domains.clone()) {
            true => Ok(()),
            false => Err(Conflict::fixed("major_frame_us")),
        }
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let name = cx.vcpu(vcpu).name;
        self.units.push((name, vcpu));
        self.new.push(vcpu);
        self.awake.retain(|v| *v != vcpu);
        let mut wanted = self.domains.clone();
        let mut all = wanted.iter_mut();
        let domain = all.find(|(id, ..)| *id == name.domain).expect("it was set");
        if domain.2 <= name.index {
            domain.2 = name.index + 1;
            self.adjust(self.params, wanted);
        }
    }

    fn remove(&mut self, _: &mut Cx<'_>, vcpu: VcpuId) {
        self.units.retain(|(_, v)| *v != vcpu);
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let (name, own) = (cx.vcpu(vcpu).name, cx.vcpu(vcpu).pcpu);
        let online: Vec<PcpuId> = cx.online().iter().collect();
        let allowed: Vec<PcpuId> = cx.hard(vcpu).iter().collect();
        let from = |first: PcpuId| {
            let at_or_after = allowed.iter().find(|p| **p >= first);
            *at_or_after.or(allowed.first()).expect("one is allowed")
        };
        if !self.new.contains(&vcpu) {
            return match allowed.contains(&own) {
                true => own,
                false => from(online[0]),
            };
        }
        self.new.retain(|v| *v != vcpu);
        let follows = self
            .last
            .filter(|(before, _)| before.domain == name.domain && name.index > 0);
        let first = match follows {
            Some((_, pcpu)) => *online.iter().find(|p| **p > pcpu).unwrap_or(&online[0]),
            None => online[0],
        };
        let pcpu = from(first);
        self.last = Some((name, pcpu));
        pcpu
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        self.awake.push(vcpu);
        let pcpu = cx.vcpu(vcpu).pcpu;
        cx.tickle(pcpu);
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.awake.retain(|v| *v != vcpu);
        let pcpu = cx.vcpu(vcpu).pcpu;
        if cx.current(pcpu) == Some(vcpu) {
            cx.tickle(pcpu);
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, _: Prev) -> Pick {
        let now = cx.now().as_nanos();
        let (owner, until) = self.at(now);
        let runs = owner.is_some_and(|v| {
            cx.vcpu(v).pcpu == pcpu && cx.vcpu(v).runnable() && self.awake.contains(&v)
        });
        Pick {
            next: owner.filter(|_| runs),
            time_slice: Some(Duration::from_nanos(until - now)),
        }
    }
}
