//! Traces of block devices: every format is recognised and read, damage is named, and no bytes do
//! harm. The files are in `testdata/block-traces`.

use domio_trace::block::{
    BlockAct, BlockEvent, BlockFormat, BlockReader, BlockTraceError, BlockWay, recognise_block,
};
use std::path::PathBuf;

/// The file of each format, how many events it has, and how many of them were queued.
const FORMS: [(&str, BlockFormat, usize, usize); 12] = [
    ("forms/blktrace.bin", BlockFormat::Blktrace, 4, 2),
    ("forms/blkparse.txt", BlockFormat::Blkparse, 14, 4),
    ("forms/ftrace-blk.txt", BlockFormat::Ftrace, 6, 1),
    ("forms/ftrace-events.txt", BlockFormat::Ftrace, 4, 1),
    ("forms/iolog2.log", BlockFormat::FioIolog2, 5, 5),
    ("forms/iolog3.log", BlockFormat::FioIolog3, 4, 4),
    ("forms/msr.csv", BlockFormat::Msr, 3, 3),
    ("forms/spc.csv", BlockFormat::Spc, 3, 3),
    ("forms/alibaba.csv", BlockFormat::Alibaba, 3, 3),
    ("forms/tencent.csv", BlockFormat::Tencent, 3, 3),
    ("forms/disksim.ascii", BlockFormat::DiskSim, 3, 3),
    ("postmark.csv", BlockFormat::Events, 3000, 0),
];

fn bytes(name: &str) -> Vec<u8> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    std::fs::read(root.join("../../testdata/block-traces").join(name)).unwrap()
}

fn events(bytes: &[u8], format: Option<BlockFormat>) -> Result<Vec<BlockEvent>, BlockTraceError> {
    let mut reader = BlockReader::new(bytes, format)?;
    let mut events = Vec::new();
    while let Some(event) = reader.next_event()? {
        events.push(event);
    }
    Ok(events)
}

/// Time (µs), act, way, sector and sectors.
fn told(event: &BlockEvent) -> (u64, char, BlockWay, u64, u32) {
    let us = event.at.as_nanos() / 1000;
    (
        us,
        event.act.letter(),
        event.way,
        event.sector,
        event.sectors,
    )
}

#[test]
fn every_format_is_recognised_and_read_whole() {
    for (name, format, count, queued) in FORMS {
        let bytes = bytes(name);
        assert_eq!(recognise_block(&bytes), Some(format), "{name}");
        let mut reader = BlockReader::new(&bytes[..], None).unwrap();
        let mut all = Vec::new();
        while let Some(event) = reader.next_event().unwrap() {
            all.push(event);
        }
        assert_eq!(reader.format(), format);
        assert_eq!(reader.damage().places, 0, "{name}: {}", reader.damage());
        assert_eq!(all.len(), count, "{name}");
        let is_queued = |e: &&BlockEvent| e.act == BlockAct::Queue;
        if queued > 0 {
            assert_eq!(all.iter().filter(is_queued).count(), queued, "{name}");
        }
        assert!(all.is_sorted_by_key(|e| e.at), "{name}");
        assert_eq!(BlockFormat::from_name(format.name()), Some(format));
    }
}

#[test]
fn events_of_linux_have_their_places_marks_and_processes() {
    use BlockWay::{None, Read, Write};
    let file = bytes("forms/blkparse.txt");
    let mut reader = BlockReader::new(&file[..], Option::None).unwrap();
    let mut all = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        all.push(event);
    }
    assert_eq!(told(&all[0]), (0, 'Q', Write, 223_490, 8));
    assert_eq!(told(&all[2]), (2, 'P', None, 0, 0));
    assert_eq!(told(&all[7]), (26, 'D', Write, 223_490, 16));
    assert_eq!(told(&all[9]), (101, 'Q', Read, 5000, 8));
    assert_eq!(
        told(&all[13]),
        (7500, 'Q', Write, 0, 0),
        "a flush has no data"
    );
    assert!(all[9].flags.sync && !all[0].flags.sync);
    let names = reader.names();
    assert_eq!(names.actor(all[9].who), "my app [x]-912");
    assert_eq!(names.command(all[9].who), "my app [x]");
    assert_eq!(names.devices(), ["8,0"]);

    let all = events(&bytes("forms/ftrace-events.txt"), Option::None).unwrap();
    assert_eq!(told(&all[2]), (10, 'D', Read, 5000, 8));
    assert_eq!(told(&all[3]), (5100, 'C', Read, 5000, 8));
    assert!(all[0].flags.ahead);

    let file = bytes("forms/blktrace.bin");
    let mut reader = BlockReader::new(&file[..], Option::None).unwrap();
    let first = reader.next_event().unwrap().unwrap();
    assert_eq!(reader.names().actor(first.who), "postmark-912");
    reader.next_event().unwrap();
    let third = reader.next_event().unwrap().unwrap();
    assert_eq!(told(&third), (1, 'Q', Write, 9000, 16));
    assert!(third.flags.sync && third.flags.meta);
}

