//! An explanation as a [`Sample`], which can be kept, and back.
//!
//! All of the explanation is in one list of numbers, field after field; besides the list, a sample
//! has figures for people. Each structure names its fields once for both directions, so that a
//! field which is not kept does not compile. The places of a host are the scenario's and not kept.

use crate::sample::Sample;
use crate::subject::Subject;
use domio_core::{Class, DomainId, Instant, PcpuId, Runstate, VcpuName};
use domio_meter::{
    Cause, DriverWork, Explanation, HostPlaces, ItemWaits, LongWait, Map, MapChange, MapRow,
    Residence, Side, VcpuWaits, WaitTells, Why,
};
use domio_scenario::Parts;
use domio_sched::policies;
use std::collections::BTreeMap;

/// Name of the list.
const ALL: &str = "explanation";

/// What explanations of the scenario `of` are kept as.
pub fn subject(of: &Subject) -> Subject {
    let name = format!("explain {}", of.name);
    let fingerprint = Subject::new(&name, "", &[of.fingerprint.as_bytes()]).fingerprint;
    Subject {
        name,
        settings: of.settings.clone(),
        fingerprint,
    }
}

/// The explanation as it is kept, with how long each vcpu ran and waited as figures for people.
pub fn sample(explanation: &Explanation) -> Sample {
    let mut sample = Sample::new().with("records", explanation.records as f64);
    for vcpu in &explanation.vcpus {
        let name = vcpu.name;
        sample.set(&format!("{name}.running_ns"), vcpu.running as f64);
        sample.set(&format!("{name}.runnable_ns"), vcpu.runnable() as f64);
    }
    let mut all = Vec::new();
    explanation.put(&mut all);
    sample.set_list(ALL, all);
    sample
}

/// The explanation that was kept as `sample`, of a host with these places; `None` when the sample
/// is of something else.
pub fn of(sample: &Sample, places: HostPlaces) -> Option<Explanation> {
    let mut rest = sample.list(ALL);
    let explanation = Explanation::take(&mut rest)?;
    rest.is_empty().then_some(Explanation {
        places: Some(places),
        ..explanation
    })
}

/// What becomes numbers, and is made of them again.
trait Kept: Sized {
    fn put(&self, to: &mut Vec<f64>);
    /// `None` when the numbers are of something else.
    fn take(from: &mut &[f64]) -> Option<Self>;
}

/// Integers up to here are exact as a float; the upper half of any other one goes before the lower
/// half, with -1 for 0, -2 for 1 and so on.
const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

impl Kept for u64 {
    fn put(&self, to: &mut Vec<f64>) {
        if *self <= EXACT {
            to.push(*self as f64);
        } else {
            to.extend([-1.0 - (self >> 32) as f64, (self & 0xffff_ffff) as f64]);
        }
    }

    fn take(from: &mut &[f64]) -> Option<Self> {
        let (first, rest) = from.split_first()?;
        *from = rest;
        if *first >= 0.0 {
            return Some(*first as u64);
        }
        let (low, rest) = from.split_first()?;
        *from = rest;
        Some(((-1.0 - first) as u64) << 32 | *low as u64)
    }
}

/// Types that are a `u64` in other clothes.
macro_rules! numbers {
    ($($type:ty: $put:expr, $take:expr;)*) => {$(
        impl Kept for $type {
            fn put(&self, to: &mut Vec<f64>) {
                let put: fn($type) -> u64 = $put;
                put(*self).put(to);
            }
            fn take(from: &mut &[f64]) -> Option<Self> {
                let take: fn(u64) -> Option<$type> = $take;
                take(u64::take(from)?)
            }
        }
    )*};
}

numbers! {
    u16: u64::from, |n| n.try_into().ok();
    u32: u64::from, |n| n.try_into().ok();
    usize: |n| n as u64, |n| n.try_into().ok();
    bool: u64::from, |n| (n < 2).then_some(n == 1);
    Instant: Instant::as_nanos, |n| Some(Instant::from_nanos(n));
    DomainId: |id| id.0.into(), |n| Some(DomainId(n.try_into().ok()?));
    PcpuId: |id| id.0.into(), |n| Some(PcpuId(n.try_into().ok()?));
    Why: |why| place(&Why::ALL, &why), |n| Why::ALL.get(n as usize).copied();
    Side: |side| place(&SIDES, &side), |n| SIDES.get(n as usize).copied();
    Runstate: |state| place(&Runstate::ALL, &state), |n| Runstate::from_number(n.try_into().ok()?);
}

const SIDES: [Side; 2] = [Side::Guest, Side::Driver];

/// Where `one` is among `all`.
fn place<T: PartialEq>(all: &[T], one: &T) -> u64 {
    all.iter().take_while(|other| *other != one).count() as u64
}

/// A structure, by its fields; those after a semicolon are not kept.
macro_rules! fields {
    ($type:ident { $($field:ident),* $(; $other:ident = $value:expr)? }) => {
        impl Kept for $type {
            fn put(&self, to: &mut Vec<f64>) {
                let $type { $($field,)* $($other: _)? } = self;
                $($field.put(to);)*
            }
            fn take(from: &mut &[f64]) -> Option<Self> {
                $(let $field = Kept::take(from)?;)*
                Some($type { $($field,)* $($other: $value)? })
            }
        }
    };
}

