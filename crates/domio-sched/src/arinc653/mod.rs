//! ARINC 653: Xen's scheduler for avionics, a fixed table replayed over and over, as in 4.17.
//!
//! One table serves all pcpus. Each of its entries belongs to one vcpu, which runs while its entry
//! lasts, on the pcpu that it belongs to; all other pcpus idle, and so does its own if it does not
//! want to run. When the major frame is over, the table begins anew. Any pass on any pcpu moves the
//! table on.
//!
//! The pages follow xen-spec section 4.3; names are Xen's where it has one.
//!
//! | page | holds |
//! |---|---|
//! | `params` | parameters and their check |
//! | `table` | the table, and how it comes from the parameters |

mod params;
mod table;

#[cfg(test)]
mod tests;

pub use params::{DESCRIPTOR, RELEASES, validate_domains};
pub use table::{Asked, FrameTable, MAX_ENTRIES, Refused, TableEntry};

use crate::placement::{Successive, allowed_from};
use alloc::format;
use alloc::vec::Vec;
use domio_contract::state::About;
use domio_contract::{Conflict, Cx, Descriptor, Pick, Prev, Scheduler, StateRows, Wake};
use domio_core::{DomainId, Duration, ParamValues, PcpuId, Topology, VcpuId};

/// How long a pcpu idles at most while the table is empty, in nanoseconds (`DEFAULT_TIMESLICE`).
const DEFAULT_TIMESLICE: i64 = 10_000_000;

/// What the policy keeps for a domain.
#[derive(Clone, Debug)]
struct Domain {
    id: DomainId,
    params: ParamValues,
    /// By index; `None` for one that does not exist.
    vcpus: Vec<Option<VcpuId>>,
    /// Number of its vcpus that the table provides for.
    provided: usize,
}

/// The policy's state. Times are in nanoseconds.
pub struct Arinc653 {
    params: ParamValues,
    domains: Vec<Domain>,
    /// By vcpu: whether it woke and was not put to sleep since.
    awake: Vec<bool>,
    table: FrameTable,
    /// The entry that lasts; the number of entries when all are over.
    sched_index: usize,
    /// When it is over.
    next_switch_time: i64,
    /// When the next major frame begins.
    next_major_frame: i64,
    /// By vcpu: its first pcpu has yet to be chosen.
    unplaced: Vec<bool>,
    /// Where new vcpus go.
    successive: Successive,
}

impl Arinc653 {
    /// An ARINC 653 policy with an empty table.
    pub fn new(params: &ParamValues, _: &Topology) -> Self {
        Arinc653 {
            params: *params,
            domains: Vec::new(),
            awake: Vec::new(),
            table: FrameTable::default(),
            sched_index: 0,
            next_switch_time: 0,
            next_major_frame: 0,
            unplaced: Vec::new(),
            successive: Successive::default(),
        }
    }

    /// The table in force.
    pub fn table(&self) -> &FrameTable {
        &self.table
    }

    fn domain(&mut self, id: DomainId) -> Option<&mut Domain> {
        self.domains.iter_mut().find(|d| d.id == id)
    }

    /// The table that `params` and the domains ask for.
    fn wanted(&self, params: &ParamValues) -> Result<FrameTable, (DomainId, Refused)> {
        let asked = |d: &Domain| params::asked(d.id, d.provided, &d.params);
        let all: Vec<Asked> = self.domains.iter().map(asked).collect();
        FrameTable::new(params::major_frame(params), &all)
    }

    /// An operator sets the table (`arinc653_sched_set`): a major frame begins with the next pass,
    /// for which nobody is asked.
    fn set_table(&mut self, cx: &Cx<'_>, table: FrameTable) {
        self.table = table;
        self.next_major_frame = cx.now().as_nanos() as i64;
    }

    /// Moves the table on to `now`.
    fn advance(&mut self, now: i64) {
        let entries = &self.table.entries;
        if entries.is_empty() {
            self.next_major_frame = now + DEFAULT_TIMESLICE;
            self.sched_index = 0;
        } else if now >= self.next_major_frame {
            self.sched_index = 0;
            self.next_major_frame = now + self.table.major_frame;
            self.next_switch_time = now + entries[0].runtime;
        } else {
            while now >= self.next_switch_time && self.sched_index < entries.len() {
                self.sched_index += 1;
                let next = entries.get(self.sched_index);
                self.next_switch_time += next.map_or(0, |e| e.runtime);
            }
        }
        if self.sched_index >= entries.len() {
            self.next_switch_time = self.next_major_frame;
        }
    }

