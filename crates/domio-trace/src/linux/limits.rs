//! Groups with a limit (`cpu.max`), as the file beside a trace has them: when is one used up?
//!
//! No event says so. The kernel gives each group its quota at the begin of each period. When
//! all of it is used, the group's threads leave their cpus runnable, and return after the next
//! begin.
//!
//! When periods begin shows in two ways. A cpu that idles beside such a thread takes the thread
//! as a period begins. And a group that used about a quota within the last period, and whose
//! threads then all stay off their cpus for long, returns after a begin: of several such gaps, a
//! period apart, the begin is in all. From then on the quota is counted.

/// Parts of a period in which the time that a group ran is kept.
const PARTS: usize = 16;

/// Gaps that have to agree before the begin of periods is believed to be in all of them.
const GAPS: u32 = 3;

/// A group's limit.
#[derive(Debug)]
pub(super) struct Limit {
    quota: u64,
    period: u64,
    /// Time that threads of the group ran, up to `since`, and how many run.
    ran: u64,
    running: u64,
    since: u64,
    /// The same when the current period began.
    ran_before: u64,
    /// What the group ran beyond its quota in the period before: a limit is noticed at ticks,
    /// and the time is taken off the next quota.
    debt: u64,
    /// What it ran in each part of the last period, and the number of the part that lasts.
    parts: [u64; PARTS],
    part: u64,
    /// When its last thread left, if it had used a quota.
    gone: Option<u64>,
    /// Where gaps agree that a period begins, and how many do.
    gap: (u64, u64),
    gaps: u32,
    /// When the next period begins; never, as long as no begin was seen.
    next: u64,
    /// Threads that the limit holds back.
    pub held: Vec<usize>,
}

impl Limit {
    /// A quota in each period, in nanoseconds.
    pub fn new(quota: u64, period: u64) -> Self {
        Limit {
            quota,
            period: period.max(1),
            ran: 0,
            running: 0,
            since: 0,
            ran_before: 0,
            debt: 0,
            parts: [0; PARTS],
            part: 0,
            gone: None,
            gap: (0, 0),
            gaps: 0,
            next: u64::MAX,
            held: Vec::new(),
        }
    }

    /// Time passes up to `now`.
    fn advance(&mut self, now: u64) {
        if now >= self.next {
            let periods = (now - self.next) / self.period;
            let begin = self.next + periods * self.period;
            let ran = self.ran + self.running * begin.saturating_sub(self.since);
            let used = ran.saturating_sub(self.ran_before) + self.debt;
            self.debt = match periods {
                0 => used.saturating_sub(self.quota),
                _ => 0,
            };
            self.ran_before = ran;
            self.next = begin.saturating_add(self.period);
        }
        self.spread(now);
        self.ran += self.running * now.saturating_sub(self.since);
        self.since = self.since.max(now);
    }

    /// Adds what runs up to `now` to the parts of the period.
    fn spread(&mut self, now: u64) {
        let length = (self.period / PARTS as u64).max(1);
        let mut from = self.since;
        let last = now / length;
        if last > self.part + PARTS as u64 {
            // All of them are over.
            self.part = last - PARTS as u64;
            self.parts = [0; PARTS];
            from = from.max(self.part * length);
        }
        loop {
            let to = now.min((self.part + 1) * length);
            let here = (self.part % PARTS as u64) as usize;
            self.parts[here] += self.running * to.saturating_sub(from);
            from = from.max(to);
            if self.part >= last {
                break;
            }
            self.part += 1;
            self.parts[(self.part % PARTS as u64) as usize] = 0;
        }
    }

