//! Runstate changes for traces that have none.
//!
//! Xen 3.0 and 3.1 trace switches, wakes, blocks and sleeps, from which runstates follow (xen-spec
//! 0.5 to 0.7): the vcpu that leaves is blocked if it blocked since it was put on the pcpu, offline
//! if it was put to sleep, runnable otherwise; the vcpu that comes was runnable; a wake-up makes a
//! blocked vcpu runnable.

use std::collections::BTreeMap;

use domio_core::{Kind, Record, Runstate, VcpuName};

use crate::VCPUS_MAX;

/// Follows the vcpus of a trace.
#[derive(Debug, Default)]
pub(super) struct Derive {
    vcpus: BTreeMap<u32, Known>,
}

/// What is known of a vcpu.
#[derive(Clone, Copy, Debug)]
struct Known {
    state: Runstate,
    /// What it goes to when it leaves the pcpu.
    leaves_to: Runstate,
}

impl Derive {
    /// The runstate changes that `record`, the next one of the trace, tells of.
    pub(super) fn changes(&mut self, record: &Record) -> [Option<Record>; 2] {
        let mut out = [None; 2];
        match record.kind {
            Kind::SwitchOnly => {
                let next = VcpuName::from_word(record.data[0]);
                let left_to = match self.vcpus.get(&record.vcpu.word()) {
                    Some(known) if known.state == Runstate::Running => known.leaves_to,
                    // Not seen coming: nothing is known of what it did.
                    _ => Runstate::Runnable,
                };
                out = [
                    self.go(record, record.vcpu, Runstate::Running, left_to),
                    self.go(record, next, Runstate::Runnable, Runstate::Running),
                ];
            }
            Kind::Block => self.will_leave_to(record.vcpu, Runstate::Blocked),
            Kind::Sleep => {
                self.will_leave_to(record.vcpu, Runstate::Offline);
                if self.state(record.vcpu) == Some(Runstate::Runnable) {
                    let (old, new) = (Runstate::Runnable, Runstate::Offline);
                    out[0] = self.go(record, record.vcpu, old, new);
                }
            }
            Kind::Wake => {
                // A wake-up before the switch undoes the block.
                self.will_leave_to(record.vcpu, Runstate::Runnable);
                if let Some(old @ (Runstate::Blocked | Runstate::Offline)) = self.state(record.vcpu)
                {
                    out[0] = self.go(record, record.vcpu, old, Runstate::Runnable);
                }
            }
            _ => {}
        }
        out
    }

    fn state(&self, vcpu: VcpuName) -> Option<Runstate> {
        self.vcpus.get(&vcpu.word()).map(|known| known.state)
    }

    fn will_leave_to(&mut self, vcpu: VcpuName, state: Runstate) {
        if let Some(known) = self.vcpus.get_mut(&vcpu.word()) {
            known.leaves_to = state;
        }
    }

    fn go(
        &mut self,
        record: &Record,
        vcpu: VcpuName,
        old: Runstate,
        new: Runstate,
    ) -> Option<Record> {
        let word = vcpu.word();
        if self.vcpus.len() >= VCPUS_MAX && !self.vcpus.contains_key(&word) {
            return None;
        }
        let known = Known {
            state: new,
            leaves_to: Runstate::Runnable,
        };
        self.vcpus.insert(word, known);
        Some(Record::runstate(record.at, record.pcpu, vcpu, old, new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Runstate::{Blocked, Offline, Runnable, Running};
    use domio_core::{DomainId, Instant, PcpuId};

    fn v(domain: u16) -> VcpuName {
        VcpuName::new(DomainId(domain), 0)
    }

    fn derive(records: &[(Kind, u16, u16)]) -> Vec<(u16, Runstate, Runstate)> {
        let mut derive = Derive::default();
        let mut out = Vec::new();
        for &(kind, vcpu, next) in records {
            let mut r = Record::new(Instant::ZERO, PcpuId(0), kind, v(vcpu));
            r.data[0] = v(next).word();
            for change in derive.changes(&r).into_iter().flatten() {
                let (old, new) = change.runstates().unwrap();
                out.push((change.vcpu.domain.0, old, new));
            }
        }
        out
    }

    #[test]
    fn runstates_follow_from_switches_wakes_and_blocks() {
        assert_eq!(
            derive(&[
                (Kind::Wake, 1, 0), // nothing is known of d1 yet
                (Kind::SwitchOnly, 9, 1),
                (Kind::Block, 1, 0),
                (Kind::SwitchOnly, 1, 2),
                (Kind::Wake, 1, 0),
                (Kind::SwitchOnly, 2, 1),
                (Kind::Sleep, 2, 0),
                (Kind::Wake, 2, 0),
            ]),
            [
                (9, Running, Runnable),
                (1, Runnable, Running),
                (1, Running, Blocked),
                (2, Runnable, Running),
                (1, Blocked, Runnable),
                (2, Running, Runnable),
                (1, Runnable, Running),
                (2, Runnable, Offline),
                (2, Offline, Runnable),
            ]
        );
    }

    #[test]
    fn a_wake_before_the_switch_undoes_the_block() {
        assert_eq!(
            derive(&[
                (Kind::SwitchOnly, 9, 1),
                (Kind::Block, 1, 0),
                (Kind::Wake, 1, 0),
                (Kind::SwitchOnly, 1, 9),
            ])[2],
            (1, Running, Runnable)
        );
    }
}