fields!(Explanation {
    start, end, runs, records, lost_records, left_out, runstates, pcpus, tells, vcpus,
    worst, worst_woken, unfinished, map, items, driver_work; places = None
});
fields!(WaitTells {
    policy,
    tickles,
    boosts,
    limits,
    slices,
    credits,
    dispatches
});
fields!(VcpuName { domain, index });
fields!(VcpuWaits {
    name,
    seen,
    running,
    residence,
    blocked,
    parked,
    paused,
    unknown,
    times,
    idle_elsewhere,
    waits,
    longest
});
fields!(LongWait {
    run,
    vcpu,
    pcpu,
    begin,
    length,
    woken,
    why,
    behind,
    others
});
fields!(Map {
    from,
    until,
    first,
    head,
    left_out,
    then,
    tail
});
fields!(MapRow { at, pcpu, what });
fields!(ItemWaits {
    domain,
    class,
    device,
    begun,
    under_way,
    times
});
fields!(DriverWork {
    driver,
    busy,
    done_for
});

impl<T: Kept> Kept for Vec<T> {
    fn put(&self, to: &mut Vec<f64>) {
        self.len().put(to);
        self.iter().for_each(|one| one.put(to));
    }

    fn take(from: &mut &[f64]) -> Option<Self> {
        let length = usize::take(from)?;
        (0..length).map(|_| T::take(from)).collect()
    }
}

impl<K: Kept + Ord, V: Kept> Kept for BTreeMap<K, V> {
    fn put(&self, to: &mut Vec<f64>) {
        self.len().put(to);
        for (key, value) in self {
            key.put(to);
            value.put(to);
        }
    }

    fn take(from: &mut &[f64]) -> Option<Self> {
        let pairs: Vec<(K, V)> = Kept::take(from)?;
        Some(pairs.into_iter().collect())
    }
}

impl<T: Kept> Kept for Option<T> {
    fn put(&self, to: &mut Vec<f64>) {
        self.is_some().put(to);
        self.iter().for_each(|one| one.put(to));
    }

    fn take(from: &mut &[f64]) -> Option<Self> {
        Some(match bool::take(from)? {
            true => Some(T::take(from)?),
            false => None,
        })
    }
}

impl<A: Kept, B: Kept> Kept for (A, B) {
    fn put(&self, to: &mut Vec<f64>) {
        self.0.put(to);
        self.1.put(to);
    }

    fn take(from: &mut &[f64]) -> Option<Self> {
        Some((A::take(from)?, B::take(from)?))
    }
}

/// A class is its name, and is read as the one with all records that its policy may write.
impl Kept for &'static Class {
    fn put(&self, to: &mut Vec<f64>) {
        let letters: Vec<u16> = self.name.bytes().map(u16::from).collect();
        letters.put(to);
    }

    fn take(from: &mut &[f64]) -> Option<Self> {
        let letters: Vec<u16> = Kept::take(from)?;
        let is_named = |class: &&'static Class| {
            class
                .name
                .bytes()
                .map(u16::from)
                .eq(letters.iter().copied())
        };
        Parts::from(policies()).classes().into_iter().find(is_named)
    }
}

impl Kept for Residence {
    fn put(&self, to: &mut Vec<f64>) {
        self.ran().collect::<Vec<_>>().put(to);
        self.moves().collect::<Vec<_>>().put(to);
    }

    fn take(from: &mut &[f64]) -> Option<Self> {
        let ran: Vec<(PcpuId, u64)> = Kept::take(from)?;
        let moves: Vec<((PcpuId, PcpuId), u64)> = Kept::take(from)?;
        Some(Residence::of(ran, moves))
    }
}

impl Kept for Cause {
    fn put(&self, to: &mut Vec<f64>) {
        let (number, side, behind) = match *self {
            Cause::RunQueue(side, behind) => (0_u16, Some(side), behind),
            Cause::Scan => (1, None, None),
            Cause::Busy => (2, None, None),
            Cause::Work(side) => (3, Some(side), None),
            Cause::Limit => (4, None, None),
            Cause::Held => (5, None, None),
            Cause::Unknown => (6, None, None),
            Cause::Beside(whom) => (7, None, whom),
            Cause::Thread(whom) => (8, None, whom),
        };
        (number, (side, behind)).put(to);
    }

    fn take(from: &mut &[f64]) -> Option<Self> {
        let (number, (side, behind)): (u16, (Option<Side>, Option<DomainId>)) = Kept::take(from)?;
        Some(match number {
            0 => Cause::RunQueue(side?, behind),
            1 => Cause::Scan,
            2 => Cause::Busy,
            3 => Cause::Work(side?),
            4 => Cause::Limit,
            5 => Cause::Held,
            6 => Cause::Unknown,
            7 => Cause::Beside(behind),
            8 => Cause::Thread(behind),
            _ => return None,
        })
    }
}

impl Kept for MapChange {
    fn put(&self, to: &mut Vec<f64>) {
        let (vcpu, runs) = match *self {
            MapChange::Runs(vcpu, left) => (vcpu, Some(left)),
            MapChange::Wakes(vcpu) => (vcpu, None),
        };
        (vcpu, runs).put(to);
    }

    fn take(from: &mut &[f64]) -> Option<Self> {
        let (vcpu, runs) = Kept::take(from)?;
        Some(match runs {
            Some(left) => MapChange::Runs(vcpu, left),
            None => MapChange::Wakes(vcpu),
        })
    }
}
