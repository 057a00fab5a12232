//! Commands of an operator that set levers, and those that set them back.
//!
//! Sources: xl(1) and xm(1) of Xen 3.1 to 4.20, virsh(1) of libvirt 9, systemd.resource-control(5)
//! of systemd 252, `Documentation/admin-guide/cgroup-v2.rst` and `kernel/sched/debug.c` of Linux
//! 6.1 to 6.18, chrt(1) of util-linux 2.41.

use super::levers::{Host, Lever, Settings, Value, stretches};
use domio_core::XenVersion;
use std::collections::BTreeSet;

/// Commands that set what `settings` changes: to the new values, or `back` to the host's own.
pub(super) fn commands(
    host: &Host,
    xen: XenVersion,
    settings: &Settings,
    back: bool,
) -> Vec<String> {
    let told = Told {
        host,
        settings,
        back,
        tool: match xen < XenVersion::V4_1 {
            true => "xm",
            false => "xl",
        },
    };
    let mut all = Vec::new();
    let mut done: BTreeSet<usize> = BTreeSet::new();
    for lever in settings.keys() {
        match *lever {
            Lever::Scheduler(name) => all.extend(told.scheduler(name)),
            Lever::Domain(at, _) => {
                if done.insert(at) {
                    all.extend(told.domain(at));
                }
            }
            Lever::Pin(at) => all.extend(told.pin(at)),
            Lever::Vcpus(at) => {
                let n = told.number(*lever).unwrap_or(1);
                all.push(format!("{} vcpu-set {} {n}", told.tool, told.name(at)));
            }
        }
    }
    all
}

struct Told<'t> {
    host: &'t Host,
    settings: &'t Settings,
    back: bool,
    tool: &'static str,
}

/// Quotas of libvirt's groups inside that of a guest, and what virsh calls them.
const INSIDE: [(&str, &str); 3] = [
    ("vcpu_quota_us", "vcpu_quota"),
    ("emulator_quota_us", "emulator_quota"),
    ("iothread_quota_us", "iothread_quota"),
];

/// What manages a group of Linux.
enum Manager {
    /// A guest of libvirt.
    Libvirt(String),
    /// A unit of systemd.
    Systemd(String),
}

