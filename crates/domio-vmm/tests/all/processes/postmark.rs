//! PostMark, step by step.

use domio_core::Instant;
use domio_sim::RandomStream;
use domio_vmm::process::programs::{PostMark, PostMarkConfig};
use domio_vmm::process::{Context, FileId, Op, Program, What};
use std::collections::BTreeMap;

const DISK: FileId = FileId { device: 0, file: 0 };

/// What the process asked for, with a file system that only counts.
#[derive(Default)]
struct Seen {
    sizes: BTreeMap<u32, u64>,
    next: u32,
    reports: u64,
    most: usize,
    exited: bool,
}

/// Runs `config` for `steps`.
fn run(config: PostMarkConfig, steps: u32) -> Seen {
    let mut mark = PostMark::new(DISK, config);
    mark.seed(RandomStream::new(3, 0, "test"));
    let mut seen = Seen::default();
    let mut returned = 0;
    for _ in 0..steps {
        let now = Instant::ZERO;
        let call = match mark.next(&Context { now, returned }) {
            Op::Call(call) => call,
            Op::Report { .. } => {
                seen.reports += 1;
                returned = 0;
                continue;
            }
            Op::Exit => {
                seen.exited = true;
                return seen;
            }
            other => panic!("PostMark asks for no {other:?}"),
        };
        let file = call.file.file;
        returned = match call.what {
            What::Prepare(prepare) => {
                for i in 0..prepare.files {
                    seen.sizes.insert(100 + i, prepare.size(i));
                }
                100
            }
            What::Create { directory } => {
                let subdirectories = config.subdirectories;
                assert!(directory == 0 || subdirectories > 1);
                assert!(directory < 2 * subdirectories);
                seen.next += 1;
                seen.sizes.insert(1_000_000 + seen.next, 0);
                u64::from(1_000_000 + seen.next)
            }
            What::Remove => {
                assert!(
                    seen.sizes.remove(&file).is_some(),
                    "{file} is removed twice"
                );
                0
            }
            What::Write { offset, bytes } => {
                let size = seen.sizes.get_mut(&file).unwrap();
                assert_eq!(offset, *size, "a file is written from its end on");
                assert!(bytes > 0 && bytes <= config.write);
                *size += bytes;
                assert!(*size <= config.size.1);
                bytes
            }
            What::Read { offset, bytes } => {
                assert!(offset < seen.sizes[&file] && bytes == config.read);
                bytes
            }
            other => panic!("PostMark asks for no {other:?}"),
        };
        seen.most = seen.most.max(seen.sizes.len());
    }
    seen
}

#[test]
fn transactions_end_with_no_file_left() {
    let config = PostMarkConfig {
        files: 40,
        transactions: Some(200),
        subdirectories: 3,
        ..PostMarkConfig::DEFAULT
    };
    let seen = run(config, 100_000);
    assert!(seen.exited && seen.sizes.is_empty());
    assert_eq!(seen.reports, 200);
    assert!(seen.most <= 80);
}

#[test]
fn a_disk_without_room_gives_no_file() {
    let mut mark = PostMark::new(DISK, PostMarkConfig::DEFAULT);
    let now = Instant::ZERO;
    let mut reports = 0;
    for _ in 0..2_000 {
        match mark.next(&Context { now, returned: 0 }) {
            // There is no file to be written, read or removed.
            Op::Call(call) => assert!(matches!(call.what, What::Create { .. })),
            Op::Report { .. } => reports += 1,
            op => panic!("{op:?}"),
        }
    }
    assert!(reports > 0, "transactions go on");
}

#[test]
fn prepared_files_are_used_and_not_written() {
    let config = PostMarkConfig {
        files: 50,
        prepared: true,
        bias_read: 10,
        bias_create: 0,
        ..PostMarkConfig::DEFAULT
    };
    // Reads and deletes alone, until nothing is left.
    let seen = run(config, 2_000);
    assert!(seen.sizes.is_empty() && seen.next == 0 && seen.reports >= 50);
}

#[test]
fn the_table_never_holds_more_than_twice_the_files() {
    let config = PostMarkConfig {
        files: 20,
        bias_create: 10,
        ..PostMarkConfig::DEFAULT
    };
    let seen = run(config, 20_000);
    assert_eq!(seen.most, 40);
    assert!(seen.reports > 1_000, "transactions go on");
}
