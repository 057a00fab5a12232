//! What policies say of their decisions in records of their own, for people: credit and credit2 in
//! Xen's numbers (`TRC_CSCHED_*`, `TRC_CSCHED2_*`, 4.17), SEDF in domio's
//! (`docs/policies/sedf.md`).

use domio_core::{DomainId, Record, VcpuName};

/// Scheduler ids in traces: Xen's of credit and credit2, domio's of SEDF.
const CREDIT: u16 = 0;
const CREDIT2: u16 = 1;
const SEDF: u16 = 7;

/// A figure of a decision: its name, with the unit, and its value.
pub(crate) type Figure = (&'static str, i64);

/// A decision of a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Decision {
    /// What was decided.
    pub name: &'static str,
    /// About whom; `None` for the pcpu of the record.
    pub vcpu: Option<VcpuName>,
    /// With which figures.
    pub figures: Vec<Figure>,
}

/// What `record`, a [`Kind::Policy`](domio_core::Kind::Policy), says; `None` for other kinds, for
/// policies that are not known here, and for what the runstates show as well (a pass, the pcpu that
/// a tick looked for).
pub(crate) fn decision(record: &Record) -> Option<Decision> {
    let (event, words) = record.policy_event()?;
    match record.vcpu.domain.0 {
        CREDIT => credit(event, words),
        CREDIT2 => credit2(event, words),
        SEDF => sedf(event, words),
        _ => None,
    }
}

fn credit(event: u8, words: &[u32]) -> Option<Decision> {
    let name = match event {
        2 => "earns credit from now on",
        3 => "earns no credit any more",
        4 => "stolen",
        6 => "tickled",
        7 => "boosted",
        8 => "boost ends",
        10 => "goes on: rate limit",
        _ => return None,
    };
    let word = |i: usize| words.get(i).copied();
    // Domain and index of a vcpu take a word each, but in one event, where they share one.
    let split = |i: usize| {
        let (domain, index) = (word(i)?, word(i + 1)?);
        Some(VcpuName::new(DomainId(domain as u16), index as u16))
    };
    let (vcpu, figure) = match event {
        2 | 3 => (split(0), word(2).map(|n| ("active vcpus of the domain", n))),
        4 => (split(1), word(0).map(|p| ("from pcpu", p))),
        6 => (None, word(0).map(|p| ("pcpu", p))),
        10 => (
            word(0).map(VcpuName::from_word),
            word(1).map(|n| ("ran ns", n)),
        ),
        _ => (split(0), None),
    };
    let figures = figure.map(|(name, value)| (name, i64::from(value)));
    Some(Decision {
        name,
        vcpu,
        figures: figures.into_iter().collect(),
    })
}

fn credit2(event: u8, words: &[u32]) -> Option<Decision> {
    let [first, second, third] = [0, 1, 2].map(|i| words.get(i).copied().unwrap_or(0));
    // Credits are signed.
    let credit = |word: u32| i64::from(word.cast_signed());
    let (name, figures) = match event {
        6 => {
            return Some(Decision {
                name: "tickled",
                vcpu: None,
                figures: vec![("pcpu", i64::from(first & 0xffff))],
            });
        }
        7 => (
            "credit reset",
            vec![("from ns", credit(second)), ("to ns", credit(third))],
        ),
        15 => (
            "to another run queue",
            vec![
                ("from", i64::from(second & 0xffff)),
                ("to", i64::from(second >> 16)),
            ],
        ),
        22 => ("goes on: rate limit", vec![("ran ns", i64::from(second))]),
        _ => return None,
    };
    Some(Decision {
        name,
        vcpu: Some(VcpuName::from_word(first)),
        figures,
    })
}