impl Told<'_> {
    fn value(&self, lever: Lever) -> Option<Value> {
        match self.back {
            true => self.host.own(lever),
            false => self.host.now(self.settings, lever),
        }
    }

    fn number(&self, lever: Lever) -> Option<i64> {
        self.value(lever)?.number()
    }

    /// The name of a domain for a shell.
    fn name(&self, at: usize) -> String {
        let guest = &self.host.guests[at];
        match guest.id == 0 && !self.host.is_linux() {
            true => "Domain-0".to_owned(),
            false => quoted(&guest.name),
        }
    }

    fn manager(&self, at: usize) -> Manager {
        let name = &self.host.guests[at].name;
        let units = [".service", ".slice", ".scope"];
        match units.iter().any(|end| name.ends_with(end)) {
            true => Manager::Systemd(quoted(name)),
            false => Manager::Libvirt(quoted(name)),
        }
    }

    /// The folder of the control group of a domain.
    fn folder(&self, at: usize) -> String {
        let name = &self.host.guests[at].name;
        match self.manager(at) {
            Manager::Systemd(unit) => {
                format!("/sys/fs/cgroup$(systemctl show -P ControlGroup {unit})")
            }
            // Names of scopes write what is no letter or digit as `\x2d`.
            Manager::Libvirt(_) => {
                let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '*' };
                let name: String = name.chars().map(plain).collect();
                format!("/sys/fs/cgroup/machine.slice/machine-qemu*x2d{name}.scope")
            }
        }
    }

    /// A parameter of the scheduler.
    fn scheduler(&self, name: &'static str) -> Option<String> {
        let n = self.number(Lever::Scheduler(name))?;
        let policy = self.host.policy.name;
        let tool = self.tool;
        Some(match (policy, name) {
            ("credit", "tslice_ms") => format!("{tool} sched-credit -s -t {n}"),
            ("credit", "ratelimit_us") => format!("{tool} sched-credit -s -r {n}"),
            ("credit2", "ratelimit_us") => format!("{tool} sched-credit2 -s -r {n}"),
            (_, "bandwidth_slice_us") => {
                format!("sysctl -w kernel.sched_cfs_bandwidth_slice_us={n}")
            }
            (_, "run_to_parity") => {
                let no = if n == 0 { "NO_" } else { "" };
                format!("echo {no}RUN_TO_PARITY > /sys/kernel/debug/sched/features")
            }
            (_, name) if self.host.is_linux() => {
                let n = if n == 0 { self.kernels_own(name) } else { n };
                let file = name.strip_prefix("sched_").unwrap_or(name);
                format!("echo {n} > /sys/kernel/debug/sched/{file}")
            }
            _ => return None,
        })
    }

    /// The value that the kernel chooses itself, by the number of pcpus (`tunable_scaling` of 1).
    fn kernels_own(&self, name: &str) -> i64 {
        let factor = 1 + i64::from(self.host.pcpus.clamp(1, 8).ilog2());
        factor
            * match name {
                "base_slice_ns" => 700_000,
                "sched_latency_ns" => 6_000_000,
                "min_granularity_ns" => 750_000,
                _ => 1_000_000,
            }
    }

    /// The parameters of a domain.
    fn domain(&self, at: usize) -> Vec<String> {
        let is_set = |name| self.settings.contains_key(&Lever::Domain(at, name));
        let number = |name| self.number(Lever::Domain(at, name));
        let (tool, name) = (self.tool, self.name(at));
        match self.host.policy.name {
            policy @ ("credit" | "credit2") => {
                let mut command = format!("{tool} sched-{policy} -d {name}");
                for (param, option) in [("weight", "-w"), ("cap", "-c")] {
                    if let Some(n) = number(param).filter(|_| is_set(param)) {
                        command += &format!(" {option} {n}");
                    }
                }
                vec![command]
            }
            "rtds" => {
                let mut command = format!("{tool} sched-rtds -d {name} -v all");
                for (param, option) in [("period_us", "-p"), ("budget_us", "-b")] {
                    command +=
                        &number(param).map_or_else(String::new, |n| format!(" {option} {n}"));
                }
                if let Some(n) = number("extratime").filter(|_| is_set("extratime")) {
                    command += &format!(" -e {n}");
                }
                vec![command]
            }
            "sedf" => {
                let mut command = format!("{tool} sched-sedf -d {name}");
                // There in milliseconds; xl refuses fractions.
                for (param, option) in [("period_us", "-p"), ("slice_us", "-s")] {
                    let ms = number(param).map(|us| (us + 999) / 1_000);
                    command += &ms.map_or_else(String::new, |n| format!(" {option} {n}"));
                }
                if let Some(n) = number("extratime").filter(|_| is_set("extratime")) {
                    command += &format!(" -e {n}");
                }
                vec![command]
            }
            _ if self.host.is_linux() => self.group(at),
            _ => Vec::new(),
        }
    }

    /// The parameters of a control group.
    fn group(&self, at: usize) -> Vec<String> {
        let is_set = |name| self.settings.contains_key(&Lever::Domain(at, name));
        let number = |name| self.number(Lever::Domain(at, name)).unwrap_or(0);
        let property = |manager: &Manager, virsh: String, systemd: String| match manager {
            Manager::Libvirt(name) => format!("virsh schedinfo {name} --live --set {virsh}"),
            Manager::Systemd(unit) => format!("systemctl set-property --runtime {unit} {systemd}"),
        };
        let manager = self.manager(at);
        let mut all = Vec::new();
        if is_set("weight") {
            let n = number("weight");
            let (virsh, systemd) = (format!("cpu_shares={n}"), format!("CPUWeight={n}"));
            all.push(property(&manager, virsh, systemd));
        }
        let period = number("period_us");
        if is_set("period_us") {
            let (virsh, systemd) = (
                format!("global_period={period}"),
                format!("CPUQuotaPeriodSec={period}us"),
            );
            all.push(property(&manager, virsh, systemd));
        }
        if is_set("quota_us") || is_set("cap") || is_set("period_us") {
            let of_cap = period * number("cap") / 100;
            let quota = match (of_cap, number("quota_us")) {
                (0, quota) => quota,
                (cap, 0) => cap,
                (cap, quota) => cap.min(quota),
            };
            let (virsh, systemd) = match quota {
                0 => ("global_quota=-1".to_owned(), "CPUQuota=".to_owned()),
                _ => (
                    format!("global_quota={quota}"),
                    format!("CPUQuota={}%", hundredths(10_000 * quota / period.max(1))),
                ),
            };
            all.push(property(&manager, virsh, systemd));
        }
        for (param, virsh) in INSIDE.into_iter().filter(|(param, _)| is_set(param)) {
            let n = match number(param) {
                0 => -1,
                n => n,
            };
            let name = self.name(at);
            all.push(format!("virsh schedinfo {name} --live --set {virsh}={n}"));
        }
        if is_set("burst_us") {
            let (n, folder) = (number("burst_us"), self.folder(at));
            all.push(format!("echo {n} > {folder}/cpu.max.burst"));
        }
        if is_set("slice_us") {
            let tids = match &manager {
                Manager::Libvirt(_) => {
                    let name = &self.host.guests[at].name;
                    format!(
                        "$(grep -l KVM /proc/$(pgrep -f 'guest={name},')/task/*/comm | cut -d/ -f5)"
                    )
                }
                Manager::Systemd(_) => format!("$(cat {}/cgroup.threads)", self.folder(at)),
            };
            let chrt = match number("slice_us") {
                0 => "chrt -o".to_owned(),
                us => format!("chrt -o -T {}", us * 1_000),
            };
            all.push(format!("for t in {tids}; do {chrt} -p 0 $t; done"));
        }
        all
    }

    /// The pcpus of a domain.
    fn pin(&self, at: usize) -> Vec<String> {
        let Some(Value::Pcpus(sets)) = self.value(Lever::Pin(at)) else {
            return Vec::new();
        };
        let everywhere = |set: &Vec<u16>| set.len() >= usize::from(self.host.pcpus);
        let one = sets.windows(2).all(|two| two[0] == two[1]);
        let name = self.name(at);
        if !self.host.is_linux() {
            let pin = |vcpu: &str, set: &Vec<u16>| {
                let cpus = match everywhere(set) {
                    true => "all".to_owned(),
                    false => stretches(set),
                };
                format!("{} vcpu-pin {name} {vcpu} {cpus}", self.tool)
            };
            return match (one, sets.first()) {
                (true, Some(set)) => vec![pin("all", set)],
                _ => {
                    let numbered = sets.iter().enumerate();
                    numbered.map(|(n, set)| pin(&n.to_string(), set)).collect()
                }
            };
        }
        match self.manager(at) {
            Manager::Libvirt(name) => {
                let pin = |(vcpu, set): (usize, &Vec<u16>)| {
                    format!("virsh vcpupin {name} {vcpu} {} --live", stretches(set))
                };
                sets.iter().enumerate().map(pin).collect()
            }
            Manager::Systemd(unit) => {
                let all: BTreeSet<u16> = sets.iter().flatten().copied().collect();
                let all: Vec<u16> = all.into_iter().collect();
                let cpus = match everywhere(&all) {
                    true => String::new(),
                    false => stretches(&all),
                };
                vec![format!(
                    "systemctl set-property --runtime {unit} AllowedCPUs={cpus}"
                )]
            }
        }
    }
}

