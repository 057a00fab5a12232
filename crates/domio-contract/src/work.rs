//! What a policy did, in the words of its algorithm: [`Work`], counted in a [`WorkReport`].
//!
//! A policy knows what it does and not what a machine takes for it. It reports each thing that
//! takes time beyond a fixed amount ([`crate::Cx::did`]); a host that knows the prices turns the
//! report into time.

/// One thing that a policy did.
///
/// Only what is done in some calls and not in others, or a varying number of times, is reported:
/// what every pass and every tick does is part of their fixed cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Work {
    /// Looked on other pcpus for a better vcpu than the best one here.
    Search,
    /// Looked whether a rate limit protects the vcpu that ran.
    RateLimit,
    /// Looked for a better pcpu for the vcpu that runs.
    Look,
    /// Ended the boost of a vcpu.
    Unboost,
    /// Sorted a run queue.
    Sort,
    /// Looked at one runnable vcpu while it sorted.
    Sorted,
    /// Gave a vcpu its share.
    Grant,
    /// Took a vcpu from those that earn.
    Stop,
    /// Parked a vcpu.
    Park,
    /// Unparked a vcpu.
    Unpark,
    /// Wrote a private trace record in addition to the one with which every pass begins. Reported
    /// by policies that write many: others' are part of the fixed cost.
    Note,
    /// Looked at one pcpu, or at one vcpu that queues there, to find where a vcpu that wakes is to
    /// go. All other work of a wake-up is part of its fixed cost.
    Balance,
}

impl Work {
    /// Every kind of work, in the order of the enum.
    pub const ALL: [Work; 12] = [
        Work::Search,
        Work::RateLimit,
        Work::Look,
        Work::Unboost,
        Work::Sort,
        Work::Sorted,
        Work::Grant,
        Work::Stop,
        Work::Park,
        Work::Unpark,
        Work::Note,
        Work::Balance,
    ];
}

/// How often a policy did each kind of [`Work`].
///
/// Counts wrap: a host whose policies work for nothing never reads them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkReport([u32; Work::ALL.len()]);

impl WorkReport {
    /// Nothing.
    pub const NOTHING: WorkReport = WorkReport([0; Work::ALL.len()]);

    /// Adds `times` of `work`.
    #[inline]
    pub fn add(&mut self, work: Work, times: u32) {
        let count = &mut self.0[work as usize];
        *count = count.wrapping_add(times);
    }

    /// How often `work` was done, of which the report says no more from now on.
    #[inline]
    pub fn take(&mut self, work: Work) -> u32 {
        core::mem::take(&mut self.0[work as usize])
    }

    /// How often `work` was done.
    #[inline]
    pub fn count(&self, work: Work) -> u32 {
        self.0[work as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_counted_apart() {
        let mut report = WorkReport::NOTHING;
        for (times, work) in (1..).zip(Work::ALL) {
            report.add(work, times);
        }
        report.add(Work::Grant, 5);
        let counts = Work::ALL.map(|work| report.count(work));
        assert_eq!(report.take(Work::Balance), 12);
        assert_eq!(report.count(Work::Balance), 0);
        assert_eq!(counts, [1, 2, 3, 4, 5, 6, 7 + 5, 8, 9, 10, 11, 12]);
    }
}
