//! Files of each form, what is wrong with them, and mutations.

mod inside;

use super::*;
use proptest::prelude::*;

fn options() -> ImportOptions {
    ImportOptions {
        command: "domio scenario import FILES".to_owned(),
        pcpus: None,
        release: None,
        profile: None,
        load_pct: 100,
        work_us: 2_000,
    }
}

fn files(texts: &[(&str, &str)]) -> Result<ImportFiles, ImportError> {
    let mut files = ImportFiles::default();
    texts
        .iter()
        .try_for_each(|(name, text)| files.read(text, name))?;
    Ok(files)
}

fn made(texts: &[(&str, &str)], options: &ImportOptions) -> Result<ImportedHost, ImportError> {
    scenario(&files(texts)?, options, domio_sched::policies())
}

fn host(texts: &[(&str, &str)]) -> ImportedHost {
    made(texts, &options()).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(text: &str) -> String {
    made(&[("f", text)], &options()).unwrap_err().to_string()
}

/// The scenario without its comments.
fn body(host: &ImportedHost) -> String {
    let lines = host.text.lines().filter(|line| !line.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

fn notes(notes: &[ImportNote]) -> Vec<String> {
    let shown = |note: &ImportNote| match &note.place {
        Some(place) => format!("{} {}:{}", note.what, place.file, place.line),
        None => note.what.clone(),
    };
    notes.iter().map(shown).collect()
}

const XML: &str = r#"<?xml version="1.0"?>
<domain type='kvm' id='1'>
  <name>web</name>
  <vcpu placement='static' cpuset='0-3' current='2'>4</vcpu>
  <iothreads>1</iothreads>
  <cputune>
    <shares>512</shares>
    <period>50000</period>
    <quota>25000</quota>
    <vcpupin vcpu='0' cpuset='0-1'/>
    <emulatorpin cpuset='3'/>
  </cputune>
  <devices>
    <disk type='file'/>
    <interface type='bridge'/>
  </devices>
</domain>
"#;

#[test]
fn a_domain_of_libvirt_becomes_a_guest() {
    let host = host(&[("web.xml", XML)]);
    let body = body(&host);
    for part in [
        "hypervisor = \"kvm\"\nprofile = \"kvm-2020\"\ncores = 4",
        "policy = \"eevdf\"\nrelease = \"6.12\"",
        // Each vcpu has its own quota; vcpu 1 has the set of all.
        "name = \"web\"\nid = 1\nvcpus = 2\nlayout = \"libvirt\"\nvcpu_period_us = 50000\n\
         vcpu_quota_us = 25000\nweight = 512\npin = [\"0-1\", \"all\"]",
        "workload = \"burn\"\n  vcpu = \"all\"",
        // QEMU's threads; one without pcpus of its own has those of the guest.
        "name = \"IO iothread1\"\n  workload = \"idle\"",
        "name = \"qemu-system-x86\"\n  pin = \"3\"\n  workload = \"idle\"",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
    assert_eq!(
        notes(&host.left_out),
        [
            "4 vcpus at most, of which 2 are plugged in web.xml:4",
            "1 network interface of web: `vif` of the domain web.xml:15",
            "1 disk of web: only virtio-blk is modelled web.xml:14",
        ]
    );
    let taken = notes(&host.taken);
    for part in ["weight = 512 of web web.xml:7", "2 vcpus of web web.xml:4"] {
        assert!(taken.iter().any(|taken| taken == part), "{taken:?}");
    }
}

#[test]
fn what_xml_has_wrong_is_refused_with_its_line() {
    for (what, instead, told) in [
        (
            "<shares>512",
            "<shares>none",
            "f:7: \"none\"; expected shares: a whole number from 1",
        ),
        (
            "<period>50000",
            "<period>5",
            "f:8: \"5\"; expected a period in us: a whole number",
        ),
        ("'0-1'", "'0-x'", "f:10: \"0-x\"; expected pcpus from 0 to"),
        ("'0-1'", "'3-1'", "f:10: \"3-1\"; expected pcpus from 0 to"),
        (
            "'0-1'",
            "'0-99999999'",
            "f:10: \"0-99999999\"; expected pcpus",
        ),
        (
            "type='kvm'",
            "type='bhyve'",
            "f:2: \"bhyve\"; expected a domain of type kvm",
        ),
        (
            "<name>web</name>",
            "",
            "f:2: \"<domain>\"; expected a <name>",
        ),
        (
            "</cputune>",
            "</cputun>",
            "f:12: \"</cputun>\"; expected XML (",
        ),
    ] {
        let error = refused(&XML.replace(what, instead));
        assert!(error.starts_with(told), "{error}");
    }
    assert!(refused("<network/>").starts_with("f:1: \"<network>\"; expected <domain>"));
    // Entities that grow without end are refused, and not expanded.
    let bomb = "<!DOCTYPE d [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><domain>&b;</domain>";
    assert!(refused(bomb).contains("expected XML ("));
}

const XL: &str = r#"# a guest
name = "db"
builder = 'hvm'
vcpus = 2
maxvcpus = 4
memory = 4096
cpu_weight = 512
cap = 150   # percent
cpus = ["2-3", "3"]
disk = [ 'phy:/dev/a,xvda,w',
         'phy:/dev/b,xvdb,w' ]
vif = [ 'mac=00:16:3e:00:00:01,rate=10Mb/s' ]
"#;

#[test]
fn a_configuration_of_xl_becomes_a_guest() {
    let imported = host(&[("db.cfg", XL)]);
    let body = body(&imported);
    for part in [
        "cores = 4",
        "xen = \"4.17\"",
        "policy = \"credit2\"\nversion = \"4.17\"",
        "name = \"db\"\nid = 1\nvcpus = 2\ncap = 150\nweight = 512\npin = [\"2-3\", \"3\"]",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
    assert_eq!(
        notes(&imported.left_out),
        [
            "maxvcpus of db: vcpus stay as many as `vcpus` has db.cfg:5",
            "disk of db, 2: `disk` of the domain db.cfg:10",
            "vif of db, 1: `vif` of the domain db.cfg:12",
            "builder, memory of db: no matter of processors db.cfg:3",
        ]
    );
    for (what, instead, told) in [
        (
            "vcpus = 2",
            "vcpus = 'two'",
            "f:4: \"two\"; expected a number of vcpus",
        ),
        (
            "\"db\"",
            "\"db",
            "f:2: \"\"db\"; expected the closing quote in the same line",
        ),
        (
            "00:01,rate=10Mb/s' ]",
            "00:01'",
            "f:12: \"[ 'mac=00:16:3e:00:00:01'\"; expected the `]`",
        ),
        (
            "cap = 150",
            "cap = 99999",
            "f:8: \"99999\"; expected cap: a whole number",
        ),
        ("name = \"db\"", "", "f:1: \"# a guest\"; expected `name = "),
    ] {
        let error = refused(&XL.replace(what, instead));
        assert!(error.starts_with(told), "{error}");
    }
}

const GROUPS: &str = r"/sys/fs/cgroup/cpu.stat:usage_usec 1
/sys/fs/cgroup/system.slice/cpu.weight:50
/sys/fs/cgroup/machine.slice/cpu.max:max 100000
/sys/fs/cgroup/machine.slice/machine-qemu\x2d3\x2dweb\x2d1.scope/cpu.weight:300
/sys/fs/cgroup/machine.slice/machine-qemu\x2d3\x2dweb\x2d1.scope/cpu.max:20000 50000
/sys/fs/cgroup/machine.slice/machine-qemu\x2d3\x2dweb\x2d1.scope/cpu.max.burst:5000
/sys/fs/cgroup/machine.slice/machine-qemu\x2d3\x2dweb\x2d1.scope/libvirt/vcpu0/cpuset.cpus:1
/sys/fs/cgroup/machine.slice/machine-qemu\x2d3\x2dweb\x2d1.scope/libvirt/vcpu1/cpuset.cpus:2
/sys/fs/cgroup/machine.slice/machine-qemu\x2d4\x2dbatch.scope/cpu.max:max 100000
/sys/fs/cgroup/machine.slice/machine-qemu\x2d4\x2dbatch.scope/libvirt/vcpu0/cpu.max:30000 100000
/sys/fs/cgroup/machine.slice/machine-qemu\x2d4\x2dbatch.scope/libvirt/vcpu1/cpu.max:30000 100000
";

#[test]
fn scopes_of_machines_are_guests() {
    let imported = host(&[("groups", GROUPS)]);
    let body = body(&imported);
    for part in [
        "[[group]]\nname = \"machine.slice\"\n\n",
        "name = \"web-1\"\nid = 1\nvcpus = 2\ngroup = \"machine.slice\"\n\
         layout = \"libvirt\"\nburst_us = 5000\n\
         period_us = 50000\nquota_us = 20000\nweight = 300\npin = [\"1\", \"2\"]",
        "name = \"batch\"\nid = 2\nvcpus = 2\ngroup = \"machine.slice\"\nlayout = \"libvirt\"\n\
         vcpu_period_us = 100000\nvcpu_quota_us = 30000\n",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
    let left = notes(&imported.left_out);
    let slice = "/sys/fs/cgroup/system.slice, a group with settings that is no guest groups:2";
    assert_eq!(left, [slice]);
    let error = refused(&GROUPS.replace("weight:300", "weight:0"));
    assert!(
        error.starts_with("f:4: \"0\"; expected a weight: a whole number from 1"),
        "{error}"
    );
    let error = refused(&GROUPS.replace("max:20000 50000", "max:many"));
    assert!(
        error.starts_with("f:5: \"many\"; expected `max` or a quota"),
        "{error}"
    );
}

#[test]
fn groups_around_guests_are_groups_of_the_scenario() {
    let text = r"/sys/fs/cgroup/cpuset.cpus.effective:0-7
/sys/fs/cgroup/machine.slice/cpu.weight:300
/sys/fs/cgroup/machine.slice/cpu.max:250000 50000
/sys/fs/cgroup/machine.slice/cpuset.cpus:2-5
/sys/fs/cgroup/machine.slice/machine-gold.slice/cpu.idle:1
/sys/fs/cgroup/machine.slice/machine-gold.slice/machine-qemu\x2d1\x2dweb.scope/cpu.weight:50
/sys/fs/cgroup/machine.slice/machine-qemu\x2d2\x2ddb.scope/cpuset.cpus:3
/sys/fs/cgroup/machine.slice/machine-qemu\x2d2\x2ddb.scope/libvirt/emulator/cpuset.cpus:2
/sys/fs/cgroup/machine.slice/machine-qemu\x2d2\x2ddb.scope/libvirt/iothread1/cpuset.cpus:
/sys/fs/cgroup/machine.slice/machine-qemu\x2d2\x2ddb.scope/libvirt/vcpu0/cpuset.cpus:
/sys/fs/cgroup/qemu.slice/cpu.weight:100
/sys/fs/cgroup/qemu.slice/100.scope/cpu.weight:40
/sys/fs/cgroup/system.slice/cpu.weight:20
";
    let imported = host(&[("groups", text)]);
    let body = body(&imported);
    for part in [
        "[[group]]\nname = \"machine.slice\"\nperiod_us = 50000\nquota_us = 250000\n\
         weight = 300\n\n",
        "[[group]]\nname = \"machine-gold.slice\"\nparent = \"machine.slice\"\nidle = true\n\n",
        "[[group]]\nname = \"qemu.slice\"\nweight = 100\n\n",
        // A set of a group around the guest holds where the guest has none.
        "name = \"web\"\nid = 1\nvcpus = 1\ngroup = \"machine-gold.slice\"\nweight = 50\n\
         pin = \"2-5\"\n",
        "name = \"db\"\nid = 2\nvcpus = 1\ngroup = \"machine.slice\"\nlayout = \"libvirt\"\n\
         pin = \"3\"\n",
        "name = \"qemu-system-x86\"\n  pin = \"2\"\n  workload = \"idle\"",
        "name = \"IO iothread1\"\n  pin = \"3\"\n  workload = \"idle\"",
        "name = \"vm100\"\nid = 3\nvcpus = 1\ngroup = \"qemu.slice\"\nweight = 40\n",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
    assert_eq!(
        notes(&imported.left_out),
        ["/sys/fs/cgroup/system.slice, a group with settings that is no guest groups:13"]
    );
    // Without machines the innermost groups with settings are guests.
    let pods = "/sys/fs/cgroup/kubepods.slice/cpu.weight:80\n\
                /sys/fs/cgroup/kubepods.slice/pod1.slice/cpu.weight:60\n\
                /sys/fs/cgroup/kubepods.slice/pod1.slice/a.scope/cpu.max:50000 100000\n";
    let body = self::body(&host(&[("pods", pods)]));
    let guest = "name = \"a.scope\"\nid = 1\nvcpus = 1\ngroup = \"pod1.slice\"\nperiod_us";
    for part in [guest, "parent = \"kubepods.slice\"\nweight = 60\n"] {
        assert!(body.contains(part), "{part}: {body}");
    }
    assert_eq!(body.matches("[[domain]]").count(), 1, "{body}");
}

#[test]
fn threads_of_qemu_have_the_numbers_that_libvirt_gives() {
    let xml = XML.replace(
        "<iothreads>1</iothreads>",
        "<iothreads>3</iothreads><iothreadids><iothread id='2'/><iothread id='7'/></iothreadids>",
    );
    let xml = xml.replace(
        "<emulatorpin cpuset='3'/>",
        "<iothreadpin iothread='7' cpuset='0,2'/>",
    );
    let body = body(&host(&[("web.xml", &xml)]));
    let threads: Vec<&str> = body.split("[[domain.thread]]").skip(1).collect();
    let of = |name: &str, pin: &str| format!("\n  name = {name:?}\n{pin}  workload = \"idle\"\n");
    let expected = [
        of("IO iothread2", ""),
        of("IO iothread7", "  pin = \"0,2\"\n"),
        of("IO iothread1", ""),
    ];
    for (thread, expected) in threads.iter().zip(&expected) {
        assert_eq!(thread.trim_end(), expected.trim_end(), "{body}");
    }
    assert_eq!(threads.len(), expected.len(), "{body}");
    let error = refused(&xml.replace("iothread='7'", "iothread='x'"));
    assert!(
        error.contains("\"x\"; expected the number of an I/O thread"),
        "{error}"
    );
    let asked = ImportOptions {
        profile: Some("ideal".to_owned()),
        ..options()
    };
    let free = made(&[("web.xml", &xml)], &asked).unwrap();
    assert!(self::body(&free).contains("hypervisor = \"kvm\"\nprofile = \"ideal\""));
}

#[test]
fn without_machines_groups_with_settings_are_guests() {
    let text = "/sys/fs/cgroup/a.service/cpu.weight:100\n/sys/fs/cgroup/b.service/cpu.weight:20\n\
                /sys/fs/cgroup/c.service/cpu.idle:1\n";
    let body = body(&host(&[("groups", text)]));
    assert!(!body.contains("a.service"), "{body}");
    assert!(
        body.contains("name = \"b.service\"\nid = 1\nvcpus = 1\nweight = 20\n"),
        "{body}"
    );
    assert!(
        body.contains("name = \"c.service\"\nid = 2\nvcpus = 1\nidle = true\n"),
        "{body}"
    );
}

#[test]
fn a_control_group_holds_and_the_definition_is_told() {
    let groups = GROUPS.replace(r"web\x2d1", "web");
    let imported = host(&[("web.xml", XML), ("groups", &groups)]);
    assert!(body(&imported).contains("weight = 300"));
    let left = notes(&imported.left_out);
    let weight = "weight = 512: the control group has 300 web.xml:7".to_owned();
    assert!(left.contains(&weight), "{left:?}");
}

#[test]
fn command_lines_of_qemu_are_guests() {
    let text = "root 7 0.0 init it's\n\
        libvirt 12 99.0 /usr/bin/qemu-system-x86_64 -name guest=web,debug-threads=on -S \
        -object {\"qom-type\":\"iothread\",\"id\":\"io1\"} -smp 4,sockets=4,cores=1 -m 1024\n\
        root 13 0.0 grep qemu-kvm\n\
        user 14 1.0 taskset -c 2,3 qemu-kvm --enable-kvm \\\n  -smp sockets=1,cores=2,threads=2 \
        -netdev tap,id=n,vhost=on\n";
    let imported = host(&[("ps.txt", text)]);
    let body = body(&imported);
    assert!(
        body.contains("name = \"web\"\nid = 1\nvcpus = 4\n\n"),
        "{body}"
    );
    assert!(
        body.contains("[[domain.thread]]\n  name = \"IO io1\"\n  workload"),
        "{body}"
    );
    assert!(
        body.contains("name = \"vm2\"\nid = 2\nvcpus = 4\npin = \"2-3\"\n"),
        "{body}"
    );
    assert_eq!(
        notes(&imported.left_out),
        [
            "2 further options of web: machine, memory and devices ps.txt:2",
            "1 vhost devices of vm2: `vif` of the domain has a thread ps.txt:4",
            "1 further options of vm2: machine, memory and devices ps.txt:4",
        ]
    );
    // As /proc/PID/cmdline has it.
    let zeros = "qemu-system-x86_64\0-name\0a guest\0-smp\0cpus=3,maxcpus=8\0";
    let body = self::body(&host(&[("cmdline", zeros)]));
    assert!(
        body.contains("name = \"a-guest\"\nid = 1\nvcpus = 3\n"),
        "{body}"
    );
    let error = refused("qemu-kvm -smp 0");
    assert!(
        error.starts_with("f:1: \"0\"; expected a number of vcpus"),
        "{error}"
    );
    assert!(refused("qemu-kvm -name 'a").contains("expected the closing quote"));
}

#[test]
fn the_host_is_known_by_lscpu_and_by_capabilities() {
    let lscpu = "CPU(s):              8\nThread(s) per core:  2\nCore(s) per socket:  4\n\
                 Socket(s):           1\n";
    let body_of = |machine: &str| body(&host(&[("web.xml", XML), ("machine", machine)]));
    assert!(body_of(lscpu).contains("sockets = 1\ncores = 4\nthreads = 2"));
    let cpu = |id, core| format!("<cpu id='{id}' socket_id='0' core_id='{core}'/>");
    let cpus: String = (0..4).map(|id| cpu(id, id / 2)).collect();
    let capabilities = format!("<capabilities><host>{cpus}</host></capabilities>");
    assert!(body_of(&capabilities).contains("sockets = 1\ncores = 2\nthreads = 2"));
    // A pin beyond the host's pcpus names its line.
    let few = ImportOptions {
        pcpus: Some(2),
        ..options()
    };
    let error = made(&[("web.xml", XML)], &few).unwrap_err().to_string();
    assert_eq!(
        error,
        "web.xml:4: \"pcpu 3\"; expected pcpus below 2, as many as the host has"
    );
}

#[test]
fn files_of_different_hosts_are_refused() {
    let error = made(&[("web.xml", XML), ("db.cfg", XL)], &options()).unwrap_err();
    let told = "db.cfg:2 is of a Xen host, and web.xml:2 of a KVM host; give the files of one host";
    assert_eq!(error.to_string(), told);
    assert!(refused("hello").starts_with("f:1: \"hello\"; expected a domain of libvirt"));
    let error = files(&[("f", "CPU(s): 4\n")]).unwrap();
    let error = scenario(&error, &options(), domio_sched::policies()).unwrap_err();
    assert!(
        error.to_string().starts_with("the files have no guest"),
        "{error}"
    );
}

#[test]
fn a_release_chooses_the_rules() {
    let of = |release: &str, file: (&str, &str)| {
        let asked = ImportOptions {
            release: Some(release.to_owned()),
            ..options()
        };
        made(&[file], &asked)
            .map(|host| body(&host))
            .map_err(|e| e.to_string())
    };
    let (xml, xl) = (("web.xml", XML), ("db.cfg", XL));
    assert!(
        of("6.1", xml)
            .unwrap()
            .contains("policy = \"cfs\"\nrelease = \"6.1\"")
    );
    assert!(
        of("6.18", xml)
            .unwrap()
            .contains("policy = \"eevdf\"\nrelease = \"6.18\"")
    );
    assert!(
        of("4.4", xl)
            .unwrap()
            .contains("policy = \"credit\"\nversion = \"4.4\"")
    );
    assert!(
        of("7.3", xml)
            .unwrap()
            .contains("policy = \"eevdf\"\nrelease = \"7.3\"")
    );
    let told = "--release 5.0: there are the rules of 6.1, 6.12, 6.18, 7.0, 7.2, 7.3";
    assert_eq!(of("5.0", xml).unwrap_err(), told);
    assert!(of("six", xl).unwrap_err().contains("no release of Xen"));
}

const DISKS: &str = "<domain type='kvm'><name>d</name><cputune><quota>9000</quota>\
    <emulator_quota>5000</emulator_quota></cputune><disk><driver iothread='1' io='threads'/>\
    <target dev='vda'/></disk><disk><target bus='virtio'/></disk></domain>";

/// Parts of the files that are known, between which mutations take place.
const SEEDS: [&str; 7] = [
    XML,
    DISKS,
    XL,
    GROUPS,
    "/a/m.slice/cpu.idle:1\n/a/m.slice/cpu.max:9000 90000\n/a/m.slice/q/cpuset.cpus:1\n\
     /a/m.slice/machine-w.scope/libvirt/emulator/cpuset.cpus:2\n\
     /a/m.slice/machine-w.scope/cpu.max.burst:3000",
    "qemu-kvm -name guest=a,b=c -smp 2,cores=2 -object iothread,id=x\\\n -netdev vhost=on \
     -drive if=virtio,aio=x -device virtio-blk-pci,iothread=y",
    "CPU(s): 8\nThread(s) per core: 2\nCore(s) per socket: 4\nSocket(s): 1\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    /// Whatever a file is, there is a scenario or an error, and never a panic.
    #[test]
    fn mutated_files_never_panic(
        seed in 0..SEEDS.len(),
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..4_u8, any::<u8>()), 1..8
        ),
    ) {
        let mut bytes = SEEDS[seed].as_bytes().to_vec();
        for (place, how, byte) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = place.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => { bytes.remove(at); }
                2 => bytes.insert(at, byte),
                _ => bytes.truncate(at),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Err(error) = made(&[("f", &text)], &options()) {
            // What was read makes a host, or is refused for its own sake.
            prop_assert!(!matches!(error, ImportError::Scenario(_)), "{error}\n{text}");
        }
    }
}
