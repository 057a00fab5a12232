//! What an explanation of a block trace says first: the worst waits in sentences.

use crate::explained::percent;
use crate::written;
use domio_meter::block::{Beside, BlockWaiter, BlockWaits, DeviceParts};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Most commands that get a sentence.
const SENTENCES: usize = 3;

/// Part of the time of all requests that is worth a sentence, in percent.
const FELT_PERCENT: f64 = 1.0;

/// The worst waits, a sentence or a few for each of up to three commands, those with the most time
/// first. What can be tried is said once.
pub fn worst(waits: &BlockWaits) -> Vec<String> {
    let all: u64 = waits.waiters.iter().map(BlockWaiter::total_ns).sum();
    let felt = |waiter: &&BlockWaiter| percent(waiter.total_ns(), all) >= FELT_PERCENT;
    let worst = waits.waiters.iter().filter(felt).take(SENTENCES);
    let mut tried = Vec::new();
    worst
        .map(|waiter| {
            let mut said = sentences(waits, waiter, all);
            if let Some(cure) = cure(waits, waiter)
                && !tried.contains(&cure)
            {
                said += &format!(" Try: {cure}.");
                tried.push(cure);
            }
            said
        })
        .collect()
}

/// Where the requests of a command spent their time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    /// In the elevator, behind the requests of this command.
    Behind,
    /// In the elevator, while the device had nothing to do.
    Idle,
    /// In the device.
    Device,
    /// The trace does not distinguish elevator and device.
    Unknown,
}

fn held(waits: &BlockWaits, waiter: &BlockWaiter) -> Held {
    if waiter.untold_ns * 2 > waiter.total_ns() {
        return Held::Unknown;
    }
    if waiter.device_ns >= waiter.elevator_ns {
        return Held::Device;
    }
    match mostly(&waits.elevator, &waiter.who) {
        Some((None, _)) => Held::Idle,
        _ => Held::Behind,
    }
}

fn sentences(waits: &BlockWaits, waiter: &BlockWaiter, all: u64) -> String {
    let length = |ns: f64| written::scaled(ns, None, "ns");
    let total = waiter.total_ns();
    let (who, way) = (told_name(&waiter.who), &waiter.way);
    let mut said = format!(
        "{who}: {} {way}s took {} on average",
        waiter.requests,
        length(waiter.response_ns.0.mean),
    );
    let own = waits.longest.iter();
    let mut own = own.filter(|wait| wait.who == waiter.who && wait.way == waiter.way);
    said += &match own.next() {
        Some(wait) => format!(
            " (up to {}, at {:.3} s)",
            length(wait.response_ns as f64),
            wait.queued_ns as f64 / 1e9
        ),
        None => format!(" (up to {})", length(waiter.response_ns.0.max as f64)),
    };
    said += &format!(", {:.0} % of the time of all requests", percent(total, all));
    let part = |ns: u64| format!("{:.0} %", percent(ns, total));
    let (in_elevator, in_device) = (part(waiter.elevator_ns), part(waiter.device_ns));
    match held(waits, waiter) {
        Held::Unknown => return said + "; elevator and device are not distinguished.",
        Held::Device => said += &format!("; {in_device} of it in the device"),
        Held::Behind => {
            said += &format!("; {in_elevator} of it in the elevator");
            if let Some((Some(by), of)) = mostly(&waits.elevator, &waiter.who) {
                let by = match by == waiter.who {
                    true => "its own requests".to_owned(),
                    false => format!("requests of {}", told_name(by)),
                };
                said += &format!(", mostly while the device had {by} ({of:.0} %)");
            }
        }
        Held::Idle => {
            said += &format!("; {in_elevator} of it in the elevator");
            if let Some((None, of)) = mostly(&waits.elevator, &waiter.who) {
                said += &format!(", mostly while the device idled ({of:.0} %)");
            }
        }
    }
    if let Some(parts) = waiter.device.0.filter(|_| waiter.device_ns > 0) {
        let (what, ns) = largest(parts);
        let of = percent(ns, waiter.device_ns);
        said += &format!("; of the time in the device {of:.0} % {what}");
    }
    said + "."
}

/// What most of the time in the device went to.
fn largest(parts: DeviceParts) -> (&'static str, u64) {
    let all = [
        ("in its queue", parts.queued_ns),
        ("for seeks", parts.seek_ns),
        ("for rotation", parts.rotation_ns),
        ("for the transfer", parts.transfer_ns),
    ];
    // Of equal parts the first.
    let mut most = all[0];
    for part in all {
        if part.1 > most.1 {
            most = part;
        }
    }
    most
}

