//! Rules on the names that real hosts have.

use super::*;

fn of(known: Known<'_>) -> (String, bool) {
    let belongs = Groups::default().of(&known);
    (belongs.guest, belongs.is_vm)
}

fn in_cgroup(cgroup: &str) -> (String, bool) {
    let comm = "anything";
    of(Known {
        comm,
        cgroup: Some(cgroup),
        ..Known::default()
    })
}

const POD: &str = "1f9c5b0e_4a2d_4b7e_9c0a_1234567890ab";
const ID: &str = "0f2ea6a7b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e";

#[test]
fn control_groups_name_their_guest() {
    let kubernetes = format!(
        "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD}.slice/\
         cri-containerd-{ID}.scope"
    );
    let dashed = POD.replace('_', "-");
    let cases = [
        (r"/machine.slice/machine-qemu\x2d1\x2dvm.scope", "vm", true),
        (
            r"/machine.slice/machine-qemu\x2d12\x2dweb\x2dfront.scope/libvirt/vcpu0",
            "web-front",
            true,
        ),
        (
            r"/machine.slice/machine-qemu\x2d1\x2dvm.scope/libvirt/emulator",
            "vm",
            true,
        ),
        ("/machine/qemu-1-vm.libvirt-qemu/emulator", "vm", true),
        ("/machine/vm.libvirt-qemu/vcpu1", "vm", true),
        ("/libvirt/qemu/old", "old", true),
        ("/qemu.slice/100.scope", "vm100", true),
        ("/lxc/101/ns/init.scope", "ct101", false),
        (
            "/firecracker/551e7604-e35c-42b3",
            "551e7604-e35c-42b3",
            true,
        ),
        (&kubernetes, "pod-1f9c5b0e_4a2", false),
        (
            &format!("/kubepods/besteffort/pod{dashed}/{ID}"),
            "pod-1f9c5b0e-4a2",
            false,
        ),
        (
            &format!("/kubepods/pod{dashed}/{ID}"),
            "pod-1f9c5b0e-4a2",
            false,
        ),
        (
            &format!("/kubepods.slice/kubepods-pod{POD}.slice/crio-{ID}.scope"),
            "pod-1f9c5b0e_4a2",
            false,
        ),
        (
            &format!("/system.slice/docker-{ID}.scope"),
            "docker-0f2ea6a7b3c4",
            false,
        ),
        (&format!("/docker/{ID}"), "docker-0f2ea6a7b3c4", false),
        (
            &format!("/machine.slice/libpod-{ID}.scope/container"),
            "podman-0f2ea6a7b3c4",
            false,
        ),
        ("/lxc.payload.mail/system.slice/x.service", "mail", false),
        ("/machine.slice/machine-deb.scope/payload", "deb", false),
        ("/machine/vm1", "vm1", true),
        ("/machine/lxc-3-mail.libvirt-lxc", "mail", false),
        ("/system.slice/ssh.service", "ssh.service", false),
        (
            r"/system.slice/system-postgresql.slice/postgresql@15\x2dmain.service",
            "postgresql@15-main.service",
            false,
        ),
        (
            "/user.slice/user-1000.slice/session-3.scope",
            "user-1000",
            false,
        ),
        ("/init.scope", "init.scope", false),
        ("/batch/night", "batch/night", false),
    ];
    for (cgroup, guest, is_vm) in cases {
        assert_eq!(in_cgroup(cgroup), (guest.to_owned(), is_vm), "{cgroup}");
    }
}

