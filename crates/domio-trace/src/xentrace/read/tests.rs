//! Reading files that are sound, cut and damaged.

use super::*;
use crate::xentrace::event::WRAP_BUFFER;

fn record(out: &mut Vec<u8>, tsc: Option<u64>, event: u32, extra: &[u32]) {
    let cycles = if tsc.is_some() { HAS_CYCLES } else { 0 };
    out.extend((cycles | (extra.len() as u32) << 28 | event).to_le_bytes());
    out.extend(tsc.into_iter().flat_map(u64::to_le_bytes));
    out.extend(extra.iter().flat_map(|w| w.to_le_bytes()));
}

fn window(out: &mut Vec<u8>, cpu: i32, records: &[u8]) {
    out.extend(CPU_CHANGE_HEADER.to_le_bytes());
    out.extend(cpu.to_le_bytes());
    out.extend((records.len() as u32).to_le_bytes());
    out.extend(records);
}

fn read(bytes: &[u8], options: &ReadOptions) -> (Vec<Record>, Option<TraceError>) {
    let (records, error, _) = read_names(bytes, options);
    (records, error)
}

fn read_names(bytes: &[u8], options: &ReadOptions) -> (Vec<Record>, Option<TraceError>, Names) {
    let mut reader = XentraceReader::new(bytes, options).unwrap();
    let mut out = Vec::new();
    loop {
        match reader.next_record() {
            Ok(Some(r)) => out.push(r),
            Ok(None) => {
                let error = reader.take_skipped().errors.into_iter().next();
                return (out, error, reader.names().clone());
            }
            Err(e) => {
                assert!(reader.next_record().unwrap().is_none());
                return (out, Some(e), reader.names().clone());
            }
        }
    }
}

fn two_cpus() -> Vec<u8> {
    let mut file = Vec::new();
    let mut w = Vec::new();
    record(&mut w, Some(2400), 0x28004, &[1, 0]);
    record(&mut w, None, 0x28006, &[1, 0]);
    record(&mut w, None, WRAP_BUFFER, &[0, 0, 0]);
    window(&mut file, 0, &w);
    w.clear();
    record(&mut w, Some(1200), 0x28004, &[2, 0]);
    record(&mut w, Some(4800), 0x1f001, &[9, 1 << 16 | 2, 3600, 0]);
    window(&mut file, 1, &w);
    file
}

#[test]
fn cpus_are_merged_and_times_converted() {
    let options = ReadOptions {
        tsc_hz: Some(2_400_000_000),
        ..ReadOptions::default()
    };
    let (records, error, names) = read_names(&two_cpus(), &options);
    assert!(error.is_none());
    let seen: Vec<_> = records
        .iter()
        .map(|r| (r.at.as_nanos(), r.pcpu.0, r.kind().unwrap()))
        .collect();
    assert_eq!(
        seen,
        [
            (500, 1, Kind::Wake),
            (1000, 0, Kind::Wake),
            (1000, 0, Kind::Block),
            (1500, 1, Kind::Lost),
        ],
        "a record without a time has that of the one before, a loss that of what was lost first"
    );
    assert_eq!(records[3].words[0], 9);
    assert_eq!(names.vcpu(records[3].actor).unwrap().to_string(), "d2v1");
}

#[test]
fn a_lone_continue_running_counts_and_a_paired_one_does_not() {
    let mut w = Vec::new();
    record(&mut w, Some(1), 0x28011, &[4, 1, 70, 80]);
    record(&mut w, Some(2), 0x21002, &[4 << 16 | 1]);
    record(&mut w, Some(3), 0x21002, &[4 << 16 | 1]);
    let mut file = Vec::new();
    window(&mut file, 0, &w);
    let (records, _) = read(&file, &ReadOptions::default());
    let seen: Vec<_> = records.iter().map(|r| (r.at.as_nanos(), r.words)).collect();
    assert_eq!(seen, [(1, [70, 80, 0, 0]), (3, [0; 4])]);
    assert!(records.iter().all(|r| r.is(Kind::Continue)));
}

#[test]
fn every_truncation_is_told_and_keeps_whole_records() {
    let file = two_cpus();
    let whole = read(&file, &ReadOptions::default()).0;
    for cut in 1..file.len() {
        let Ok(mut reader) = XentraceReader::new(&file[..cut], &ReadOptions::default()) else {
            panic!("the start is that of a xentrace file");
        };
        let mut n = 0;
        let error = loop {
            match reader.next_record() {
                Ok(Some(_)) => n += 1,
                Ok(None) => break None,
                Err(e) => break Some(e),
            }
        };
        // A cut between two windows cannot be told from a shorter recording.
        let between = cut == 12 + 20 + 12 + 16;
        assert_eq!(error.is_none(), between, "cut at {cut}");
        if let Some(e) = error {
            assert!(e.is_truncation(), "cut at {cut}: {e}");
            assert_eq!(e.records, n);
        }
        assert!(n <= whole.len() as u64);
    }
}

