//! The state as data.

use super::Linux;
use super::event::{Owner, Part};
use super::params::Level;
use super::state::NIL;
use domio_contract::StateRows;
use domio_contract::state::{About, StateRow};
use domio_core::{PcpuId, VcpuId};

impl Linux {
    pub(super) fn describe(&self, out: &mut StateRows) {
        for (i, c) in self.cpus.iter().enumerate().filter(|(_, c)| c.online) {
            let queue = &self.queues[i];
            let current = match c.current {
                NIL => None,
                e => self.entities[e as usize].vcpu,
            };
            let pcpu = PcpuId(i as u16);
            let row = out.row("", About::Pcpu(pcpu));
            row.say("p")
                .tell("pcpu", "", pcpu.0)
                .say(": threads ")
                .tell("threads", "", queue.threads)
                .say(", load ")
                .tell("load", "", queue.load >> 10)
                .say(", clock ")
                .tell("clock", "ns", c.clock);
            if let Some(vcpu) = current {
                row.say(", runs vcpu ").tell("current", "", vcpu.0);
            }
        }
        for group in &self.groups {
            let row = match group.owner {
                Owner::Root => continue,
                Owner::Domain(domain) => {
                    let row = out.row("", About::Domain(domain));
                    row.say("d").tell("domain", "", domain.0)
                }
                Owner::Part(domain, part) => {
                    let row = out.row("", About::Domain(domain));
                    row.say("d").tell("domain", "", domain.0);
                    describe_part(row, part)
                }
                Owner::Group(name) => {
                    let row = out.row("", About::Policy);
                    row.say("g").tell("group", "", name.0)
                }
            };
            row.say(": shares ").tell("shares", "", group.shares >> 10);
            if let Owner::Group(parent) = self.groups[group.parent as usize].owner {
                row.say(", in g").tell("parent", "", parent.0);
            }
            let b = &group.bandwidth;
            if b.quota > 0 {
                row.say(", quota ")
                    .tell("quota", "ns", b.quota)
                    .say(" in ")
                    .tell("period", "ns", b.period)
                    .say(", pool ")
                    .tell("pool", "ns", b.pool);
            }
        }
        for (i, t) in self
            .threads
            .iter()
            .enumerate()
            .filter(|(_, t)| t.entity != NIL)
        {
            let entity = &self.entities[t.entity as usize];
            let row = out.row("", About::Vcpu(VcpuId(i as u32)));
            row.say("vcpu ")
                .tell("vcpu", "", i)
                .say(" on p")
                .tell("pcpu", "", self.queues[entity.queue as usize].cpu)
                .say(": v ")
                .tell("v", "ns", entity.v)
                .say(", weight ")
                .tell("weight", "", entity.load.weight >> 10);
            if self.rules.eevdf {
                row.say(", deadline ")
                    .tell("deadline", "ns", entity.deadline)
                    .say(", lag ")
                    .tell("lag", "ns", entity.lag);
            }
            match entity.level {
                Level::Fair => {}
                Level::RealTime => {
                    row.say(", priority ")
                        .tell("rt_priority", "", u32::from(t.setting.priority));
                }
                Level::Deadline => {
                    row.say(", runtime ")
                        .tell("runtime", "ns", t.cbs.runtime)
                        .say(" until ")
                        .tell("until", "ns", t.cbs.deadline);
                }
            }
            for (is, word) in [
                (entity.on_queue, ", on the queue"),
                (entity.delayed, ", sleeps there"),
                (t.parked, ", throttled"),
            ] {
                if is {
                    row.say(word);
                }
            }
        }
    }
}

/// The name of `part`, after that of its domain.
fn describe_part(row: &mut StateRow, part: Part) -> &mut StateRow {
    match part {
        Part::Libvirt => row.say("/libvirt"),
        Part::Emulator => row.say("/emulator"),
        Part::Vcpu(n) => row.say("/vcpu").tell("vcpu", "", n),
        Part::Iothread(n) => row.say("/iothread").tell("iothread", "", n),
    }
}
