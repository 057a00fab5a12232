//! Perfetto: a timeline for <https://ui.perfetto.dev> and `trace_processor`.
//!
//! | here | there |
//! |---|---|
//! | domain | process |
//! | vcpu | thread of that process, with one slice for each runstate |
//! | pcpu | cpu of the scheduling view, and a track with one slice for each vcpu that runs |
//! | other record that is declared | instant with its fields, on the track of its actor |
//! | wake-up of a vcpu that sleeps | instant on the pcpu's track, with an arrow to the run |
//! | way of an item, as a packet | arrow through the instants of its steps |
//! | work of a driver domain for another | counter of the time so far, below the driver domain |
//! | credit that a policy reports | counter below the vcpu |
//! | items that wait in a ring, a driver domain or a device | counter below the guest |
//! | vcpus in run queues | counter below the pcpus |
//!
//! Categories are `runstate`, `pcpu` and `wake`, and the class of other records.
//!
//! The scheduling view (tables `sched` and `thread_state`) comes from
//! `GenericKernelTaskStateEvent`, which Perfetto knows since 2025; the slices come from
//! `TrackEvent`, which every version knows. Idle vcpus are gaps.

mod arrows;
mod counter;
mod flow;
mod instant;
mod intern;
mod proto;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::Arc;

use domio_core::{
    ClassId, Declared, DomainId, Instant, Kind, Names, PcpuId, Record, Runstate, Says, Sink,
    VcpuName,
};
use prost::Message;

use counter::Counters;
use flow::{Arrows, Items};
use intern::{Called, Interned, NameOf};

use crate::describe::Undeclared;
use crate::{TraceHeader, VCPUS_MAX};
use proto::{
    ProcessDescriptor, TaskState, TaskStateEvent, ThreadDescriptor, TracePacket, TrackDescriptor,
    TrackEvent,
};

/// All packets are one sequence.
const SEQUENCE: u32 = 1;
/// First packet of a sequence: what the reader remembers of it is void.
const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// The packet has numbers of names that came before.
const NEEDS_INCREMENTAL_STATE: u32 = 2;
/// Children are ordered by rank.
const EXPLICIT_ORDER: i32 = 3;

/// `TrackEvent.Type`.
const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
const INSTANT: i32 = 3;
const COUNTER: i32 = 4;

/// Track of which the pcpus' tracks are children.
const PCPUS_TRACK: u64 = 5;

/// Process and thread ids go in thousands, so that vcpu 2 of domain 3 is thread 4002 of process
/// 4000; 0 would mean Perfetto's idle process.
const IDS_PER_DOMAIN: i32 = 1000;
/// Threads of domains with more vcpus.
const FURTHER_IDS: i32 = 100_000_000;

/// Writes a Perfetto trace: [`PerfettoWriter::new`], then [`Sink::record`] for each record, then
/// [`PerfettoWriter::finish`].
///
/// A failing write stops the writing; `finish` tells.
pub struct PerfettoWriter<W: Write> {
    out: W,
    error: Option<io::Error>,
    packets: Packets,
}

/// Bytes that are written at a time.
const AT_ONCE: usize = 1 << 16;

/// Makes packets of records. Whatever takes them, this is compiled once, and optimised here.
struct Packets {
    /// Packets that wait to be written.
    buffer: Vec<u8>,
    /// The latest event, which may get values of counters.
    held: Option<(Instant, TrackEvent)>,
    names: BTreeMap<DomainId, String>,
    /// What threads of a Linux host are called, by the vcpu that they are in records.
    called_threads: BTreeMap<VcpuName, String>,
    domains: BTreeSet<u16>,
    vcpus: BTreeMap<u32, Thread>,
    /// Whether a slice is open on the track of the pcpu; `None` before the track exists.
    pcpus: Vec<Option<Option<u32>>>,
    interned: Interned,
    /// Numbers of the names of declared records.
    called: BTreeMap<(ClassId, u8), Arc<Called>>,
    counters: Counters,
    items: Items,
    /// Number of the latest arrow.
    flows: u64,
    further: i32,
    latest: Instant,
    undeclared: Undeclared,
}

#[derive(Clone, Debug)]
struct Thread {
    tid: i32,
    name: String,
    /// The runstate whose slice is open.
    state: Option<Runstate>,
    /// Whether it was preempted, and has to wait without having been woken.
    preempted: bool,
    /// The arrow of the wake-up since which it has not run.
    wake: Option<u64>,
}

