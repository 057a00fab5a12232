//! Every order of a few events on a small host: what random scripts hit only by luck.

use super::script::{Intervention, Script, ScriptStep};
use alloc::vec::Vec;
use domio_core::{Duration, Instant, Topology, VcpuId};

/// Pcpus of the host.
const PCPUS: u16 = 2;
/// Vcpus on it: one more than it has pcpus.
const VCPUS: u32 = 3;
/// Events in each script.
const EVENTS: u32 = 4;
/// Shorter than the steps of the vcpus, so that events meet running, queued and blocked ones.
const APART: Duration = Duration::from_micros(700);
/// Long enough after the last event for a lost wake-up to be distinguished from a late one.
const LENGTH: Duration = Duration::from_millis(600);

/// Three vcpus that compute for 1 ms and wait, on two pcpus, under every sequence of four events
/// out of kick, pause and unpause of each: 6,561 scripts.
pub fn scripts() -> impl Iterator<Item = Script> {
    let actions: Vec<Intervention> = (0..VCPUS)
        .map(VcpuId)
        .flat_map(|v| {
            [
                Intervention::Kick(v),
                Intervention::Pause(v),
                Intervention::Unpause(v),
            ]
        })
        .collect();
    let count = actions.len().pow(EVENTS);
    (0..count).map(move |number| script(number, &actions))
}

/// The digits of `number`, to the base of the number of actions, are the events.
fn script(mut number: usize, actions: &[Intervention]) -> Script {
    let topology = Topology::flat(PCPUS).expect("a few pcpus");
    let name = alloc::format!("order of events {number}");
    let mut script = Script::new(&name, topology, Instant::ZERO + LENGTH);
    let domain = script.domain(&[]);
    for _ in 0..VCPUS {
        script.vcpu(
            domain,
            &[ScriptStep::Run(Duration::from_millis(1)), ScriptStep::Wait],
        );
    }
    for n in 1..=EVENTS {
        let action = actions[number % actions.len()];
        number /= actions.len();
        script.at(APART * u64::from(n), action);
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_differ() {
        let mut all: Vec<_> = scripts()
            .map(|s| alloc::format!("{:?}", s.actions))
            .collect();
        assert_eq!(all.len(), 6561);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6561);
    }
}
