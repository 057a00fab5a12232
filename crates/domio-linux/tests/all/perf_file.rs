//! Makes perf.data, as a file and as of a pipe.

use crate::build::{Machine, description_block};

/// Parts of a sample.
pub const IP: u64 = 1;
pub const TID: u64 = 1 << 1;
pub const TIME: u64 = 1 << 2;
pub const READ: u64 = 1 << 4;
pub const CALLCHAIN: u64 = 1 << 5;
pub const CPU: u64 = 1 << 7;
pub const PERIOD: u64 = 1 << 8;
pub const RAW: u64 = 1 << 10;
pub const IDENTIFIER: u64 = 1 << 16;
pub const CGROUP: u64 = 1 << 21;

/// What tests record with.
pub const USUAL: u64 = IDENTIFIER | IP | TID | TIME | CPU | PERIOD | RAW;

pub const TRACEPOINT: u64 = 2;

/// An event that is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recorded {
    pub kind: u64,
    pub config: u64,
    pub id: u64,
    pub parts: u64,
    pub read_format: u64,
}

impl Recorded {
    pub fn tracepoint(id: u64, number: u16, parts: u64) -> Recorded {
        Recorded {
            kind: TRACEPOINT,
            config: u64::from(number),
            id,
            parts,
            read_format: 0,
        }
    }

    /// The attribute, of as many bytes as the newest kernel has, and some.
    fn attr(&self, machine: Machine) -> Vec<u8> {
        // Other records have thread, time and so on as well: the flag is bit 18.
        let flags = match machine.big {
            true => 1 << (63 - 18),
            false => 1 << 18,
        };
        let mut out = machine.numbers(&[(self.kind, 4), (144, 4), (self.config, 8), (1, 8)]);
        out.extend(machine.numbers(&[(self.parts, 8), (self.read_format, 8), (flags, 8)]));
        out.resize(144, 0);
        out
    }
}

/// A record.
pub fn record(machine: Machine, kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let size = 8 + body.len() as u64;
    let mut out = machine.numbers(&[(u64::from(kind), 4), (u64::from(misc), 2), (size, 2)]);
    out.extend(body);
    out
}

pub fn round(machine: Machine) -> Vec<u8> {
    record(machine, 68, 0, &[])
}

/// A sample of thread 11 in process 10. Parts that are neither of the usual ones nor raw have
/// `other`.
pub fn sample(
    machine: Machine,
    recorded: &Recorded,
    time: u64,
    cpu: u32,
    raw: &[u8],
    other: &[u8],
) -> Vec<u8> {
    let mut body = Vec::new();
    let has = |bit: u64| recorded.parts & bit != 0;
    let mut add = |bit: u64, numbers: &[(u64, usize)]| {
        if has(bit) {
            body.extend(machine.numbers(numbers));
        }
    };
    add(IDENTIFIER, &[(recorded.id, 8)]);
    add(IP, &[(0xffff_8000, 8)]);
    add(TID, &[(10, 4), (11, 4)]);
    add(TIME, &[(time, 8)]);
    add(CPU, &[(u64::from(cpu), 4), (0, 4)]);
    add(PERIOD, &[(1, 8)]);
    body.extend(other);
    if has(RAW) {
        // The size includes bytes that align the whole.
        let size = (raw.len() + 4).next_multiple_of(8) - 4;
        body.extend(machine.number(size as u64, 4));
        body.extend(raw);
        body.resize(body.len() + size - raw.len(), 0);
    }
    record(machine, 9, 0, &body)
}

/// What follows the body of a record other than a sample, with the usual parts.
pub fn trailer(machine: Machine, id: u64, time: u64, cpu: u32) -> Vec<u8> {
    machine.numbers(&[
        (10, 4),
        (11, 4),
        (time, 8),
        (u64::from(cpu), 4),
        (0, 4),
        (id, 8),
    ])
}

/// Descriptions of events with perf's head.
pub fn tracing_data(machine: Machine) -> Vec<u8> {
    let mut out = b"\x17\x08\x44tracing0.6\0".to_vec();
    out.extend([u8::from(machine.big), machine.long as u8]);
    out.extend(machine.number(4096, 4));
    out.extend(description_block(machine, 4096, "77 old name\n"));
    out
}

