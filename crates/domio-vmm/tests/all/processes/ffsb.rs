//! A thread of FFSB, step by step.

use domio_core::Instant;
use domio_sim::RandomStream;
use domio_vmm::process::programs::{Ffsb, FfsbConfig, FfsbWeights};
use domio_vmm::process::{Context, FileId, FileSizes, Op, Program, WeightedSizes, What};

const DISK: FileId = FileId { device: 0, file: 0 };

/// Where all files end, whatever was written.
const SIZE: u64 = 50_000_000;

/// Calls of a thread by kind: reads, writes, syncs, creates, removes; and reports.
#[derive(Default)]
struct Seen {
    calls: [u64; 5],
    /// Files in use, those that were added to the list, and removals of prepared files.
    used: u64,
    added: u64,
    old: u64,
    reports: u64,
    offsets: Vec<u64>,
    appends: u64,
}

fn run(config: FfsbConfig, steps: u32) -> Seen {
    let mut thread = Ffsb::new(DISK, config);
    thread.seed(RandomStream::new(5, 0, "test"));
    let mut seen = Seen::default();
    let mut returned = 0;
    let files = u64::from(config.files);
    for step in 0..steps {
        let now = Instant::ZERO;
        let Op::Call(call) = (match thread.next(&Context { now, returned }) {
            Op::Report { .. } => {
                seen.reports += 1;
                continue;
            }
            op => op,
        }) else {
            panic!("a thread calls and reports");
        };
        assert!(step > 0 || matches!(call.what, What::Prepare(_)));
        returned = match call.what {
            What::Prepare(_) => 7,
            What::Read { offset, bytes } => {
                assert!(bytes <= config.read.1);
                assert!(call.file.file >= 7);
                assert_eq!(seen.used, 1, "the file is in use");
                seen.offsets.push(offset);
                seen.calls[0] += 1;
                bytes
            }
            What::Write { offset, bytes } => {
                assert!(bytes <= config.write.1);
                let old = call.file.file < 10_000;
                let end = one_size(&config).filter(|_| old).unwrap_or(SIZE);
                seen.appends += u64::from(offset >= end);
                seen.calls[1] += 1;
                bytes
            }
            What::Sync => {
                seen.calls[2] += 1;
                0
            }
            What::Create { .. } => {
                seen.calls[3] += 1;
                10_000 + seen.calls[3]
            }
            What::Choose { alone, draw } => {
                assert_eq!(call.file.file, 7, "the first file names the list");
                seen.used += u64::from(!alone);
                let all = files + seen.added;
                match draw % all {
                    old if old < files => 7 + old,
                    new => 10_001 + new - files,
                }
            }
            What::Release { first } => {
                assert_eq!(first, 7);
                seen.used -= 1;
                0
            }
            What::Enlist { first } => {
                assert_eq!((first, call.file.file > 10_000), (7, true));
                seen.added += 1;
                0
            }
            What::Size if call.file.file < 10_000 && one_size(&config).is_some() => {
                one_size(&config).unwrap_or(0)
            }
            What::Size => SIZE,
            What::Remove => {
                seen.old += u64::from(call.file.file < 10_000);
                seen.calls[4] += 1;
                0
            }
            other => panic!("FFSB asks for no {other:?}"),
        };
    }
    seen
}

#[test]
fn a_disk_without_room_gives_no_file() {
    let mut config = FfsbConfig::DEFAULT;
    let weights = &mut config.weights;
    (weights.read, weights.write, weights.create) = (0, 0, 1);
    for delete in [0, 1] {
        config.weights.delete = delete;
        let mut none = 0;
        let mut thread = Ffsb::new(DISK, config);
        thread.seed(RandomStream::new(5, 0, "test"));
        let now = Instant::ZERO;
        let (mut prepared, mut made) = (0, 0);
        for _ in 0..100 {
            let op = thread.next(&Context { now, returned: 0 });
            // A file of its own would be written, or removed.
            match op {
                Op::Call(call) if matches!(call.what, What::Prepare(_)) => prepared += 1,
                Op::Call(call) if matches!(call.what, What::Create { .. }) => made += 1,
                Op::Call(call) if matches!(call.what, What::Choose { alone: true, .. }) => {
                    none += 1;
                }
                Op::Compute(_) => none += 1,
                op => panic!("{op:?}"),
            }
        }
        assert_eq!(
            (prepared, made + none),
            (1, 99),
            "it tries again after the files are there"
        );
        assert!(made > 0 && (none > 0) == (delete > 0));
    }
}

