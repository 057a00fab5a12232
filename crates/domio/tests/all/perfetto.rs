//! Arrows and counters of Perfetto files, against the records of the same trace as lines of text.
//!
//! The messages are declared here once more, with the field numbers of Perfetto's sources, so that
//! a number that the writer has wrong is seen.

use crate::common::{domio, folder};
use prost::Message;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packets: Vec<Packet>,
}

#[derive(Clone, PartialEq, Message)]
struct Packet {
    #[prost(uint64, tag = "8")]
    timestamp: u64,
    #[prost(message, optional, tag = "11")]
    event: Option<Event>,
    #[prost(message, optional, tag = "12")]
    interned: Option<Interned>,
    #[prost(message, optional, tag = "60")]
    track: Option<Track>,
}

#[derive(Clone, PartialEq, Message)]
struct Interned {
    #[prost(message, repeated, tag = "1")]
    categories: Vec<Name>,
    #[prost(message, repeated, tag = "2")]
    events: Vec<Name>,
}

#[derive(Clone, PartialEq, Message)]
struct Name {
    #[prost(uint64, tag = "1")]
    number: u64,
    #[prost(string, tag = "2")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Track {
    #[prost(uint64, tag = "1")]
    uuid: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, optional, tag = "8")]
    counter: Option<Counter>,
}

#[derive(Clone, PartialEq, Message)]
struct Counter {
    #[prost(string, repeated, tag = "2")]
    categories: Vec<String>,
    #[prost(int32, tag = "3")]
    unit: i32,
    #[prost(string, tag = "6")]
    unit_name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(uint64, repeated, tag = "3")]
    categories: Vec<u64>,
    #[prost(int32, tag = "9")]
    kind: i32,
    #[prost(uint64, tag = "10")]
    name: u64,
    #[prost(uint64, tag = "11")]
    track: u64,
    #[prost(int64, repeated, packed = "false", tag = "12")]
    with_values: Vec<i64>,
    #[prost(int64, optional, tag = "30")]
    value: Option<i64>,
    #[prost(uint64, repeated, packed = "false", tag = "31")]
    with_tracks: Vec<u64>,
    #[prost(fixed64, repeated, tag = "47")]
    passes: Vec<u64>,
    #[prost(fixed64, repeated, tag = "48")]
    ends: Vec<u64>,
}

/// A slice begins; the other kinds are its end, an instant and a counter's value.
const BEGINS: i32 = 1;
const INSTANT: i32 = 3;

/// A Perfetto file with its names in their places.
struct Shown {
    /// Time, category, name, event.
    events: Vec<(u64, String, String, Event)>,
    tracks: BTreeMap<u64, Track>,
}

impl Shown {
    fn of(bytes: &[u8]) -> Self {
        let trace = Trace::decode(bytes).expect("a Perfetto file");
        let (mut categories, mut names) = (BTreeMap::new(), BTreeMap::new());
        let mut shown = Shown {
            events: Vec::new(),
            tracks: BTreeMap::new(),
        };
        for packet in trace.packets {
            for interned in packet.interned.into_iter() {
                categories.extend(interned.categories.into_iter().map(|n| (n.number, n.name)));
                names.extend(interned.events.into_iter().map(|n| (n.number, n.name)));
            }
            for track in packet.track.into_iter() {
                shown.tracks.insert(track.uuid, track);
            }
            if let Some(event) = packet.event {
                let category = event.categories.first().map(|n| categories[n].clone());
                let name = names.get(&event.name).cloned().unwrap_or_default();
                let category = category.unwrap_or_default();
                shown.events.push((packet.timestamp, category, name, event));
            }
        }
        shown
    }

    /// Times and values of the counters whose names `is` wants, in the order of the file.
    fn counts(&self, is: impl Fn(&str) -> bool) -> Vec<(u64, i64)> {
        let mut counts = Vec::new();
        for (at, _, _, event) in &self.events {
            assert_eq!(event.with_tracks.len(), event.with_values.len());
            let own = event.value.map(|value| (event.track, value));
            let with = event.with_tracks.iter().zip(&event.with_values);
            let with = with.map(|(track, value)| (*track, *value));
            for (track, value) in own.into_iter().chain(with) {
                let track = &self.tracks[&track];
                let counter = track.counter.as_ref().expect("a counter");
                assert!(!counter.categories.is_empty());
                if is(&track.name) {
                    counts.push((*at, value));
                }
            }
        }
        counts
    }
}

/// A record as a line of text.
struct Row {
    at: u64,
    record: String,
    /// Domain and vcpu; empty for none.
    vcpu: String,
    old: String,
    new: String,
    fields: BTreeMap<String, String>,
}

