//! The checkers: observers of a boundary log.
//!
//! Each looks for one kind of misbehaviour and has a stable name. A checker that belongs to a
//! promise ([`Promises`]) watches only policies that give it; some watch only scripts in which
//! their question makes sense.

mod checker;
mod groups;
mod reservations;
mod safety;
mod settings;
mod shares;
mod waiting;

use super::TAIL;
use super::log::Run;
use super::script::Script;
use super::world::World;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use checker::Checker;
use domio_contract::Promises;
use domio_core::Instant;
use domio_suite::{CheckerInfo, Found, info, tail};

/// Every checker, in the order in which reports list them.
pub const CHECKERS: &[CheckerInfo] = &[
    info(
        "one-pcpu-per-vcpu",
        "a vcpu is picked while another pcpu holds its state",
    ),
    info(
        "only-runnable-picked",
        "a vcpu is picked that is blocked, paused, parked or migrating",
    ),
    info(
        "affinity-respected",
        "a vcpu is sent to a pcpu outside its hard affinity",
    ),
    info(
        "quiet-after-removal",
        "a vcpu is named before its insertion or after its removal",
    ),
    info("slice-positive", "a time slice is zero"),
    info(
        "bounded-rounds",
        "the policy keeps itself busy at one instant, so that time stands still",
    ),
    info(
        "survives-hotplug",
        "a pcpu that is not online gets a vcpu, a pick or a timer",
    ),
    info(
        "sleepers-stop",
        "a vcpu that is no longer runnable stays on its pcpu",
    ),
    info(
        "no-lost-wake-up",
        "a runnable vcpu waits for a pcpu on which it ran before, and which idles, for 500 ms",
    ),
    info(
        "work-conserving",
        "promised: no pcpu idles while a runnable vcpu belongs to it, not even for a nanosecond",
    ),
    info(
        "balances",
        "promised: no pcpu idles for 100 ms on end while runnable vcpus wait elsewhere; watched \
         where nobody's affinity is restricted",
    ),
    info(
        "starvation-free",
        "promised: no runnable vcpu waits for 3 s; watched where weights are within a factor of 8",
    ),
    info(
        "weights",
        "promised: burning domains of one vcpu each get their shares of one pcpu, to within a \
         quarter of it, and no lighter domain gets more than a heavier one",
    ),
    info(
        "caps",
        "promised: burning domains never get more than their cap by over 150 ms for each vcpu",
    ),
    info(
        "reservations",
        "promised: a vcpu without extra time never gets more than its own budgets, or its domain's \
         where it has none of its own; one that burns gets them where all fit on one pcpu",
    ),
    info(
        "groups",
        "promised: on one pcpu groups that burn share by weight to within a tenth of it, at each \
         level, and none gets more than its quota by over 150 ms",
    ),
    info(
        "parameters-in-force",
        "a change of the policy's parameters is accepted but not in force as a whole, or refused \
         but in force; no slice is longer than the parameter `tslice_ms`",
    ),
    info(
        "charges-as-promised",
        "a charge is taken by a policy that does not promise that; or promised: a domain that can \
         be charged does not owe just so much more",
    ),
    info(
        DETERMINISTIC,
        "the same script gives another log the second time",
    ),
    info(
        SAME_UNTRACED,
        "the same script gives another log when no trace is kept",
    ),
];

/// Names of the checkers that compare two runs; all others look at one.
pub(super) const DETERMINISTIC: &str = "deterministic";
pub(super) const SAME_UNTRACED: &str = "same-untraced";

/// Has every checker that applies look at `run`.
pub(super) fn observe(script: &Script, promises: &Promises, run: &Run) -> Vec<Found> {
    let mut watching = applicable(script, promises);
    let mut found = Vec::new();
    let mut world = World::new(script.topology.pcpus(), script.vcpus.len());
    let mut now = Instant::ZERO;
    let mut ask = |watching: &mut Vec<Box<dyn Checker>>,
                   at: Instant,
                   entries: usize,
                   question: &mut dyn FnMut(&mut dyn Checker) -> Option<String>| {
        watching.retain_mut(|checker| match question(&mut **checker) {
            None => true,
            Some(message) => {
                found.push(Found {
                    checker: checker.name(),
                    at,
                    message,
                    log_tail: tail(&run.log, entries, TAIL),
                });
                false
            }
        });
    };
    for (i, entry) in run.log.iter().enumerate() {
        if entry.at > now {
            ask(&mut watching, entry.at, i, &mut |c| {
                c.lasting(&world, now, entry.at)
            });
            now = entry.at;
        }
        ask(&mut watching, now, i + 1, &mut |c| c.entry(&world, entry));
        world.apply(entry);
    }
    if run.end > now {
        ask(&mut watching, run.end, run.log.len(), &mut |c| {
            c.lasting(&world, now, run.end)
        });
    }
    if run.end == script.end {
        ask(&mut watching, run.end, run.log.len(), &mut |c| {
            c.end(run.end)
        });
    }
    found
}

fn applicable(script: &Script, promises: &Promises) -> Vec<Box<dyn Checker>> {
    let mut all = safety::all();
    all.extend(waiting::all(script, promises));
    all.extend(shares::all(script, promises));
    all.extend(reservations::all(script, promises));
    all.extend(groups::all(script, promises));
    all.push(settings::in_force());
    all.push(settings::charges(promises));
    all
}