#[test]
fn each_call_on_a_block_is_a_transaction() {
    let seen = run(FfsbConfig::DEFAULT, 40_000);
    let [reads, writes, ..] = seen.calls;
    assert!(seen.reports.abs_diff(reads + writes) <= 1);
    // As many of each, of four blocks each.
    assert!(reads.abs_diff(writes) * 20 < reads, "{reads} {writes}");
    let in_a_row = seen.offsets.chunks(4).filter(|o| o.len() == 4);
    let mut in_a_row = in_a_row.map(|o| o.windows(2).all(|w| w[1] == w[0] + 4096));
    assert!(
        in_a_row.all(|row| row),
        "blocks of an operation follow each other"
    );
}

#[test]
fn the_last_block_of_a_file_is_never_hit_at_random() {
    let config = FfsbConfig {
        read_random: true,
        alignio: true,
        sizes: FileSizes::Between(16 << 10, 16 << 10),
        weights: FfsbWeights {
            write: 0,
            ..FfsbConfig::DEFAULT.weights
        },
        ..FfsbConfig::DEFAULT
    };
    let seen = run(config, 5_000);
    let mut places: Vec<u64> = seen.offsets;
    places.sort_unstable();
    places.dedup();
    assert_eq!(places, [0, 4096, 8192]);
}

/// One list: deletions take prepared files and created ones, and each is a transaction.
#[test]
fn threads_delete_files_of_the_list() {
    let config = FfsbConfig {
        weights: FfsbWeights {
            read: 0,
            readall: 1,
            write: 1,
            append: 1,
            create: 4,
            create_fsync: 4,
            delete: 1,
        },
        sizes: FileSizes::Between(8 << 10 | 1, 16 << 10),
        files: 20,
        ..FfsbConfig::DEFAULT
    };
    let config = FfsbConfig {
        // Whole files of 50 MB take all steps.
        weights: FfsbWeights {
            readall: 0,
            ..config.weights
        },
        ..config
    };
    let seen = run(config, 50_000);
    let [_, writes, syncs, creates, removes] = seen.calls;
    assert!(
        0 < seen.old && seen.old < removes,
        "{} of {removes}",
        seen.old
    );
    assert!(seen.reports.abs_diff(writes + removes) <= 1);
    // Half of the creations end with one.
    assert!(
        (2 * syncs).abs_diff(creates) * 5 < creates,
        "{syncs} {creates}"
    );
    assert!(seen.added.abs_diff(creates) <= 1 && creates > 4 * removes);
}

#[test]
fn places_are_any_byte_without_alignio() {
    for alignio in [false, true] {
        let config = FfsbConfig {
            alignio,
            ..FfsbConfig::DEFAULT
        };
        let seen = run(config, 5_000);
        let aligned = seen.offsets.iter().all(|at| at % 4096 == 0);
        assert_eq!(aligned, alignio);
    }
}

#[test]
fn appends_go_behind_the_end_of_prepared_files() {
    let weights = FfsbWeights {
        read: 4,
        append: 1,
        ..FfsbConfig::DEFAULT.weights
    };
    let config = FfsbConfig {
        weights,
        ..FfsbConfig::DEFAULT
    };
    let seen = run(config, 60_000);
    // As many operations append as write, of four blocks each.
    let [reads, writes, ..] = seen.calls;
    assert!((seen.appends * 2).abs_diff(writes) * 10 < writes);
    assert!((writes * 2).abs_diff(reads) * 10 < reads);
}

/// The size of all files, if they have one.
fn one_size(config: &FfsbConfig) -> Option<u64> {
    match config.sizes {
        FileSizes::Between(low, high) => (low == high).then_some(low),
        FileSizes::Weighted(_) => None,
    }
}

/// FFSB makes files of the sizes that it was given, as often as their weights say.
#[test]
fn created_files_have_sizes_by_weight() {
    let mix = WeightedSizes::read("4K/3:1M/1").unwrap();
    let config = FfsbConfig {
        sizes: FileSizes::Weighted(mix),
        weights: FfsbWeights {
            read: 0,
            write: 0,
            create: 1,
            ..FfsbConfig::DEFAULT.weights
        },
        ..FfsbConfig::DEFAULT
    };
    let seen = run(config, 60_000);
    let [_, writes, _, creates, _] = seen.calls;
    // A file in four has 256 blocks, the others one.
    let blocks = writes as f64 / creates as f64;
    assert!((57.0..73.0).contains(&blocks), "{blocks} blocks a file");
    let large = (0..1000).filter(|place| config.prepare().size(*place) > 4096);
    assert!((210..290).contains(&large.count()));
}