    /// The threads of the group have not run from `from` to `to`, after they had used a quota.
    fn gap(&mut self, from: u64, to: u64) {
        let length = to - from;
        if length < self.period / 8 || length >= self.period {
            return;
        }
        let (before, periods) = (self.gap, (to - self.gap.1 + self.period / 2) / self.period);
        let shift = periods * self.period;
        let both = (from.max(before.0 + shift), to.min(before.1 + shift));
        match self.gaps > 0 && both.0 < both.1 {
            true => (self.gap, self.gaps) = (both, self.gaps + 1),
            false => (self.gap, self.gaps) = ((from, to), 1),
        }
        if self.gaps >= GAPS && self.next == u64::MAX {
            // Nothing ran since.
            (self.ran_before, self.debt) = (self.ran, 0);
            self.next = self.gap.1.saturating_add(self.period);
        }
    }

    /// A thread of the group starts to run at `now`, or stops.
    pub fn runs(&mut self, now: u64, starts: bool) {
        self.advance(now);
        if starts
            && self.running == 0
            && let Some(gone) = self.gone.take()
        {
            self.gap(gone, now);
        }
        self.running = match starts {
            true => self.running + 1,
            false => self.running.saturating_sub(1),
        };
    }

    /// A period begins at `now`, as far as a cpu showed.
    pub fn begins(&mut self, now: u64) {
        let near = self.period / 16;
        if self.next.saturating_sub(now) <= near {
            self.next = self.next.min(now);
        }
        self.advance(now);
        let begun = self.next.checked_sub(self.period);
        if begun.is_none_or(|begun| now.abs_diff(begun) > near) {
            self.ran_before = self.ran;
            self.debt = 0;
        }
        self.next = now.saturating_add(self.period);
    }

    /// Whether the quota of this period is used up at `now`, as far as is known: other cpus may
    /// hold a little of it.
    pub fn is_used_up(&mut self, now: u64) -> bool {
        self.advance(now);
        let recent: u64 = self.parts.iter().sum();
        if self.running == 0 && recent >= self.quota - self.quota / 16 {
            self.gone = Some(now);
        }
        let used = self.ran.saturating_sub(self.ran_before) + self.debt;
        self.next < u64::MAX && used >= self.quota - self.quota / 16
    }

    /// When the threads that are held back may run again; never where none is.
    pub fn ends(&self) -> u64 {
        match self.held.is_empty() {
            true => u64::MAX,
            false => self.next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_show_when_periods_begin() {
        // 300 of 1000, used from 120, 2110 and so on, to the limit.
        let mut limit = Limit::new(300, 1000);
        for (begin, is_known) in [(1120, false), (2110, false), (3150, false), (4130, true)] {
            limit.runs(begin, true);
            limit.runs(begin + 310, false);
            assert_eq!(limit.is_used_up(begin + 310), is_known, "{begin}");
        }
        limit.runs(5120, true);
        limit.runs(5220, false);
        assert!(!limit.is_used_up(5220), "it has 200 left");
        // A long time later.
        limit.runs(500_200, true);
        limit.runs(500_500, false);
        assert!(limit.is_used_up(500_500));
    }

    #[test]
    fn a_quota_is_counted_from_the_first_period_that_is_seen() {
        let mut limit = Limit::new(30, 100);
        limit.runs(0, true);
        assert!(!limit.is_used_up(50), "nobody knows when periods begin");
        limit.runs(50, false);
        limit.begins(120);
        limit.runs(120, true);
        assert!(!limit.is_used_up(140));
        limit.runs(140, false);
        limit.runs(190, true);
        assert!(limit.is_used_up(200), "20 and 10");
        limit.runs(200, false);
        assert_eq!(limit.ends(), u64::MAX);
        limit.held.push(1);
        assert_eq!(limit.ends(), 220);
        // Across two begins: what ran before the last one does not count.
        limit.runs(210, true);
        assert!(!limit.is_used_up(345), "25 since 320");
        assert!(limit.is_used_up(350));
        // What ran too long is taken off the next quota.
        limit.runs(354, false);
        limit.runs(420, true);
        assert!(!limit.is_used_up(444));
        assert!(limit.is_used_up(446), "26, and 4 before");
    }
}
