//! Requests of a real disk, and who waited for them.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use domio_core::{Names, Record, Says};
use domio_record::{Live, LiveRecords, Way};

use crate::start;

/// Bytes that are written, in pieces that each wait for the disk.
const PIECE: usize = 256 << 10;
const PIECES: usize = 8;

/// What records say of requests.
#[derive(Default)]
struct Requests {
    done: u64,
    written: u64,
    waits: u64,
    waited: u64,
}

impl Requests {
    fn see(&mut self, names: &Names, record: &Record) {
        let Some(declared) = names.declared(record) else {
            return;
        };
        match declared.says {
            Says::DiskDone {
                sectors, writes, ..
            } => {
                self.done += 1;
                if declared.value(record, writes) != 0 {
                    self.written += 512 * declared.value(record, sectors);
                }
            }
            Says::WaitedForDisk { time } => {
                self.waits += 1;
                self.waited += declared.value(record, time);
            }
            _ => {}
        }
    }
}

/// Whether files of a folder are on a device with requests, and not in memory.
fn is_on_disk(folder: &Path) -> bool {
    let device = std::fs::metadata(folder).unwrap().dev();
    let major = device >> 8 & 0xfff;
    let minor = device & 0xff | device >> 12 & 0xf_ff00;
    Path::new(&format!("/sys/dev/block/{major}:{minor}")).exists()
}

/// Writes to a file, and waits for its disk each time.
fn write(folder: &Path) {
    let mut file = tempfile::tempfile_in(folder).unwrap();
    for n in 0..PIECES {
        file.write_all(&vec![n as u8; PIECE]).unwrap();
        file.sync_data().unwrap();
    }
}

fn check(live: Live) {
    let way = live.way();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    if !is_on_disk(folder) {
        println!("SKIPPED, files of tests are not on a disk of this machine");
        return;
    }
    let mut records = LiveRecords::new(live, Vec::new());
    let mut requests = Requests::default();
    records.round(&mut |_, _| {}).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(folder));
        while !writer.is_finished() {
            let see = &mut |names: &Names, record: &Record| requests.see(names, record);
            records.round(see).unwrap();
        }
    });
    let see = &mut |names: &Names, record: &Record| requests.see(names, record);
    let ended = records.finish(see).unwrap().ended;
    println!(
        "{way}: {} requests, {} bytes written, {} waits of {} ns",
        requests.done, requests.written, requests.waits, requests.waited
    );
    assert!(requests.written >= (PIECE * PIECES) as u64);
    // Others may write as well; each piece was waited for.
    assert!(requests.waits >= PIECES as u64 / 2 && requests.waited > 0);
    assert_eq!((ended.refused, ended.disorder), (0, 0));
}

#[cfg(feature = "bpf")]
#[test]
fn by_bpf() {
    if let Some(live) = start(Way::Bpf) {
        check(live);
    }
}

#[test]
fn by_tracefs() {
    if let Some(live) = start(Way::Tracefs) {
        check(live);
    }
}
