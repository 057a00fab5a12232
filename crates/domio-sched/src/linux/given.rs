//! What operators give domains, groups and vcpus: values of the declared parameters in the kernel's
//! units, and what Linux refuses of them.

use super::cbs::Reservation;
use super::event::Part;
use super::params::{
    Class, DomainParams, GroupParams, LEAST_PERIOD_US, Layout, Level, MS, US, VcpuParams,
};
use super::weights::{IDLE_SHARES, Load, NICE_0, shares};
use alloc::format;
use domio_contract::Conflict;
use domio_core::params::Params;
use domio_core::{DomainId, ParamValues};

/// What the parameters of a domain say of its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GroupSetting {
    pub shares: u64,
    pub idle: bool,
    /// Nanoseconds; 0 for none.
    pub quota: i64,
    pub period: i64,
    pub burst: i64,
}

impl GroupSetting {
    /// The usual weight, and no limit.
    const PLAIN: GroupSetting = GroupSetting {
        shares: NICE_0,
        idle: false,
        quota: 0,
        period: 100 * MS,
        burst: 0,
    };

    /// Of a domain or of a group of domains: both have these parameters.
    pub fn new(values: &ParamValues) -> GroupSetting {
        let p = GroupParams::from(values);
        let period = p.period_us * US;
        // Where the two are given, the smaller one holds; whatever is too short is the shortest.
        let of_cap = (period / 100 * p.cap).max(MS);
        let quota = match (p.cap, p.quota_us) {
            (0, quota) => quota * US,
            (_, 0) => of_cap,
            (_, quota) => of_cap.min(quota * US),
        };
        GroupSetting {
            shares: match p.idle {
                true => IDLE_SHARES,
                false => shares(p.weight),
            },
            idle: p.idle,
            quota,
            period,
            burst: (p.burst_us * US).min(quota),
        }
    }
}

/// What the parameters of a domain say of the groups inside its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Inside {
    pub layout: Layout,
    vcpu: GroupSetting,
    emulator: GroupSetting,
    iothread: GroupSetting,
}

impl Inside {
    pub fn new(domain: &ParamValues) -> Inside {
        let p = DomainParams::from(domain);
        let limited = |quota: i64, period: i64| GroupSetting {
            quota: quota * US,
            period: period * US,
            ..GroupSetting::PLAIN
        };
        Inside {
            layout: p.layout,
            vcpu: limited(p.vcpu_quota_us, p.vcpu_period_us),
            emulator: limited(p.emulator_quota_us, p.emulator_period_us),
            iothread: limited(p.iothread_quota_us, p.iothread_period_us),
        }
    }

    /// Of a domain of which nothing has been told.
    pub fn unknown() -> Inside {
        Inside::new(&ParamValues::defaults(DomainParams::SPECS))
    }

    /// What the group `part` is given.
    pub fn of(&self, part: Part) -> &GroupSetting {
        match part {
            Part::Libvirt => &GroupSetting::PLAIN,
            Part::Emulator => &self.emulator,
            Part::Vcpu(_) => &self.vcpu,
            Part::Iothread(_) => &self.iothread,
        }
    }
}

/// What the parameters of a vcpu say of its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ThreadSetting {
    pub load: Load,
    pub nice: i64,
    pub class: Class,
    /// Nanoseconds; 0 for the base slice.
    pub slice: i64,
    /// Priority in fifo and rr; 0 elsewhere.
    pub priority: u8,
    /// What it reserves in deadline, in nanoseconds; nothing elsewhere.
    pub reserves: Reservation,
}

impl ThreadSetting {
    fn of(p: VcpuParams) -> ThreadSetting {
        let priority = match p.class.level() {
            // What no kernel takes is the least there is.
            Level::RealTime => p.rt_priority.max(1) as u8,
            _ => 0,
        };
        let reserves = match p.class.level() {
            Level::Deadline => reservation(&p),
            _ => Reservation::default(),
        };
        ThreadSetting {
            load: match p.class {
                Class::Idle => Load::idle(),
                _ => Load::nice(p.nice),
            },
            nice: p.nice,
            class: p.class,
            slice: p.slice_us * US,
            priority,
            reserves,
        }
    }

    pub fn new(values: &ParamValues) -> ThreadSetting {
        ThreadSetting::of(VcpuParams::from(values))
    }

