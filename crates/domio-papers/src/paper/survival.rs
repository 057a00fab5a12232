//! How claims do on the machines that their paper allows: counts with intervals, on what a claim
//! depends, and a word and a sentence by rule.

use crate::ledger::Checks;
use domio_answer::{Inner, rows, texts};
use domio_stats::wilson;

/// A claim is robust when the whole interval of its share of machines is over this.
const ROBUST: f64 = 0.8;

/// How a claim does on machines that its paper allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It holds on nearly all: the 95 % interval of the share is over 80 %.
    Robust,
    /// It holds on one side of an unknown and fails on the other.
    Depends,
    /// It holds on some, and no unknown says on which.
    Mixed,
    /// It holds on none.
    Nowhere,
    /// It is undecided on more than half.
    Undecided,
}

texts! {
    Standing: |standing| standing.name().into(),
        |text, _| Standing::ALL.into_iter().find(|standing| standing.name() == text);
}

impl Standing {
    /// All of them, from the best.
    pub const ALL: [Standing; 5] = [
        Standing::Robust,
        Standing::Depends,
        Standing::Mixed,
        Standing::Nowhere,
        Standing::Undecided,
    ];

    /// The word in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Robust => "robust",
            Standing::Depends => "depends",
            Standing::Mixed => "mixed",
            Standing::Nowhere => "nowhere",
            Standing::Undecided => "undecided",
        }
    }

    /// What is said of a claim, or of `count` of them, before their list.
    fn said(self, count: usize) -> String {
        let one = count == 1;
        let (is, holds, depends) = match one {
            true => ("is", "holds", "depends"),
            false => ("are", "hold", "depend"),
        };
        match self {
            Standing::Robust => format!("{count} {is} robust"),
            Standing::Depends => format!("{count} {depends} on what the paper leaves open"),
            Standing::Mixed => {
                format!("{count} {holds} on some machines that no declared unknown sets apart")
            }
            Standing::Nowhere => format!("{count} {holds} on no machine"),
            Standing::Undecided => format!("{count} {is} undecided on most machines"),
        }
    }
}

rows! {
    /// A part of the machines.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct MachineShare {
        /// How many machines.
        pub machines: usize = count("machines");
        /// Part of all machines, in percent.
        pub share_pct: f64 = fact("share_pct").unit("%");
        /// 95 % interval of that (Wilson's), of all machines that the paper allows.
        pub ci95_pct: [f64; 2] = fact("ci95_pct");
    }

    /// An unknown, cut in two such that machines on which a claim holds and those on which it fails
    /// lie on different sides as far as possible.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Dependence {
        /// Name of the unknown.
        pub unknown: String = fact("unknown");
        /// The side on which the claim holds rather: "up to 98304", "bic".
        pub holds_with: String = fact("holds_with");
        /// The other side.
        pub fails_with: String = fact("fails_with");
        /// On how many machines of the first side the claim holds.
        pub holds_there: usize = count("holds_there");
        /// On how many machines of the first side it holds or fails.
        pub decided_there: usize = count("decided_there");
        /// On how many machines of the other side it holds.
        pub holds_elsewhere: usize = count("holds_elsewhere");
        /// On how many machines of the other side it holds or fails.
        pub decided_elsewhere: usize = count("decided_elsewhere");
        /// How well the split separates holds from fails, 0 to 1.
        pub score: f64 = fact("score");
        /// What the best split of all unknowns reaches by chance in one of twenty cases.
        pub by_chance: f64 = fact("by_chance");
    }

    /// A claim on the machines that its paper allows.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Survival {
        /// Number of machines on which the claim was decided, the central one not among them.
        pub machines: usize = count("machines");
        /// Where the claim holds.
        pub holds: Inner<MachineShare> = fact("holds");
        /// Where it fails.
        pub fails: Inner<MachineShare> = fact("fails");
        /// Where neither is proven.
        pub undecided: Inner<MachineShare> = fact("undecided");
        /// What that comes to: robust, depends, mixed, nowhere or undecided.
        pub standing: Standing = fact("standing");
        /// The two unknowns on which the claim depends most, the first one more; none where it does
        /// not hold on some machines and fail on others.
        pub depends_on: Vec<Dependence> = parts("depends_on", []);
    }
}

impl Dependence {
    /// Whether the claim holds on one side and fails on the other: on most machines of each that
    /// decide, and separated better than by chance.
    pub fn is_clear(&self) -> bool {
        self.score > self.by_chance
            && 2 * self.holds_there > self.decided_there
            && 2 * self.holds_elsewhere < self.decided_elsewhere
    }

    /// In words: "pace of the pings: holds on 20 of 22 machines with flood, on 1 of 40 with not
    /// flood".
    pub fn told(&self) -> String {
        let Dependence {
            unknown,
            holds_with,
            fails_with,
            holds_there,
            decided_there,
            holds_elsewhere,
            decided_elsewhere,
            ..
        } = self;
        format!(
            "{unknown}: holds on {holds_there} of {decided_there} machines with {holds_with}, on \
             {holds_elsewhere} of {decided_elsewhere} with {fails_with}"
        )
    }
}