#[test]
fn damage_is_located() {
    let second_window = 12 + 20 + 12 + 16;
    for (at, value, offset) in [
        (8, 0x31, 8),                                 // an odd size of the first window
        (8, 4, 12),                                   // a size that cuts the first record
        (second_window, 0, second_window),            // a window that does not start as one
        (second_window + 7, 0x80, second_window + 4), // a negative cpu
    ] {
        let mut file = two_cpus();
        file[at] = value;
        let error = read(&file, &ReadOptions::default()).1.expect("not found");
        assert!(
            matches!(error.kind, TraceErrorKind::Damaged { .. }),
            "{error}"
        );
        assert_eq!(error.offset, offset as u64, "{error}");
    }
}

#[test]
fn zeros_are_no_records() {
    let second_window = 12 + 20 + 12 + 16;
    let first_of_second = second_window + 12;
    // One record tells of the loss; what comes in the next window is read.
    for (from, to, records, all) in [
        (first_of_second, first_of_second + 12 + 8, 2, 2 + 1), // a record
        (24, second_window, 1, 1 + 1 + 2),                     // the rest of a window
        (12, 16, 0, 1 + 2),                                    // a header alone
    ] {
        let mut file = two_cpus();
        // The first record of a window ends where its second begins.
        let at = if from == 24 { 12 + 20 } else { from };
        file[at..to].fill(0);
        let (read, error) = read(&file, &ReadOptions::default());
        let error = error.expect("not found");
        assert_eq!((read.len(), error.offset), (all, at as u64), "{error}");
        assert_eq!(error.records, records as u64);
        assert!(error.to_string().contains("never 0"), "{error}");
    }
}

#[test]
fn absurd_windows_are_refused_without_allocating() {
    let mut file = Vec::new();
    window(&mut file, -1, &[]);
    let error = read(&file, &ReadOptions::default()).1.unwrap();
    assert_eq!(error.offset, 4);
    let mut file = two_cpus();
    file[8..12].copy_from_slice(&0xffff_fffcu32.to_le_bytes());
    let (records, error) = read(&file, &ReadOptions::default());
    let error = error.unwrap();
    assert_eq!(
        records.len(),
        2 + 1 + 2,
        "those of both windows, and the loss"
    );
    assert!(
        error.to_string().contains("no other window inside"),
        "{error}"
    );
}

/// Three polling rounds of two cpus, with a wake-up of each cpu in each; the windows' places.
fn rounds() -> (Vec<u8>, Vec<usize>) {
    let (mut file, mut places) = (Vec::new(), Vec::new());
    for round in 0..3 {
        for cpu in 0..2 {
            places.push(file.len());
            let mut w = Vec::new();
            for i in 0..2 {
                let tsc = 1000 * (round + 1) + 10 * i + cpu;
                record(&mut w, Some(tsc), 0x28004, &[cpu as u32, i as u32]);
            }
            window(&mut file, cpu as i32, &w);
        }
    }
    (file, places)
}

#[test]
fn damage_in_the_middle_is_skipped_to_the_next_window_and_told() {
    let (file, places) = rounds();
    let (sound, error) = read(&file, &ReadOptions::default());
    assert!(error.is_none() && sound.len() == 12);
    let window = places[2]; // the second one of cpu 0
    let next = places[3];
    let body = window + 12;
    // Where the damage is, how far it goes, of which cpus something is missing since when, and how
    // many records are.
    type Lost = &'static [(u16, u64)];
    let cases: [(usize, usize, Lost, usize); 4] = [
        (body, next, &[(0, 1010)], 2),
        (body + 20, body + 24, &[(0, 2000)], 1),
        // Nobody knows whose window that was.
        (window, body, &[(0, 1010), (1, 1011)], 2),
        // Nor whose the next one is.
        (body + 20, next + 12, &[(0, 2000)], 3),
    ];
    for (from, to, lost, missing) in cases {
        for fill in [0, 0xff] {
            let mut file = file.clone();
            file[from..to].fill(fill);
            let mut reader = XentraceReader::new(&file[..], &ReadOptions::default()).unwrap();
            let mut records = Vec::new();
            while let Some(record) = reader.next_record().unwrap() {
                records.push(record);
            }
            let (told, read): (Vec<Record>, Vec<Record>) =
                records.iter().partition(|r| r.is(Kind::Lost));
            let told: Vec<_> = told.iter().map(|r| (r.pcpu.0, r.at.as_nanos())).collect();
            assert_eq!(told, lost, "{from} to {to}");
            assert_eq!(read.len(), 12 - missing, "{from} to {to}");
            assert!(read.iter().all(|r| sound.contains(r)));
            assert!(records.is_sorted_by_key(|r| r.at), "{records:?}");
            let skipped = reader.skipped();
            assert_eq!((skipped.places, skipped.errors.len()), (1, 1));
            assert!(skipped.bytes as usize >= to - from, "{skipped:?}");
            assert_eq!(reader.merge_stats().late, 0);
        }
    }
}

#[test]
fn a_time_far_away_is_damage() {
    let (mut file, places) = rounds();
    // The highest byte but one of the count of a record.
    file[places[2] + 12 + 4 + 6] = 1;
    let (records, error) = read(&file, &ReadOptions::default());
    let error = error.expect("not found");
    assert!(error.to_string().contains("soon after"), "{error}");
    assert_eq!(records.len(), 12 - 2 + 1);
}
