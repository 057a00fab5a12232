//! Traces of volumes, a request a line: MSR Cambridge, SPC, Alibaba 2020, Tencent CBS.
//!
//! | format | fields | source |
//! |---|---|---|
//! | MSR | time, host, disk, Read or Write, offset, size, response | SNIA's README |
//! | SPC | unit, sector, size, R or W, time, perhaps more | SPC trace file format 1.0.1 |
//! | Alibaba | volume, R or W, offset, length, time | README of alibaba/block-traces |
//! | Tencent | time, offset, size, 0 read or 1 write, volume | SNIA's README |
//!
//! Offsets and sizes are in bytes, and those of Tencent in sectors. Times are in s (SPC, Tencent),
//! in µs (Alibaba), and in 100 ns, MSR's since 1601.

use super::line::LineFormat;
use crate::block::event::{BlockAct, BlockEvent, BlockFlags, BlockWay};
use crate::block::fields::{Expect, Field, bytes, commas, decimal, number, sectors, way};
use crate::block::names::BlockNames;
use domio_core::{Duration, Instant};

/// Units of 100 ns.
const FILETIME: u64 = 100;

/// Reads lines of such a trace.
#[derive(Clone, Copy, Debug)]
pub enum Volumes {
    /// MSR Cambridge.
    Msr,
    /// SPC.
    Spc,
    /// Alibaba 2020.
    Alibaba,
    /// Tencent CBS.
    Tencent,
}

/// What a line says.
struct Request<'a> {
    at: u64,
    /// Names of the volume: of Microsoft's host and disk both.
    volume: (&'a [u8], &'a [u8]),
    way: BlockWay,
    place: (u64, u32),
    response: Option<Duration>,
}

impl LineFormat for Volumes {
    fn line(&mut self, line: &[u8], names: &mut BlockNames) -> Field<Option<BlockEvent>> {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") || is_heading(line) {
            return Ok(None);
        }
        let request = match self {
            Volumes::Msr => msr(line),
            Volumes::Spc => spc(line),
            Volumes::Alibaba => alibaba(line),
            Volumes::Tencent => tencent(line),
        }?;
        let (host, disk) = request.volume;
        let mut both = [0; 64];
        let name = match disk.is_empty() {
            true => host,
            false => joined(&mut both, host, disk),
        };
        Ok(Some(BlockEvent {
            at: Instant::from_nanos(request.at),
            act: BlockAct::Queue,
            way: request.way,
            flags: BlockFlags::default(),
            who: names.who(name),
            device: names.device(name),
            sector: request.place.0,
            sectors: request.place.1,
            response: request.response,
        }))
    }
}

/// `HOST.DISK`, cut where there is no room.
fn joined<'a>(room: &'a mut [u8; 64], host: &[u8], disk: &[u8]) -> &'a [u8] {
    let bytes = host.iter().chain(b".").chain(disk);
    let mut length = 0;
    for (place, byte) in room.iter_mut().zip(bytes) {
        *place = *byte;
        length += 1;
    }
    &room[..length]
}

/// A line of names of columns.
fn is_heading(line: &[u8]) -> bool {
    let begins = [&b"timestamp,"[..], b"device_id,", b"asu,", b"time,"];
    let is = |begin: &[u8]| {
        line.get(..begin.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(begin))
    };
    begins.into_iter().any(is)
}

fn msr(line: &[u8]) -> Field<Request<'_>> {
    let expected = "seven fields: time, host, disk, Read or Write, offset, size, response";
    let fields = commas::<7>(line).expect_of(expected)?;
    let [time, host, disk, action, offset, size, response] = fields;
    let ticks = |field| number(field).and_then(|ticks| ticks.checked_mul(FILETIME));
    Ok(Request {
        at: ticks(time).expect_of("a time in 100 ns since 1601")?,
        volume: (host, disk),
        way: way(action).expect_of("Read or Write")?,
        place: bytes(offset, size)?,
        response: Some(Duration::from_nanos(
            ticks(response).expect_of("a response time in 100 ns")?,
        )),
    })
}

fn spc(line: &[u8]) -> Field<Request<'_>> {
    let mut fields = line.split(|b| *b == b',').map(<[u8]>::trim_ascii);
    let mut next = || fields.next().unwrap_or_default();
    let [unit, sector, size, action, time] = [next(), next(), next(), next(), next()];
    number(unit).expect_of("five fields: unit, sector, size, R or W, seconds")?;
    let sector = number(sector).expect_of("a sector, as 20941264")?;
    let size = number(size).filter(|n| *n > 0).map(|n| n.div_ceil(512));
    let size = size.and_then(|n| u32::try_from(n).ok());
    Ok(Request {
        volume: (unit, b""),
        place: (sector, size.expect_of("a size in bytes, as 8192")?),
        way: way(action).expect_of("R or W")?,
        at: decimal(time, 9).expect_of("a time in seconds, as 0.551706")?,
        response: None,
    })
}

fn alibaba(line: &[u8]) -> Field<Request<'_>> {
    let expected = "five fields: volume, R or W, offset, length, µs";
    let [volume, action, offset, length, time] = commas::<5>(line).expect_of(expected)?;
    Ok(Request {
        way: way(action).expect_of("R or W")?,
        volume: (volume, b""),
        place: bytes(offset, length)?,
        at: number(time)
            .and_then(|us| us.checked_mul(1000))
            .expect_of("a time in µs, as 1577808000000046")?,
        response: None,
    })
}

fn tencent(line: &[u8]) -> Field<Request<'_>> {
    let expected = "five fields: seconds, sector, sectors, 0 or 1, volume";
    let [time, sector, count, action, volume] = commas::<5>(line).expect_of(expected)?;
    let (sector, count) = sectors(sector, count)?;
    Ok(Request {
        at: number(time)
            .and_then(|s| s.checked_mul(1_000_000_000))
            .expect_of("a time in seconds, as 1538323200")?,
        way: match action {
            b"0" => BlockWay::Read,
            b"1" => BlockWay::Write,
            _ => return None.expect_of("0 for a read or 1 for a write"),
        },
        volume: (volume, b""),
        place: (
            sector,
            Some(count)
                .filter(|n| *n > 0)
                .expect_of("a number of sectors over 0")?,
        ),
        response: None,
    })
}
