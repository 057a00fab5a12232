//! Runstate changes for traces that have none.
//!
//! Xen 3.0 and 3.1 trace switches, wakes, blocks and sleeps, from which runstates follow (xen-spec
//! 0.5 to 0.7): the vcpu that leaves is blocked if it blocked since it was put on the pcpu, offline
//! if it was put to sleep, runnable otherwise; the vcpu that comes was runnable; a wake-up makes a
//! blocked vcpu runnable.

use domio_core::{ActorId, Kind, Record, Runstate};

use crate::VCPUS_MAX;

/// Follows the vcpus of a trace.
#[derive(Debug, Default)]
pub(super) struct Derive {
    /// By actor.
    vcpus: Vec<Option<Known>>,
}

/// What is known of a vcpu.
#[derive(Clone, Copy, Debug)]
struct Known {
    state: Runstate,
    /// What it goes to when it leaves the pcpu.
    leaves_to: Runstate,
}

impl Derive {
    /// The runstate changes that `record`, the next one of the trace, reports.
    pub(super) fn changes(&mut self, record: &Record) -> [Option<Record>; 2] {
        let mut out = [None; 2];
        match record.kind() {
            Some(Kind::SwitchOnly) => {
                let left_to = match self.known(record.actor) {
                    Some(known) if known.state == Runstate::Running => known.leaves_to,
                    // Not seen coming: nothing is known of what it did.
                    _ => Runstate::Runnable,
                };
                let next = record.next().unwrap_or(ActorId::NONE);
                out = [
                    self.go(record, record.actor, Runstate::Running, left_to),
                    self.go(record, next, Runstate::Runnable, Runstate::Running),
                ];
            }
            Some(Kind::Block) => self.will_leave_to(record.actor, Runstate::Blocked),
            Some(Kind::Sleep) => {
                self.will_leave_to(record.actor, Runstate::Offline);
                if self.state(record.actor) == Some(Runstate::Runnable) {
                    let (old, new) = (Runstate::Runnable, Runstate::Offline);
                    out[0] = self.go(record, record.actor, old, new);
                }
            }
            Some(Kind::Wake) => {
                // A wake-up before the switch undoes the block.
                self.will_leave_to(record.actor, Runstate::Runnable);
                let state = self.state(record.actor);
                if let Some(old @ (Runstate::Blocked | Runstate::Offline)) = state {
                    out[0] = self.go(record, record.actor, old, Runstate::Runnable);
                }
            }
            _ => {}
        }
        out
    }

    fn known(&self, actor: ActorId) -> Option<Known> {
        self.vcpus.get(actor.index()).copied().flatten()
    }

    fn state(&self, actor: ActorId) -> Option<Runstate> {
        self.known(actor).map(|known| known.state)
    }

    fn will_leave_to(&mut self, actor: ActorId, state: Runstate) {
        if let Some(Some(known)) = self.vcpus.get_mut(actor.index()) {
            known.leaves_to = state;
        }
    }

    fn go(
        &mut self,
        record: &Record,
        actor: ActorId,
        old: Runstate,
        new: Runstate,
    ) -> Option<Record> {
        let index = actor.index();
        if index >= VCPUS_MAX {
            return None;
        }
        if index >= self.vcpus.len() {
            self.vcpus.resize(index + 1, None);
        }
        self.vcpus[index] = Some(Known {
            state: new,
            leaves_to: Runstate::Runnable,
        });
        Some(Record::runstate(record.at, record.pcpu, actor, old, new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Runstate::{Blocked, Offline, Runnable, Running};
    use domio_core::{Instant, PcpuId};

    fn derive(records: &[(Kind, u32, u32)]) -> Vec<(u32, Runstate, Runstate)> {
        let mut derive = Derive::default();
        let mut out = Vec::new();
        for &(kind, vcpu, next) in records {
            let words = [next, 0, 0, 0];
            let r = Record::with(Instant::ZERO, PcpuId(0), kind, ActorId(vcpu), words);
            for change in derive.changes(&r).into_iter().flatten() {
                let (old, new) = change.runstates().unwrap();
                out.push((change.actor.0, old, new));
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