impl Thread {
    /// Whether a wake-up that comes now leads to the next run. The record may be written before the
    /// change of the runstate, or after.
    fn sleeps(&self) -> bool {
        self.wake.is_none()
            && match self.state {
                Some(Runstate::Running) => false,
                Some(Runstate::Runnable) => !self.preempted,
                Some(Runstate::Blocked | Runstate::Offline) | None => true,
            }
    }
}

impl<W: Write> PerfettoWriter<W> {
    /// Starts a trace; names of domains and threads are taken from `header`.
    pub fn new(out: W, header: Option<&TraceHeader>) -> Self {
        PerfettoWriter {
            out,
            error: None,
            packets: Packets::new(header),
        }
    }

    /// The records that nobody declares: they are in no track.
    pub fn undeclared(&self) -> &Undeclared {
        &self.packets.undeclared
    }

    /// Closes what is open at the time of the latest record and returns the output.
    ///
    /// # Errors
    /// The first error of any write since the start.
    pub fn finish(mut self) -> io::Result<W> {
        self.packets.finish();
        self.write();
        match self.error {
            Some(e) => Err(e),
            None => {
                self.out.flush()?;
                Ok(self.out)
            }
        }
    }

    /// Writes what waits.
    fn write(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(&self.packets.buffer).err();
        }
        self.packets.buffer.clear();
    }
}

impl<W: Write> Sink for PerfettoWriter<W> {
    fn record(&mut self, names: &Names, record: &Record) {
        if self.error.is_none() {
            self.packets.record(names, record);
        }
        if self.packets.buffer.len() >= AT_ONCE {
            self.write();
        }
    }
}

impl Packets {
    fn new(header: Option<&TraceHeader>) -> Self {
        let mut packets = Packets {
            buffer: Vec::new(),
            held: None,
            names: header.into_iter().flat_map(TraceHeader::names).collect(),
            called_threads: header
                .into_iter()
                .flat_map(TraceHeader::thread_names)
                .collect(),
            domains: BTreeSet::new(),
            vcpus: BTreeMap::new(),
            pcpus: Vec::new(),
            interned: Interned::default(),
            called: BTreeMap::new(),
            counters: Counters::default(),
            items: Items::default(),
            flows: 0,
            further: FURTHER_IDS,
            latest: Instant::ZERO,
            undeclared: Undeclared::new(),
        };
        packets.put(TracePacket {
            sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
            track_descriptor: Some(TrackDescriptor {
                uuid: PCPUS_TRACK,
                name: Some("pcpus".to_owned()),
                child_ordering: Some(EXPLICIT_ORDER),
                ..TrackDescriptor::default()
            }),
            ..TracePacket::default()
        });
        packets
    }

    /// Closes what is open at the time of the latest record.
    fn finish(&mut self) {
        self.settle(None);
        let open: Vec<u64> = self
            .vcpus
            .iter()
            .filter(|(_, t)| t.state.is_some())
            .map(|(word, _)| vcpu_track(*word))
            .collect();
        for track in open {
            self.slice_end(self.latest, track);
        }
        for index in 0..self.pcpus.len() {
            if let Some(Some(_)) = self.pcpus[index] {
                self.slice_end(self.latest, pcpu_track(PcpuId(index as u16)));
            }
        }
        self.release();
    }

    /// Puts a packet after all others.
    fn put(&mut self, packet: TracePacket) {
        self.release();
        self.encode(packet);
    }

    fn encode(&mut self, mut packet: TracePacket) {
        packet.sequence = Some(SEQUENCE);
        // A file is one message with all packets: each is a field of it.
        self.buffer.push(proto::PACKET);
        packet
            .encode_length_delimited(&mut self.buffer)
            .expect("a vector has room");
    }

    fn put_at(&mut self, at: Instant, packet: TracePacket) {
        self.put(TracePacket {
            timestamp: Some(at.as_nanos()),
            ..packet
        });
    }

    /// The event comes after all packets so far, with the counters that change until another packet
    /// comes.
    fn event(&mut self, at: Instant, event: TrackEvent) {
        self.release();
        self.held = Some((at, event));
    }

    /// Puts the event that is held, which gets no more counters.
    fn release(&mut self) {
        if let Some((at, event)) = self.held.take() {
            // A counter's event has no name with a number, so that it needs nothing before it.
            let needs = event.r#type != COUNTER;
            self.encode(TracePacket {
                timestamp: Some(at.as_nanos()),
                sequence_flags: needs.then_some(NEEDS_INCREMENTAL_STATE),
                track_event: Some(event),
                ..TracePacket::default()
            });
        }
    }

