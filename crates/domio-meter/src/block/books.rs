//! Who waited, and whom the device served meanwhile.

use domio_core::Duration;
use std::collections::BTreeMap;

/// Nobody: the device had nothing to do.
pub const IDLE: u32 = u32::MAX;

/// Bios by whose they are, of those who have any.
#[derive(Clone, Debug, Default)]
struct Present(Vec<(u32, u64)>);

impl Present {
    fn add(&mut self, who: u32) {
        match self.0.iter_mut().find(|(of, _)| *of == who) {
            Some((_, count)) => *count += 1,
            None => self.0.push((who, 1)),
        }
    }

    fn remove(&mut self, who: u32) {
        if let Some(at) = self.0.iter().position(|(of, _)| *of == who) {
            self.0[at].1 -= 1;
            if self.0[at].1 == 0 {
                self.0.swap_remove(at);
            }
        }
    }

    fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }
}

/// Time of those who wait in the elevator, by whom the device served; and time of those in the
/// device, by who else was there. Of one who waits with another in the device each has its part of
/// the time.
#[derive(Clone, Debug, Default)]
pub struct Books {
    waiting: Present,
    served: Present,
    elevator: BTreeMap<(u32, u32), f64>,
    device: BTreeMap<(u32, u32), f64>,
}

impl Books {
    /// Time passes.
    pub fn pass(&mut self, time: Duration) {
        let ns = time.as_nanos() as f64;
        if ns == 0.0 {
            return;
        }
        let total = self.served.total();
        for (who, waiting) in &self.waiting.0 {
            let all = ns * *waiting as f64;
            if total == 0 {
                *self.elevator.entry((*who, IDLE)).or_default() += all;
            }
            for (by, served) in &self.served.0 {
                let part = all * *served as f64 / total as f64;
                *self.elevator.entry((*who, *by)).or_default() += part;
            }
        }
        for (who, there) in &self.served.0 {
            for (by, served) in &self.served.0 {
                let part = ns * *there as f64 * *served as f64 / total as f64;
                *self.device.entry((*who, *by)).or_default() += part;
            }
        }
    }

    /// A bio is in the elevator.
    pub fn queued(&mut self, who: u32) {
        self.waiting.add(who);
    }

    /// The driver has taken it.
    pub fn issued(&mut self, who: u32) {
        self.waiting.remove(who);
        self.served.add(who);
    }

    /// It has ended, in the device or, where the driver is not told, in the elevator.
    pub fn ended(&mut self, who: u32, was_issued: bool) {
        match was_issued {
            true => self.served.remove(who),
            false => self.waiting.remove(who),
        }
    }

    /// Time in the elevator (ns): who waited, behind whom.
    pub fn elevator(&self) -> impl Iterator<Item = (u32, u32, f64)> {
        self.elevator.iter().map(|((who, by), ns)| (*who, *by, *ns))
    }

    /// Time in the device (ns): whose request, beside whose.
    pub fn device(&self) -> impl Iterator<Item = (u32, u32, f64)> {
        self.device.iter().map(|((who, by), ns)| (*who, *by, *ns))
    }
}
