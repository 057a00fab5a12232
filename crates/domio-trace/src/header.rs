//! The head of an own trace: everything that the run was a function of.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::DEFAULT_TSC_HZ;
use domio_core::{DomainId, VcpuName};

/// Where a trace comes from.
///
/// A simulated run is a function of scenario bytes, overrides, seed, replication number and
/// program version; this holds all five, so that a trace alone suffices to run again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceHeader {
    /// Name of the scenario.
    pub scenario: String,
    /// SHA-256 of the scenario's bytes in hexadecimal, see [`scenario_sha256`]; empty when the
    /// trace was recorded, not simulated.
    pub scenario_sha256: String,
    /// The scenario itself; empty when it was left out.
    pub scenario_text: String,
    /// What the command line changed in the scenario, as `key=value`, in order.
    pub overrides: Vec<String>,
    /// Seed of the random streams.
    pub seed: u64,
    /// Replication number, from 0.
    pub replication: u64,
    /// Name and version of the program that wrote the trace.
    pub program: String,
    /// Name of the scheduling policy.
    pub policy: String,
    /// Counts a second of the clock; times in own traces are nanoseconds, so 1 000 000 000.
    pub tsc_hz: u64,
    /// Number of pcpus; 0 when not known.
    pub pcpus: u32,
    /// The domains, as far as known.
    pub domains: Vec<DomainInfo>,
    /// What threads of a Linux host are called that execute no guest's vcpu; empty otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadName>,
}

/// What a thread of a Linux host is called, by the vcpu that stands for it in records.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ThreadName {
    /// Number of its group's domain.
    pub domain: u16,
    /// Its number there.
    pub vcpu: u16,
    /// "web:host.vhost-4711".
    pub name: String,
}

impl ThreadName {
    /// What threads are called, as a head has it.
    pub fn all(threads: impl IntoIterator<Item = (VcpuName, String)>) -> Vec<ThreadName> {
        let name = |(vcpu, name): (VcpuName, String)| ThreadName {
            domain: vcpu.domain.0,
            vcpu: vcpu.index,
            name,
        };
        threads.into_iter().map(name).collect()
    }
}

/// A domain as the header names it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DomainInfo {
    /// Xen's domid.
    pub id: u16,
    /// What a person calls it.
    pub name: String,
    /// Number of vcpus; 0 when not known.
    pub vcpus: u32,
    /// Weight; 0 when the policy has none.
    pub weight: u32,
    /// Cap in percent of one pcpu; 0 for none.
    pub cap: u32,
}

impl Default for TraceHeader {
    fn default() -> Self {
        TraceHeader {
            scenario: String::new(),
            scenario_sha256: String::new(),
            scenario_text: String::new(),
            overrides: Vec::new(),
            seed: 0,
            replication: 0,
            program: concat!("domio ", env!("CARGO_PKG_VERSION")).to_owned(),
            policy: String::new(),
            tsc_hz: DEFAULT_TSC_HZ,
            pcpus: 0,
            domains: Vec::new(),
            threads: Vec::new(),
        }
    }
}

impl TraceHeader {
    /// Ids and names of the domains whose names the header knows.
    pub fn names(&self) -> Vec<(DomainId, String)> {
        let named = self.domains.iter().filter(|d| !d.name.is_empty());
        named.map(|d| (DomainId(d.id), d.name.clone())).collect()
    }

    /// What threads are called, by the vcpu that stands for each.
    pub fn thread_names(&self) -> Vec<(VcpuName, String)> {
        let threads = self.threads.iter();
        let named = threads.map(|t| (VcpuName::new(DomainId(t.domain), t.vcpu), t.name.clone()));
        named.collect()
    }

    /// The name of domain `id`, when the header knows one.
    pub fn domain_name(&self, id: u16) -> Option<&str> {
        self.domains
            .iter()
            .find(|d| d.id == id && !d.name.is_empty())
            .map(|d| d.name.as_str())
    }
}

/// SHA-256 of a scenario's bytes, as `sha256sum` prints it.
pub fn scenario_sha256(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
            hex
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_one_that_sha256sum_prints() {
        assert_eq!(
            scenario_sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_header_with_unknown_and_missing_fields_is_read() {
        let h: TraceHeader = serde_json::from_str(r#"{"seed":7,"colour":"blue"}"#).unwrap();
        assert_eq!(h.seed, 7);
        assert_eq!(h.tsc_hz, DEFAULT_TSC_HZ);
    }
}