    fn slice_begin(&mut self, at: Instant, track: u64, names: [&str; 2], arrows: Arrows) {
        let [category, name] = names;
        let event = TrackEvent {
            r#type: SLICE_BEGIN,
            track,
            name: Some(self.number(NameOf::Event, name)),
            categories: vec![self.number(NameOf::Category, category)],
            ..TrackEvent::default()
        };
        self.event(at, arrows.on(event));
    }

    fn slice_end(&mut self, at: Instant, track: u64) {
        self.event(
            at,
            TrackEvent {
                r#type: SLICE_END,
                track,
                ..TrackEvent::default()
            },
        );
    }

    /// Describes the vcpu's thread, and its domain's process, at first sight.
    fn thread(&mut self, vcpu: VcpuName) -> Option<&mut Thread> {
        let word = vcpu.word();
        if !self.vcpus.contains_key(&word) {
            if self.vcpus.len() >= VCPUS_MAX {
                return None;
            }
            self.describe(vcpu);
        }
        self.vcpus.get_mut(&word)
    }

    /// Name for people, with the number where the name does not say it.
    fn domain_name(&self, id: DomainId) -> String {
        match self.names.get(&id) {
            Some(name) => format!("{name} ({id})"),
            None => id.called(None),
        }
    }

    /// Name for people, as tables and pictures have it.
    fn vcpu_name(&self, vcpu: VcpuName) -> String {
        if let Some(name) = self.called_threads.get(&vcpu) {
            return name.clone();
        }
        vcpu.called(self.names.get(&vcpu.domain).map(String::as_str))
    }

    fn describe(&mut self, vcpu: VcpuName) {
        let id = vcpu.domain.0;
        let pid = (i32::from(id) + 1) * IDS_PER_DOMAIN;
        if self.domains.insert(id) {
            let name = self.domain_name(vcpu.domain);
            self.put(TracePacket {
                track_descriptor: Some(TrackDescriptor {
                    uuid: domain_track(vcpu.domain),
                    process: Some(ProcessDescriptor {
                        pid,
                        process_name: name,
                    }),
                    ..TrackDescriptor::default()
                }),
                ..TracePacket::default()
            });
        }
        let tid = if i32::from(vcpu.index) < IDS_PER_DOMAIN {
            pid + i32::from(vcpu.index)
        } else {
            self.further += 1;
            self.further
        };
        let name = self.vcpu_name(vcpu);
        self.put(TracePacket {
            track_descriptor: Some(TrackDescriptor {
                uuid: vcpu_track(vcpu.word()),
                parent_uuid: Some(domain_track(vcpu.domain)),
                thread: Some(ThreadDescriptor {
                    pid,
                    tid,
                    thread_name: name.clone(),
                }),
                ..TrackDescriptor::default()
            }),
            ..TracePacket::default()
        });
        self.vcpus.insert(
            vcpu.word(),
            Thread {
                tid,
                name,
                state: None,
                preempted: false,
                wake: None,
            },
        );
    }

    /// The vcpu goes from `old` to `new`; idle vcpus are left out.
    fn change(&mut self, at: Instant, pcpu: PcpuId, vcpu: VcpuName, [old, new]: [Runstate; 2]) {
        let Some(thread) = self.thread(vcpu) else {
            return;
        };
        let before = thread.state.replace(new);
        let thread = thread.clone();
        // Before the events, the last of which may have counters.
        self.task_state(at, pcpu, &thread, new);
        let name = thread.name;
        let track = vcpu_track(vcpu.word());
        if before.is_some() {
            self.slice_end(at, track);
        }
        let arrows = self.woken(vcpu, old, new);
        self.waits(at, before, new);
        self.slice_begin(at, track, ["runstate", new.name()], arrows);
        self.occupy(at, pcpu, vcpu, (new == Runstate::Running).then_some(&name));
    }

    /// The vcpu's state in the scheduling view.
    fn task_state(&mut self, at: Instant, pcpu: PcpuId, thread: &Thread, new: Runstate) {
        let state = match new {
            Runstate::Running => TaskState::Running,
            Runstate::Runnable => TaskState::Runnable,
            Runstate::Blocked => TaskState::InterruptibleSleep,
            Runstate::Offline => TaskState::Stopped,
        };
        self.put_at(
            at,
            TracePacket {
                task_state: Some(TaskStateEvent {
                    cpu: i32::from(pcpu.0),
                    comm: thread.name.clone(),
                    tid: i64::from(thread.tid),
                    state: state as i32,
                }),
                ..TracePacket::default()
            },
        );
    }

