//! `domio scenario import`: from definitions of guests to an answer, as its users see it.

use crate::common::{domio, folder, json_of};
use predicates::str::{contains, is_empty};
use std::fs;
use std::path::Path;

/// A file of `testdata/import`.
fn given(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/import");
    let path = folder.join(name).canonicalize().unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn definitions_lead_to_an_answer() {
    let folder = folder();
    let files = ["web.xml", "groups.txt", "lscpu.txt"].map(given);
    domio(&folder)
        .args(["scenario", "import"])
        .args(&files)
        .args(["-o", "host.toml"])
        .assert()
        .success()
        .stdout(is_empty())
        .stderr(contains("notice: left out: 1 network interface of web"))
        .stderr(contains("notice: not known: the release of the host"))
        .stderr(contains("wrote host.toml"));
    let text = fs::read_to_string(folder.path().join("host.toml")).unwrap();
    for part in [
        "policy = \"eevdf\"",
        "hypervisor = \"kvm\"\nprofile = \"kvm-2020\"\n",
        "[[group]]\nname = \"machine.slice\"\nweight = 400\n",
        "vcpus = 2\ngroup = \"machine.slice\"\nlayout = \"libvirt\"\n\
         weight = 200\npin = [\"0-1\", \"2-3\"]\n",
        "name = \"qemu-system-x86\"\n  pin = \"3\"\n  workload = \"idle\"\n",
        "vcpus = 3\ngroup = \"machine.slice\"\nlayout = \"libvirt\"\n\
         period_us = 100000\nquota_us = 150000\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let told = json_of(&folder, &["run", "host.toml", "--json"]);
    let domains = told["domains"].as_array().unwrap();
    let share = |name: &str| {
        let domain = domains.iter().find(|d| d["name"] == name).unwrap();
        let share = &domain["share_pct"];
        share["mean"].as_f64().or_else(|| share.as_f64()).unwrap()
    };
    // The quota of 1.5 pcpus holds, and the two vcpus of web take what they want of the rest.
    assert!((share("batch") - 150.0).abs() < 5.0, "{domains:?}");
    assert!(share("web") > 150.0, "{domains:?}");
}

#[test]
fn a_folder_of_control_groups_is_read_as_its_listing_is() {
    let folder = folder();
    let scope = r"cg/machine.slice/machine-qemu\x2d1\x2dweb.scope";
    let group = folder.path().join(scope);
    fs::create_dir_all(group.join("libvirt/vcpu1")).unwrap();
    fs::write(group.join("cpu.weight"), "300\n").unwrap();
    fs::write(group.join("libvirt/vcpu1/cpuset.cpus"), "1\n").unwrap();
    let told = json_of(
        &folder,
        &["scenario", "import", "cg", "--pcpus", "2", "--json"],
    );
    let text = told["text"].as_str().unwrap();
    let guest = "name = \"web\"\nid = 1\nvcpus = 2\nlayout = \"libvirt\"\nweight = 300\n\
                 pin = [\"all\", \"1\"]\n";
    assert!(text.contains(guest), "{text}");
    assert_eq!(told["schema"], "domio/scenario-import/1");
    let taken = told["taken"].as_array().unwrap();
    let weight = taken
        .iter()
        .find(|note| note["what"] == "weight = 300 of web")
        .unwrap();
    assert_eq!(
        (&weight["file"], &weight["line"]),
        (&"cg".into(), &1.into())
    );
    fs::create_dir(folder.path().join("empty")).unwrap();
    let empty = ["scenario", "import", "empty"];
    domio(&folder)
        .args(empty)
        .assert()
        .code(2)
        .stderr(contains("no control groups"));
}

#[test]
fn what_is_wrong_has_file_and_line() {
    let folder = folder();
    let text = fs::read_to_string(given("db.cfg")).unwrap();
    fs::write(
        folder.path().join("db.cfg"),
        text.replace("cap = 150", "cap = much"),
    )
    .unwrap();
    domio(&folder)
        .args(["scenario", "import", "db.cfg"])
        .assert()
        .code(2)
        .stderr(contains(
            "db.cfg:8: \"much\"; expected cap: a whole number from 0 to 25600",
        ));
    let files = [given("web.xml"), given("db.cfg")];
    let mixed = domio(&folder)
        .args(["scenario", "import"])
        .args(&files)
        .assert();
    mixed.code(2).stderr(contains("give the files of one host"));
}
