//! How fast the time stamp counter of a xentrace file counts.
//!
//! Xentrace files hold counts, and do not say how many make a second. They tell it in any case:
//! when a pcpu switches, SWITCH_INFPREV says for how many nanoseconds the vcpu has run, and the
//! counter says how many counts ago the pcpu switched before (xen-spec 7.2). The median over many
//! runs is the frequency.

use crate::{DEFAULT_TSC_HZ, ReadOptions, TraceReader};
use domio_core::Kind;
use std::io::Read;

/// Records that are looked at, at most.
const RECORDS: u64 = 200_000;
/// Runs that are needed.
const RUNS: usize = 20;
/// A run that is shorter (nanoseconds) is left out: the way from the clock to the record counts.
const SHORTEST: u64 = 100_000;
/// A run that is longer is left out: the record has 32 bits for nanoseconds.
const LONGEST: u64 = 4_000_000_000;
/// How far the middle half of the runs may be apart, in parts of the median.
const AGREEMENT: f64 = 0.01;

/// A counter that is this near to a count a nanosecond, in parts, is one: emulated processors have
/// such counters, and traces that were converted.
const NANOSECONDS: f64 = 0.001;

/// What a trace reports its clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frequency {
    /// Counts a second, to the nearest thousand.
    pub hz: u64,
    /// Runs that say so.
    pub runs: usize,
}

/// The frequency that the xentrace file `read` tells by its own records; `None` when the file has
/// too few switches, or when they do not agree. A damaged file is read up to the damage.
pub fn frequency(read: impl Read) -> Option<Frequency> {
    // At 1 GHz the times of records are counts.
    let options = ReadOptions {
        tsc_hz: Some(1_000_000_000),
        ..ReadOptions::default()
    };
    let mut reader = TraceReader::new(read, &options).ok()?;
    let mut switched: Vec<Option<u64>> = Vec::new();
    let mut ratios = Vec::new();
    for _ in 0..RECORDS {
        let Ok(Some(record)) = reader.next_record() else {
            break;
        };
        if !record.is(Kind::InfPrev) {
            continue;
        }
        let (now, pcpu, ran) = (
            record.at.as_nanos(),
            usize::from(record.pcpu.0),
            u64::from(record.words[0]),
        );
        if switched.len() <= pcpu {
            switched.resize(pcpu + 1, None);
        }
        // Files that are put together from several may go back in time.
        let counts = switched[pcpu]
            .replace(now)
            .and_then(|before| now.checked_sub(before));
        if let Some(counts) = counts
            && (SHORTEST..=LONGEST).contains(&ran)
        {
            ratios.push(counts as f64 / ran as f64);
        }
    }
    if ratios.len() < RUNS {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let at = |part: f64| ratios[((ratios.len() - 1) as f64 * part).round() as usize];
    let median = at(0.5);
    if median <= 0.0 || at(0.75) - at(0.25) > AGREEMENT * median {
        return None;
    }
    let hz = match (median - 1.0).abs() < NANOSECONDS {
        true => DEFAULT_TSC_HZ,
        false => (median * 1e6).round() as u64 * 1_000,
    };
    Some(Frequency {
        hz,
        runs: ratios.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::XentraceWriter;
    use domio_core::{DomainId, Instant, Names, PcpuId, Record, Sink, VcpuName};

    /// A file of a host whose counter has `hz`, with `runs` switches, a millisecond and more apart,
    /// whose records say that each run took `percent` of that time.
    fn file(hz: u64, runs: u64, percent: impl Fn(u64) -> u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = XentraceWriter::new(&mut bytes, hz).unwrap();
        let mut now = 5_000_000;
        let mut names = Names::new();
        let vcpus = [1, 2].map(|domain| names.add_actor(VcpuName::new(DomainId(domain), 0)));
        for run in 0..=runs {
            let vcpu = vcpus[(run % 2) as usize];
            let length = 1_000_000 + run * 1_000;
            now += length;
            let ran = length * percent(run) / 100;
            let at = Instant::from_nanos(now);
            let words = [ran as u32, 0, 0, 0];
            let record = Record::with(at, PcpuId(0), Kind::InfPrev, vcpu, words);
            writer.record(&names, &record);
        }
        writer.finish().unwrap();
        bytes
    }

    #[test]
    fn switches_tell_the_frequency() {
        for hz in [1_000_000_000, 2_394_456_000, 3_600_000_000] {
            let found = frequency(&file(hz, 50, |_| 100)[..]).unwrap();
            assert!(found.hz.abs_diff(hz) <= 1_000, "{hz}: {found:?}");
            assert_eq!(found.runs, 50);
        }
    }

    #[test]
    fn too_little_or_too_much_tells_nothing() {
        assert_eq!(frequency(&file(2_000_000_000, 19, |_| 100)[..]), None);
        let contradictory = file(2_000_000_000, 60, |run| 50 + run % 50);
        assert_eq!(frequency(&contradictory[..]), None);
        assert_eq!(frequency(&b"no trace"[..]), None);
        assert_eq!(frequency(&[][..]), None);
    }

    #[test]
    fn a_recording_of_real_xen_has_its_own_frequency() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../testdata/xen-traces/c1-burn7/trace.bin"
        );
        let file = std::fs::File::open(path).unwrap();
        let found = frequency(file).unwrap();
        // The emulated processor's counter has a nanosecond a count.
        assert_eq!(found.hz, 1_000_000_000);
        assert!(found.runs > 100);
    }
}
