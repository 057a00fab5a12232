//! The checker of reservations: budgets in periods, each vcpu's own.

use super::checker::Checker;
use crate::conformance::log::{LogEntry, Occurrence, PolicyCall, Reserved};
use crate::conformance::script::Script;
use crate::conformance::world::World;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use domio_contract::Promises;
use domio_core::{DomainId, Duration, Instant};

/// What a vcpu may have beyond its budgets: at first whatever a policy gives to who is new, and
/// later what is lost when numbers are rounded.
const SLACK: Duration = Duration::from_millis(10);

pub(super) fn all(script: &Script, promises: &Promises) -> Option<Box<dyn Checker>> {
    promises.reservations.then(|| {
        let nobody = Account {
            domain: DomainId(0),
            told: None,
            left: 0,
            got: Duration::ZERO,
        };
        Box::new(Reservations {
            fits: script.only_burns() && script.is_unrestricted(),
            domains: Vec::new(),
            vcpus: alloc::vec![nobody; script.vcpus.len()],
            names: script.vcpus.iter().map(|v| v.name.domain).collect(),
        }) as Box<dyn Checker>
    })
}

/// What a vcpu has and may have.
#[derive(Clone)]
struct Account {
    domain: DomainId,
    told: Option<Reserved>,
    /// What it may still have now, in nanoseconds: two budgets at most, since one that is not used
    /// until the end of its period is followed by the next.
    left: i64,
    got: Duration,
}

impl Account {
    /// It has `told` from now on, in addition to what it had left.
    fn tell(&mut self, told: Option<Reserved>) {
        self.told = told;
        self.left += told.map_or(0, |r| 2 * r.budget.as_nanos() as i64);
    }
}

struct Reservations {
    /// Whether everybody burns all the time, anywhere.
    fits: bool,
    domains: Vec<(DomainId, Option<Reserved>)>,
    vcpus: Vec<Account>,
    names: Vec<DomainId>,
}

impl Checker for Reservations {
    fn name(&self) -> &'static str {
        "reservations"
    }

    fn entry(&mut self, _: &World, entry: &LogEntry) -> Option<String> {
        match entry.what {
            Occurrence::Call(PolicyCall::SetDomain(domain, told)) => {
                self.domains.retain(|(d, _)| *d != domain);
                self.domains.push((domain, told));
                let own = self.vcpus.iter_mut().filter(|v| v.domain == domain);
                own.for_each(|v| v.tell(told));
            }
            Occurrence::Call(PolicyCall::SetVcpu(v, told)) => self.vcpus[v.index()].tell(told),
            Occurrence::Call(PolicyCall::Insert(v)) => {
                let domain = self.names[v.index()];
                let told = self.domains.iter().find(|(d, _)| *d == domain);
                let account = &mut self.vcpus[v.index()];
                (account.domain, account.left) = (domain, SLACK.as_nanos() as i64);
                account.tell(told.and_then(|(_, told)| *told));
            }
            _ => {}
        }
        None
    }

    fn lasting(&mut self, world: &World, from: Instant, to: Instant) -> Option<String> {
        let length = to.since(from);
        for (i, account) in self.vcpus.iter_mut().enumerate() {
            let Some(told) = account.told else { continue };
            let runs = world.vcpus[i].on.is_some();
            let share = i128::from(told.budget.as_nanos()) * i128::from(length.as_nanos());
            let earned = (share / i128::from(told.period.as_nanos())) as i64;
            let most = 2 * told.budget.as_nanos() as i64 + SLACK.as_nanos() as i64;
            let mut taken = 0;
            if runs {
                account.got += length;
                if !told.extratime {
                    taken = length.as_nanos() as i64;
                }
            }
            // What is left of a reservation that was changed is above that.
            let most = most.max(account.left);
            account.left = most.min(account.left + earned - taken);
            if account.left < 0 {
                return Some(alloc::format!(
                    "v{i} is {} ns over its budgets of {} in {}",
                    -account.left,
                    told.budget,
                    told.period
                ));
            }
        }
        None
    }

    fn end(&mut self, at: Instant) -> Option<String> {
        let length = at.since(Instant::ZERO).as_nanos();
        let due = |r: &Reserved| {
            let all = u128::from(r.budget.as_nanos()) * u128::from(length);
            Duration::from_nanos((all / u128::from(r.period.as_nanos())) as u64)
        };
        let all = || self.vcpus.iter().filter_map(|v| Some((v, v.told?)));
        let together = all()
            .map(|(_, r)| due(&r))
            .fold(Duration::ZERO, |a, b| a + b);
        if !self.fits || together.as_nanos() > length {
            return None;
        }
        let short = |(v, r): &(&Account, Reserved)| v.got + r.budget * 2 + SLACK < due(r);
        let (v, r) = all().find(short)?;
        Some(alloc::format!(
            "a vcpu of {} burns and got {} of {}: budgets of {} in {}",
            v.domain,
            v.got,
            due(&r),
            r.budget,
            r.period
        ))
    }
}
