//! What domains ask for, by what they used or by what is assumed of them.

use super::load::{By, Used, tenths};
use super::options::ListOptions;
use crate::draft::domain::{Demanded, Setting};
use crate::xl::HostLists;
use std::collections::BTreeMap;

/// Who uses so many thousandths of a vcpu's time never rests.
pub(super) const NEVER_RESTS: u64 = 970;
/// Who uses less idles: lists round to a tenth of a second.
const IDLES: u64 = 5;

/// Domains of whose load nothing says.
#[derive(Debug, Default)]
pub(super) struct Guessed {
    /// They are taken to be as busy as the options say.
    pub busy: BTreeMap<u16, String>,
    /// They are taken to idle.
    pub idle: BTreeMap<u16, String>,
    /// They are taken to have one vcpu.
    pub one_vcpu: BTreeMap<u16, String>,
    /// Some domain works in stretches.
    pub stretches: bool,
}

impl Guessed {
    /// Domain `id` is called `name`.
    pub fn name(&mut self, id: u16, name: &str) {
        for names in [&mut self.busy, &mut self.idle, &mut self.one_vcpu] {
            if let Some(own) = names.get_mut(&id) {
                name.clone_into(own);
            }
        }
    }
}

/// What reports the demand of a domain.
pub(super) struct Demand<'a> {
    pub lists: &'a HostLists,
    pub options: &'a ListOptions,
    pub id: u16,
    pub load: Option<&'a (Used, By)>,
}

impl Demand<'_> {
    /// What the domain asks for with so many vcpus.
    pub fn demanded(&self, vcpus: u16, guessed: &mut Guessed) -> Demanded {
        let id = self.id;
        let of_list = self.lists.domains.get(&id).and_then(|d| d.vcpus);
        let of_sched = self.lists.sched.as_ref();
        let of_sched = of_sched.and_then(|sched| sched.domains.get(&id)?.vcpus.keys().next());
        if of_list.is_none() && of_sched.is_none() {
            guessed.one_vcpu.insert(id, String::new());
        }
        if self.lists.paused.contains(&id) {
            return remark("It is paused.".to_owned());
        }
        let is_on = |vcpu: &u16| !self.lists.offline.contains(&(id, *vcpu));
        let online: Vec<u16> = (0..vcpus).filter(is_on).collect();
        let each = |all: u64| all / (online.len() as u64).max(1);
        let by_vcpu = |of: &dyn Fn(u16) -> u64| {
            let all = (0..vcpus).map(|v| if is_on(&v) { of(v) } else { 0 });
            all.collect::<Vec<u64>>()
        };
        let (mut demanded, loads) = match self.load {
            Some((used, by)) => {
                let loads = match used {
                    Used::Vcpus(own) => by_vcpu(&|v| own.get(&v).copied().unwrap_or(0)),
                    Used::Together(sum) => by_vcpu(&|_| each(*sum)),
                };
                (remark(told(used, *by, online.len())), loads)
            }
            None if id == 0 => {
                guessed.idle.insert(id, String::new());
                return remark("Assumed: it idles.".to_owned());
            }
            None => {
                guessed.busy.insert(id, String::new());
                let percent = self.options.load_pct;
                let what = match percent {
                    100 => "takes all the time that it can get".to_owned(),
                    _ => format!("is busy for {percent} % of the time"),
                };
                let load = u64::from(percent) * 10;
                (
                    remark(format!("Assumed: each vcpu {what}.")),
                    by_vcpu(&|_| load),
                )
            }
        };
        demanded.tasks = tasks(&loads, self.options.work_us);
        guessed.stretches |= loads.iter().any(|load| (IDLES..NEVER_RESTS).contains(load));
        demanded
    }
}

fn remark(text: String) -> Demanded {
    Demanded {
        remarks: vec![text],
        tasks: Vec::new(),
    }
}

/// What a domain used, in words.
fn told(used: &Used, by: By, vcpus: usize) -> String {
    let percent = |load: u64| format!("{}.{} %", load / 10, load % 10);
    let sum = percent(used.sum());
    let how = match used {
        Used::Together(_) if vcpus > 1 => ", taken to be spread evenly over its vcpus",
        _ => "",
    };
    match by {
        By::Lists(ms) => {
            let seconds = tenths(ms);
            format!("It used {sum} of one pcpu in the {seconds} s between the lists{how}.")
        }
        By::Uptime(seconds) => format!(
            "It used {sum} of one pcpu on average since it started {}.{} hours ago{how}.",
            seconds / 3_600,
            seconds % 3_600 / 360
        ),
    }
}

/// Tasks of vcpus that are so busy (thousandths), where a stretch of work is so long on average.
pub(crate) fn tasks(loads: &[u64], work_us: u64) -> Vec<Vec<Setting>> {
    let all_alike = loads.len() > 1 && loads.iter().all(|load| *load == loads[0]);
    let count = if all_alike { 1 } else { loads.len() };
    let mut tasks = Vec::new();
    for (vcpu, load) in loads.iter().enumerate().take(count) {
        let Some(work) = work(*load, work_us) else {
            continue;
        };
        let mut task = Vec::new();
        if !all_alike && loads.len() > 1 {
            task.push(("name", format!("\"v{vcpu}\"")));
        }
        task.extend(work);
        task.push(match all_alike {
            true => ("vcpu", "\"all\"".to_owned()),
            false => ("vcpu", vcpu.to_string()),
        });
        tasks.push(task);
    }
    tasks
}

/// The workload of a vcpu that is so busy; none for one that idles.
fn work(load: u64, work_us: u64) -> Option<Vec<Setting>> {
    let workload = |name: &str| ("workload", format!("\"{name}\""));
    match load {
        ..IDLES => None,
        NEVER_RESTS.. => Some(vec![workload("burn")]),
        _ => {
            let of = |us: u64| format!("{{ distribution = \"exponential\", mean_us = {us} }}");
            let rest = work_us * (1_000 - load) / load;
            Some(vec![
                workload("on-off"),
                ("on", of(work_us.max(1))),
                ("off", of(rest.max(1))),
            ])
        }
    }
}
