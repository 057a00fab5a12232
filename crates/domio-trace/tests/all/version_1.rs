//! A trace of version 1 of the own format reads as it did: `testdata/trace-v1` has a file of the
//! last program that wrote that version, what the program said of every record of it, and what it
//! made of it for Xen's tools.

use std::path::PathBuf;

use crate::classes::KNOWN;
use domio_core::{ActorId, Class, Kind, Names, Record, Sink, VcpuName};
use domio_trace::{OwnReader, ReadOptions, Undeclared, XentraceWriter};

fn file(name: &str) -> Vec<u8> {
    let folder = [
        env!("CARGO_MANIFEST_DIR"),
        "..",
        "..",
        "testdata",
        "trace-v1",
    ];
    let path: PathBuf = folder.iter().collect();
    std::fs::read(path.join(name)).unwrap()
}

fn read(classes: &'static [&'static Class]) -> (Names, Vec<Record>) {
    let options = ReadOptions {
        classes: classes.to_vec(),
        ..ReadOptions::default()
    };
    let bytes = file("trace.domio");
    let mut reader = OwnReader::new(&bytes[..], &options).unwrap();
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        records.push(record);
    }
    (reader.names().clone(), records)
}

/// A record as version 1 had it: the kind's name, its vcpu's domain and index, detail and data.
type Before = (&'static str, [u16; 2], u8, [u32; 4]);

fn before(names: &Names, record: &Record) -> Before {
    let vcpu = |actor| names.vcpu(actor).expect("all actors are named");
    let word = |actor: u32| vcpu(ActorId(actor)).word();
    let [a, b, c, d] = record.words;
    let own = match record.actor.some() {
        Some(actor) => vcpu(actor),
        None => VcpuName::default(),
    };
    let place = [own.domain.0, own.index];
    let Some(kind) = record.kind() else {
        let class = names.class(record.class).unwrap().name;
        return match class {
            "credit" => credit(own, record),
            "network" => network(place, record.number, [a, word_or_none(names, record), c, d]),
            other => panic!("no record is of {other}"),
        };
    };
    match kind {
        Kind::RunstateChange => ("runstate-change", place, a as u8, [0; 4]),
        Kind::Switch => {
            let next = word(record.next().unwrap().0);
            ("switch", place, (a >> 30) as u8, [next, b, c, d])
        }
        Kind::Continue => ("continue", place, 0, record.words),
        Kind::Wake => ("wake", place, 0, record.words),
        Kind::Block => ("block", place, 0, record.words),
        Kind::JobDone => {
            let (task, ..) = record.job().unwrap();
            ("job-done", place, task, [a, b, c, d & 0x00ff_ffff])
        }
        Kind::EvtchnSend => {
            let sender = if b == u32::MAX { b } else { word(b) };
            ("evtchn-send", place, c as u8, [a, sender, 0, 0])
        }
        Kind::EvtchnServe => ("evtchn-serve", place, 0, record.words),
        Kind::DriverWork => ("driver-work", place, 0, [a << 16, b, c, d]),
        other => panic!("the file has no {other:?}"),
    }
}

/// The driver domain of a network's record that names one, as version 1's word.
fn word_or_none(names: &Names, record: &Record) -> u32 {
    match record.number {
        2..=4 => names.vcpu(ActorId(record.words[1])).unwrap().word(),
        _ => record.words[1],
    }
}

fn credit(vcpu: VcpuName, record: &Record) -> Before {
    let [a, b, ..] = record.words;
    let [domain, index] = [vcpu.domain.0, vcpu.index].map(u32::from);
    let words = match record.number {
        2 | 3 | 5 => vec![domain, index, a],
        4 => vec![a, domain, index],
        7 | 8 => vec![domain, index],
        10 => vec![vcpu.word(), a],
        11 => vec![a, b],
        _ => vec![a],
    };
    let mut data = [0; 4];
    data[..words.len()].copy_from_slice(&words);
    let detail = (words.len() as u8) << 6 | record.number;
    ("policy", [0, 0], detail, data)
}

fn network(vcpu: [u16; 2], number: u8, [a, b, c, d]: [u32; 4]) -> Before {
    let (flow, from, to) = (a & 0x00ff_ffff, (a >> 24 & 15) as u8, (a >> 28) as u8);
    match number {
        0 => ("net-delivered", vcpu, 0, [a, b, c, d]),
        1 => ("net-reply", vcpu, 0, [a, b, c, d]),
        2 => ("net-move", vcpu, from << 4 | to, [flow, b, c, d]),
        3 | 4 => ("net-move", vcpu, from << 4 | from, [flow, b, c, d]),
        step => ("web", vcpu, step - 16, [a, b, c, d]),
    }
}

/// A record of a packet on its way has room for the lower 24 bits of its flow's number.
fn short_flow(row: &str) -> String {
    let mut columns: Vec<String> = row.split(',').map(str::to_owned).collect();
    if columns[2] == "net-move" {
        let flow: u32 = columns[8].parse().unwrap();
        columns[8] = (flow & 0x00ff_ffff).to_string();
    }
    columns.join(",")
}

#[test]
fn every_record_tells_what_it_told() {
    let (names, records) = read(KNOWN);
    let told = String::from_utf8(file("records.csv")).unwrap();
    let mut told = told.lines();
    let header = "time_ns,pcpu,kind,domain,vcpu,old,new,detail,data0,data1,data2,data3";
    assert_eq!(told.next(), Some(header));
    assert_eq!(told.clone().count(), records.len());
    let mut undeclared = Undeclared::new();
    for (record, told) in records.iter().zip(told) {
        let told = short_flow(told);
        let (kind, [domain, vcpu], detail, [a, b, c, d]) = before(&names, record);
        let (at, pcpu) = (record.at.as_nanos(), record.pcpu.0);
        let change = record.changes()[0];
        let states = change.map(|(_, old, new)| format!("{},{}", old.name(), new.name()));
        let states = states.unwrap_or(",".to_owned());
        let row = format!("{at},{pcpu},{kind},{domain},{vcpu},{states},{detail},{a},{b},{c},{d}");
        assert_eq!(row, told, "{record:?}");
        undeclared.see(&names, record);
    }
    assert_eq!(undeclared.total(), 0);
}

#[test]
fn a_xentrace_file_made_of_it_is_the_same_to_the_byte() {
    let (names, records) = read(KNOWN);
    let mut writer = XentraceWriter::new(Vec::new(), 1_000_000_000).unwrap();
    for record in &records {
        writer.record(&names, record);
    }
    let left_out = writer.left_out();
    let bytes = writer.finish().unwrap();
    assert!(bytes == file("trace.xentrace"), "{} bytes", bytes.len());
    assert_eq!(left_out, 728, "as that program said");
}

#[test]
fn what_no_caller_knows_is_counted_and_named() {
    let (names, records) = read(&[]);
    let mut undeclared = Undeclared::new();
    for record in &records {
        undeclared.see(&names, record);
    }
    let counts = undeclared.counts();
    let count = |name: &str| {
        counts
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, count)| *count)
    };
    // As many as the file with what was told has.
    assert_eq!(count("credit event 11 0x2200b"), Some(118));
    assert_eq!(count("network record 1"), Some(4));
    assert_eq!(undeclared.total(), 423 + 434 + 38 + 4 + 15);
}
