//! Makes trace.dat of both versions.

use std::io::Write;

use crate::build::{Machine, description_block, header_info, systems};

pub const PAGE: usize = 4096;

/// A page of the ring buffer: events with the time since the one before; the first one since
/// `time`.
pub fn page(machine: Machine, time: u64, events: &[(u32, Vec<u8>)], lost: Option<u64>) -> Vec<u8> {
    let mut data = Vec::new();
    for (delta, raw) in events {
        entry(machine, &mut data, *delta, raw);
    }
    with_data(machine, time, &data, lost)
}

/// A page with these bytes of entries.
pub fn with_data(machine: Machine, time: u64, data: &[u8], lost: Option<u64>) -> Vec<u8> {
    let mut page = machine.number(time, 8);
    let flags = if lost.is_some() { 3 << 30 } else { 0 };
    page.extend(machine.number(data.len() as u64 | flags, machine.long));
    page.extend(data);
    if let Some(lost) = lost {
        page.extend(machine.number(lost, machine.long));
    }
    assert!(page.len() <= PAGE, "too many events for a page");
    page.resize(PAGE, 0);
    page
}

/// The word before an entry.
pub fn head(machine: Machine, kind: u32, delta: u32) -> Vec<u8> {
    let word = match machine.big {
        true => kind << 27 | delta,
        false => kind | delta << 5,
    };
    machine.number(u64::from(word), 4)
}

/// An entry with its size in the first word, or in the second one if it is long.
pub fn entry(machine: Machine, data: &mut Vec<u8>, delta: u32, raw: &[u8]) {
    let words = raw.len().div_ceil(4);
    if words <= 28 {
        data.extend(head(machine, words as u32, delta));
    } else {
        data.extend(head(machine, 0, delta));
        data.extend(machine.number(4 * words as u64 + 4, 4));
    }
    data.extend(raw);
    data.resize(data.len().next_multiple_of(4), 0);
}

pub fn string_option(machine: Machine, id: u16, text: &str) -> Vec<u8> {
    option(machine, id, format!("{text}\0").as_bytes())
}

pub fn option(machine: Machine, id: u16, data: &[u8]) -> Vec<u8> {
    let mut out = machine.numbers(&[(u64::from(id), 2), (data.len() as u64, 4)]);
    out.extend(data);
    out
}

fn start(machine: Machine, version: &str) -> Vec<u8> {
    let mut out = b"\x17\x08\x44tracing".to_vec();
    out.extend(version.as_bytes());
    out.extend([0, u8::from(machine.big), machine.long as u8]);
    out.extend(machine.number(PAGE as u64, 4));
    out
}

/// Version 6: pages of each cpu, and of each cpu in further buffers by name.
pub fn v6(
    machine: Machine,
    options: &[Vec<u8>],
    cpus: &[Vec<Vec<u8>>],
    buffers: &[(&str, Vec<Vec<Vec<u8>>>)],
) -> Vec<u8> {
    let mut out = start(machine, "6");
    out.extend(description_block(machine, PAGE, "1 init\n77 old name\n"));
    out.extend(machine.number(cpus.len() as u64, 4));
    out.extend(b"options  \0");
    options.iter().for_each(|o| out.extend(o));
    // The places of buffers are known when all before is written.
    let names = buffers.iter().map(|(name, _)| 6 + 8 + name.len() + 1);
    let size = out.len() + names.sum::<usize>() + 2;
    let table = 10 + 16 * cpus.len();
    let mut at = (size + table).next_multiple_of(PAGE);
    let pages = |cpus: &[Vec<Vec<u8>>]| cpus.iter().map(Vec::len).sum::<usize>() * PAGE;
    let first = at;
    at += pages(cpus);
    let mut heads = Vec::new();
    for (name, buffer) in buffers {
        let mut data = machine.number(at as u64, 8);
        data.extend(name.as_bytes());
        data.push(0);
        out.extend(option(machine, 3, &data));
        heads.push(at);
        at = (at + table).next_multiple_of(PAGE) + pages(buffer);
    }
    out.extend(machine.number(0, 2));
    assert_eq!(out.len(), size);
    flyrecord(machine, &mut out, cpus, first);
    for ((_, buffer), head) in buffers.iter().zip(heads) {
        assert_eq!(out.len(), head);
        flyrecord(
            machine,
            &mut out,
            buffer,
            (head + table).next_multiple_of(PAGE),
        );
    }
    out
}

fn flyrecord(machine: Machine, out: &mut Vec<u8>, cpus: &[Vec<Vec<u8>>], first: usize) {
    out.extend(b"flyrecord\0");
    let mut at = first;
    for pages in cpus {
        let size = pages.len() * PAGE;
        out.extend(machine.numbers(&[(at as u64, 8), (size as u64, 8)]));
        at += size;
    }
    out.resize(first, 0);
    cpus.iter().flatten().for_each(|page| out.extend(page));
}