impl Survival {
    /// What the counts of machines come to; `depends_on` has at most two unknowns.
    pub fn of(on: Checks, depends_on: Vec<Dependence>) -> Self {
        let machines = on.total();
        let share = |count: usize| {
            Inner(MachineShare {
                machines: count,
                share_pct: tenths(count as f64 / machines.max(1) as f64),
                ci95_pct: wilson(count, machines).map(tenths),
            })
        };
        let standing = match () {
            () if 2 * on.undecided > machines || machines == 0 => Standing::Undecided,
            () if on.holds == 0 => Standing::Nowhere,
            () if wilson(on.holds, machines)[0] > ROBUST => Standing::Robust,
            () if depends_on.first().is_some_and(Dependence::is_clear) => Standing::Depends,
            () => Standing::Mixed,
        };
        Survival {
            machines,
            holds: share(on.holds),
            fails: share(on.fails),
            undecided: share(on.undecided),
            standing,
            depends_on,
        }
    }

    /// The unknown on one side of which the claim holds, and on the other side of which it fails.
    pub fn clear(&self) -> Option<&Dependence> {
        self.depends_on.first().filter(|first| first.is_clear())
    }

    /// In words: "holds on 41 of 64 machines (64 %, 52 to 75 %), fails on 20, undecided on 3".
    pub fn told(&self) -> String {
        let MachineShare {
            machines,
            share_pct,
            ci95_pct: [low, high],
        } = self.holds.0;
        format!(
            "holds on {machines} of {} machines ({share_pct:.0} %, {low:.0} to {high:.0} %), \
             fails on {}, undecided on {}",
            self.machines, self.fails.0.machines, self.undecided.0.machines
        )
    }
}

/// A part in percent, with one digit behind the point.
fn tenths(part: f64) -> f64 {
    (part * 1e3).round() / 10.0
}

/// What of a paper is robust, what depends on what, and what holds nowhere, in one sentence.
/// `claims` are ids without the paper's, each with how it does.
pub fn sentence<'s>(claims: impl Iterator<Item = (&'s str, &'s Survival)>) -> String {
    let claims: Vec<(&str, &Survival)> = claims.collect();
    let part = |standing: Standing| {
        let own = claims.iter().filter(|(_, s)| s.standing == standing);
        let named: Vec<String> = own
            .map(|(id, survival)| match survival.clear() {
                Some(first) if standing == Standing::Depends => {
                    format!("{id} on {}", first.unknown)
                }
                _ => (*id).to_owned(),
            })
            .collect();
        let list = named.join(", ");
        (!named.is_empty()).then(|| format!("{} ({list})", standing.said(named.len())))
    };
    let parts: Vec<String> = Standing::ALL.into_iter().filter_map(part).collect();
    let claims = match claims.len() {
        1 => "1 claim".to_owned(),
        n => format!("{n} claims"),
    };
    match parts.split_last() {
        None => "No claim was decided on other machines.".to_owned(),
        Some((only, [])) => format!("Of {claims} {only}."),
        Some((last, others)) => format!("Of {claims} {}, and {last}.", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(holds: usize, fails: usize, undecided: usize) -> Checks {
        Checks {
            holds,
            fails,
            undecided,
        }
    }

    fn split(there: [usize; 2], elsewhere: [usize; 2], score: f64) -> Dependence {
        Dependence {
            unknown: "line".to_owned(),
            holds_with: "up to 20 us".to_owned(),
            fails_with: "from 30 us on".to_owned(),
            holds_there: there[0],
            decided_there: there[1],
            holds_elsewhere: elsewhere[0],
            decided_elsewhere: elsewhere[1],
            score,
            by_chance: 0.4,
        }
    }

    #[test]
    fn standings_are_by_rule() {
        let of = |on, splits| Survival::of(on, splits).standing;
        let clear = || vec![split([30, 32], [4, 32], 0.8)];
        assert_eq!(of(counts(64, 0, 0), vec![]), Standing::Robust);
        assert_eq!(of(counts(57, 7, 0), clear()), Standing::Depends);
        assert_eq!(of(counts(4, 0, 0), vec![]), Standing::Mixed, "too few");
        assert_eq!(of(counts(34, 30, 0), clear()), Standing::Depends);
        let chance = vec![split([30, 32], [4, 32], 0.4)];
        assert_eq!(of(counts(34, 30, 0), chance), Standing::Mixed);
        let one_side = vec![split([15, 32], [2, 32], 0.8)];
        assert_eq!(of(counts(17, 47, 0), one_side), Standing::Mixed);
        assert_eq!(of(counts(0, 32, 32), vec![]), Standing::Nowhere);
        assert_eq!(of(counts(0, 31, 33), vec![]), Standing::Undecided);
        assert_eq!(of(counts(0, 0, 0), vec![]), Standing::Undecided);
    }

    #[test]
    fn sentences_are_by_rule() {
        let robust = Survival::of(counts(64, 0, 0), vec![]);
        let depends = Survival::of(counts(34, 27, 3), vec![split([30, 31], [4, 30], 0.8)]);
        let nowhere = Survival::of(counts(0, 64, 0), vec![]);
        let all = [
            ("a", &robust),
            ("b", &depends),
            ("c", &nowhere),
            ("d", &nowhere),
        ];
        assert_eq!(
            sentence(all.into_iter()),
            "Of 4 claims 1 is robust (a), 1 depends on what the paper leaves open (b on line), \
             and 2 hold on no machine (c, d)."
        );
        let one = [("a", &robust)];
        assert_eq!(sentence(one.into_iter()), "Of 1 claim 1 is robust (a).");
        let told = depends.told();
        let start = "holds on 34 of 64 machines (53 %, 41 to 65 %), fails on 27, undecided on 3";
        assert_eq!(told, start);
        assert_eq!(
            depends.depends_on[0].told(),
            "line: holds on 30 of 31 machines with up to 20 us, on 4 of 30 with from 30 us on"
        );
    }
}
