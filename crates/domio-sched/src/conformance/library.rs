//! Hand-written scripts: the situations in which schedulers are known to fail.

use super::script::{Intervention, Script, ScriptStep};
use alloc::vec::Vec;
use domio_contract::PacketsMoved;
use domio_core::{CpuSet, DomainId, Duration, Instant, PcpuId, Topology, VcpuId};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// Every hand-written script.
pub fn scripts() -> Vec<Script> {
    alloc::vec![
        lone_burner(),
        equal_burners(),
        weighted_burners(),
        capped_burner(),
        capped_pair(),
        sleepers_among_burners(),
        ping_pong(),
        yielders(),
        woken_before_switched_out(),
        more_pcpus_than_work(),
        half_of_them_leave(),
        pins(),
        moving_affinity(),
        pauses(),
        comings_and_goings(),
        hotplug(),
        new_parameters(),
        charges(),
        packets(),
        reservations(),
        reservations_that_change(),
        nested_groups(),
        groups_that_change(),
        quotas(),
    ]
}

/// Vcpus of one domain with reservations of their own, which fit together on one pcpu.
fn reservations() -> Script {
    let mut s = on("reservations of vcpus on one pcpu", 1, ms(2000));
    let d = s.domain(&[("budget_us", 1_000), ("extratime", 0)]);
    for (period, budget) in [(20_000, 8_000), (5_000, 500), (50_000, 5_000)] {
        let v = s.vcpu(d, &[ScriptStep::Burn]);
        s.vcpus[v.index()].params = alloc::vec![("period_us", period), ("budget_us", budget)];
    }
    s.vcpu(d, &[ScriptStep::Burn]);
    s
}

/// An operator gives vcpus and domains other reservations; whole domains end what vcpus had.
fn reservations_that_change() -> Script {
    let mut s = on("reservations that change", 2, ms(2000));
    let d = s.domain(&[("extratime", 0)]);
    let vcpus = [(); 3].map(|()| s.vcpu(d, &[ScriptStep::Burn]));
    let mut at = ms(100);
    for (i, budget) in [1_000, 9_000, 200, 3_000, 10_000].into_iter().enumerate() {
        s.at(at, Intervention::SetVcpu(vcpus[i % 3], "budget_us", budget));
        s.at(
            at + us(300),
            Intervention::SetVcpu(vcpus[(i + 1) % 3], "extratime", 1),
        );
        s.at(at + ms(200), Intervention::Set(d, "extratime", 0));
        s.at(
            at + ms(200),
            Intervention::SetVcpu(vcpus[i % 3], "period_us", 30_000),
        );
        at += ms(300);
    }
    s
}

/// A group in a group beside one that is not, and a domain in none.
fn nested_groups() -> Script {
    let mut s = on("nested groups on one pcpu", 1, ms(8000));
    let outer = s.group(None, &[("weight", 512)]);
    let inner = s.group(Some(outer), &[("weight", 768)]);
    let other = s.group(None, &[]);
    for group in [Some(inner), Some(inner), Some(outer), Some(other), None] {
        s.burner_of(group);
    }
    s
}

/// Domains change their groups, and groups their weights.
fn groups_that_change() -> Script {
    let mut s = on("groups that change on one pcpu", 1, ms(8000));
    let heavy = s.group(None, &[("weight", 1024)]);
    let light = s.group(None, &[]);
    let first = s.burner_of(Some(heavy));
    let second = s.burner_of(Some(heavy));
    s.burner_of(Some(light));
    s.at(ms(700), Intervention::Join(first, Some(light)));
    s.at(ms(900), Intervention::SetGroup(light, "weight", 2048));
    s.at(ms(1500), Intervention::Join(second, None));
    s
}

/// A group with a quota that holds a group with another.
fn quotas() -> Script {
    let mut s = on("quotas of groups on one pcpu", 1, ms(4000));
    let outer = s.group(None, &[("cap", 50)]);
    let inner = s.group(Some(outer), &[("cap", 20)]);
    s.burner_of(Some(inner));
    s.burner_of(Some(outer));
    s.at(ms(1000), Intervention::SetGroup(outer, "cap", 30));
    s
}

