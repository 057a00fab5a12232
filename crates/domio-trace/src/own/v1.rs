//! Records of version 1, which is read and not written any more: one in 12 to 36 bytes.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | kind in bits 0 to 4, number of data words in bits 5 to 7 |
//! | 1 | detail |
//! | 2 | pcpu |
//! | 4 | vcpu: domain in the high half, index in the low half |
//! | 4 | signed ns since the record before (the block's base for its first); `i32::MIN`: see next |
//! | 0 or 8 | the time itself, when the step does not fit |
//! | 4 each | data words, without trailing zeros |
//!
//! Its kinds are those of the whole program: private records of policies had the scheduler's id in
//! place of a vcpu, and the network's had kinds of their own. They become records of the classes
//! that declare them now.

use domio_core::{ActorId, Class, Instant, Kind, Names, PcpuId, Record, Runstate, VcpuName};

use crate::ReadOptions;
use crate::bytes::{u32_at, u64_at};
use crate::xentrace::{Decoder, foreign};

/// Shortest packed record.
pub(super) const FIXED: usize = 12;

/// A step that does not fit.
const FAR: i32 = i32::MIN;

/// The network's class, where the caller knows none: nobody declares its records.
static NETWORK: Class = Class::new("network", &[]);

/// Numbers of version 1's kinds that are not common any more, or have another number.
const POLICY: u8 = 9;
const LOST: u8 = 10;
const INF_PREV: u8 = 11;
const INF_NEXT: u8 = 12;
const SWITCH_ONLY: u8 = 13;
const OTHER: u8 = 14;
const JOB_DONE: u8 = 15;
const NET_DELIVERED: u8 = 16;
const NET_REPLY: u8 = 17;
const EVTCHN_SEND: u8 = 18;
const EVTCHN_SERVE: u8 = 19;
const NET_MOVE: u8 = 20;
const DRIVER_WORK: u8 = 21;
const WEB: u8 = 22;

/// Numbers in the network's class.
const DELIVERED: u8 = 0;
const REPLY: u8 = 1;
const MOVED: u8 = 2;
const RING_FULL: u8 = 3;
const HELD: u8 = 4;
/// The first step of a web client; the others follow.
const WEB_STEPS: u8 = 16;

/// Places of version 1: from there to itself means that the ring is full, or that the rate is used
/// up.
const GUEST_OUT: u8 = 5;
const TX_RING: u8 = 6;

/// Bits of a flow's number beside the places.
const FLOW: u32 = 0x00ff_ffff;

/// Reads records of version 1 as what they are now.
pub(super) struct Version1 {
    decoder: Decoder,
    network: &'static Class,
}

/// A record as version 1 has it.
struct Raw {
    at: Instant,
    pcpu: PcpuId,
    kind: u8,
    detail: u8,
    /// [`VcpuName::word`].
    vcpu: u32,
    words: [u32; 4],
}

