//! What a trace tells of waits, so that a figure of 0 can be told from one that is not known.

use domio_answer::{RowType, rows};
use domio_core::{Class, Declared, Says, Shows};

use super::result::Explanation;
use super::waits::why::Why;

rows! {
    /// Which records a trace has.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct WaitTells {
        /// The policy whose own records there are; null without any.
        pub policy: Option<&'static Class> = fact("policy");
        /// Whether there are records of which pcpus were tickled.
        pub tickles: bool = any("tells_tickles");
        /// Whether there are records of who was boosted.
        pub boosts: bool = any("tells_boosts");
        /// Whether there are records of what the rate limit did: of passes of a release that writes
        /// these.
        pub limits: bool = any("tells_rate_limit");
        /// Whether there are records of slices.
        pub slices: bool = any("tells_slices");
        /// Whether there are records of credits.
        pub credits: bool = any("tells_credits");
        /// Whether there are records of vcpus' own budgets.
        pub budgets: bool = any("tells_budgets");
        /// Whether there are records of driver domains that went on, which Xen never lets them.
        pub dispatches: bool = any("tells_dispatches");
        /// Whether there are records of which pcpus vcpus may use.
        pub affinity: bool = any("tells_affinity");
        /// Whether there are records of requests of the host's disks.
        pub disks: bool = any("tells_disks");
    }
}

impl WaitTells {
    /// A record with this declaration was there.
    pub(super) fn add(&mut self, declared: &Declared) {
        let shows = shows(declared);
        self.tickles |= shows.tickles;
        self.limits |= shows.limits;
        self.boosts |= shows.boosts;
        self.credits |= shows.credits;
        self.budgets |= matches!(declared.says, Says::Budget { .. });
        self.dispatches |= declared.says == Says::Dispatches;
        self.affinity |= matches!(declared.says, Says::MayUse { .. });
        self.disks |= matches!(declared.says, Says::DiskDone { .. });
    }

    /// What a trace or another part of it tells, too.
    pub(super) fn or(self, other: WaitTells) -> WaitTells {
        let policy = match self.understands_policy() {
            true => self.policy,
            false => other.policy.or(self.policy),
        };
        let mut both = self;
        both.merge(&other);
        WaitTells { policy, ..both }
    }