fn on(name: &str, pcpus: u16, end: Duration) -> Script {
    let topology = Topology::flat(pcpus).expect("the library uses one to eight pcpus");
    Script::new(name, topology, Instant::ZERO + end)
}

fn lone_burner() -> Script {
    let mut s = on("one burner on one pcpu", 1, ms(1000));
    let d = s.domain(&[]);
    s.vcpu(d, &[ScriptStep::Burn]);
    s
}

fn equal_burners() -> Script {
    let mut s = on("four equal burners on one pcpu", 1, ms(8000));
    for _ in 0..4 {
        let d = s.domain(&[]);
        s.vcpu(d, &[ScriptStep::Burn]);
    }
    s
}

fn weighted_burners() -> Script {
    let mut s = on(
        "burners of weight 128, 256 and 1024 on one pcpu",
        1,
        ms(12_000),
    );
    for weight in [128, 256, 1024] {
        let d = s.domain(&[("weight", weight)]);
        s.vcpu(d, &[ScriptStep::Burn]);
    }
    s
}

fn capped_burner() -> Script {
    let mut s = on("a burner capped at 50 % alone on one pcpu", 1, ms(5000));
    let d = s.domain(&[("cap", 50)]);
    s.vcpu(d, &[ScriptStep::Burn]);
    s
}

fn capped_pair() -> Script {
    let mut s = on(
        "two vcpus capped at 60 % together, and a burner, on two pcpus",
        2,
        ms(5000),
    );
    let capped = s.domain(&[("cap", 60)]);
    s.vcpu(capped, &[ScriptStep::Burn]);
    s.vcpu(capped, &[ScriptStep::Burn]);
    let free = s.domain(&[]);
    s.vcpu(free, &[ScriptStep::Burn]);
    s
}

fn sleepers_among_burners() -> Script {
    let mut s = on("short sleepers among burners on two pcpus", 2, ms(6000));
    for _ in 0..3 {
        let d = s.domain(&[]);
        s.vcpu(d, &[ScriptStep::Burn]);
    }
    let sleepers = s.domain(&[]);
    for (run, block) in [(us(100), us(900)), (us(500), ms(3)), (ms(2), ms(11))] {
        s.vcpu(sleepers, &[ScriptStep::Run(run), ScriptStep::Block(block)]);
    }
    s
}

fn ping_pong() -> Script {
    let mut s = on("two vcpus wake each other beside a burner", 2, ms(4000));
    let pair = s.domain(&[]);
    s.vcpu(
        pair,
        &[
            ScriptStep::Run(us(200)),
            ScriptStep::Kick(VcpuId(1)),
            ScriptStep::Wait,
        ],
    );
    s.vcpu(
        pair,
        &[
            ScriptStep::Wait,
            ScriptStep::Run(us(300)),
            ScriptStep::Kick(VcpuId(0)),
        ],
    );
    let other = s.domain(&[]);
    s.vcpu(other, &[ScriptStep::Burn]);
    s
}

fn yielders() -> Script {
    let mut s = on("vcpus that yield on one pcpu", 1, ms(4000));
    let d = s.domain(&[]);
    s.vcpu(d, &[ScriptStep::Run(us(700)), ScriptStep::Yield]);
    s.vcpu(d, &[ScriptStep::Run(ms(4)), ScriptStep::Yield]);
    s.vcpu(d, &[ScriptStep::Burn]);
    s
}

/// The event comes at the instant of the block, sometimes before the pass (contract: `wake`).
fn woken_before_switched_out() -> Script {
    let mut s = on("woken at the very instant of the block", 1, ms(500));
    let d = s.domain(&[]);
    let v = s.vcpu(d, &[ScriptStep::Run(ms(10)), ScriptStep::Wait]);
    s.vcpu(d, &[ScriptStep::Run(ms(5)), ScriptStep::Block(ms(5))]);
    for n in 1..50 {
        s.at(ms(10 * n), Intervention::Kick(v));
    }
    s
}