#[test]
fn requests_of_volumes_are_in_sectors_and_nanoseconds() {
    use BlockWay::{Discard, None, Read, Write};
    let of = |name: &str| {
        let all = events(&bytes(name), Option::None).unwrap();
        all.iter().map(told).collect::<Vec<_>>()
    };
    assert_eq!(
        of("forms/iolog2.log"),
        [
            (0, 'Q', Read, 0, 8),
            (1200, 'Q', Write, 2048, 128),
            (1500, 'Q', Read, 8, 8),
            (1500, 'Q', None, 0, 0),
            (1500, 'Q', Discard, 0, 2048),
        ]
    );
    assert_eq!(of("forms/iolog3.log")[1], (1200, 'Q', Write, 2048, 128));
    assert_eq!(of("forms/msr.csv")[1], (1_332_052, 'Q', Write, 5512, 8));
    assert_eq!(of("forms/spc.csv")[2], (699_014, 'Q', Read, 3_436_288, 31));
    assert_eq!(
        of("forms/alibaba.csv")[1],
        (46, 'Q', Read, 115_449_856, 704)
    );
    assert_eq!(
        of("forms/tencent.csv")[2],
        (1_000_000, 'Q', Read, 1_904_106_400, 384)
    );
    assert_eq!(of("forms/disksim.ascii")[1], (11_415, 'Q', Write, 8192, 16));
    let msr = events(&bytes("forms/msr.csv"), Option::None).unwrap();
    assert_eq!(msr[0].response.unwrap().as_nanos(), 11_373_600);
}

#[test]
fn a_damaged_line_is_left_out_and_named() {
    let mut text = String::from_utf8(bytes("forms/alibaba.csv")).unwrap();
    text.insert_str(0, "419,X,8192,16384,1577808144360000\n");
    text += "nonsense\n12,R,1,2\n12,R,8192,0,1577808144360900\n";
    let mut reader = BlockReader::new(text.as_bytes(), Some(BlockFormat::Alibaba)).unwrap();
    let mut count = 0;
    while reader.next_event().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, 3);
    let damage = reader.damage().to_string();
    assert_eq!(reader.damage().places, 4);
    assert!(
        damage.starts_with("4 damaged places were left out: line 1: "),
        "{damage}"
    );
    assert!(
        damage.contains("line 1: expected R or W, found \"419,X,8192"),
        "{damage}"
    );
    assert!(
        damage.contains("line 7: expected a size in bytes, as 4096"),
        "{damage}"
    );
}

#[test]
fn records_go_on_behind_what_is_none() {
    let whole = bytes("forms/blktrace.bin");
    let mut damaged = whole[..112].to_vec();
    damaged.extend(b"some other bytes");
    damaged.extend(&whole[112..whole.len() - 5]);
    let mut reader = BlockReader::new(&damaged[..], None).unwrap();
    let mut acts = String::new();
    while let Some(event) = reader.next_event().unwrap() {
        acts.push(event.act.letter());
    }
    assert_eq!(acts, "QDQ", "{}", reader.damage());
    assert_eq!(reader.damage().places, 2);
    let told = reader.damage().to_string();
    assert!(
        told.contains("byte 112: ") && told.contains("16 bytes were skipped"),
        "{told}"
    );
    assert!(told.contains("the file ends inside a record"), "{told}");
}

