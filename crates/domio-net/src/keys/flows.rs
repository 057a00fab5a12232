//! What network workloads have in common: when they begin and end, and through which network.

use crate::host::{FlowConfig, FlowKind};
use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use domio_core::Duration;
use domio_core::keys::{Code, KeyReader, Need, Slot, Typed, bytes, time};
use domio_vmm::config::{TaskConfig, Workload};
use domio_vmm::process::FileId;
use domio_vmm::process::programs::Server;

/// Makes the flows of a network workload of its keys; `None` when it ends before it begins.
pub type Traffic = fn(&mut KeyReader<'_>) -> Option<Flows>;

/// What a network workload asks for.
pub struct Flows {
    /// What flows: one thing, or the requests to a server; `None` when something is wrong.
    pub configs: Option<Vec<FlowConfig>>,
    /// Whether the guest's kernel does it all, so that there is no process to place.
    pub by_kernel: bool,
    /// What the server does, if there is one.
    pub serving: Option<Serving>,
    /// The key with the name of the network.
    pub network: Slot<String>,
    /// The key with the name of the domain at the other end, in place of the remote host.
    pub to: Option<Slot<String>>,
}

/// What a server does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Serving {
    /// Bytes of a request.
    pub request: u64,
    /// Bytes of an answer.
    pub answer: u64,
    /// Processor time of each.
    pub work: Duration,
}

impl Serving {
    /// The process that serves those who come to `socket`.
    pub fn process(self, socket: FileId) -> TaskConfig {
        let server = Server::new(socket, self.request, self.answer, self.work);
        TaskConfig::from(Workload::program(server))
    }
}

/// When a workload begins and ends, after its domain's start.
pub(super) struct When {
    /// `None` when the key is bad.
    pub begin: Option<Duration>,
    pub end: Option<Duration>,
}

impl When {
    /// What the keys say; `None` when the end is bad or before the begin.
    pub fn read(
        table: &mut KeyReader<'_>,
        begin: &Slot<Duration>,
        end: &Slot<Duration>,
    ) -> Option<When> {
        let begin = begin.get();
        let stop = end.if_given()?;
        if let Some(stop) = stop
            && begin? >= stop
        {
            let begin = begin?;
            table.tell(
                table
                    .keys
                    .wrong(Code::Conflict, end, stop.to_string())
                    .says(
                        format!("the workload begins at {begin} and ends at {stop}"),
                        format!("more than `begin`, which is {begin}"),
                        "both count from the domain's start",
                    ),
            );
            return None;
        }
        Some(When { begin, end: stop })
    }

    /// One flow of this `kind`.
    pub fn one(&self, kind: FlowKind) -> Option<Vec<FlowConfig>> {
        let (start, stop) = (self.begin?, self.end);
        Some(vec![FlowConfig { kind, start, stop }])
    }
}

pub(super) const BEGIN: (Typed<Duration>, Need, &str) = (
    time("ms", 0),
    Need::TimeNs(100_000_000),
    "When it begins, after the domain's start. What comes before the guest has booted is lost, and \
     TCP tries again after 3 s.",
);

pub(super) const END: (Typed<Duration>, Need, &str) = (
    time("s", 0),
    Need::Optional("the end of the run"),
    "When it ends, after the domain's start: from then on nothing new is written or begun. What is \
     under way arrives.",
);

pub(super) const ON_NETWORK: (Typed<String>, Need, &str) = (
    domio_core::keys::name(),
    Need::Optional("that of the domain's vif; required where there are several"),
    "Name of the network that it goes through.",
);

/// A number of bytes from 1 to `max`.
pub(super) const fn message<T: TryFrom<u64>>(max: u64) -> Typed<T> {
    bytes(1, max)
}
