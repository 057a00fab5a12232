//! The mini host itself: a log that a reader can follow, and the corners of the contract.

use super::*;
use crate::conformance::script::ScriptStep;
use crate::registry;
use alloc::string::String;
use alloc::string::ToString;
use domio_core::{CpuSet, Topology};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn script(pcpus: u16, end: Duration) -> Script {
    let topology = Topology::flat(pcpus).expect("a few pcpus");
    Script::new("test", topology, Instant::ZERO + end)
}

fn round_robin(script: &Script) -> Vec<LogEntry> {
    let policy = registry::find("round-robin").expect("a policy of that name");
    let params = ParamValues::defaults(policy.descriptor.params);
    let run = run(script, (policy.make)(&params, &script.topology)).expect("a sound script");
    assert_eq!(run.end, script.end);
    run.log
}

/// The lines of `log` from `from` on, without the time in front.
fn lines(log: &[LogEntry], from: Duration) -> Vec<String> {
    log.iter()
        .filter(|e| e.at >= Instant::ZERO + from)
        .map(|e| e.what.to_string().trim_start().into())
        .collect()
}

#[test]
fn a_whole_log_can_be_read() {
    let mut s = script(1, ms(50));
    let d = s.domain(&[]);
    s.vcpu(d, &[ScriptStep::Burn]);
    s.vcpu(d, &[ScriptStep::Run(ms(10)), ScriptStep::Block(ms(100))]);
    let log = round_robin(&s);
    let text: Vec<String> = log.iter().map(|e| e.to_string()).collect();
    let expected = [
        "0.000000000 s   online: {0}",
        "0.000000000 s pcpu_online(p0)",
        "0.000000000 s set_domain(d0)",
        "0.000000000 s   v0 may run on any, prefers any",
        "0.000000000 s insert(v0)",
        "0.000000000 s pick_pcpu(v0) = p0",
        "0.000000000 s   v0 is runnable",
        "0.000000000 s wake(v0, Event)",
        "0.000000000 s     tickles p0",
        "0.000000000 s   v1 may run on any, prefers any",
        "0.000000000 s insert(v1)",
        "0.000000000 s pick_pcpu(v1) = p0",
        "0.000000000 s   v1 is runnable",
        "0.000000000 s wake(v1, Event)",
        "0.000000000 s     tickles p0",
        "0.000000000 s schedule(p0, idle ran 0 ns, tickled) = v0 for 30 ms",
        "0.000000000 s   p0: idle -> v0",
        "0.030000000 s schedule(p0, v0 ran 30 ms, slice ended) = v1 for 30 ms",
        "0.030000000 s   p0: v0 -> v1",
        "0.030000000 s context_saved(v0)",
        "0.040000000 s   v1 is blocked",
        "0.040000000 s schedule(p0, v1 ran 10 ms, not runnable) = v0 for 30 ms",
        "0.040000000 s   p0: v1 -> v0",
        "0.040000000 s context_saved(v1)",
    ];
    assert_eq!(text, expected);
}

#[test]
fn an_event_before_the_block_makes_it_return_at_once() {
    let mut s = script(1, ms(25));
    let d = s.domain(&[]);
    let v = s.vcpu(d, &[ScriptStep::Run(ms(10)), ScriptStep::Wait]);
    s.at(ms(5), Intervention::Kick(v));
    let log = round_robin(&s);
    assert_eq!(
        lines(&log, ms(1)),
        [
            "v0 is blocked",
            "schedule(p0, v0 ran 20 ms, not runnable) = idle",
            "p0: v0 -> idle",
            "context_saved(v0)",
        ]
    );
    assert_eq!(log.last().map(|e| e.at), Some(Instant::ZERO + ms(20)));
}