/// How version 7 packs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    None,
    Zlib,
    Zstd,
}

impl Packing {
    fn name(self) -> &'static str {
        match self {
            Packing::None => "none",
            Packing::Zlib => "zlib",
            Packing::Zstd => "zstd",
        }
    }

    fn pack(self, data: &[u8]) -> Vec<u8> {
        match self {
            Packing::None => data.to_vec(),
            Packing::Zstd => zstd::bulk::compress(data, 3).unwrap(),
            Packing::Zlib => {
                let fast = flate2::Compression::fast();
                let mut out = flate2::write::ZlibEncoder::new(Vec::new(), fast);
                out.write_all(data).unwrap();
                out.finish().unwrap()
            }
        }
    }
}

/// A section; packed, it has both sizes before its data.
fn section(machine: Machine, packing: Packing, id: u16, data: &[u8]) -> Vec<u8> {
    let data = match packing {
        Packing::None => data.to_vec(),
        _ => chunk(machine, packing, data),
    };
    let flags = u64::from(packing != Packing::None);
    let mut out = machine.numbers(&[(u64::from(id), 2), (flags, 2), (0, 4)]);
    out.extend(machine.number(data.len() as u64, 8));
    out.extend(data);
    out
}

fn chunk(machine: Machine, packing: Packing, data: &[u8]) -> Vec<u8> {
    let packed = packing.pack(data);
    let mut out = machine.numbers(&[(packed.len() as u64, 4), (data.len() as u64, 4)]);
    out.extend(packed);
    out
}

/// Version 7: pages of each cpu in each buffer by name, two pages a chunk. The top one has no name.
pub fn v7(
    machine: Machine,
    packing: Packing,
    options: &[Vec<u8>],
    buffers: &[(&str, Vec<Vec<Vec<u8>>>)],
) -> Vec<u8> {
    let mut out = start(machine, "7");
    out.extend(packing.name().as_bytes());
    out.extend(b"\0" as &[u8]);
    out.extend(b"1.0\0");
    let pointer = out.len();
    out.extend(machine.number(0, 8));
    let mut all = options.concat();
    let mut add = |out: &mut Vec<u8>, id: u16, data: &[u8]| {
        all.extend(option(machine, id, &machine.number(out.len() as u64, 8)));
        out.extend(section(machine, packing, id, data));
    };
    add(&mut out, 16, &header_info(machine, PAGE));
    add(&mut out, 17, &machine.number(0, 4));
    add(&mut out, 18, &systems(machine));
    let names = "1 init\n77 old name\n";
    let mut cmdlines = machine.number(names.len() as u64, 8);
    cmdlines.extend(names.as_bytes());
    add(&mut out, 21, &cmdlines);
    for (name, cpus) in buffers {
        let data = buffer(machine, packing, name, cpus, &mut out);
        all.extend(option(machine, 3, &data));
    }
    all.extend(option(machine, 0, &machine.number(0, 8)));
    let at = out.len() as u64;
    out.extend(section(machine, packing, 0, &all));
    out[pointer..pointer + 8].copy_from_slice(&machine.number(at, 8));
    out
}

/// Writes the pages of a buffer. Returns the option that says where they are.
fn buffer(
    machine: Machine,
    packing: Packing,
    name: &str,
    cpus: &[Vec<Vec<u8>>],
    out: &mut Vec<u8>,
) -> Vec<u8> {
    let mut buffer = machine.number(out.len() as u64, 8);
    buffer.extend(name.as_bytes());
    buffer.extend(b"\0mono\0");
    buffer.extend(machine.numbers(&[(PAGE as u64, 4), (cpus.len() as u64, 4)]));
    let flags = u64::from(packing != Packing::None);
    out.extend(machine.numbers(&[(3, 2), (flags, 2), (0, 4), (0, 8)]));
    for (cpu, pages) in cpus.iter().enumerate() {
        if packing == Packing::None {
            out.resize(out.len().next_multiple_of(PAGE), 0);
        }
        let at = out.len();
        match packing {
            Packing::None => pages.iter().for_each(|p| out.extend(p)),
            _ => {
                let chunks: Vec<_> = pages.chunks(2).map(<[Vec<u8>]>::concat).collect();
                out.extend(machine.number(chunks.len() as u64, 4));
                let packed = chunks.iter().map(|c| chunk(machine, packing, c));
                packed.for_each(|c| out.extend(c));
            }
        }
        let size = out.len() - at;
        buffer.extend(machine.numbers(&[(cpu as u64, 4), (at as u64, 8), (size as u64, 8)]));
    }
    buffer
}