fn text(machine: Machine, text: &str) -> Vec<u8> {
    let size = (text.len() + 1).next_multiple_of(64);
    let mut out = machine.number(size as u64, 4);
    out.extend(text.as_bytes());
    out.resize(4 + size, 0);
    out
}

/// A file with data.
pub fn file(machine: Machine, recorded: &[Recorded], data: &[u8]) -> Vec<u8> {
    let magic = if machine.big {
        *b"2ELIFREP"
    } else {
        *b"PERFILE2"
    };
    let (ids, attrs) = (104, 104 + 8 * recorded.len() as u64);
    let attrs_size = 160 * recorded.len() as u64;
    let start = attrs + attrs_size;
    let mut out = magic.to_vec();
    out.extend(machine.numbers(&[(104, 8), (160, 8), (attrs, 8), (attrs_size, 8)]));
    out.extend(machine.numbers(&[(start, 8), (data.len() as u64, 8), (0, 8), (0, 8)]));
    // Features 1, 3 and 4, as bits of words.
    let bits = 1 << 1 | 1 << 3 | 1 << 4;
    out.extend(machine.number(bits, machine.long));
    out.resize(104, 0);
    recorded
        .iter()
        .for_each(|r| out.extend(machine.number(r.id, 8)));
    for (n, r) in recorded.iter().enumerate() {
        out.extend(r.attr(machine));
        out.extend(machine.numbers(&[(ids + 8 * n as u64, 8), (8, 8)]));
    }
    out.extend(data);
    let features = [
        tracing_data(machine),
        text(machine, "rig"),
        text(machine, "6.12.0"),
    ];
    let mut at = out.len() + 16 * features.len();
    for feature in &features {
        out.extend(machine.numbers(&[(at as u64, 8), (feature.len() as u64, 8)]));
        at += feature.len();
    }
    features.iter().for_each(|f| out.extend(f));
    out
}

/// What perf writes to a pipe.
pub fn pipe(machine: Machine, recorded: &[Recorded], data: &[u8]) -> Vec<u8> {
    let magic = if machine.big {
        *b"2ELIFREP"
    } else {
        *b"PERFILE2"
    };
    let mut out = magic.to_vec();
    out.extend(machine.number(16, 8));
    for r in recorded {
        let mut body = r.attr(machine);
        body.extend(machine.number(r.id, 8));
        out.extend(record(machine, 64, 0, &body));
    }
    for (feature, value) in [(3, "rig"), (4, "6.12.0")] {
        let mut body = machine.number(feature, 8);
        body.extend(text(machine, value));
        out.extend(record(machine, 80, 0, &body));
    }
    let mut tracing = tracing_data(machine);
    tracing.resize(tracing.len().next_multiple_of(8), 0);
    out.extend(record(
        machine,
        66,
        0,
        &machine.number(tracing.len() as u64, 4),
    ));
    out.extend(tracing);
    out.extend(data);
    out
}

/// Data packed into records of `kind` (81 or 83), which a record may straddle. The stream has no
/// end, as of perf.
pub fn packed(machine: Machine, kind: u32, data: &[u8], piece: usize) -> Vec<u8> {
    use zstd::stream::raw::{Encoder, Operation, OutBuffer};
    let mut encoder = Encoder::new(1).unwrap();
    let mut out = Vec::new();
    for part in data.chunks(piece) {
        let mut buffer = vec![0; 2 * part.len() + 1024];
        let status = encoder.run_on_buffers(part, &mut buffer).unwrap();
        assert_eq!(status.bytes_read, part.len());
        let mut n = status.bytes_written;
        let mut rest = OutBuffer::around(&mut buffer[n..]);
        assert_eq!(encoder.flush(&mut rest).unwrap(), 0);
        n += rest.pos();
        let mut body = Vec::new();
        if kind == 83 {
            body.extend(machine.number(n as u64, 8));
        }
        body.extend(&buffer[..n]);
        if kind == 83 {
            body.resize(body.len().next_multiple_of(8), 0xff);
        }
        out.extend(record(machine, kind, 0, &body));
    }
    out
}