fn sedf(event: u8, words: &[u32]) -> Option<Decision> {
    const UTILISATION: u32 = 1;
    const AGAIN: u32 = 1 << 8;
    let [first, second, third] = [0, 1, 2].map(|i| words.get(i).copied().unwrap_or(0));
    let in_utilisation = second & UTILISATION != 0;
    let (a, b) = (i64::from(second), i64::from(third));
    // Scores are signed.
    let score = ("score", i64::from(third.cast_signed()));
    let (name, figures) = match event {
        1 => ("new deadline", vec![("deadline ns", b << 32 | a)]),
        2 => (
            "runs by its slice",
            vec![("left of the slice ns", a), ("until the deadline ns", b)],
        ),
        3 if in_utilisation => ("turn of extra time: utilisation", vec![score]),
        3 => ("turn of extra time: penalty", vec![score]),
        4 if second & AGAIN != 0 => ("turn of extra time ends, shares on", vec![score]),
        4 => ("turn of extra time ends", vec![score]),
        5 => ("wakes in extra time", vec![("until the deadline ns", a)]),
        6 => (
            "wakes after a short block",
            vec![("until the new deadline ns", a), ("slice lost ns", b)],
        ),
        7 => (
            "wakes after a long block",
            vec![("until the new deadline ns", a)],
        ),
        8 => (
            "missed its deadline or overran its slice",
            vec![("late by ns", a), ("slice used ns", b)],
        ),
        9 => {
            let until = ("until the next period ns", i64::from(first));
            return Some(Decision {
                name: "idles: less than a turn is left",
                vcpu: None,
                figures: vec![until],
            });
        }
        10 => ("reserves", vec![("period ns", a), ("slice ns", b)]),
        11 => (
            "charged for work on its behalf",
            vec![("charge ns", a), ("owes ns", b)],
        ),
        12 => (
            "slice pays a debt",
            vec![("paid ns", a), ("still owes ns", b)],
        ),
        _ => return None,
    };
    Some(Decision {
        name,
        vcpu: Some(VcpuName::from_word(first)),
        figures,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{Instant, PcpuId};

    fn of(scheduler: u16, event: u8, words: &[u32]) -> Option<Decision> {
        let record = Record::policy(Instant::ZERO, PcpuId(0), scheduler, event, words);
        decision(&record)
    }

    fn d1v2() -> VcpuName {
        VcpuName::new(DomainId(1), 2)
    }

    #[test]
    fn sedf_tells_deadlines_slices_and_extra_time() {
        let word = d1v2().word();
        let deadline = of(SEDF, 1, &[word, 5, 2]).unwrap();
        assert_eq!(
            (deadline.name, deadline.vcpu),
            ("new deadline", Some(d1v2()))
        );
        assert_eq!(deadline.figures, [("deadline ns", (2 << 32) + 5)]);
        let slice = of(SEDF, 2, &[word, 7, 9]).unwrap();
        let expected = [("left of the slice ns", 7), ("until the deadline ns", 9)];
        assert_eq!(slice.figures, expected);
        let turn = of(SEDF, 3, &[word, 1, -4_i32 as u32]).unwrap();
        assert_eq!(turn.name, "turn of extra time: utilisation");
        assert_eq!(turn.figures, [("score", -4)]);
        let paid = of(SEDF, 12, &[word, 3, 8]).unwrap();
        assert_eq!(paid.figures, [("paid ns", 3), ("still owes ns", 8)]);
        let gap = of(SEDF, 9, &[400]).unwrap();
        assert_eq!(
            (gap.vcpu, gap.figures),
            (None, vec![("until the next period ns", 400)])
        );
    }

    #[test]
    fn credit_names_vcpus_as_xen_does() {
        let boosted = of(CREDIT, 7, &[1, 2]).unwrap();
        assert_eq!((boosted.name, boosted.vcpu), ("boosted", Some(d1v2())));
        let stolen = of(CREDIT, 4, &[3, 1, 2]).unwrap();
        assert_eq!(
            (stolen.vcpu, stolen.figures),
            (Some(d1v2()), vec![("from pcpu", 3)])
        );
        let limited = of(CREDIT, 10, &[d1v2().word(), 300]).unwrap();
        assert_eq!(
            (limited.vcpu, limited.figures),
            (Some(d1v2()), vec![("ran ns", 300)])
        );
    }

    #[test]
    fn credit2_tells_resets_moves_and_limits() {
        let word = d1v2().word();
        let reset = of(CREDIT2, 7, &[word, -5_i32 as u32, 9]).unwrap();
        assert_eq!((reset.name, reset.vcpu), ("credit reset", Some(d1v2())));
        assert_eq!(reset.figures, [("from ns", -5), ("to ns", 9)]);
        let moved = of(CREDIT2, 15, &[word, 3 << 16 | 1]).unwrap();
        assert_eq!(moved.figures, [("from", 1), ("to", 3)]);
        let limited = of(CREDIT2, 22, &[word, 300]).unwrap();
        assert_eq!(limited.figures, [("ran ns", 300)]);
        let tickled = of(CREDIT2, 6, &[4]).unwrap();
        assert_eq!((tickled.vcpu, tickled.figures), (None, vec![("pcpu", 4)]));
        assert_eq!(of(CREDIT2, 9, &[]), None);
    }

    #[test]
    fn what_is_not_known_or_shown_anyway_is_left_out() {
        assert_eq!(of(CREDIT, 9, &[0]), None);
        assert_eq!(of(CREDIT, 63, &[]), None);
        assert_eq!(of(5, 1, &[1]), None);
        // Cut short: as much as is there.
        assert_eq!(of(CREDIT, 7, &[1]).unwrap().vcpu, None);
    }
}
