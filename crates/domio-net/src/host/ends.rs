//! The two ends of a flow: what each of them serves, and with which settings.

use alloc::boxed::Box;

use super::config::{FlowKind, NetworkConfig};
use super::neighbors::REMOTE;
use super::socket::Serves;
use crate::icmp::{Echo, Ping};
use crate::nic::NicConfig;
use crate::offload::SEGMENTS_MAX;
use crate::packet::{FlowId, Station};
use crate::peer::{Service, TcpEnd};
use crate::tcp::{Connection, TcpConfig};
use crate::udp::{UdpSink, UdpSource};

/// Whom the guest's socket of a flow serves.
pub(super) fn serves(kind: FlowKind) -> Serves {
    match kind {
        FlowKind::StreamIn(_)
        | FlowKind::StreamOut(_)
        | FlowKind::StreamGuest(..)
        | FlowKind::Turns(_) => Serves::Process,
        FlowKind::Request(_) => Serves::Server,
        FlowKind::Ping(_)
        | FlowKind::PingGuest(..)
        | FlowKind::UdpIn(_)
        | FlowKind::UdpOut(_)
        | FlowKind::Web(_) => Serves::Kernel,
    }
}

/// `tcp` as the kernels at both ends of a line have it, the remote host's and the guest's, if they
/// have the offloads that `nic` says.
pub(super) fn with_offloads(nic: &NicConfig, tcp: TcpConfig) -> (TcpConfig, TcpConfig) {
    let far = TcpConfig {
        counts_segments: tcp.counts_segments || nic.tso || nic.gro,
        ..tcp
    };
    let frame = if nic.tso { SEGMENTS_MAX } else { tcp.frame };
    (far, TcpConfig { frame, ..far })
}

/// Both ends of a flow with the guest at `station`: the remote host's and the guest's.
pub(super) fn ends(
    kind: FlowKind,
    network: &NetworkConfig,
    id: FlowId,
    station: Station,
) -> (Service, Service) {
    let tcp = |end| Service::Tcp(Box::new(end));
    let connections = |config| {
        let (far, near) = with_offloads(&network.nic, config);
        // The driver domain hands down as large frames as guests do: no line cuts them.
        let far = if network.local.is_some() { near } else { far };
        (Connection::new(&far), Connection::new(&near))
    };
    match kind {
        FlowKind::StreamIn(config) => {
            let (far, near) = connections(config.tcp);
            let writer = TcpEnd::client(far, station, u64::MAX);
            (
                tcp(match network.local.is_some() {
                    true => writer.writes_when_told(),
                    false => writer.writes_in_pieces(config.piece),
                }),
                tcp(TcpEnd::server(near, REMOTE, 0).reads_when_told()),
            )
        }
        FlowKind::StreamOut(config) => {
            let (far, near) = connections(config.tcp);
            let reader = TcpEnd::server(far, station, 0);
            (
                tcp(match network.local.is_some() {
                    true => reader.reads_when_told(),
                    false => reader,
                }),
                tcp(TcpEnd::client(near, REMOTE, u64::MAX).writes_when_told()),
            )
        }
        FlowKind::Request(config) | FlowKind::Turns(config) => {
            let (far, near) = connections(config.tcp);
            let client = match kind {
                FlowKind::Turns(_) => TcpEnd::in_turns,
                _ => TcpEnd::client,
            };
            let server = TcpEnd::server(near, REMOTE, u64::MAX);
            (
                tcp(client(far, station, config.bytes)),
                tcp(server.reads_when_told().writes_when_told()),
            )
        }
        FlowKind::Ping(config) => {
            let ping = Ping::new(config, REMOTE, station, id);
            let turnaround = network.remote_writers.answer(config.bytes);
            (
                Service::Ping(ping.with_turnaround(turnaround)),
                Service::Echo(Echo::new()),
            )
        }
        FlowKind::UdpIn(config) => (
            Service::UdpSource(UdpSource::new(config, REMOTE, station, id)),
            Service::UdpSink(UdpSink::new()),
        ),
        FlowKind::UdpOut(config) => (
            Service::UdpSink(UdpSink::new()),
            Service::UdpSource(UdpSource::new(config, station, REMOTE, id)),
        ),
        FlowKind::PingGuest(..) | FlowKind::StreamGuest(..) => {
            unreachable!("a flow between guests has no remote end")
        }
        FlowKind::Web(_) => unreachable!("a web server has a client and a listener"),
    }
}
