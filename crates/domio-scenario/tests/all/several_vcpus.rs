//! Domains with several vcpus: where processes begin and which of them may move, and where policies
//! without balancing place vcpus.

use crate::common::good;
use crate::told::{Told, run};
use domio_core::{Kind, VcpuName};
use std::collections::{BTreeMap, BTreeSet};

/// A web server with six processes on three vcpus, under a policy that stands for POLICY.
const BASE: &str = r#"
run.duration_s = 2
[host]
xen = "3.0"
profile = "opteron-242"
cores = 2
[scheduler]
policy = "POLICY"
version = "3.0"
[[domain]]
name = "Domain-0"
id = 0
guest = "linux-2.6.18"
vcpus = 2
[[domain]]
name = "web"
guest = "linux-2.6.18"
vcpus = 3
  [[domain.task]]
  workload = "web"
  rate = 1500
  workers = 6
  work_us = 300
[[domain]]
name = "batch"
vcpus = 2
task = [{ workload = "burn", vcpu = "all" }]
"#;

fn text(policy: &str, from: &str, to: &str) -> String {
    assert!(BASE.contains(from), "{from}");
    BASE.replacen("POLICY", policy, 1).replacen(from, to, 1)
}

/// By vcpu of the web server's guest: how many processes begin there, and how many may leave.
fn processes(text: &str) -> Vec<(usize, usize)> {
    let scenario = good(text);
    let vcpus = &scenario.plan().host.domains[1].vcpus;
    let of = |tasks: &[domio_vmm::config::TaskConfig]| {
        (tasks.len(), tasks.iter().filter(|task| task.roams).count())
    };
    vcpus.iter().map(|vcpu| of(&vcpu.tasks)).collect()
}

#[test]
fn processes_begin_on_all_vcpus_and_may_leave_unless_the_text_says_where_they_are() {
    let linux = text("sedf", "workers = 6", "workers = 6");
    assert_eq!(processes(&linux), [(2, 2), (2, 2), (2, 2)]);
    // The burning program is there first, on the first vcpu of equals; each process of the server
    // begins on the emptiest.
    let burn = "work_us = 300\n  [[domain.task]]\n  workload = \"burn\"";
    let linux = text("sedf", "work_us = 300", burn);
    assert_eq!(processes(&linux), [(3, 3), (2, 2), (2, 2)]);
    let bound = text("sedf", "workers = 6", "workers = 6\n  vcpu = 1");
    assert_eq!(processes(&bound), [(0, 0), (6, 0), (0, 0)]);
    // Kernels that move nobody have all on the first.
    let guest = "name = \"web\"\nguest = ";
    let other = text(
        "sedf",
        &format!("{guest}\"linux-2.6.18\""),
        &format!("{guest}\"linux-pvops\""),
    );
    assert_eq!(processes(&other), [(6, 0), (0, 0), (0, 0)]);
}

#[test]
fn a_program_that_is_alone_loads_one_vcpu_at_a_time() {
    let burner = text("sedf", "workload = \"web\"", "workload = \"burn\"")
        .replace("  rate = 1500\n  workers = 6\n  work_us = 300\n", "");
    let told = good(&burner).notices().join("\n");
    assert!(
        told.contains(
            "domain web has 3 vcpus, but its workload \"burn\" loads one of them at a time"
        ),
        "{told}"
    );
}

/// By vcpu, the pcpus on which it ran.
fn places(records: &[Told]) -> BTreeMap<VcpuName, BTreeSet<u16>> {
    let mut places: BTreeMap<VcpuName, BTreeSet<u16>> = BTreeMap::new();
    for record in records.iter().filter(|r| r.is(Kind::Switch)) {
        let next = record.other.expect("who runs next");
        places.entry(next).or_default().insert(record.pcpu.0);
    }
    places.retain(|name, _| !name.is_idle());
    places
}

/// Up to 4.7 the tools place: vcpu 0 of a domain on the emptiest pcpu, the higher of equals, and
/// each further one on the next. SEDF and BVT leave them there.
#[test]
fn policies_without_balancing_leave_vcpus_where_the_tools_put_them() {
    for policy in ["sedf", "bvt"] {
        let records = run(&text(policy, "workers = 6", "workers = 6"));
        let vcpu = |domain, index| VcpuName::new(domio_core::DomainId(domain), index);
        let on = |pcpu: u16| BTreeSet::from([pcpu]);
        let expected = [
            // Xen boots dom0 with vcpu i on pcpu i.
            (vcpu(0, 0), on(0)),
            (vcpu(0, 1), on(1)),
            (vcpu(1, 0), on(1)),
            (vcpu(1, 1), on(0)),
            (vcpu(1, 2), on(1)),
            // Three vcpus are on pcpu 1, two on pcpu 0.
            (vcpu(2, 0), on(0)),
            (vcpu(2, 1), on(1)),
        ];
        assert_eq!(places(&records), BTreeMap::from(expected), "{policy}");
    }
}