impl Version1 {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Version1 {
            decoder: Decoder::new(options),
            network: options.class(NETWORK.name).unwrap_or(&NETWORK),
        }
    }

    /// What the numbers of the records so far stand for.
    pub(super) fn names(&self) -> &Names {
        self.decoder.names()
    }

    /// The record at the start of `bytes` and its length, or `None` when `bytes` is too short or
    /// names a kind that does not exist.
    pub(super) fn unpack(&mut self, bytes: &[u8], before: u64) -> Option<(Record, usize)> {
        let (raw, length) = unpack(bytes, before)?;
        Some((self.record(&raw)?, length))
    }

    fn record(&mut self, raw: &Raw) -> Option<Record> {
        let [a, b, c, d] = raw.words;
        let (kind, words) = match raw.kind {
            0 => (Kind::RunstateChange, [raw.detail.into(), 0, 0, 0]),
            1 => return Some(self.switch(raw)),
            2..=8 => (Kind::from_number(raw.kind)?, raw.words),
            POLICY => return Some(self.policy(raw)),
            LOST => (Kind::Lost, raw.words),
            INF_PREV => (Kind::InfPrev, raw.words),
            INF_NEXT => (Kind::InfNext, raw.words),
            SWITCH_ONLY => {
                let next = self.actor(a);
                (Kind::SwitchOnly, [next.0, b, c, d])
            }
            OTHER => {
                let mut record = foreign(raw.at, raw.pcpu, a, &[b, c, d]);
                record.number = raw.detail;
                return Some(record);
            }
            JOB_DONE => {
                let (actor, [turnaround, executed]) = (self.actor(raw.vcpu), longs(raw.words));
                let times = [turnaround, executed];
                let task = raw.detail;
                return Some(Record::job_done(raw.at, raw.pcpu, actor, task, times));
            }
            EVTCHN_SEND => {
                let sender = match b {
                    u32::MAX => ActorId::NONE,
                    word => self.actor(word),
                };
                (Kind::EvtchnSend, [a, sender.0, raw.detail.into(), 0])
            }
            EVTCHN_SERVE => (Kind::EvtchnServe, raw.words),
            DRIVER_WORK => (Kind::DriverWork, [a >> 16, b, c, d]),
            NET_DELIVERED | NET_REPLY | NET_MOVE | WEB => return Some(self.network(raw)),
            _ => return None,
        };
        let actor = self.actor(raw.vcpu);
        Some(Record::with(raw.at, raw.pcpu, kind, actor, words))
    }

    fn actor(&mut self, word: u32) -> ActorId {
        self.decoder.actor(VcpuName::from_word(word))
    }

    fn switch(&mut self, raw: &Raw) -> Record {
        let (actor, next) = (self.actor(raw.vcpu), self.actor(raw.words[0]));
        let left_to = Runstate::from_number(raw.detail & 3).unwrap_or(Runstate::Runnable);
        let [_, ran, waited, slice] = raw.words;
        let times = [ran, waited, slice];
        Record::switch(raw.at, raw.pcpu, (actor, left_to), next, times)
    }

    fn policy(&mut self, raw: &Raw) -> Record {
        let scheduler = VcpuName::from_word(raw.vcpu).domain.0;
        let what = (scheduler, raw.detail & 63);
        let words = &raw.words[..usize::from(raw.detail >> 6)];
        self.decoder.policy_v1(raw.at, raw.pcpu, what, words)
    }

    fn network(&mut self, raw: &Raw) -> Record {
        let class = self.decoder.add_class(self.network);
        let actor = self.actor(raw.vcpu);
        let [flow, b, c, d] = raw.words;
        let (number, words) = match raw.kind {
            NET_DELIVERED => (DELIVERED, raw.words),
            NET_REPLY => (REPLY, raw.words),
            WEB => (WEB_STEPS + (raw.detail & 15), raw.words),
            _ => {
                let (from, to) = (raw.detail >> 4, raw.detail & 15);
                let driver = self.actor(b).0;
                let word = flow & FLOW | u32::from(from) << 24;
                match (from, to) {
                    (GUEST_OUT, GUEST_OUT) => (RING_FULL, [word, driver, 0, 0]),
                    (TX_RING, TX_RING) => (HELD, [word, driver, c, d]),
                    _ => (MOVED, [word | u32::from(to) << 28, driver, c, d]),
                }
            }
        };
        Record::of(raw.at, raw.pcpu, (class, number), actor, words)
    }
}

/// Words 0 and 1, and words 2 and 3, as one number each.
fn longs([a, b, c, d]: [u32; 4]) -> [u64; 2] {
    [(a, b), (c, d)].map(|(low, high)| u64::from(low) | u64::from(high) << 32)
}

