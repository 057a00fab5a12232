//! Does a trace report runstates?

use domio_core::{Kind, Record};

/// Watches for runstate records until there is one.
///
/// xentrace records what its `-e` asks for. Without the runstates, a trace says who was switched to
/// and who continued, but not what became of those who left, and there is nothing to account for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// A runstate record was seen.
    runstates: bool,
    /// A vcpu continued.
    went_on: bool,
    /// One vcpu was switched for another, as Xen tells in records beside those of runstates.
    switched: bool,
    /// A record was seen.
    records: bool,
}

impl Told {
    /// Takes the next record.
    #[inline]
    pub fn see(&mut self, record: &Record) {
        if !self.runstates {
            self.look(record);
        }
    }

    fn look(&mut self, record: &Record) {
        match record.kind() {
            Some(Kind::Switch | Kind::RunstateChange) => self.runstates = true,
            Some(Kind::Continue) => self.went_on = true,
            Some(Kind::SwitchOnly | Kind::InfPrev | Kind::InfNext) => self.switched = true,
            _ => {}
        }
        self.records = true;
    }

    /// Whether a trace reports runstates, or has no record at all. Where somebody continued and
    /// nobody was switched, all is told: the vcpu that has a pcpu to itself has no other record.
    pub fn all(&self) -> bool {
        !self.records || self.runstates || self.went_on && !self.switched
    }
}