/// What an operator can try.
fn cure(waits: &BlockWaits, waiter: &BlockWaiter) -> Option<&'static str> {
    let replayed = waiter.device.0;
    match held(waits, waiter) {
        Held::Unknown => None,
        Held::Behind if is_own(waits, waiter) => {
            Some("fewer requests in parallel, or a faster device: the command waits for itself")
        }
        Held::Behind => Some(
            "an elevator that keeps a deadline (--drive DRIVE --elevator deadline shows what it \
             does to these requests), or fewer requests in parallel from the command in the way",
        ),
        Held::Idle => Some(
            "an elevator that does not wait for the next request of the same process: noop, \
             deadline, or CFQ with slice_idle = 0",
        ),
        Held::Device => match replayed.map(largest) {
            None => Some(
                "--drive DRIVE, which replays the requests and shows what the time in the device \
                 went to",
            ),
            Some(("in its queue", _)) => Some(
                "a shorter queue in the device (queue_depth), so that the elevator orders more of \
                 the requests",
            ),
            Some(("for seeks", _)) => {
                Some("files closer together, or an elevator that sorts by place")
            }
            Some(_) => Some("fewer and larger requests, or a cache that takes writes"),
        },
    }
}

/// Whether the requests in the way are those of the same command.
fn is_own(waits: &BlockWaits, waiter: &BlockWaiter) -> bool {
    let most = mostly(&waits.elevator, &waiter.who);
    most.is_some_and(|(by, _)| by == Some(&waiter.who))
}

/// What was in the device for most of the time of a command's requests, in percent of it; `None`
/// for nothing.
fn mostly<'a>(beside: &'a [Beside], who: &str) -> Option<(Option<&'a str>, f64)> {
    let mut by: BTreeMap<Option<&str>, f64> = BTreeMap::new();
    for one in beside.iter().filter(|one| one.who == who) {
        *by.entry(one.beside.as_deref()).or_default() += one.ns;
    }
    let all: f64 = by.values().sum();
    let most = by.into_iter().max_by(|(a_name, a), (b_name, b)| {
        let by_name = Reverse(a_name).cmp(&Reverse(b_name));
        a.total_cmp(b).then(by_name)
    });
    most.filter(|_| all > 0.0)
        .map(|(name, ns)| (name, 100.0 * ns / all))
}

/// A name; of commands that have none, that there is none.
pub(crate) fn told_name(name: &str) -> &str {
    match name.is_empty() {
        true => "(no name)",
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_answer::{Inner, Maybe};
    use domio_meter::block::Spread;

    fn waiter(who: &str, elevator_ns: u64, device_ns: u64, untold_ns: u64) -> BlockWaiter {
        let total = elevator_ns + device_ns + untold_ns;
        BlockWaiter {
            who: who.to_owned(),
            way: "read".into(),
            requests: 10,
            response_ns: Inner(Spread {
                count: 10,
                mean: total as f64 / 10.0,
                p50: total / 10,
                p95: total / 10,
                p99: total / 10,
                max: total / 5,
            }),
            elevator_ns,
            device_ns,
            untold_ns,
            device: Maybe(None),
        }
    }

    fn beside(who: &str, by: Option<&str>, ns: f64) -> Beside {
        Beside {
            who: who.to_owned(),
            beside: by.map(str::to_owned),
            ns,
        }
    }

    fn said(waiters: Vec<BlockWaiter>, elevator: Vec<Beside>) -> Vec<String> {
        worst(&BlockWaits {
            waiters,
            elevator,
            ..BlockWaits::default()
        })
    }

    #[test]
    fn the_largest_part_is_named_with_what_was_in_the_way() {
        let waiters = vec![
            waiter("dd", 80_000_000, 20_000_000, 0),
            waiter("ls", 9_000_000, 1_000_000, 0),
            waiter("cat", 1_000_000, 9_000_000, 0),
            waiter("fourth", 0, 8_000_000, 0),
        ];
        let elevator = vec![
            beside("dd", Some("dd"), 70.0),
            beside("dd", None, 10.0),
            beside("ls", Some("dd"), 6.0),
            beside("ls", None, 3.0),
        ];
        let said = said(waiters, elevator);
        assert_eq!(said.len(), SENTENCES);
        assert!(said[0].starts_with("dd: 10 reads took 10 ms on average (up to 20 ms), 78 %"));
        assert!(
            said[0].contains("80 % of it in the elevator, mostly while the device had its own")
        );
        assert!(said[0].contains("the command waits for itself"));
        assert!(said[1].contains("requests of dd (67 %)"));
        assert!(said[1].contains("keeps a deadline"));
        assert!(said[2].contains("90 % of it in the device"));
    }

    #[test]
    fn a_device_that_idles_is_no_competitor_and_advice_is_given_once() {
        let waiters = vec![waiter("a", 90, 10, 0), waiter("b", 90, 10, 0)];
        let elevator = vec![beside("a", None, 90.0), beside("b", None, 90.0)];
        let said = said(waiters, elevator);
        assert!(said[0].contains("while the device idled (100 %)"));
        assert!(said[0].contains("slice_idle = 0"));
        assert!(!said[1].contains("Try"));
    }

    #[test]
    fn small_waits_are_left_out_and_unknown_parts_said() {
        let said = said(
            vec![waiter("", 0, 0, 1_000_000), waiter("little", 0, 1000, 0)],
            Vec::new(),
        );
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("(no name): "));
        assert!(said[0].ends_with("elevator and device are not distinguished."));
    }
}