    /// Keeps the pcpu's track: `name` is that of the vcpu when it starts to run.
    fn occupy(&mut self, at: Instant, pcpu: PcpuId, vcpu: VcpuName, name: Option<&str>) {
        let track = self.pcpu(pcpu);
        let slot = &mut self.pcpus[pcpu.index()];
        let current = slot.flatten();
        let ends = match name {
            Some(_) => current.is_some(),
            None => current == Some(vcpu.word()),
        };
        if ends {
            *slot = Some(None);
        }
        if name.is_some() {
            *slot = Some(Some(vcpu.word()));
        }
        if ends {
            self.slice_end(at, track);
        }
        if let Some(name) = name {
            self.slice_begin(at, track, ["pcpu", name], Arrows::default());
        }
    }

    /// The pcpu's track, described at first sight.
    fn pcpu(&mut self, pcpu: PcpuId) -> u64 {
        let index = pcpu.index();
        if self.pcpus.len() <= index {
            self.pcpus.resize(index + 1, None);
        }
        if self.pcpus[index].is_none() {
            self.pcpus[index] = Some(None);
            self.put(TracePacket {
                track_descriptor: Some(TrackDescriptor {
                    uuid: pcpu_track(pcpu),
                    parent_uuid: Some(PCPUS_TRACK),
                    name: Some(format!("pcpu {}", pcpu.0)),
                    sibling_order_rank: Some(i32::from(pcpu.0)),
                    ..TrackDescriptor::default()
                }),
                ..TracePacket::default()
            });
        }
        pcpu_track(pcpu)
    }
}

impl Packets {
    fn record(&mut self, names: &Names, record: &Record) {
        let (at, pcpu) = (record.at, record.pcpu);
        self.latest = self.latest.max(at);
        self.settle(Some(at));
        for (actor, old, new) in record.changes().into_iter().flatten() {
            let Some(vcpu) = names.vcpu(actor) else {
                continue;
            };
            // A mark opens the track of a vcpu that was not seen before, and changes nothing else.
            let known = old == new && self.thread(vcpu).is_some_and(|t| t.state.is_some());
            if !vcpu.is_idle() && !known {
                self.change(at, pcpu, vcpu, [old, new]);
            }
        }
        if let Some((owner, ns)) = record.done_for() {
            // What was done before the trace began comes before anything of the vcpu.
            let driver = names.vcpu(record.actor);
            if let Some(driver) = driver.filter(|driver| self.vcpus.contains_key(&driver.word())) {
                self.work(at, driver.domain, owner, ns);
            }
        } else if !self.undeclared.see(names, record)
            && let Some(declared) = names.declared(record)
        {
            self.tell(names, record, declared);
        }
    }
}

impl Packets {
    /// What a record says in addition to runstates.
    fn tell(&mut self, names: &Names, record: &Record, declared: &Declared) {
        match record.kind() {
            Some(Kind::Wake) => {
                if let Some(vcpu) = names.vcpu(record.actor).filter(|vcpu| !vcpu.is_idle()) {
                    self.wake(record, vcpu);
                }
            }
            Some(Kind::Lost) => {
                self.items.clear();
                self.forget_queues(record.at);
            }
            _ => self.credit(names, record, declared),
        }
        if is_instant(record, declared) {
            self.instant(names, record, declared);
        }
    }
}

// Numbers of tracks are in every event, and the smaller the shorter: the kind of the track is in
// the lowest three bits.

const fn pcpu_track(pcpu: PcpuId) -> u64 {
    (pcpu.0 as u64) << 3 | 1
}

const fn domain_track(domain: DomainId) -> u64 {
    (domain.0 as u64) << 3 | 2
}

const fn vcpu_track(word: u32) -> u64 {
    (word as u64) << 3 | 3
}

const fn counter_track(count: u64) -> u64 {
    count << 3 | 4
}

/// Whether `record` says what the runstates do not show: passes, and the pcpu that a policy would
/// have, come by the thousand and show in where the vcpu runs.
fn is_instant(record: &Record, declared: &Declared) -> bool {
    match record.kind() {
        Some(kind) => matches!(
            kind,
            Kind::Lost | Kind::JobDone | Kind::EvtchnSend | Kind::EvtchnServe
        ),
        None => !matches!(declared.says, Says::Pass | Says::Wants { .. }),
    }
}

#[cfg(test)]
mod tests;