    /// The vcpu whose entry lasts.
    fn owner(&self) -> Option<VcpuId> {
        let whose = self.table.entries.get(self.sched_index)?.whose?;
        let domain = self.domains.iter().find(|d| d.id == whose.domain)?;
        *domain.vcpus.get(usize::from(whose.index))?
    }
}

impl Scheduler for Arinc653 {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn pcpu_online(&mut self, _: &mut Cx<'_>, _: PcpuId) {
        // It takes part with its first pass.
    }

    fn pcpu_offline(&mut self, _: &mut Cx<'_>, _: PcpuId) {
        // The host moves who belongs to it.
    }

    /// A table that Xen would refuse leaves the old one as it was.
    fn set_domain(&mut self, cx: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        let Some(known) = self.domain(domain) else {
            self.domains.push(Domain {
                id: domain,
                params: *params,
                vcpus: Vec::new(),
                provided: 0,
            });
            return;
        };
        let before = core::mem::replace(&mut known.params, *params);
        match self.wanted(&self.params) {
            Ok(table) => self.set_table(cx, table),
            Err(_) => {
                let known = self.domain(domain).expect("it was found before");
                known.params = before;
            }
        }
    }

    fn params(&self) -> Option<&ParamValues> {
        Some(&self.params)
    }

    fn set_params(&mut self, cx: &mut Cx<'_>, params: &ParamValues) -> Result<(), Conflict> {
        DESCRIPTOR.check_change(&self.params, params)?;
        let table = self.wanted(params).map_err(|(_, refused)| refused)?;
        self.params = *params;
        self.set_table(cx, table);
        Ok(())
    }

    /// The table gets an entry for the vcpu, unless it has one or there is no room.
    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if self.awake.len() <= vcpu.index() {
            self.awake.resize(vcpu.index() + 1, false);
            self.unplaced.resize(vcpu.index() + 1, false);
        }
        self.awake[vcpu.index()] = false;
        self.unplaced[vcpu.index()] = true;
        let name = cx.vcpu(vcpu).name;
        let index = usize::from(name.index);
        let domain = self.domain(name.domain).expect("its parameters came first");
        if domain.vcpus.len() <= index {
            domain.vcpus.resize(index + 1, None);
        }
        domain.vcpus[index] = Some(vcpu);
        let before = domain.provided;
        domain.provided = before.max(index + 1);
        if domain.provided == before {
            return;
        }
        match self.wanted(&self.params) {
            Ok(table) => self.set_table(cx, table),
            Err(_) => {
                let domain = self.domain(name.domain).expect("it was found before");
                domain.provided = before;
            }
        }
    }

    /// The entry stays, and is nobody's.
    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let name = cx.vcpu(vcpu).name;
        let domain = self.domain(name.domain).expect("it was inserted");
        domain.vcpus[usize::from(name.index)] = None;
    }

    /// Where it is, if that will do, else the lowest pcpu.
    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        if core::mem::take(&mut self.unplaced[vcpu.index()]) {
            return self.successive.first_pcpu(cx, vcpu);
        }
        let from = cx.vcpu(vcpu).pcpu;
        match cx.may_run_on(vcpu, from) {
            true => from,
            false => allowed_from(cx, vcpu, cx.online().first()),
        }
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, _: Wake) {
        self.awake[vcpu.index()] = true;
        let pcpu = cx.vcpu(vcpu).pcpu;
        cx.tickle(pcpu);
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.awake[vcpu.index()] = false;
        if cx.is_current(vcpu) {
            let pcpu = cx.vcpu(vcpu).pcpu;
            cx.tickle(pcpu);
        }
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, _: Prev) -> Pick {
        let now = cx.now().as_nanos() as i64;
        self.advance(now);
        let next = self.owner().filter(|v| {
            let view = cx.vcpu(*v);
            self.awake[v.index()] && view.runnable() && view.pcpu == pcpu
        });
        let left = (self.next_switch_time - now) as u64;
        Pick {
            next,
            time_slice: Some(Duration::from_nanos(left)),
        }
    }

    fn state(&self, out: &mut StateRows) {
        out.row("", About::Policy)
            .say("major frame ")
            .tell("major_frame", "ns", self.table.major_frame)
            .say(" ns, the next one at ")
            .tell("next_major_frame", "ns", self.next_major_frame)
            .say(" ns");
        for (i, entry) in self.table.entries.iter().enumerate() {
            let row = match entry.whose {
                Some(whose) => out
                    .row("", About::Policy)
                    .tell("vcpu", "", format!("{whose}"))
                    .say(" "),
                None => out.row("", About::Policy).say("nobody "),
            };
            row.tell("runtime", "ns", entry.runtime).say(" ns");
            if i == self.sched_index {
                row.say(", until ")
                    .tell("until", "ns", self.next_switch_time)
                    .say(" ns");
            }
        }
    }
}