/// A machine of the other order of bytes writes the words the other way round.
#[test]
fn both_orders_of_bytes_are_read() {
    let whole = bytes("forms/blktrace.bin");
    let record = &whole[64..112];
    let mut turned = Vec::new();
    let mut at = 0;
    for size in [4, 4, 8, 8, 4, 4, 4, 4, 4, 2, 2] {
        turned.extend(record[at..at + size].iter().rev());
        at += size;
    }
    let events = events(&turned, None).unwrap();
    assert_eq!(told(&events[0]), (0, 'Q', BlockWay::Read, 5000, 8));
}

#[test]
fn what_is_no_such_trace_is_refused_with_a_reason() {
    let error = |bytes: &[u8], format| events(bytes, format).unwrap_err().to_string();
    assert!(error(b"", None).contains("the file is empty"));
    let foreign = error(b"title = \"host\"\n", None);
    assert!(
        foreign.contains("blktrace, iolog2") && foreign.contains("--format"),
        "{foreign}"
    );
    let nothing = error(b"a\nb\n", Some(BlockFormat::Msr));
    assert!(
        nothing.contains("fits the format msr; line 1: expected seven fields"),
        "{nothing}"
    );
    for text in [
        "run.duration_s = 1\n",
        "0 1 R sync 1000 8\n",
        "a,b,c,d,e\n1,2,3\n",
    ] {
        assert_eq!(recognise_block(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn events_that_go_back_in_time_are_counted_and_a_time_of_centuries_is_damage() {
    let text = "12,R,0,512,2000\n12,R,0,512,5000\n12,R,0,512,3000\n12,R,0,512,9223372036854775\n";
    let mut reader = BlockReader::new(text.as_bytes(), None).unwrap();
    let mut times = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        times.push(event.at.as_nanos() / 1_000_000);
    }
    assert_eq!(times, [0, 3, 3]);
    assert_eq!((reader.damage().late, reader.damage().places), (1, 1));
}

/// Cut anywhere, and with any byte changed, a file is read to its end or refused.
#[test]
fn no_bytes_do_harm() {
    for (name, format, ..) in FORMS.iter().filter(|(name, ..)| name.starts_with("forms")) {
        let whole = bytes(name);
        for end in 0..whole.len() {
            let _ = events(&whole[..end], Some(*format));
            let _ = events(&whole[..end], None);
            for with in [0, b'-', b'9', b',', b'\n', 0xff] {
                let mut changed = whole.clone();
                changed[end] = with;
                let _ = events(&changed, Some(*format));
            }
        }
        for (_, other, ..) in FORMS {
            let _ = events(&whole, Some(other));
        }
    }
}

/// The files that blktrace writes for each cpu are one recording: dealt out to three files, one of
/// them empty, the records give the events of the whole.
#[test]
fn files_of_several_cpus_are_one_recording() {
    let whole = bytes("forms/blktrace.bin");
    let all = events(&whole, None).unwrap();
    let mut files = vec![Vec::new(); 3];
    let (mut at, mut number) = (0, 0);
    while at + 48 <= whole.len() {
        let own = u16::from_le_bytes([whole[at + 46], whole[at + 47]]);
        let end = at + 48 + usize::from(own);
        // In turns, and nothing for the last cpu.
        files[number % 2].extend(&whole[at..end]);
        (at, number) = (end, number + 1);
    }
    assert!(number > 4 && files[2].is_empty());
    let parts: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let mut reader = BlockReader::of_parts(parts).unwrap();
    let mut merged = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        merged.push((event.at, event.act, event.sector, event.sectors));
    }
    let whole: Vec<_> = all
        .iter()
        .map(|e| (e.at, e.act, e.sector, e.sectors))
        .collect();
    let sorted = |mut events: Vec<_>| {
        events.sort_by_key(|(at, act, sector, sectors): &(_, BlockAct, u64, u32)| {
            (*at, act.letter(), *sector, *sectors)
        });
        events
    };
    assert_eq!(sorted(merged), sorted(whole));
    assert_eq!(reader.damage().late, 0);
    let wrong = BlockReader::of_parts(vec![&files[0][..], b"no trace\n"])
        .err()
        .unwrap();
    assert!(matches!(wrong, BlockTraceError::Part(1)), "{wrong}");
}