#[test]
fn a_command_line_names_a_machine_in_a_pod() {
    let cgroup = format!("/kubepods.slice/kubepods-pod{POD}.slice/crio-{ID}.scope");
    let known = |command| Known {
        comm: "qemu-kvm",
        cgroup: Some(&cgroup),
        command: Some(command),
        ..Known::default()
    };
    for (command, guest) in [
        (
            "/usr/libexec/qemu-kvm -name guest=default_web,debug-threads=on -S",
            "default_web",
        ),
        ("qemu-system-x86_64 -name guest=web -m 2048", "web"),
        ("/usr/bin/kvm -id 100 -name web,debug-threads=on", "web"),
        ("/usr/bin/firecracker --id a-1 --api-sock x", "a-1"),
    ] {
        assert_eq!(of(known(command)), (guest.to_owned(), true), "{command}");
    }
    let launcher = known("/usr/bin/virt-launcher --name web");
    assert_eq!(of(launcher), ("pod-1f9c5b0e_4a2".to_owned(), false));
}

#[test]
fn what_no_rule_takes_is_grouped_by_process() {
    let known = |comm, process: Option<u32>| Known {
        comm,
        process: process.map(Tid),
        process_comm: Some("qemu-system-x86"),
        ..Known::default()
    };
    let of_qemu = of(known("CPU 0/KVM", Some(77)));
    assert_eq!(of_qemu, ("qemu-system-x86-77".to_owned(), true));
    assert_eq!(of(known("CPU 0/KVM", None)).0, "CPU 0/KVM");
    assert_eq!(of(known("vmx-vcpu-1:web", None)), ("web".to_owned(), true));
    for comm in [
        "kworker/0:1-events",
        "ksoftirqd/3",
        "migration/0",
        "rcu_preempt",
        "kswapd0",
    ] {
        assert_eq!(of(known(comm, None)).0, "kernel", "{comm}");
    }
    assert_eq!(of(Known::default()).0, "unnamed");
}

#[test]
fn threads_say_what_they_do() {
    for (comm, part) in [
        ("CPU 0/KVM", ThreadPart::Vcpu(0)),
        ("CPU 127/KVM", ThreadPart::Vcpu(127)),
        ("fc_vcpu 1", ThreadPart::Vcpu(1)),
        ("vcpu3", ThreadPart::Vcpu(3)),
        ("vm7:vcpu2", ThreadPart::Vcpu(2)),
        ("vmx-vcpu-4:db", ThreadPart::Vcpu(4)),
        ("EMT-1", ThreadPart::Vcpu(1)),
        ("vhost-4711", ThreadPart::ForProcess(Tid(4711))),
        ("kvm-pit/4711", ThreadPart::ForProcess(Tid(4711))),
        ("IO iothread1", ThreadPart::Io),
        ("worker", ThreadPart::Worker),
        ("qemu-system-x86", ThreadPart::Other),
        ("CPU x/KVM", ThreadPart::Other),
        ("CPU 99999999999/KVM", ThreadPart::Other),
    ] {
        assert_eq!(ThreadPart::of(comm), part, "{comm}");
    }
}

#[test]
fn rules_of_a_user_come_first() {
    let rule: OwnRule = "db-$1=cgroup:system.slice/postgresql@*.service"
        .parse()
        .unwrap();
    let groups = Groups::new(vec![rule, "$1=comm:*:vcpu#".parse().unwrap()]);
    let known = Known {
        cgroup: Some("/system.slice/postgresql@15.service"),
        ..Known::default()
    };
    assert_eq!(groups.of(&known).guest, "db-15");
    let known = Known {
        comm: "vm3:vcpu0",
        ..Known::default()
    };
    assert_eq!(groups.of(&known).guest, "vm3");
    for text in ["x", "x=y", "x=name:y", "=comm:y", "x=comm:", "x=cgroup:/"] {
        let error = text.parse::<OwnRule>().unwrap_err().to_string();
        assert!(
            error.contains(text) && error.contains("NAME=FIELD:PATTERN"),
            "{error}"
        );
    }
}

#[test]
fn escapes_of_systemd_are_undone_and_others_kept() {
    assert_eq!(unescaped(r"/a\x2db\xzz\x2"), r"/a-b\xzz\x2");
    assert_eq!(unescaped(r"\x2f"), r"\x2f");
    assert_eq!(unescaped(r"d\xc3\xa9"), "dé");
}
