//! Writes xentrace files as those of Xen 4.17, so that `xenalyze` reads them.

use std::io::{self, Write};

use domio_core::{Names, PcpuId, Record, Sink};

use super::encode::Encoder;
use super::event::{CPU_CHANGE_HEADER, HAS_CYCLES, LOST_RECORDS, RECORD_MAX};
use crate::{TraceErrorKind, TscClock};

/// Trace time between two polling rounds, as xentrace polls.
const ROUND: u64 = 100_000_000;

/// Bytes held at which a round ends early, to bound memory.
const HELD_MAX: usize = 4 << 20;

/// Writes a xentrace file: [`XentraceWriter::new`], then [`Sink::record`] for each record, then
/// [`XentraceWriter::finish`].
///
/// Every record becomes those that Xen 4.17 would have written, with the same time:
/// [`Kind::Switch`](domio_core::Kind::Switch) the five INFPREV, INFNEXT, SWITCH and twice
/// RUNSTATE_CHANGE, [`Kind::Continue`](domio_core::Kind::Continue) INFCONT and CONTINUE_RUNNING.
/// [`Kind::JobDone`](domio_core::Kind::JobDone),
/// [`Kind::DriverWork`](domio_core::Kind::DriverWork), the records of event channels and of devices
/// are left out: Xen knows nothing of jobs, of packets, and of whom a driver domain works for. So
/// are records of policies that Xen has no id for, and what a class does not declare. A mark
/// ([`Record::is_mark`]) is written as it is; `xenalyze` calls it strange and counts rightly.
///
/// As xentrace does, it writes one window a pcpu and round, pcpus ascending. `W` needs no buffer of
/// its own. A failing write stops the writing; `finish` tells.
///
/// Only times order the records of different pcpus in such a file. Where records of several pcpus
/// share a time, each is written one nanosecond (or one count, if that is longer) after the one of
/// another pcpu before it. Time catches up in the next gap; on one pcpu no time is changed. A trace
/// that starts at count 0 is written one count later as a whole, since `xenalyze` takes 0 for a
/// pcpu that it has not seen.
pub struct XentraceWriter<W: Write> {
    out: W,
    windows: Windows,
}

/// What is encoded and waits for the end of its round. It is the same for every `W`, and compiled
/// here.
struct Windows {
    encoder: Encoder,
    order: Order,
    /// The round's records of each pcpu.
    of: Vec<Vec<u8>>,
    /// Pcpus with records in this round.
    active: Vec<u16>,
    held: usize,
    round_ends: Option<u64>,
    written: u64,
    left_out: u64,
    error: Option<io::Error>,
}

impl<W: Write> XentraceWriter<W> {
    /// A writer whose time stamp counter counts `tsc_hz` a second: 1 000 000 000 keeps every
    /// nanosecond; tell the same frequency to the reader (`xenalyze --cpu-hz 1G`).
    ///
    /// # Errors
    /// [`TraceErrorKind::Option`] for an impossible frequency.
    pub fn new(out: W, tsc_hz: u64) -> Result<Self, TraceErrorKind> {
        Ok(XentraceWriter {
            out,
            windows: Windows {
                encoder: Encoder::default(),
                order: Order::new(TscClock::new(tsc_hz)?),
                of: Vec::new(),
                active: Vec::new(),
                held: 0,
                round_ends: None,
                written: 0,
                left_out: 0,
                error: None,
            },
        })
    }

    /// Xen's records written so far.
    pub fn written(&self) -> u64 {
        self.windows.written
    }

    /// Records that have no counterpart in Xen and were left out.
    pub fn left_out(&self) -> u64 {
        self.windows.left_out
    }

    /// Writes what is left and returns the output.
    ///
    /// # Errors
    /// The first error of any write since the start.
    pub fn finish(mut self) -> io::Result<W> {
        self.windows.finish(&mut self.out)?;
        Ok(self.out)
    }
}

impl<W: Write> Sink for XentraceWriter<W> {
    fn record(&mut self, names: &Names, record: &Record) {
        self.windows.record(&mut self.out, names, record);
    }
}