/// The trace `file` in both formats.
fn both(folder: &Path, file: &str) -> (Shown, Vec<Row>) {
    for (to, output) in [("perfetto", "p"), ("csv-records", "c")] {
        let mut command = assert_cmd::Command::cargo_bin("domio").expect("built");
        let args = [
            "trace", "convert", file, "--to", to, "--output", output, "--force",
        ];
        command.current_dir(folder).args(args).assert().success();
    }
    let shown = Shown::of(&std::fs::read(folder.join("p")).unwrap());
    let text = std::fs::read_to_string(folder.join("c")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.splitn(9, ',').collect();
        let [at, _, _, record, domain, vcpu, old, new, fields] = cells[..] else {
            panic!("{line}");
        };
        let field = |field: &str| {
            let (name, value) = field.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        Row {
            at: at.parse().unwrap(),
            record: record.to_owned(),
            vcpu: match domain {
                "" | "32767" => String::new(),
                domain => format!("d{domain}v{vcpu}"),
            },
            old: old.to_owned(),
            new: new.to_owned(),
            fields: fields
                .trim_matches('"')
                .split(';')
                .filter_map(field)
                .collect(),
        }
    };
    (shown, text.lines().skip(1).map(row).collect())
}

/// By vcpu the runstate that is known, and changes of it: time, vcpu, old, new.
fn changes(rows: &[Row]) -> Vec<(u64, &str, &str, &str)> {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    let mut changes = Vec::new();
    let of_vcpus = rows
        .iter()
        .filter(|r| r.record == "runstate-change" && !r.vcpu.is_empty());
    for row in of_vcpus {
        let before = known.insert(&row.vcpu, &row.new);
        if row.old != row.new || before.is_none() {
            changes.push((
                row.at,
                row.vcpu.as_str(),
                before.unwrap_or(""),
                row.new.as_str(),
            ));
        }
    }
    changes
}

/// How many vcpus are runnable, each time that the number changes.
fn runnable(changes: &[(u64, &str, &str, &str)]) -> Vec<(u64, i64)> {
    let mut counts: Vec<(u64, i64)> = Vec::new();
    let mut count = 0;
    for (at, _, old, new) in changes {
        count += i64::from(*new == "runnable") - i64::from(*old == "runnable");
        counts.push((*at, count));
    }
    shown_of(&counts, Some(0))
}

/// What a counter that is at `begins` shows of `values`, times and values in order: of each instant
/// the last value, where it is another than before.
fn shown_of(values: &[(u64, i64)], begins: Option<i64>) -> Vec<(u64, i64)> {
    let mut shown = Vec::new();
    let mut last = begins;
    for (i, (at, value)) in values.iter().enumerate() {
        let is_last = values.get(i + 1).is_none_or(|next| next.0 != *at);
        if is_last && last.replace(*value) != Some(*value) {
            shown.push((*at, *value));
        }
    }
    shown
}

/// A real recording of Xen 4.17 under credit2.
#[test]
fn wake_ups_credits_and_run_queues_are_those_of_the_records() {
    let folder = folder();
    let recording = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/xen-traces/c2-cap30/trace.bin"
    );
    let (shown, rows) = both(folder.path(), recording);

    let credit = |row: &Row| {
        let name = match row.record.as_str() {
            "credit burned" | "pcpu looked for" => "credit",
            "credit reset" => "to",
            _ => return None,
        };
        let credit = row.fields[name].parse::<i64>().unwrap();
        (!row.vcpu.is_empty()).then_some((row.at, credit))
    };
    let mut credits: BTreeMap<&str, Vec<(u64, i64)>> = BTreeMap::new();
    for row in &rows {
        let of = credits.entry(&row.vcpu).or_default();
        of.extend(credit(row));
    }
    let count = credits.values().map(Vec::len).sum::<usize>();
    assert!(count > 1_000, "{count}");
    for (vcpu, credits) in credits {
        // The recording names no domain.
        let named = vcpu.strip_prefix('d').and_then(|name| name.split_once('v'));
        let Some((domain, index)) = named else {
            continue;
        };
        let domain = match domain {
            "0" => "Domain-0".to_owned(),
            id => format!("dom{id}"),
        };
        let name = format!("credit of {domain}.{index}");
        assert_eq!(shown.counts(|n| n == name), shown_of(&credits, None));
    }

    let changes = changes(&rows);
    let counts = runnable(&changes);
    assert!(counts.len() > 500, "{}", counts.len());
    assert_eq!(shown.counts(|name| name == "vcpus in run queues"), counts);

    // Asleep until the first run, and from each block on; woken by the first wake-up since.
    let (mut awake, mut woken) = (BTreeMap::new(), BTreeMap::new());
    let mut runs = Vec::new();
    for row in rows.iter().filter(|row| !row.vcpu.is_empty()) {
        let vcpu = row.vcpu.as_str();
        match (row.record.as_str(), row.new.as_str()) {
            ("wake", _) if awake.get(vcpu) != Some(&true) => {
                woken.entry(vcpu).or_insert(row.at);
            }
            ("runstate-change", "running") => {
                awake.insert(vcpu, true);
                runs.extend(woken.remove(vcpu).map(|wake| (wake, row.at)));
            }
            ("runstate-change", "blocked" | "offline") => {
                awake.insert(vcpu, false);
                woken.remove(vcpu);
            }
            _ => {}
        }
    }
    let mut wakes = BTreeMap::new();
    let mut arrows = Vec::new();
    for (at, category, name, event) in &shown.events {
        for id in &event.passes {
            assert_eq!((event.kind, category.as_str()), (INSTANT, "wake"));
            assert_eq!(wakes.insert(*id, *at), None, "a number has one arrow");
        }
        for id in &event.ends {
            assert_eq!((event.kind, name.as_str()), (BEGINS, "running"));
            assert_eq!(category, "runstate");
            arrows.push((wakes[id], *at));
        }
    }
    assert!(runs.len() > 200, "{}", runs.len());
    assert_eq!(arrows, runs);
}

