//! An archiver, step by step.

use domio_core::{Duration, Instant};
use domio_vmm::process::programs::{Zip, ZipConfig};
use domio_vmm::process::{Context, FileId, Op, Program, What};

const DISK: FileId = FileId { device: 0, file: 3 };

/// Bytes read and written, processor time and jobs of an archive with `config`.
fn run(config: ZipConfig) -> (u64, u64, Duration, u32) {
    let mut zip = Zip::new(DISK, config);
    let (mut read, mut written, mut work, mut jobs) = (0, 0, Duration::ZERO, 0);
    let mut returned = 0;
    for _ in 0..1_000_000 {
        let cx = Context {
            now: Instant::ZERO,
            returned,
        };
        match zip.next(&cx) {
            Op::Compute(time) => work += time,
            Op::Report { .. } => jobs += 1,
            Op::Exit => return (read, written, work, jobs),
            Op::Call(call) => {
                returned = match call.what {
                    What::Prepare(_) => 100,
                    What::Create { .. } => 7,
                    What::Read { bytes, .. } => {
                        assert!((100..100 + config.files).contains(&call.file.file));
                        read += bytes;
                        bytes
                    }
                    What::Write { offset, bytes } => {
                        assert_eq!((call.file.file, offset), (7, written), "in a row");
                        written += bytes;
                        bytes
                    }
                    other => panic!("an archiver asks for no {other:?}"),
                };
            }
            _ => panic!("an archiver calls, computes and reports"),
        }
    }
    panic!("an archive ends");
}

#[test]
fn every_byte_is_read_once_and_a_quarter_is_written() {
    let config = ZipConfig {
        files: 50,
        ..ZipConfig::LINUX_2_6_18
    };
    let sizes = config.prepare();
    let all: u64 = (0..50).map(|place| sizes.size(place)).sum();
    let (read, written, work, jobs) = run(config);
    assert_eq!((read, jobs), (all, 50));
    assert!(written <= all / 4 && written + 50 >= all / 4, "{written}");
    let exact = config.work_kib * all / 1024;
    assert!(work <= exact && work + Duration::from_nanos(50) >= exact);
}

#[test]
fn an_archive_that_is_thrown_away_is_not_written() {
    let config = ZipConfig {
        files: 3,
        ratio_percent: 0,
        block: 4096,
        ..ZipConfig::LINUX_2_6_18
    };
    let (_, written, _, jobs) = run(config);
    assert_eq!((written, jobs), (0, 3));
}