    /// Of the vcpus of a domain with these values.
    pub fn inherited(domain: &ParamValues) -> ThreadSetting {
        ThreadSetting::of(own(domain))
    }

    pub fn unknown() -> ThreadSetting {
        ThreadSetting::new(&ParamValues::defaults(VcpuParams::SPECS))
    }
}

/// What `domain` says of each of its vcpus.
fn own(domain: &ParamValues) -> VcpuParams {
    let p = DomainParams::from(domain);
    VcpuParams {
        nice: p.nice,
        class: p.class,
        slice_us: p.slice_us,
        rt_priority: p.rt_priority,
        dl_runtime_us: p.dl_runtime_us,
        dl_deadline_us: p.dl_deadline_us,
        dl_period_us: p.dl_period_us,
    }
}

/// What a thread with these values reserves, in the shape in which it can be: the deadline is not
/// after the period, and the runtime fits before it.
fn reservation(p: &VcpuParams) -> Reservation {
    let (deadline, period) = deadline_and_period(p);
    let period = period.max(LEAST_PERIOD_US);
    let deadline = deadline.clamp(2, period);
    Reservation {
        runtime: p.dl_runtime_us.clamp(2, deadline) * US,
        deadline: deadline * US,
        period: period * US,
    }
}

/// Deadline and period as given, in microseconds: each is that of the other where it is 0.
fn deadline_and_period(p: &VcpuParams) -> (i64, i64) {
    match (p.dl_deadline_us, p.dl_period_us) {
        (0, period) => (period, period),
        (deadline, 0) => (deadline, deadline),
        both => both,
    }
}

/// Checks what no single range can say of the policy: runtimes fit in their periods.
///
/// # Errors
/// What Linux refuses.
pub fn validate(values: &ParamValues) -> Result<(), Conflict> {
    for (param, with) in [
        ("sched_rt_runtime_us", "sched_rt_period_us"),
        ("fair_server_runtime_us", "fair_server_period_us"),
    ] {
        let (Some(runtime), Some(period)) = (values.by_name(param), values.by_name(with)) else {
            continue;
        };
        if runtime > period {
            return Err(Conflict {
                param,
                with,
                problem: format!("{runtime} us in each period of {period} us"),
                expected: format!("{param} of {period} at most"),
                hint: "the runtime is a part of the period",
            });
        }
    }
    Ok(())
}

/// Checks what no single range can say of a vcpu: fifo and rr have a priority, and deadline a
/// runtime that fits before the deadline, which is not after the period.
///
/// # Errors
/// What Linux refuses.
pub fn validate_vcpu(values: &ParamValues) -> Result<(), Conflict> {
    validate_thread(&VcpuParams::from(values))
}

/// As [`validate_vcpu`], for what a domain says of all of its vcpus, and as [`validate_group`].
///
/// # Errors
/// What Linux refuses.
pub fn validate_domain(values: &ParamValues) -> Result<(), Conflict> {
    validate_thread(&own(values))?;
    validate_inside(&DomainParams::from(values))?;
    validate_group(values)
}

/// Quotas of groups inside a domain's need these groups.
fn validate_inside(p: &DomainParams) -> Result<(), Conflict> {
    if p.layout == Layout::Libvirt {
        return Ok(());
    }
    for (param, quota) in [
        ("vcpu_quota_us", p.vcpu_quota_us),
        ("emulator_quota_us", p.emulator_quota_us),
        ("iothread_quota_us", p.iothread_quota_us),
    ] {
        if quota > 0 {
            return Err(Conflict {
                param,
                with: "layout",
                problem: format!("{param} of {quota} without a group that it could limit"),
                expected: "layout = \"libvirt\"".into(),
                hint: "without libvirt all threads of a guest are in one group, which quota_us \
                       limits",
            });
        }
    }
    Ok(())
}