fn more_pcpus_than_work() -> Script {
    let topology = Topology::new(2, 2, 2).expect("eight pcpus");
    let mut s = Script::new(
        "three burners and a sleeper on eight pcpus of two sockets",
        topology,
        Instant::ZERO + ms(2000),
    );
    let d = s.domain(&[]);
    for _ in 0..3 {
        s.vcpu(d, &[ScriptStep::Burn]);
    }
    s.vcpu(d, &[ScriptStep::Run(ms(3)), ScriptStep::Block(ms(4))]);
    s
}

/// Whether placed in turn or in pairs, those who leave empty two pcpus.
fn half_of_them_leave() -> Script {
    let mut s = on("four of eight burners on four pcpus leave", 4, ms(2000));
    let d = s.domain(&[]);
    for n in 0..8 {
        let v = s.vcpu(d, &[ScriptStep::Burn]);
        if n % 4 < 2 {
            s.vcpus[v.index()].stops = Some(Instant::ZERO + ms(1000));
        }
    }
    s
}

fn pins() -> Script {
    let mut s = on("three pinned to one pcpu of four, three free", 4, ms(5000));
    let d = s.domain(&[]);
    for _ in 0..3 {
        let v = s.vcpu(d, &[ScriptStep::Run(ms(20)), ScriptStep::Block(ms(1))]);
        s.vcpus[v.index()].hard = CpuSet::of(PcpuId(2));
    }
    for _ in 0..3 {
        s.vcpu(d, &[ScriptStep::Burn]);
    }
    s
}

fn moving_affinity() -> Script {
    let mut s = on(
        "affinity that changes under running and queued vcpus",
        3,
        ms(3000),
    );
    let d = s.domain(&[]);
    for _ in 0..4 {
        s.vcpu(d, &[ScriptStep::Run(ms(7)), ScriptStep::Block(ms(2))]);
    }
    for n in 0..40 {
        let vcpu = VcpuId((n % 4) as u32);
        let hard = CpuSet::of(PcpuId((n % 3) as u16));
        let soft = CpuSet::ALL;
        s.at(ms(35 * n), Intervention::Affinity { vcpu, hard, soft });
    }
    let hard = CpuSet::ALL;
    for v in 0..4 {
        let vcpu = VcpuId(v);
        let soft = CpuSet::ALL;
        s.at(ms(1500), Intervention::Affinity { vcpu, hard, soft });
    }
    s
}

fn pauses() -> Script {
    let mut s = on("pauses of running, queued and blocked vcpus", 2, ms(3000));
    let d = s.domain(&[]);
    for _ in 0..3 {
        s.vcpu(d, &[ScriptStep::Burn]);
    }
    s.vcpu(d, &[ScriptStep::Run(ms(1)), ScriptStep::Block(ms(30))]);
    for n in 0..40 {
        let v = VcpuId((n % 4) as u32);
        s.at(ms(20 + 50 * n), Intervention::Pause(v));
        s.at(ms(45 + 50 * n), Intervention::Unpause(v));
    }
    s
}

fn comings_and_goings() -> Script {
    let mut s = on("vcpus that come and go", 2, ms(4000));
    let stays = s.domain(&[]);
    s.vcpu(stays, &[ScriptStep::Burn]);
    s.vcpu(stays, &[ScriptStep::Run(ms(3)), ScriptStep::Block(ms(3))]);
    for n in 0..12u64 {
        let d = s.domain(&[("weight", 512)]);
        let steps: &[ScriptStep] = match n % 3 {
            0 => &[ScriptStep::Burn],
            1 => &[ScriptStep::Run(ms(2)), ScriptStep::Block(ms(9))],
            _ => &[ScriptStep::Wait, ScriptStep::Run(ms(1))],
        };
        let v = s.vcpu(d, steps);
        s.vcpus[v.index()].starts = Instant::ZERO + ms(200 * n);
        s.vcpus[v.index()].stops = Some(Instant::ZERO + ms(200 * n + 700));
    }
    s
}