impl Windows {
    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.written == 0 {
            // One empty window: an empty file would look like a failed copy.
            self.of.push(Vec::new());
            self.write_window(out, 0);
        }
        self.end_round(out);
        match self.error.take() {
            Some(e) => Err(e),
            None => out.flush(),
        }
    }

    fn end_round(&mut self, out: &mut dyn Write) {
        let mut active = std::mem::take(&mut self.active);
        active.sort_unstable();
        for cpu in active.drain(..) {
            self.write_window(out, cpu.into());
        }
        self.active = active;
        self.held = 0;
    }

    /// Writes and empties the window of `cpu`.
    fn write_window(&mut self, out: &mut dyn Write, cpu: usize) {
        let window = &mut self.of[cpu];
        let mut head = [0; 12];
        head[0..4].copy_from_slice(&CPU_CHANGE_HEADER.to_le_bytes());
        head[4..8].copy_from_slice(&(cpu as i32).to_le_bytes());
        head[8..12].copy_from_slice(&(window.len() as u32).to_le_bytes());
        if self.error.is_none() {
            let result = out.write_all(&head).and_then(|()| out.write_all(window));
            self.error = result.err();
        }
        window.clear();
    }

    fn record(&mut self, out: &mut dyn Write, names: &Names, record: &Record) {
        let at = record.at.as_nanos();
        let round_ends = *self
            .round_ends
            .get_or_insert_with(|| at.saturating_add(ROUND));
        if at >= round_ends || self.held >= HELD_MAX {
            self.end_round(out);
            self.round_ends = Some(at.saturating_add(ROUND));
        }
        let cpu = record.pcpu.index();
        if self.of.len() <= cpu {
            self.of.resize_with(cpu + 1, Vec::new);
        }
        let window = &mut self.of[cpu];
        let before = window.len();
        let mut n = 0;
        let placed = self.order.place(at, record.pcpu);
        let tsc = placed.tsc;
        let mut put = |event: u32, extra: &[u32]| {
            let header = HAS_CYCLES | (extra.len() as u32) << 28 | event;
            let mut bytes = [0; RECORD_MAX];
            bytes[0..4].copy_from_slice(&header.to_le_bytes());
            bytes[4..12].copy_from_slice(&tsc.to_le_bytes());
            for (to, word) in bytes[12..].chunks_exact_mut(4).zip(extra) {
                to.copy_from_slice(&word.to_le_bytes());
            }
            if event == LOST_RECORDS && extra.len() == 4 {
                // Its last two words are the time of the first lost record: this one is as near.
                bytes[20..28].copy_from_slice(&tsc.to_le_bytes());
            }
            window.extend_from_slice(&bytes[..12 + 4 * extra.len()]);
            n += 1;
        };
        self.encoder.encode(names, record, &mut put);
        if before == 0 && n > 0 {
            self.active.push(record.pcpu.0);
        }
        if n > 0 {
            self.order.wrote(placed);
        }
        self.held += window.len() - before;
        self.written += n;
        self.left_out += u64::from(n == 0);
    }
}

/// A record's place in the order of all pcpus.
#[derive(Clone, Copy)]
struct Place {
    at: u64,
    pcpu: PcpuId,
    tsc: u64,
}

/// Gives records the counts that keep the order in which they came.
///
/// A record that is not earlier than one before it comes after it in the file too: at the same
/// count on the same pcpu, at a later nanosecond on another. It is moved by no more than that. One
/// that *is* earlier (a pcpu's clock is behind) stays where it is: moving it up to the others would
/// be a lie, and so would moving the others.
struct Order {
    clock: TscClock,
    /// Added to every count, known from the first record on.
    start: Option<u64>,
    /// The record that came last, and the latest one: the same unless clocks differ.
    last: Option<Place>,
    latest: Option<Place>,
    /// The last record of each pcpu.
    own: Vec<Option<Place>>,
}

impl Order {
    fn new(clock: TscClock) -> Self {
        Order {
            clock,
            start: None,
            last: None,
            latest: None,
            own: Vec::new(),
        }
    }

    /// The place of a record that comes now.
    #[inline]
    fn place(&self, at: u64, pcpu: PcpuId) -> Place {
        let count = self.clock.counts(at);
        let start = self.start.unwrap_or(u64::from(count == 0));
        let mut tsc = count.saturating_add(start);
        let own = self.own.get(pcpu.index()).copied().flatten();
        for before in [self.last, self.latest, own].into_iter().flatten() {
            if before.at <= at {
                tsc = tsc.max(match before.pcpu == pcpu {
                    true => before.tsc,
                    false => self.clock.after(before.tsc),
                });
            }
        }
        Place { at, pcpu, tsc }
    }