fn unpack(bytes: &[u8], before: u64) -> Option<(Raw, usize)> {
    if bytes.len() < FIXED {
        return None;
    }
    let count = usize::from(bytes[0] >> 5);
    let near = u32_at(bytes, 8) as i32;
    let mut used = FIXED;
    let at = if near == FAR {
        used += 8;
        if bytes.len() < used {
            return None;
        }
        u64_at(bytes, FIXED)
    } else {
        before.wrapping_add(i64::from(near) as u64)
    };
    if count > 4 || bytes.len() < used + 4 * count {
        return None;
    }
    let mut words = [0; 4];
    for (i, word) in words[..count].iter_mut().enumerate() {
        *word = u32_at(bytes, used + 4 * i);
    }
    let raw = Raw {
        at: Instant::from_nanos(at),
        pcpu: PcpuId(u16::from_le_bytes([bytes[2], bytes[3]])),
        kind: bytes[0] & 31,
        detail: bytes[1],
        vcpu: u32_at(bytes, 4),
        words,
    };
    Some((raw, used + 4 * count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{ClassId, DomainId};

    const GUEST: u32 = 3 << 16 | 1;
    const DRIVER: u32 = 0;

    /// What a record of 1 ns on pcpu 2 is today, and the names of the stream.
    fn read(kind: u8, detail: u8, words: [u32; 4]) -> (Record, Names) {
        let mut bytes = vec![kind | 4 << 5, detail, 2, 0];
        for word in [GUEST, 1].into_iter().chain(words) {
            bytes.extend(word.to_le_bytes());
        }
        let mut version = Version1::new(&ReadOptions::default());
        let (record, length) = version.unpack(&bytes, 0).expect("a record");
        assert_eq!((length, record.at.as_nanos(), record.pcpu.0), (28, 1, 2));
        assert_eq!(version.unpack(&bytes[..27], 0), None);
        (record, version.names().clone())
    }

    #[test]
    fn a_packet_that_goes_nowhere_says_why() {
        for (detail, number, word) in [
            (0x55, RING_FULL, 7 | 5 << 24),
            (0x66, HELD, 7 | 6 << 24),
            (0x67, MOVED, 7 | 6 << 24 | 7 << 28),
        ] {
            let (record, names) = read(NET_MOVE, detail, [7, DRIVER, 9, 1]);
            assert_eq!(names.class(record.class).unwrap().name, "network");
            assert_eq!((record.number, record.words[0]), (number, word));
            let driver = names.vcpu(ActorId(record.words[1])).unwrap();
            assert_eq!(driver, VcpuName::new(DomainId(0), 0));
            let ago = if number == RING_FULL { [0, 0] } else { [9, 1] };
            assert_eq!(record.words[2..], ago);
            assert_eq!(names.vcpu(record.actor), Some(VcpuName::from_word(GUEST)));
        }
    }

    #[test]
    fn kinds_that_moved_are_the_same_records() {
        let of = |kind, detail, words| {
            let (record, names) = read(kind, detail, words);
            (record.kind(), record.words, names)
        };
        let (kind, words, _) = of(LOST, 0, [17, 0, 0, 0]);
        assert_eq!((kind, words[0]), (Some(Kind::Lost), 17));
        let (kind, words, names) = of(SWITCH_ONLY, 0, [5 << 16, 0, 0, 0]);
        let next = names.vcpu(ActorId(words[0]));
        let expected = Some(VcpuName::new(DomainId(5), 0));
        assert_eq!((kind, next), (Some(Kind::SwitchOnly), expected));
        let (kind, words, _) = of(EVTCHN_SEND, 1, [4, u32::MAX, 0, 0]);
        assert_eq!(kind, Some(Kind::EvtchnSend));
        assert_eq!(words, [4, ActorId::NONE.0, 1, 0]);
        let (record, _) = read(JOB_DONE, 6, [8, 1, 9, 2]);
        assert_eq!(record.job(), Some((6, 1 << 32 | 8, 2 << 32 | 9)));
        let (record, _) = read(OTHER, 5, [0x81001, 1, 2, 3]);
        let what = (record.class, record.number, record.words);
        assert_eq!(what, (ClassId::FOREIGN, 5, [0x81001, 1, 2, 3]));
        assert!(unpack(&[23 | 4 << 5; 28], 0).is_some_and(|(raw, _)| {
            let mut version = Version1::new(&ReadOptions::default());
            version.record(&raw).is_none()
        }));
    }
}