/// Packets of simulated guests: each arrow goes from place to place as one packet did, and queues
/// are as long as the records say.
#[test]
fn packets_and_their_queues_are_those_of_the_records() {
    let folder = folder();
    let short = ["--set", "run.duration_ms=300", "--set", "run.warmup_ms=600"];
    domio(&folder)
        .args(["run", "driver-domain-streams", "--trace", "t"])
        .args(short)
        .assert()
        .success();
    let (shown, rows) = both(folder.path(), "t");
    let moves: Vec<&Row> = rows.iter().filter(|row| row.record == "moved").collect();
    let instants = shown.events.iter().filter(|e| e.2 == "moved");
    let instants: Vec<&Event> = instants.map(|e| &e.3).collect();
    assert!(moves.len() > 2_000, "{}", moves.len());
    assert_eq!(instants.len(), moves.len());

    let mut last: BTreeMap<u64, &Row> = BTreeMap::new();
    let (mut ways, mut unknown) = (0, 0);
    for (row, event) in moves.iter().zip(&instants) {
        let to_outside = row.fields["to"] == "outside";
        assert_eq!(
            event.passes.len(),
            usize::from(!to_outside),
            "a step has an arrow"
        );
        let end = event.ends.first().filter(|_| to_outside);
        let Some(id) = event.passes.first().or(end) else {
            unknown += 1;
            continue;
        };
        match last.insert(*id, row) {
            Some(before) => {
                let step = [&before.fields["flow"], &before.fields["to"], &before.vcpu];
                assert_eq!(step, [&row.fields["flow"], &row.fields["from"], &row.vcpu]);
                assert!(before.at <= row.at);
            }
            None => ways += 1,
        }
        if to_outside {
            last.remove(id);
        }
    }
    let begun = moves.iter().filter(|row| row.fields["from"] == "outside");
    let ended = moves.iter().filter(|row| row.fields["to"] == "outside");
    assert!(
        unknown < 100,
        "what was under way when the trace began: {unknown}"
    );
    let ended = ended.count() - unknown;
    assert_eq!(ways, ended + last.len(), "each way ends or is still open");
    assert!(ways >= begun.count() && ended > 300, "{ways}, {ended}");

    for place in ["tx ring", "driver, out", "card", "driver, in", "rx ring"] {
        let mut lengths: BTreeMap<&str, Vec<(u64, i64)>> = BTreeMap::new();
        for row in &moves {
            for (end, change) in [("from", -1), ("to", 1)] {
                if row.fields[end] == place {
                    let guest = lengths.entry(&row.vcpu).or_default();
                    let length = guest.last().map_or(0, |(_, length)| *length);
                    guest.push((row.at, (length + change).max(0)));
                }
            }
        }
        let lengths = lengths.values().map(|of| shown_of(of, Some(0)));
        let mut expected: Vec<(u64, i64)> = lengths.flatten().collect();
        assert!(expected.len() > 100, "{place}: {}", expected.len());
        // Guests' counters have the same name.
        expected.sort_unstable();
        let mut counts = shown.counts(|name| name == format!("packets: {place}"));
        assert!(counts.is_sorted_by_key(|(at, _)| *at), "{place}");
        counts.sort_unstable();
        assert_eq!(counts, expected, "{place}");
    }
}
