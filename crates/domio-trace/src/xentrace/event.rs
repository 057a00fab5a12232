//! Xen's event ids (xen-spec 7.1 and 7.2).

/// Names the cpu and the size of the window that follows (in files, never in Xen's buffers).
pub(super) const CPU_CHANGE: u32 = 0x1f003;
/// No event of Xen: every one has a class in bits 16 to 27. Zeros where records were expected are a
/// part of the file that was never written.
pub(super) const NO_EVENT: u32 = 0;
/// Header word of a CPU_CHANGE record: two extra words, no time.
pub(crate) const CPU_CHANGE_HEADER: u32 = 0x2001_f003;
/// Xen had no room and dropped records.
pub(super) const LOST_RECORDS: u32 = 0x1f001;
/// Padding at the end of Xen's ring.
pub(super) const WRAP_BUFFER: u32 = 0x1f002;
/// Bit 31 of a header word: a time stamp follows.
pub(super) const HAS_CYCLES: u32 = 1 << 31;
/// Bits 0 to 27 of a header word.
pub(super) const EVENT_MASK: u32 = 0x0fff_ffff;
/// Most extra words that a record can have.
pub(super) const EXTRA_MAX: usize = 7;

/// Longest record: header, time, seven extra words.
pub(super) const RECORD_MAX: usize = 4 + 8 + 4 * EXTRA_MAX;

/// The extra words of a record; those behind the last are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extra {
    /// One more than there can be, so that an index of three bits is always inside.
    pub words: [u32; EXTRA_MAX + 1],
    /// How many there are.
    pub count: usize,
}

impl Extra {
    /// These words, [`EXTRA_MAX`] at most.
    pub(super) fn of(words: &[u32]) -> Self {
        let mut extra = Extra {
            words: [0; EXTRA_MAX + 1],
            count: words.len().min(EXTRA_MAX),
        };
        extra.words[..extra.count].copy_from_slice(&words[..extra.count]);
        extra
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[u32] {
        &self.words[..self.count]
    }
}

/// Runstate change; old state in bits 8 to 11, new state in bits 4 to 7.
pub(super) const RUNSTATE_CHANGE: u32 = 0x21001;
pub(super) const CONTINUE_RUNNING: u32 = 0x21002;
/// First of the scheduler's common events since Xen 3.4.
pub(super) const SCHED: u32 = 0x28000;
/// The same events before 3.4.
pub(super) const SCHED_OLD: u32 = 0x2f000;
/// First of the policies' private events: scheduler id in bits 9 to 11, number below.
pub(super) const SCHED_POLICY: u32 = 0x22000;

pub(super) const DOM_ADD: u32 = 1;
pub(super) const DOM_REM: u32 = 2;
pub(super) const SLEEP: u32 = 3;
pub(super) const WAKE: u32 = 4;
pub(super) const YIELD: u32 = 5;
pub(super) const BLOCK: u32 = 6;
pub(super) const SWITCH: u32 = 10;
pub(super) const INFPREV: u32 = 14;
pub(super) const INFNEXT: u32 = 15;
pub(super) const INFCONT: u32 = 17;
