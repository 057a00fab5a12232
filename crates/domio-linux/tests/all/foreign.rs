//! Files that are no traces, or are packed.

use std::io::Write;

use crate::{error, gzip, read, unpacked};

#[test]
fn files_of_other_programs_are_named() {
    for (bytes, expected) in [
        (&b""[..], "the file is empty"),
        (
            b"{\"traceEvents\": [{\"ph\": \"X\"}]}",
            "a Chrome trace (JSON)",
        ),
        (b"[{\"name\": 1}]", "JSON"),
        (b"\xc1\x1f\xfc\xc1\x00\x00\x00\x00", "CTF (LTTng)"),
        (b"/* CTF 1.8 */\ntypealias", "CTF (LTTng)"),
        (b"\xfd7zXZ\x00\x00\x04\xe6\xd6", "xz -d"),
        (b"\x7fELF\x02\x01\x01\x00", "a program"),
        (b"\xff\xfe#\0 \0t\0", "iconv"),
        (b"\x03\xf0\x01\x20\x00\x00\x00\x00", "a xentrace file"),
        (b"PERFFILE\x68\x00\x00\x00\x00\x00\x00\x00", "newer perf"),
        (b"ts,dur,cpu,utid,name\n1,2,3,4,5\n", "a table (CSV)"),
        (b"To whom it may concern\n", "print with `perf script`"),
        (b"perf.data\x00\x00\x00", "the file starts with 70 65 72 66"),
        (
            b"\x17\x08\x44tracing9\x00\x00\x08\x00\x10\x00\x00",
            "convert",
        ),
    ] {
        let error = error(bytes.to_vec()).to_string();
        assert!(error.contains(expected), "{error}");
        if !bytes.is_empty() {
            let packed = crate::error(gzip(bytes)).to_string();
            assert!(packed.contains(expected), "packed: {packed}");
        }
    }
}

#[test]
fn packed_files_are_unpacked_and_known_to_be_cut() {
    let file = unpacked("quota-v6.dat.gz");
    let (events, _) = read(file.clone());
    let zstd = zstd::bulk::compress(&file, 1).unwrap();
    assert_eq!(read(gzip(&file)).0, events);
    assert_eq!(read(zstd).0, events);
    let packed = gzip(&file);
    let error = error(packed[..packed.len() / 2].to_vec());
    assert!(error.is_truncation(), "{error}");
    assert!(error.to_string().contains("gzip"), "{error}");
    let line = "  a-7 [001] d..2. 12.5: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 \
                prev_state=S ==> next_comm=b next_pid=8 next_prio=120\n";
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    zlib.write_all(line.as_bytes()).unwrap();
    let of_atrace = [b"TRACE:\n".to_vec(), zlib.finish().unwrap()].concat();
    assert_eq!(read(of_atrace).0.len(), 1);
    let twice = crate::error(gzip(&gzip(&file))).to_string();
    assert!(twice.contains("packed twice"), "{twice}");
}

#[test]
fn a_packed_text_that_is_cut_gives_its_lines_first() {
    let line = "  a-7 [001] d..2. 12.5: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 \
                prev_state=S ==> next_comm=b next_pid=8 next_prio=120\n";
    let packed = gzip(line.repeat(50_000).as_bytes());
    let mut reader = crate::reader(packed[..packed.len() / 2].to_vec()).unwrap();
    let (events, error) = crate::all(&mut reader);
    assert!(events.len() > 10_000, "{}", events.len());
    assert!(error.unwrap().is_truncation());
}

#[test]
fn folders_are_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("metadata"), "").unwrap();
    let error = domio_linux::LinuxReader::open(folder.path())
        .map(drop)
        .unwrap_err();
    assert!(error.to_string().contains("LTTng"), "{error}");
}
