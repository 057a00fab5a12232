//! Damaged files: no panic, bounded work, and an error or counts that say what is wrong.

use proptest::prelude::*;

use crate::build::{MACHINES, attach, switch, wakeup};
use crate::perf_file::{Recorded, USUAL, file, packed, pipe, round, sample};
use crate::trace_dat::{Packing, page, v6, v7};
use crate::{all, gzip, reader, unpacked};

/// A small generator of random numbers, so that a seed is a damage.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ self.0 >> 29
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 16) % n.max(1)
    }
}

/// Flips bits, cuts, repeats, moves and overwrites parts.
fn damaged(mut bytes: Vec<u8>, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    for _ in 0..=random.below(5) {
        if bytes.is_empty() {
            break;
        }
        // Heads decide most, so that half of the damage is there.
        let n = match random.below(2) {
            0 => bytes.len().min(2000),
            _ => bytes.len(),
        };
        let at = random.below(n as u64) as usize;
        let length = (random.below(64) as usize).min(bytes.len() - at);
        match random.below(8) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(at..at + length)),
            3 => {
                let part = bytes[at..at + length].to_vec();
                let to = random.below(n as u64) as usize;
                bytes.splice(to..to, part);
            }
            4 => bytes[at..at + length].fill(0xff),
            5 => bytes[at..at + length].fill(0),
            6 => bytes[at] = random.next() as u8,
            _ => bytes[at..at + length]
                .iter_mut()
                .for_each(|b| *b = random.next() as u8),
        }
    }
    bytes
}

/// Reads all that can be read. Work is bounded by the file, or by what it unpacks to.
fn survive(bytes: Vec<u8>) {
    let Ok(mut reader) = reader(bytes) else {
        return;
    };
    let (events, _) = all(&mut reader);
    assert!(events.is_sorted_by_key(|e| e.time));
    assert!(events.len() < 10_000_000);
}

/// One small file of each format and kind.
fn files() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for machine in MACHINES {
        let events: Vec<_> = (0..20)
            .map(|n| (n, switch(machine, n, 1, n + 1)))
            .chain([
                (7, wakeup(machine, 1, 2, 0)),
                (9, attach(machine, 1, 2, "/a")),
            ])
            .collect();
        let pages = vec![
            page(machine, 1000, &events, None),
            page(machine, 2000, &events, Some(3)),
        ];
        let cpus = vec![pages.clone(), pages];
        files.push(v6(machine, &[], &cpus, &[("again", cpus.clone())]));
        for packing in [Packing::None, Packing::Zlib, Packing::Zstd] {
            files.push(v7(machine, packing, &[], &[("", cpus.clone())]));
        }
        let recorded = Recorded::tracepoint(501, crate::build::SWITCH, USUAL);
        let mut data = Vec::new();
        for n in 0..30 {
            let raw = switch(machine, n, 1, n + 1);
            data.extend(sample(
                machine,
                &recorded,
                1000 - u64::from(n),
                n % 2,
                &raw,
                &[],
            ));
            if n % 10 == 9 {
                data.extend(round(machine));
            }
        }
        files.push(file(machine, &[recorded], &data));
        files.push(pipe(machine, &[recorded], &data));
        files.push(pipe(machine, &[recorded], &packed(machine, 81, &data, 500)));
    }
    files
}

/// Recordings of real kernels, shortened.
fn recordings() -> Vec<Vec<u8>> {
    let mut files: Vec<_> = [
        "perf-sched.data.gz",
        "perf-script.txt.gz",
        "quota-report.txt.gz",
        "cfs-v7.dat",
    ]
    .iter()
    .map(|name| unpacked(name))
    .collect();
    files[1].truncate(20_000);
    files[2].truncate(20_000);
    let packed = gzip(&files[1]);
    files.push(packed);
    files
}

fn damage_files(times: u64, seed: u64) {
    for (n, file) in files().into_iter().chain(perfetto()).enumerate() {
        for k in 0..times {
            survive(damaged(file.clone(), seed + 1000 * k + n as u64));
        }
    }
}

fn damage_recordings(times: u64) {
    for (n, file) in recordings().into_iter().enumerate() {
        for k in 0..times {
            survive(damaged(file.clone(), 77 + 1000 * k + n as u64));
        }
    }
}

/// A Perfetto trace of bytes: a bundle of two switches, and columns.
fn perfetto() -> Vec<Vec<u8>> {
    let event = |time: u8| {
        let switch = [
            0x10, 1, 0x18, 120, 0x20, 1, 0x30, 2, 0x38, 120, 0x0a, 1, b'a', 0x2a, 1, b'b',
        ];
        let mut event = vec![0x08, time, 0x10, 1, 0x22, switch.len() as u8];
        event.extend(switch);
        let mut out = vec![0x12, event.len() as u8];
        out.extend(event);
        out
    };
    let columns = [
        0x22, 32, 0x2a, 1, b'c', 0x0a, 2, 5, 6, 0x12, 2, 1, 1, 0x1a, 2, 7, 8, 0x22, 2, 120, 120,
        0x32, 2, 0, 0, 0x3a, 1, 5, 0x42, 1, 9, 0x4a, 1, 0,
    ];
    let bundle = [vec![0x08, 0], event(10), event(20), columns.to_vec()].concat();
    let mut packet = vec![0x0a, bundle.len() as u8];
    packet.extend(bundle);
    packet.extend([0x50, 1]);
    let mut trace = vec![0x0a, packet.len() as u8];
    trace.extend(packet);
    vec![trace.repeat(20)]
}

#[test]
fn damaged_files_are_survived() {
    damage_files(15, 1);
}

#[test]
fn damaged_recordings_are_survived() {
    damage_recordings(10);
}

#[test]
#[ignore = "takes minutes; `cargo xtask nightly long` runs it"]
fn five_thousand_damaged_files_of_each_kind_are_survived() {
    damage_files(5000, 5_000_000);
    damage_recordings(5000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn bytes_behind_a_magic_are_survived(
        magic in prop::sample::select(vec![
            &b"PERFILE2\x68\0\0\0\0\0\0\0"[..],
            b"PERFILE2\x10\0\0\0\0\0\0\0",
            b"2ELIFREP\0\0\0\0\0\0\0\x10",
            b"\x17\x08\x44tracing6\0\0\x08\0\x10\0\0",
            b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0zstd\0",
            b"\x0a\x40\x0a\x3e\x08\0",
            b"# tracer: nop\n",
            b"<html>\n# tracer: nop\n",
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        survive([magic, &rest].concat());
    }

    #[test]
    fn lines_of_words_are_survived(
        words in prop::collection::vec(prop::sample::select(vec![
            "a-1", "[000]", "[", "]", "(", ")", "1.5:", "1:", ":", "sched_switch:", "sched_wakeup:",
            "prev_comm=", "prev_pid=1", "next_pid=", "==>", "[120]", "x:1", "R", "\n", "-", "-1",
            "CPU:1", "CPU:", "[LOST", "kvm_exit:", "reason", "vec=",
            "99999999999999999999.9:", "# a : b", "\\n",
        ]), 0..200),
    ) {
        survive(words.join(" ").into_bytes());
    }
}
