//! Does a trace tell of runstates?

use domio_core::{Kind, Record};

/// Watches for runstate records until there is one.
///
/// xentrace records what its `-e` asks for. Without the runstates, a trace tells who was switched
/// to and who went on, but not what became of those who left, and there is nothing to account for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// A runstate record was seen.
    runstates: bool,
    /// A vcpu went on.
    went_on: bool,
    /// One vcpu was switched for another, as Xen tells in records beside those of runstates.
    switched: bool,
    /// First and latest time before the first runstate record.
    span: Option<(u64, u64)>,
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
        let at = record.at.as_nanos();
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    /// First and last time, in nanoseconds, of a trace that has records, but no runstates. Where
    /// somebody went on and nobody was switched, all is told: whoever has a pcpu to itself has no
    /// other record.
    pub fn missing(&self) -> Option<(u64, u64)> {
        let all_told = self.runstates || self.went_on && !self.switched;
        self.span.filter(|_| !all_told)
    }
}