/// Checks whether all threads of the class deadline, on a host with so many pcpus, leave the part
/// of each pcpu that is not theirs (admission, which Linux does for each root domain).
///
/// # Errors
/// The domain with which they reserve too much.
pub fn validate_vcpus(
    policy: &ParamValues,
    pcpus: usize,
    vcpus: &[(DomainId, ParamValues)],
) -> Result<(), (DomainId, Conflict)> {
    let value = |name| policy.by_name(name).unwrap_or(-1);
    let (runtime, period) = (value("sched_rt_runtime_us"), value("sched_rt_period_us"));
    if runtime < 0 || period <= 0 {
        return Ok(());
    }
    // In parts of 2^20 of a pcpu, as the kernel.
    let most = (runtime << 20) / period * pcpus as i64;
    let mut all = 0;
    for (domain, values) in vcpus {
        let r = ThreadSetting::new(values).reserves;
        if r.period > 0 {
            all += (r.runtime << 20) / r.period;
        }
        if all > most {
            let pcpus_of = |parts: i64| {
                let thousandths = (parts * 1_000) >> 20;
                format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000)
            };
            let conflict = Conflict {
                param: "dl_runtime_us",
                with: "class",
                problem: format!(
                    "with it the class deadline reserves {} pcpus of {pcpus}",
                    pcpus_of(all)
                ),
                expected: format!(
                    "{} at most: sched_rt_runtime_us of sched_rt_period_us on each",
                    pcpus_of(most)
                ),
                hint: "a shorter dl_runtime_us or a longer dl_period_us; Linux refuses it as well",
            };
            return Err((*domain, conflict));
        }
    }
    Ok(())
}

fn validate_thread(p: &VcpuParams) -> Result<(), Conflict> {
    if p.class.level() == Level::RealTime && p.rt_priority == 0 {
        return Err(Conflict {
            param: "class",
            with: "rt_priority",
            problem: "fifo and rr need a priority".into(),
            expected: "rt_priority of 1 to 99".into(),
            hint: "the higher rt_priority runs first; `chrt` and libvirt call it priority",
        });
    }
    if p.class.level() != Level::Deadline {
        return Ok(());
    }
    let (deadline, period) = deadline_and_period(p);
    if p.dl_runtime_us == 0 || period == 0 {
        return Err(Conflict {
            param: "class",
            with: if period == 0 {
                "dl_period_us"
            } else {
                "dl_runtime_us"
            },
            problem: "deadline needs a runtime and a period".into(),
            expected: "dl_runtime_us and dl_period_us above 0".into(),
            hint: "the thread gets dl_runtime_us in each dl_period_us",
        });
    }
    if deadline > period || period < LEAST_PERIOD_US {
        return Err(Conflict {
            param: "dl_deadline_us",
            with: "dl_period_us",
            problem: format!("a deadline of {deadline} us in a period of {period} us"),
            expected: format!(
                "a deadline within the period, and that of {LEAST_PERIOD_US} us at least"
            ),
            hint: "without dl_deadline_us the deadline is the end of the period",
        });
    }
    if p.dl_runtime_us > deadline {
        return Err(Conflict {
            param: "dl_runtime_us",
            with: "dl_deadline_us",
            problem: format!("{} us within {deadline} us", p.dl_runtime_us),
            expected: format!("dl_runtime_us of {deadline} at most"),
            hint: "the thread gets its runtime before the deadline",
        });
    }
    Ok(())
}

/// Checks what no single range can say of a domain or of a group of domains: quotas of a
/// millisecond at least, bursts within the quota.
///
/// # Errors
/// What Linux refuses.
pub fn validate_group(values: &ParamValues) -> Result<(), Conflict> {
    let p = GroupParams::from(values);
    let of_cap = p.period_us * p.cap / 100;
    if p.cap > 0 && p.quota_us > 0 {
        return Err(Conflict {
            param: "quota_us",
            with: "cap",
            problem: format!("a cap of {} % and a quota of {} us", p.cap, p.quota_us),
            expected: "one of the two".into(),
            hint: "the cap is a quota of so many percent of the period",
        });
    }
    if p.cap > 0 && of_cap < 1_000 {
        return Err(Conflict {
            param: "cap",
            with: "period_us",
            problem: format!(
                "{} % of a period of {} us is a quota of {of_cap} us",
                p.cap, p.period_us
            ),
            expected: format!(
                "a cap of {} at least",
                (100_000 + p.period_us - 1) / p.period_us
            ),
            hint: "Linux takes no quota below 1 ms",
        });
    }
    let quota = of_cap.max(p.quota_us);
    if p.burst_us > quota {
        return Err(Conflict {
            param: "burst_us",
            with: if p.cap > 0 { "cap" } else { "quota_us" },
            problem: format!("a burst of {} us with a quota of {quota} us", p.burst_us),
            expected: format!("burst_us of {quota} at most"),
            hint: "Linux takes no burst above the quota",
        });
    }
    Ok(())
}
