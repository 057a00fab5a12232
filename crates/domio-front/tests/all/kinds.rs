//! What files are, by their first bytes.

use domio_front::input::InputKind;
use domio_trace::{TraceHeader, TraceWriter};

#[test]
fn traces_and_scenarios_are_told_by_their_begin() {
    let own = TraceWriter::new(Vec::new(), &TraceHeader::default()).unwrap();
    let own = own.finish().unwrap();
    assert_eq!(InputKind::of(&own), InputKind::Trace);
    assert_eq!(InputKind::of(&own[..10]), InputKind::Trace, "cut");
    assert_eq!(InputKind::of(b"\x03\xf0\x01\x20\0\0\0\0"), InputKind::Trace);
    for (name, text) in domio_scenario::examples() {
        assert_eq!(
            InputKind::of(text.as_bytes()),
            InputKind::Scenario,
            "{name}"
        );
    }
    assert_eq!(InputKind::of(b""), InputKind::Unknown);
    assert_eq!(InputKind::of(b"title = \"nothing\"\n"), InputKind::Unknown);
}

#[test]
fn a_text_is_what_its_first_telling_line_says() {
    let blkparse = "  8,0    3    1     0.000000000   697  G   W 223490 + 8 [kjournald]\n";
    assert_eq!(InputKind::of(blkparse.as_bytes()), InputKind::BlockTrace);
    let quoted = format!("host.pcpus = 1\ntitle = \"\"\"\n{blkparse}\"\"\"\n");
    assert_eq!(InputKind::of(quoted.as_bytes()), InputKind::Scenario);
    assert_eq!(InputKind::of(b"8,0 cylinders 3\n"), InputKind::Unknown);
}

/// Texts of other programs say what they are, and which command reads them or that none does.
#[test]
fn texts_of_other_programs_are_named() {
    let told = |text: &str| match InputKind::of(text.as_bytes()) {
        InputKind::Foreign { what, advice } => format!("{what}; {advice}"),
        kind => panic!("{text}: {kind:?}"),
    };
    for (text, says) in [
        (
            "<domain type='xen' id='3'>\n<name>web</name>\n</domain>\n",
            "libvirt",
        ),
        (
            "<?xml version='1.0'?>\n<!-- x -->\n<domain type='kvm'>\n",
            "libvirt",
        ),
        ("<?xml version='1.0'?>\n<network/>\n", "an XML file"),
        (
            "TIME(s)  COMM  PID  DISK  T  SECTOR  BYTES  LAT(ms)\n",
            "biosnoop",
        ),
        (
            "Name   ID   Mem VCPUs\tState\tTime(s)\nweb 1 512 1 r----- 1.0\n",
            "from-lists",
        ),
        (
            "root@host:~# xl vcpu-list\nName ID VCPU CPU State Time(s) Affinity\n",
            "from-lists",
        ),
        ("host   : a\nxen_version : 4.17.3\n", "from-lists"),
        ("Cpupool Pool-0: tslice=30ms\n", "from-lists"),
        ("[ { \"domid\": 0, \"config\": {} } ]", "from-lists"),
        ("[global]\nioengine=libaio\n[j]\nrw=randread\n", "job_file"),
        ("{ \"fio version\" : \"fio-3.33\" }", "a result of fio"),
        ("procs -----------memory---------- ---swap--\n", "vmstat"),
    ] {
        let told = told(text);
        assert!(told.contains(says), "{text}: {told}");
    }
    // Texts with events of ftrace and perf are traces of Linux.
    for text in [
        "bash  1234 [003] 12.345678: sched:sched_switch: prev_comm=bash\n",
        "qemu 1234/1250 [001] 99.000001:   250000 cycles:  ffff\n",
        "  bash-1234  [003] 12.345678: sched_switch: prev_comm=bash\n",
    ] {
        assert_eq!(InputKind::of(text.as_bytes()), InputKind::Trace, "{text}");
    }
    assert!(InputKind::of(b"Name ID Weight Cap\n").is_of_xl());
    for text in ["name = \"a [3] 1.5: x:\"\n", "<b>\n", "rw = 1\n"] {
        assert_eq!(InputKind::of(text.as_bytes()), InputKind::Unknown, "{text}");
    }
}
