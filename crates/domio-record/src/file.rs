//! A recording as a trace in domio's own format.

use std::collections::BTreeSet;
use std::io::Write;

use domio_core::{DomainId, Names, Record, Sink, VcpuName};
use domio_linux::groups::{Groups, OwnRule};
use domio_trace::{LinuxHost, LinuxRecords, ThreadName, TraceHeader, TraceWriter, trace_head};

use crate::error::RecordError;
use crate::live::{Ended, Live};
use crate::{Event, Tasks, host};

/// A recording whose events become records.
pub struct LiveRecords {
    live: Live,
    records: LinuxRecords,
}

/// What is known when a recording has become records.
#[derive(Clone, Debug)]
pub struct RecordedHost {
    /// What is known of the recording.
    pub ended: Ended,
    /// The machine, with all threads that were there at the start or the end.
    pub host: LinuxHost,
    /// The head of a trace of the records.
    pub header: TraceHeader,
    /// Runs that ended without a recorded switch.
    pub missing: u64,
}

impl LiveRecords {
    /// Of `live`, with rules of groups before those that are built in.
    pub fn new(live: Live, groups: Vec<OwnRule>) -> LiveRecords {
        let records = LinuxRecords::new(Groups::new(groups), live.host().clone());
        LiveRecords { live, records }
    }

    /// What is recorded.
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// What is known of the machine.
    pub fn host(&self) -> &LinuxHost {
        self.live.host()
    }

    /// How many groups there are so far.
    pub fn groups(&self) -> usize {
        self.records.groups()
    }

    /// How many threads there are so far, and cpus.
    pub fn actors(&self) -> usize {
        self.records.names().actors().len()
    }

    /// What threads are called so far, by the vcpu that they are in records.
    pub fn thread_names(&self) -> Vec<(VcpuName, String)> {
        self.records.labels(self.live.tasks())
    }

    /// Names of the groups so far, by the number of their domain.
    pub fn domains(&self) -> Vec<(DomainId, String)> {
        let domains = self.records.domains();
        domains.map(|(id, name)| (id, name.to_owned())).collect()
    }

    /// Waits a little, and hands out the records that are complete.
    ///
    /// # Errors
    /// As [`Live::round`].
    pub fn round(&mut self, each: &mut dyn FnMut(&Names, &Record)) -> Result<(), RecordError> {
        let records = &mut self.records;
        self.live.round(&mut |event: &Event, tasks: &Tasks| {
            records.event(event, tasks);
            hand_out(records, each);
        })
    }

    /// Switches recording off, and hands out the rest.
    ///
    /// # Errors
    /// As [`Live::finish`].
    pub fn finish(
        self,
        each: &mut dyn FnMut(&Names, &Record),
    ) -> Result<RecordedHost, RecordError> {
        let LiveRecords { live, mut records } = self;
        let (way, before) = (live.way(), live.host().clone());
        let ended = live.finish(&mut |event: &Event, tasks: &Tasks| {
            records.event(event, tasks);
            hand_out(&mut records, each);
        })?;
        records.finish();
        hand_out(&mut records, each);
        let host = with_ended(host(), before);
        let header = TraceHeader {
            scenario: format!("recording of Linux {} by {way}", host.kernel),
            policy: "linux".to_owned(),
            pcpus: host.cpus,
            domains: records.domain_infos(&host.groups).collect(),
            threads: ThreadName::all(records.labels(&ended.tasks)),
            ..TraceHeader::default()
        };
        Ok(RecordedHost {
            ended,
            host,
            header,
            missing: records.missing(),
        })
    }
}

fn hand_out(records: &mut LinuxRecords, each: &mut dyn FnMut(&Names, &Record)) {
    while let Some(record) = records.take() {
        each(records.names(), &record);
    }
}

/// The machine as it is now, with threads that were there before and have ended.
fn with_ended(mut now: LinuxHost, before: LinuxHost) -> LinuxHost {
    let there: BTreeSet<u32> = now.threads.iter().map(|thread| thread.tid).collect();
    let ended = before.threads.into_iter();
    now.threads
        .extend(ended.filter(|thread| !there.contains(&thread.tid)));
    now.threads.sort_by_key(|thread| thread.tid);
    let there: BTreeSet<String> = now.groups.iter().map(|group| group.path.clone()).collect();
    let ended = before.groups.into_iter();
    now.groups
        .extend(ended.filter(|group| !there.contains(&group.path)));
    now.groups.sort_by(|a, b| a.path.cmp(&b.path));
    now
}

/// Bytes of a head that every recording has room for, and for each thread that there is.
const ROOM: usize = 32 << 10;
const ROOM_OF_THREAD: usize = 160;

/// Writes a recording as a trace.
pub struct TraceFile<W: Write> {
    records: LiveRecords,
    writer: TraceWriter<W>,
    room: usize,
}

/// What is known when a recording was written.
pub struct Written<W> {
    /// Where the trace was written.
    pub out: W,
    /// What is to take the place of as many bytes at the start: the head with the groups and
    /// threads that were seen.
    pub head: Vec<u8>,
    /// How many records were written.
    pub records: u64,
    /// What is known of the recording.
    pub recorded: RecordedHost,
}

impl<W: Write> TraceFile<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn new(records: LiveRecords, out: W) -> Result<TraceFile<W>, RecordError> {
        let room = ROOM + ROOM_OF_THREAD * records.host().threads.len();
        let header = TraceHeader {
            policy: "linux".to_owned(),
            pcpus: records.host().cpus,
            ..TraceHeader::default()
        };
        let writer = TraceWriter::with_room(out, &header, room);
        Ok(TraceFile {
            records,
            writer: writer.map_err(RecordError::io("write the trace"))?,
            room,
        })
    }

    /// What is recorded.
    pub fn live(&self) -> &Live {
        self.records.live()
    }

    /// Waits a little, and writes what is complete.
    ///
    /// # Errors
    /// As [`Live::round`].
    pub fn round(&mut self) -> Result<(), RecordError> {
        let writer = &mut self.writer;
        self.records
            .round(&mut |names, record| writer.record(names, record))
    }

    /// Switches recording off, and writes the rest.
    ///
    /// # Errors
    /// When the kernel's buffer cannot be read, or the trace cannot be written.
    pub fn finish(self) -> Result<Written<W>, RecordError> {
        let TraceFile {
            records,
            mut writer,
            room,
        } = self;
        let recorded = records.finish(&mut |names, record| writer.record(names, record))?;
        let records = writer.records();
        let failed = || RecordError::io("write the trace");
        let out = writer.finish().map_err(failed())?;
        let head = head(&recorded.header, room).map_err(failed())?;
        Ok(Written {
            out,
            head,
            records,
            recorded,
        })
    }
}

/// A head of exactly `room` bytes: threads that came meanwhile may be too many for their names.
fn head(header: &TraceHeader, room: usize) -> std::io::Result<Vec<u8>> {
    let mut header = header.clone();
    loop {
        let head = trace_head(&header, room)?;
        if head.len() <= room {
            return Ok(head);
        }
        match header.threads.is_empty() {
            false => header.threads.truncate(header.threads.len() / 2),
            true => header.domains.truncate(header.domains.len() / 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_the_names_that_there_is_room_for() {
        let thread = |n| ThreadName {
            domain: 1,
            vcpu: n,
            name: format!("web:host.worker-{n}"),
        };
        let header = TraceHeader {
            threads: (0..1000).map(thread).collect(),
            ..TraceHeader::default()
        };
        for room in [2048, 4096, 1 << 20] {
            assert_eq!(head(&header, room).unwrap().len(), room);
        }
    }
}