fn hotplug() -> Script {
    let mut s = on("pcpus that leave and come back", 4, ms(4000));
    let d = s.domain(&[]);
    for _ in 0..4 {
        s.vcpu(d, &[ScriptStep::Burn]);
    }
    s.vcpu(d, &[ScriptStep::Run(ms(2)), ScriptStep::Block(ms(5))]);
    let pinned = s.vcpu(d, &[ScriptStep::Run(ms(4)), ScriptStep::Block(ms(4))]);
    s.vcpus[pinned.index()].hard = CpuSet::of(PcpuId(3));
    for n in 0..9 {
        let pcpu = PcpuId(1 + (n % 3) as u16);
        s.at(ms(100 + 300 * n), Intervention::Offline(pcpu));
        s.at(
            ms(300 + 300 * n + 100 * (n % 4)),
            Intervention::Online(pcpu),
        );
    }
    s
}

fn new_parameters() -> Script {
    let mut s = on("an operator tries parameters of the policy", 2, ms(1000));
    for steps in [
        &[ScriptStep::Burn][..],
        &[ScriptStep::Burn],
        &[ScriptStep::Burn],
        &[ScriptStep::Run(us(1_700)), ScriptStep::Block(us(3_000))],
    ] {
        let d = s.domain(&[]);
        s.vcpu(d, steps);
    }
    let tries = [
        ("tslice_ms", 5),
        ("ratelimit_us", 5_000),
        // Shorter than the rate limit, so that credit refuses.
        ("tslice_ms", 2),
        ("migration_delay_us", 1_000),
        ("tslice_ms", 50),
        ("ratelimit_us", 0),
        ("tslice_ms", 1),
        ("tslice_ms", 30),
    ];
    for (n, (name, value)) in (1..).zip(tries) {
        s.at(ms(97 * n), Intervention::SetPolicy(name, value));
    }
    s
}

/// Work on behalf of domains that burn, sleep, are gone or not yet there, and of none at all.
fn charges() -> Script {
    let mut s = on("others work for a domain", 2, ms(1500));
    for steps in [
        &[ScriptStep::Burn][..],
        &[ScriptStep::Run(ms(2)), ScriptStep::Block(ms(7))],
        &[ScriptStep::Run(us(100)), ScriptStep::Block(ms(300))],
        &[ScriptStep::Burn],
    ] {
        let params = [("period_us", 20_000), ("slice_us", 4_000)];
        let d = s.domain(&params);
        s.vcpu(d, steps);
    }
    s.vcpus[3].starts = Instant::ZERO + ms(300);
    s.vcpus[3].stops = Some(Instant::ZERO + ms(900));
    for n in 0..52 {
        let done = [ms(3), us(10), ms(60), Duration::ZERO][n as usize % 4];
        s.at(
            ms(25 * n),
            Intervention::Charge(DomainId(n as u16 % 4), done),
        );
    }
    s
}

/// Packets of guests that burn, sleep, are gone or not yet there, and none at all.
fn packets() -> Script {
    let mut s = on("a driver domain moves packets", 2, ms(1500));
    for steps in [
        &[ScriptStep::Run(us(300)), ScriptStep::Block(ms(1))][..],
        &[ScriptStep::Burn],
        &[ScriptStep::Run(ms(2)), ScriptStep::Block(ms(7))],
        &[ScriptStep::Burn],
        &[ScriptStep::Burn],
    ] {
        let params = [("period_us", 20_000), ("slice_us", 4_000)];
        let d = s.domain(&params);
        s.vcpu(d, steps);
    }
    s.vcpus[3].starts = Instant::ZERO + ms(300);
    s.vcpus[3].stops = Some(Instant::ZERO + ms(900));
    for n in 0..60 {
        let moved = PacketsMoved {
            driver: DomainId(0),
            guest: DomainId(n as u16 * 3 % 5),
            sent: [0, 3, 40][n as usize % 3],
            received: [1, 0, 0, 700][n as usize % 4],
        };
        s.at(ms(23 * n), Intervention::Packets(moved));
    }
    s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_can_be_run() {
        for script in scripts() {
            assert_eq!(script.check(), Ok(()), "{}", script.name);
        }
    }
}