    /// The record of this place was written.
    #[inline]
    fn wrote(&mut self, place: Place) {
        self.start
            .get_or_insert_with(|| place.tsc - self.clock.counts(place.at));
        let index = place.pcpu.index();
        if self.own.len() <= index {
            self.own.resize(index + 1, None);
        }
        self.own[index] = Some(place);
        self.last = Some(place);
        if self.latest.is_none_or(|latest| latest.at <= place.at) {
            self.latest = Some(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts at which records of these times and pcpus are written.
    fn counts(hz: u64, records: &[(u64, u16)]) -> Vec<u64> {
        let mut order = Order::new(TscClock::new(hz).unwrap());
        let place = |&(at, pcpu)| {
            let place = order.place(at, PcpuId(pcpu));
            order.wrote(place);
            place.tsc
        };
        records.iter().map(place).collect()
    }

    #[test]
    fn vector_15_headers() {
        use domio_core::{DomainId, Instant, Kind, Runstate, VcpuName};
        let at = Instant::ZERO;
        let mut names = Names::new();
        let [a, b] = [1, 2].map(|d| names.add_actor(VcpuName::new(DomainId(d), 0)));
        let (running, blocked) = (Runstate::Running, Runstate::Blocked);
        let mut writer = XentraceWriter::new(Vec::new(), 1_000_000_000).unwrap();
        for record in [
            Record::runstate(at, PcpuId(0), a, running, blocked),
            Record::new(at, PcpuId(0), Kind::Wake, a),
            Record::switch(at, PcpuId(0), (a, running), b, [0; 3]),
            Record::with(at, PcpuId(0), Kind::Lost, a, [3, 0, 0, 0]),
        ] {
            writer.record(&names, &record);
        }
        let bytes = writer.finish().unwrap();
        let words = bytes.chunks_exact(4);
        let words: Vec<u32> = words
            .map(|w| u32::from_le_bytes(w.try_into().unwrap()))
            .collect();
        assert_eq!(words[0], 0x2001_f003, "a cpu's window comes first");
        for (header, of) in [
            (0x9002_1021, "from running to blocked"),
            (0xa002_8004, "WAKE"),
            (0xb002_800e, "INFPREV"),
            (0xc002_800a, "SWITCH"),
            (0xc002_800f, "INFNEXT"),
            (0xc001_f001, "LOST"),
        ] {
            assert!(words.contains(&header), "{of}: {words:x?}");
        }
    }

    #[test]
    fn what_a_driver_domain_works_for_is_left_out_and_counted() {
        use domio_core::{DomainId, Instant, Runstate, VcpuName};
        let mut names = Names::new();
        let driver = names.add_actor(VcpuName::new(DomainId(0), 0));
        let at = Instant::from_nanos;
        let (running, blocked) = (Runstate::Running, Runstate::Blocked);
        let change = Record::runstate(at(9), PcpuId(0), driver, running, blocked);
        let written = |records: &[Record]| {
            let mut writer = XentraceWriter::new(Vec::new(), 1_000_000_000).unwrap();
            records.iter().for_each(|r| writer.record(&names, r));
            let left_out = writer.left_out();
            (left_out, writer.finish().unwrap())
        };
        let work = Record::driver_work(at(9), PcpuId(0), driver, DomainId(1), 5);
        let (left_out, bytes) = written(&[work, change, work]);
        assert_eq!(left_out, 2);
        assert_eq!(bytes, written(&[change]).1);
    }

    #[test]
    fn ties_are_ordered_and_time_catches_up() {
        let records = [
            (10, 0),
            (10, 0),
            (10, 1),
            (10, 1),
            (10, 0),
            (11, 1),
            (12, 1),
            (90, 0),
        ];
        assert_eq!(
            counts(1_000_000_000, &records),
            [10, 10, 11, 11, 12, 13, 13, 90]
        );
        // 2.5 counts are a nanosecond: 25 and 27 are 10, 28 is 11, 30 is 12.
        assert_eq!(counts(2_500_000_000, &records[1..6]), [25, 28, 28, 30, 33]);
        // A count is 4 ns.
        assert_eq!(counts(250_000_000, &records[1..6]), [2, 3, 3, 4, 5]);
    }

    #[test]
    fn one_pcpu_keeps_its_times_whatever_they_are() {
        let records = [(7, 3), (7, 3), (9, 3), (8, 3), (8, 3), (20, 3)];
        assert_eq!(counts(1_000_000_000, &records), [7, 7, 9, 8, 8, 20]);
    }

    #[test]
    fn a_clock_that_is_behind_moves_nobody() {
        let records = [
            (100, 0),
            (100, 1), // after the one before
            (50, 2),  // behind: stays
            (50, 3),  // after the one before
            (50, 2),
            (100, 2), // after that of pcpu 1
            (100, 1),
            (101, 1),
            (99, 0),  // back on its own pcpu: stays
            (104, 0), // all others are over
        ];
        let found = counts(1_000_000_000, &records);
        assert_eq!(found, [100, 101, 50, 51, 52, 102, 103, 103, 99, 104]);
    }

    #[test]
    fn a_pcpu_stays_in_order_when_another_one_is_behind() {
        // Pcpu 1 was moved to 12; it is not before that at 11, although 5 came between.
        let records = [(10, 0), (10, 2), (10, 1), (20, 0), (5, 2), (11, 1)];
        assert_eq!(counts(1_000_000_000, &records), [10, 11, 12, 20, 5, 12]);
    }

    #[test]
    fn no_count_is_0_and_no_distance_changes() {
        assert_eq!(counts(1_000_000_000, &[(0, 0), (0, 0), (7, 0)]), [1, 1, 8]);
        assert_eq!(counts(1_000_000_000, &[(1, 0), (7, 0)]), [1, 7]);
        assert_eq!(counts(1_000_000_000, &[(0, 0), (0, 1), (2, 0)]), [1, 2, 3]);
    }
}