#[test]
fn a_vcpu_woken_before_its_pass_goes_on_without_a_switch() {
    let mut s = script(1, ms(12));
    let d = s.domain(&[]);
    // The timeout of zero comes at the instant of the block, before the pass.
    s.vcpu(
        d,
        &[ScriptStep::Run(ms(10)), ScriptStep::Block(Duration::ZERO)],
    );
    assert_eq!(
        lines(&round_robin(&s), ms(1)),
        [
            "v0 is blocked",
            "v0 is runnable",
            "wake(v0, Event)",
            "schedule(p0, v0 ran 10 ms, tickled) = v0 for 30 ms",
        ]
    );
}

#[test]
fn a_pcpu_leaves_when_its_vcpus_are_gone() {
    let mut s = script(2, ms(10));
    let d = s.domain(&[]);
    let v = s.vcpu(d, &[ScriptStep::Burn]);
    s.vcpus[v.index()].hard = CpuSet::of(PcpuId(1));
    s.at(ms(5), Intervention::Offline(PcpuId(1)));
    // The last one stays.
    s.at(ms(6), Intervention::Offline(PcpuId(0)));
    assert_eq!(
        lines(&round_robin(&s), ms(1)),
        [
            "online: {0}",
            "v0 may run on any, prefers any",
            "v0 is migrating",
            "sleep(v0)",
            "tickles p1",
            "schedule(p1, v0 ran 5 ms, not runnable) = idle",
            "p1: v0 -> idle",
            "context_saved(v0)",
            "pick_pcpu(v0) = p0",
            "v0 belongs to p0",
            "v0 is runnable",
            "wake(v0, Migrate)",
            "tickles p0",
            "pcpu_offline(p1)",
            "schedule(p0, idle ran 0 ns, tickled) = v0 for 30 ms",
            "p0: idle -> v0",
        ]
    );
}

#[test]
fn a_vcpu_is_removed_when_it_has_stopped() {
    let mut s = script(1, ms(10));
    let d = s.domain(&[]);
    let v = s.vcpu(d, &[ScriptStep::Burn]);
    s.vcpus[v.index()].stops = Some(Instant::ZERO + ms(5));
    s.at(ms(6), Intervention::Kick(v));
    s.at(ms(7), Intervention::Pause(v));
    assert_eq!(
        lines(&round_robin(&s), ms(1)),
        [
            "v0 is down",
            "sleep(v0)",
            "tickles p0",
            "schedule(p0, v0 ran 5 ms, not runnable) = idle",
            "p0: v0 -> idle",
            "context_saved(v0)",
            "remove(v0)",
        ]
    );
}

#[test]
fn pauses_nest_and_only_the_last_one_to_end_wakes() {
    let mut s = script(1, ms(30));
    let d = s.domain(&[]);
    let v = s.vcpu(d, &[ScriptStep::Run(ms(5)), ScriptStep::Block(ms(10))]);
    s.at(ms(10), Intervention::Pause(v));
    s.at(ms(20), Intervention::Unpause(v));
    let log = round_robin(&s);
    assert_eq!(
        lines(&log, ms(6)),
        [
            "v0 is blocked, paused",
            "v0 is paused",
            "v0 is runnable",
            "wake(v0, Unpause)",
            "tickles p0",
            "schedule(p0, idle ran 0 ns, tickled) = v0 for 30 ms",
            "p0: idle -> v0",
            "v0 is blocked",
            "schedule(p0, v0 ran 5 ms, not runnable) = idle",
            "p0: v0 -> idle",
            "context_saved(v0)",
        ]
    );
}

#[test]
fn a_script_that_makes_no_sense_is_refused_before_it_runs() {
    let mut s = script(1, ms(1));
    let d = s.domain(&[]);
    s.vcpu(d, &[ScriptStep::Wait]);
    let policy = registry::find("null").expect("a policy of that name");
    let params = ParamValues::defaults(policy.descriptor.params);
    let refused = run(&s, (policy.make)(&params, &s.topology));
    assert_eq!(refused, Err(ScriptError::NoDemand(s.vcpus[0].name)));
}
