//! Streams the records of a trace of Linux.

use std::io::{Cursor, Read};

use domio_core::{Instant, Names, Record, VcpuName};
use domio_linux::groups::{Groups, OwnRule};
use domio_linux::{LinuxError, LinuxErrorKind, LinuxReader};

use super::{HostGroup, LinuxHost, LinuxRecords, LinuxThread};
use crate::{DomainInfo, TraceError, TraceErrorKind, TraceHeader};

/// What is known of a Linux host beside its trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinuxOptions {
    /// Rules of groups, before those that are built in.
    pub groups: Vec<OwnRule>,
    /// What the file beside the trace says.
    pub host: Option<LinuxHost>,
}

impl LinuxRecords {
    /// The domains so far as the head of a trace has them, with the weights of `groups`.
    pub fn domain_infos(&self, groups: &[HostGroup]) -> impl Iterator<Item = DomainInfo> {
        self.domains().map(|(id, name)| DomainInfo {
            id: id.0,
            name: name.to_owned(),
            weight: HostGroup::weight_of(groups, name),
            ..DomainInfo::default()
        })
    }
}

/// A trace of Linux that is being read.
pub(crate) struct LinuxTrace {
    reader: LinuxReader,
    records: LinuxRecords,
    header: TraceHeader,
    groups: Vec<HostGroup>,
    handed: u64,
    last: Option<Instant>,
    /// What ends the trace, once all records before are handed out.
    error: Option<TraceError>,
    ended: bool,
}

impl LinuxTrace {
    /// Reads `read` to its end, into memory: formats of Linux are not in the order of time. Files,
    /// and what is read by its owner, need no copy ([`TraceReader::linux`](crate::TraceReader)).
    pub fn spooled(read: &mut dyn Read, options: &LinuxOptions) -> Result<Self, TraceError> {
        let mut bytes = Vec::new();
        let read = read.read_to_end(&mut bytes);
        read.map_err(|error| TraceErrorKind::Io(error).at(0))?;
        let reader = LinuxReader::new(Cursor::new(bytes));
        let reader = reader.map_err(|error| of_linux(error, 0, None))?;
        Ok(LinuxTrace::new(reader, options))
    }

    pub fn new(reader: LinuxReader, options: &LinuxOptions) -> Self {
        let host = options.host.clone().unwrap_or_default();
        let groups = host.groups.clone();
        let about = reader.about();
        let kernel = about.kernel.clone().unwrap_or_else(|| host.kernel.clone());
        let header = TraceHeader {
            scenario: format!("{} of Linux {kernel}", reader.format())
                .trim_end()
                .to_owned(),
            program: about.tool.clone().unwrap_or_default(),
            policy: "linux".to_owned(),
            pcpus: about.cpus.unwrap_or(host.cpus),
            ..TraceHeader::default()
        };
        LinuxTrace {
            reader,
            records: LinuxRecords::new(Groups::new(options.groups.clone()), host),
            header,
            groups,
            handed: 0,
            last: None,
            error: None,
            ended: false,
        }
    }

    pub fn names(&self) -> &Names {
        self.records.names()
    }

    /// What is known of the host, with the groups that were seen so far.
    pub fn header(&self) -> &TraceHeader {
        &self.header
    }

    pub fn labels(&self) -> Vec<(VcpuName, String)> {
        self.records.labels(self.reader.tasks())
    }

    #[inline]
    pub fn has_news(&self) -> bool {
        self.records.has_news()
    }

    pub fn take_news(&mut self) -> Vec<(VcpuName, String)> {
        self.records.take_news(self.reader.tasks())
    }

    pub fn kernel(&self) -> Option<&str> {
        let told = Some(self.records.kernel()).filter(|kernel| !kernel.is_empty());
        self.reader.about().kernel.as_deref().or(told)
    }

    pub fn threads(&self) -> Vec<LinuxThread> {
        self.records.threads(self.reader.tasks())
    }

    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        loop {
            if let Some(record) = self.records.take() {
                self.handed += 1;
                self.last = Some(record.at);
                return Ok(Some(record));
            }
            if self.ended {
                return self.error.take().map_or(Ok(None), Err);
            }
            self.read()?;
        }
    }

    /// Takes events until there is a record.
    fn read(&mut self) -> Result<(), TraceError> {
        match self.reader.next_event() {
            Ok(Some(event)) => {
                self.records.event(&event, self.reader.tasks());
                if self.records.groups() > self.header.domains.len() {
                    self.add_groups();
                }
            }
            Ok(None) => self.finish(),
            Err(error) => {
                self.error = Some(of_linux(error, self.handed, self.last));
                self.finish();
            }
        }
        Ok(())
    }

    fn finish(&mut self) {
        self.ended = true;
        self.records.finish();
    }

    #[cold]
    fn add_groups(&mut self) {
        let known = self.header.domains.len();
        let new = self.records.domain_infos(&self.groups).skip(known);
        self.header.domains.extend(new);
    }

    /// What is to be said of the trace as far as it was read, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let records = &self.records;
        let counted = [
            (
                records.missing(),
                "runs end without a recorded switch, at the next event of their CPU: switches are \
                 missing",
            ),
            (
                records.alone(),
                "vcpu threads belong to no known process or control group, and stand for \
                 themselves; name their guests with --group or a file NAME.host.json",
            ),
            (
                records.left_out(),
                "threads were left out: more than 32768 of them, or ids that no kernel gives",
            ),
            (
                records.ignored(),
                "events name CPUs or threads that no host has, and were ignored",
            ),
            (
                self.reader.damage().disorder,
                "events are earlier than the ones before them",
            ),
        ];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        let mut notes: Vec<String> = counted.map(|(n, what)| format!("{n} {what}")).collect();
        let skipped = self.reader.damage().skipped.iter();
        notes.extend(skipped.map(|skipped| {
            format!(
                "{} parts were left out, the first at byte {}: {}",
                skipped.count, skipped.first, skipped.what
            )
        }));
        notes
    }
}

/// The error of a reader of Linux traces after `records` records.
fn of_linux(error: LinuxError, records: u64, last: Option<Instant>) -> TraceError {
    let kind = match error.kind {
        LinuxErrorKind::Io(error) => TraceErrorKind::Io(error),
        LinuxErrorKind::Empty => TraceErrorKind::Empty,
        kind => TraceErrorKind::Linux(kind),
    };
    TraceError {
        records,
        last,
        ..kind.at(error.offset)
    }
}