    /// Name of the policy whose records there are.
    pub fn policy_name(self) -> Option<&'static str> {
        Some(self.policy?.name)
    }

    /// Whether the policy's own records say anything of waits.
    pub fn understands_policy(self) -> bool {
        let records = self.policy.map_or(&[][..], |policy| policy.records);
        let of_waits = |says| !matches!(says, Says::Nothing | Says::HeldInside);
        records.iter().any(|record| of_waits(record.says))
    }

    /// Whether the policy's queues have the order from which priorities can be concluded.
    pub(super) fn is_fifo_with_boost(self) -> bool {
        self.policy
            .is_some_and(|policy| policy.queue.fifo_with_boost)
    }

    /// Whether a pcpu does not idle beside a vcpu that waits there, unless a limit holds that back,
    /// and records say what each wait is for.
    pub(super) fn never_idles(self) -> bool {
        self.policy.is_some_and(|policy| policy.queue.never_idles)
    }

    /// What the policy's records may show.
    fn could(self) -> Shows {
        let records = self.policy.map_or(&[][..], |policy| policy.records);
        let shows = records.iter().map(shows);
        shows.fold(Shows::NOTHING, Shows::and)
    }

    /// Whether the policy's records may tell what caps leave.
    fn could_tell_caps(self) -> bool {
        let records = self.policy.map_or(&[][..], |policy| policy.records);
        let is_budget = |says| {
            matches!(
                says,
                Says::Credit {
                    budget: Some(_),
                    ..
                }
            )
        };
        records.iter().any(|record| is_budget(record.says))
    }

    /// Whether the policy gives each vcpu a budget of its own, and records what is left.
    fn could_tell_budgets(self) -> bool {
        let records = self.policy.map_or(&[][..], |policy| policy.records);
        let mut said = records.iter().map(|record| record.says);
        said.any(|says| matches!(says, Says::Budget { .. }))
    }

    /// Whether the policy records whom groups inside of domains hold back.
    fn could_tell_inside(self) -> bool {
        let records = self.policy.map_or(&[][..], |policy| policy.records);
        records.iter().any(|record| record.says == Says::HeldInside)
    }

    /// Whether a wait could be told to be for `why`, if it was.
    pub fn told(self, why: Why) -> bool {
        match why {
            Why::Pass if self.never_idles() => true,
            Why::Pass | Why::NotTickled | Why::PassedOver => self.tickles,
            Why::RateLimit => self.limits,
            Why::Dispatching => self.dispatches,
            Why::Budget => self.budgets,
            Why::OverCredit => self.credits || self.is_fifo_with_boost() && self.boosts,
            Why::BoostAhead => self.boosts,
            Why::Cap => self.credits && self.could_tell_caps(),
            Why::Preempted | Why::SliceOver => self.slices,
            Why::Woken | Why::Displaced | Why::Yielded | Why::Released | Why::Before => true,
            Why::Parked => true,
            Why::OwnGroup => self.could_tell_inside(),
            Why::Affinity => self.affinity,
            Why::Disk => self.disks,
            Why::Queued
            | Why::HigherClass
            | Why::Throttled
            | Why::IdleElsewhere
            | Why::Interrupts => self.never_idles(),
        }
    }

    /// Whether waits may be for `why` at all, as far as the policy is understood.
    pub fn possible(self, why: Why) -> bool {
        let of_linux = !why.is_of(None);
        let of_all = matches!(
            why,
            Why::Pass | Why::Preempted | Why::SliceOver | Why::Released | Why::Before
        );
        match why {
            Why::Disk => self.disks,
            _ if self.never_idles() => of_linux || of_all,
            _ if of_linux => false,
            Why::Dispatching => self.dispatches,
            Why::Budget => self.could_tell_budgets(),
            Why::OwnGroup => self.could_tell_inside(),
            _ if !self.understands_policy() => true,
            Why::BoostAhead => self.could().boosts,
            Why::Cap => self.could_tell_caps(),
            _ => true,
        }
    }

    /// What the records of the policy do not tell, a sentence each.
    fn untold(self) -> Vec<String> {
        let sentence = |text: &str| text.to_owned();
        let Some(policy) = self.policy else {
            return vec![sentence(
                "The trace carries no records of the policy's own, so tickles, boosts, \
                 credit, caps and the rate limit are unknown; record with `xentrace -e 0x0002f000`",
            )];
        };
        if !self.understands_policy() {
            return vec![format!(
                "The private records are of {}, and none of them is used here: tickles, credit, \
                 caps and the rate limit are unknown",
                policy.name
            )];
        }
        let could = self.could();
        let mut said = Vec::new();
        if self.is_fifo_with_boost() && !could.credits {
            said.push(format!(
                "{} records no balance. A vcpu is said to be over its credit where another one \
                 without boost, queued later, ran before it, and where it was woken without a \
                 boost; there may be more such time",
                capitalised(policy.name)
            ));
        }
        let missing = [
            (
                could.boosts && !self.boosts,
                "The trace carries no records of boosts, so that boosts and credit are unknown",
            ),
            (
                could.tickles && !self.tickles,
                "The trace carries no records of tickles, so that waits after a wake-up are not \
                 split",
            ),
            (
                could.limits && !self.limits,
                "The trace carries no records of passes, as of a Xen before 4.9, so that the \
                 rate limit is unknown",
            ),
            (
                could.credits && !self.credits,
                "The trace carries no records of credits, so that credit and caps are unknown",
            ),
        ];
        let missing = missing.into_iter().filter(|(missing, _)| *missing);
        said.extend(missing.map(|(_, text)| sentence(text)));
        said
    }
}

/// What a record with this declaration shows.
fn shows(declared: &Declared) -> Shows {
    let says = declared.says;
    declared.shows.and(Shows {
        tickles: matches!(says, Says::Tickled { .. }),
        limits: matches!(says, Says::RateLimited),
        boosts: matches!(says, Says::Boosted | Says::BoostOver),
        credits: matches!(says, Says::Credit { .. }),
    })
}

/// `text` with a capital letter in front.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

impl Explanation {
    /// What the trace does not tell, or not for sure, a sentence each.
    pub fn untold(&self) -> Vec<String> {
        let mut said = Vec::new();
        if self.lost_records > 0 {
            let unknown = self.vcpus.iter().map(|v| v.unknown).max().unwrap_or(0);
            said.push(format!(
                "{} records were lost. What a vcpu did meanwhile is unknown until the next \
                 record: up to {:.3} s of a vcpu",
                self.lost_records,
                unknown as f64 / 1e9
            ));
        }
        if !self.runstates {
            said.push(
                "The trace carries no records of runstates, so nothing is known of waits; record \
                 with `xentrace -e 0x0002f000`"
                    .to_owned(),
            );
            return said;
        }
        if self.left_out > 0 {
            said.push(format!(
                "{} records are of more vcpus than any host has, and were left out",
                self.left_out
            ));
        }
        said.extend(self.tells.untold());
        if !self.tells.slices {
            said.push(
                "The trace carries no records of slices, so that a vcpu which was preempted is \
                 not distinguished from one whose slice was over"
                    .to_owned(),
            );
        }
        if self.tells.never_idles() {
            if self.pcpus.len() > 1 && !self.tells.affinity {
                said.push(
                    "Which CPUs a thread may use is not recorded, so that an idle CPU may be one \
                     that it may not use; a file NAME.host.json beside the trace says"
                        .to_owned(),
                );
            }
        } else if self.pcpus.len() > 1 {
            said.push(
                "A vcpu is taken to wait on the pcpu where it ran last. The trace does not show \
                 which others it may use"
                    .to_owned(),
            );
        }
        said
    }
}
