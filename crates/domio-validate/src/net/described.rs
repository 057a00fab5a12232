//! What `scenario.json` says of a recorded network.

use serde::Deserialize;

/// The network of a [`Description`](crate::recording::Description): a bridge in dom0, and what was
/// asked of it.
#[derive(Clone, Debug, Deserialize)]
pub struct DescribedNetwork {
    /// The guests' interfaces, all alike.
    pub vif: DescribedVif,
    /// Who sent what to whom, at once.
    pub flows: Vec<DescribedFlow>,
}

/// An interface of each guest.
#[derive(Clone, Debug, Deserialize)]
pub struct DescribedVif {
    /// How packets get to the guest; "copy" and what follows.
    pub rx: String,
    /// Pairs of rings; 1.
    #[serde(default = "one")]
    pub queues: u16,
    /// Whether frames larger than a packet go through: `true` or words that say why not.
    pub gso_tcpv4: serde_json::Value,
}

impl DescribedVif {
    /// Whether frames larger than a packet go through.
    pub fn large_frames(&self) -> bool {
        self.gso_tcpv4 == serde_json::Value::Bool(true)
    }
}

/// What one domain sent to another.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct DescribedFlow {
    /// Name of the domain that sends, or asks.
    pub src: String,
    /// Name of the domain that receives, or answers.
    pub dst: String,
    /// What.
    #[serde(flatten)]
    pub load: DescribedLoad,
}

/// What a flow consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DescribedLoad {
    /// Pings.
    IcmpEcho {
        /// From one to the next (microseconds); 0 for the next upon the answer.
        interval_us: u64,
        /// Bytes behind the ICMP header.
        payload_bytes: u16,
    },
    /// A TCP stream.
    TcpStream {
        /// Bytes that the sender passes to a call.
        write_bytes: u32,
        /// Bytes that the receiver asks for.
        read_bytes: u32,
    },
    /// Datagrams.
    Udp {
        /// Datagrams a second.
        packets_per_s: u32,
        /// Bytes of each.
        payload_bytes: u16,
    },
}

fn one() -> u16 {
    1
}