/// A number of hundredths with its fraction, if it has one.
fn hundredths(n: i64) -> String {
    match n % 100 {
        0 => (n / 100).to_string(),
        rest => format!("{}.{rest:02}", n / 100),
    }
}

/// `name` as one word of a shell.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.+:@".contains(c);
    match !name.is_empty() && name.chars().all(plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_scenario::Scenario;

    fn host(text: &str) -> Host {
        let scenario = Scenario::parse("t", text.as_bytes(), domio_sched::policies());
        let scenario = scenario.unwrap_or_else(|e| panic!("{}", e.render(false)));
        Host::of(&scenario).unwrap()
    }

    fn both(host: &Host, values: &[(Lever, Value)]) -> [Vec<String>; 2] {
        let settings: Settings = values.iter().cloned().collect();
        [false, true].map(|back| commands(host, XenVersion::V4_17, &settings, back))
    }

    const XEN: &str = r#"
        run.duration_s = 1
        host.cores = 4
        scheduler.policy = "credit"
        [[domain]]
        name = "web"
        vcpus = 2
        pin = ["0", "1"]
        workload = "burn"
        [[domain]]
        name = "batch"
        cap = 50
        workload = "burn"
    "#;

    #[test]
    fn xen_has_commands_of_xl_there_and_back() {
        let host = host(XEN);
        let [apply, undo] = both(
            &host,
            &[
                (Lever::Scheduler("ratelimit_us"), Value::Number(0)),
                (Lever::Domain(0, "weight"), Value::Number(512)),
                (Lever::Domain(1, "cap"), Value::Number(0)),
                (Lever::Pin(0), Value::Pcpus(vec![vec![1, 2, 3]; 2])),
            ],
        );
        assert_eq!(
            apply,
            [
                "xl sched-credit -s -r 0",
                "xl sched-credit -d web -w 512",
                "xl sched-credit -d batch -c 0",
                "xl vcpu-pin web all 1-3",
            ]
        );
        assert_eq!(
            undo,
            [
                "xl sched-credit -s -r 1000",
                "xl sched-credit -d web -w 256",
                "xl sched-credit -d batch -c 50",
                "xl vcpu-pin web 0 0",
                "xl vcpu-pin web 1 1",
            ]
        );
    }

    #[test]
    fn rtds_sets_period_and_budget_together() {
        let host = host(
            &XEN.replace("\"credit\"", "\"rtds\"")
                .replace("cap = 50", ""),
        );
        let [apply, undo] = both(
            &host,
            &[(Lever::Domain(1, "budget_us"), Value::Number(6_000))],
        );
        assert_eq!(apply, ["xl sched-rtds -d batch -v all -p 10000 -b 6000"]);
        assert_eq!(undo, ["xl sched-rtds -d batch -v all -p 10000 -b 4000"]);
    }

    #[test]
    fn linux_has_those_of_libvirt_systemd_and_the_kernel() {
        let text = XEN.replace("\"credit\"", "\"eevdf\"");
        let host = host(&text.replace("\"batch\"", "\"batch.service\""));
        let [apply, undo] = both(
            &host,
            &[
                (Lever::Scheduler("base_slice_ns"), Value::Number(1_000_000)),
                (Lever::Domain(0, "weight"), Value::Number(400)),
                (Lever::Domain(0, "quota_us"), Value::Number(50_000)),
                (Lever::Domain(1, "weight"), Value::Number(50)),
                (Lever::Domain(1, "quota_us"), Value::Number(12_345)),
                (Lever::Pin(1), Value::Pcpus(vec![vec![0, 2]])),
            ],
        );
        assert_eq!(
            apply,
            [
                "echo 1000000 > /sys/kernel/debug/sched/base_slice_ns",
                "virsh schedinfo web --live --set cpu_shares=400",
                "virsh schedinfo web --live --set global_quota=50000",
                "systemctl set-property --runtime batch.service CPUWeight=50",
                "systemctl set-property --runtime batch.service CPUQuota=12.34%",
                "systemctl set-property --runtime batch.service AllowedCPUs=0,2",
            ]
        );
        assert_eq!(
            undo,
            [
                // Of the kernel itself on four pcpus.
                "echo 2100000 > /sys/kernel/debug/sched/base_slice_ns",
                "virsh schedinfo web --live --set cpu_shares=100",
                "virsh schedinfo web --live --set global_quota=-1",
                "systemctl set-property --runtime batch.service CPUWeight=100",
                // Its cap of 50 is a quota as well.
                "systemctl set-property --runtime batch.service CPUQuota=50%",
                "systemctl set-property --runtime batch.service AllowedCPUs=",
            ]
        );
    }

    #[test]
    fn limits_inside_a_guest_are_those_of_virsh() {
        let text = XEN.replace("\"credit\"", "\"eevdf\"").replace(
            "vcpus = 2\n",
            "vcpus = 2\nlayout = \"libvirt\"\nemulator_quota_us = 5000\n",
        );
        let host = host(&text);
        let [apply, undo] = both(
            &host,
            &[
                (Lever::Domain(0, "emulator_quota_us"), Value::Number(0)),
                (Lever::Domain(0, "vcpu_quota_us"), Value::Number(40_000)),
            ],
        );
        let command = |end: &str| format!("virsh schedinfo web --live --set {end}");
        assert_eq!(
            apply,
            [command("vcpu_quota=40000"), command("emulator_quota=-1")]
        );
        assert_eq!(
            undo,
            [command("vcpu_quota=-1"), command("emulator_quota=5000")]
        );
    }

    #[test]
    fn a_name_is_one_word_of_a_shell() {
        assert_eq!(quoted("web-1"), "web-1");
        assert_eq!(quoted("it's; rm"), "'it'\\''s; rm'");
    }
}
