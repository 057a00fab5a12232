//! What the private records of a policy change in the books.

use domio_core::{DomainId, Record, VcpuName};

use super::WaitExplainer;
use super::said::{Policy, Said};
use super::why::Why;

/// Number of the records that credit and credit2 write first in each pass.
const PASS: [u8; 2] = [9, 21];
/// Number of credit2's record of whom it looks for a pcpu to tickle for.
const CONSIDERED: u8 = 13;
/// Number of credit's record of the pcpu that it would choose.
const PICKED: u8 = 5;

impl WaitExplainer {
    /// Takes what a policy says.
    pub(super) fn hear(&mut self, record: &Record, policy: Policy, event: u8, said: Said) {
        let (at, pcpu) = (record.at.as_nanos(), record.pcpu);
        let (id, passes) = match policy {
            Policy::Credit => (0, event >= 9),
            Policy::Credit2 => (1, event >= 20),
            Policy::Other(id) => (id, false),
        };
        // Records of one that is understood tell more than those of others.
        if self.tells.policy.is_none_or(|known| known > 1) {
            self.tells.policy = Some(id);
        }
        self.tells.limits |= passes;
        // Releases that write these write tickles, too.
        self.tells.tickles |= passes && policy == Policy::Credit;
        self.tells.tickles |= policy == Policy::Credit2 && event == CONSIDERED;
        match (policy, event) {
            (Policy::Credit | Policy::Credit2, event) if PASS.contains(&event) => self.settle(pcpu),
            (Policy::Credit, PICKED) => self.picked(record),
            _ => {}
        }
        match said {
            Said::Tickled(called) => {
                self.tells.tickles = true;
                if let Some(slot) = self.pcpu(pcpu).pending.take()
                    && let Some(wait) = &mut self.list[slot].wait
                    && wait.base.is_none()
                {
                    wait.base = Some(Why::Pass);
                    wait.called = Some(called);
                    self.pcpu(called).called.push(slot);
                }
            }
            Said::Boosted(vcpu, boosted) => {
                self.tells.boosts = true;
                if let Some(vcpu) = self.known(vcpu) {
                    vcpu.boosted = Some(boosted);
                    vcpu.boosted_at = boosted.then_some(at);
                }
            }
            Said::Limited(vcpu) => {
                if let Some(vcpu) = self.known(vcpu) {
                    vcpu.limited = true;
                }
                for slot in self.pcpu(pcpu).called.clone() {
                    self.changes_base(slot, at, Why::RateLimit, true);
                }
            }
            Said::Credit(vcpu, credit) => self.credit(vcpu, at, credit, None),
            Said::Burned(vcpu, credit, budget) => self.credit(vcpu, at, credit, Some(budget)),
            Said::Else => {}
        }
    }

    fn credit(&mut self, vcpu: VcpuName, at: u64, credit: i32, budget: Option<Option<i32>>) {
        self.tells.credits = true;
        let Some(&slot) = self.index.get(&vcpu.word()) else {
            return;
        };
        self.flush(slot, at);
        let vcpu = &mut self.list[slot];
        vcpu.credit = Some(credit);
        if let Some(budget) = budget {
            vcpu.budget = budget;
        }
    }

    /// Credit says where a vcpu had best be.
    fn picked(&mut self, record: &Record) {
        let Some((_, &[domain, index, wanted])) = record.policy_event() else {
            return;
        };
        let name = VcpuName::new(DomainId(domain as u16), index as u16);
        let runs = self.pcpu(record.pcpu).current == Some(name);
        if let Some(vcpu) = self.known(name) {
            if runs {
                // The tick has taken the boost.
                vcpu.boosted = Some(false);
            }
            vcpu.strays |= wanted != u32::from(vcpu.home.0);
        }
    }
}
