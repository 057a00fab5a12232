//! The rules that are built in, in the order in which they are tried.

use super::{Manager, On, Rule};

const fn rule(
    name: &'static str,
    on: On,
    pattern: &'static str,
    guest: &'static str,
    (manager, is_vm): (Manager, bool),
) -> Rule {
    Rule {
        name,
        on,
        pattern,
        guest,
        manager,
        is_vm,
    }
}

const VM: bool = true;
const NO_VM: bool = false;

/// What each rule is for, what it matches, and what the guest is called.
///
/// Names of systemd are unescaped before (`\x2d` is `-`). Sources: `virsh`'s cgroup names
/// (`src/util/vircgroup.c`, `virsystemd.c`), `qm(1)` and `pct(1)` of Proxmox, the cgroup managers
/// of runc (`kubepods`), `jailer.md` of Firecracker, `systemd.special(7)`.
pub static RULES: &[Rule] = &[
    // Virtual machines by their cgroup.
    rule(
        "libvirt",
        On::Cgroup,
        "machine-qemu-#-*.scope",
        "$2",
        (Manager::Libvirt, VM),
    ),
    rule(
        "libvirt, cgroup v1",
        On::Cgroup,
        "machine/qemu-#-*.libvirt-qemu",
        "$2",
        (Manager::Libvirt, VM),
    ),
    rule(
        "libvirt, cgroup v1, before 1.2",
        On::Cgroup,
        "machine/*.libvirt-qemu",
        "$1",
        (Manager::Libvirt, VM),
    ),
    rule(
        "libvirt, before 1.0.5",
        On::Cgroup,
        "libvirt/qemu/*",
        "$1",
        (Manager::Libvirt, VM),
    ),
    rule(
        "libvirt, LXC",
        On::Cgroup,
        "machine-lxc-#-*.scope",
        "$2",
        (Manager::Libvirt, NO_VM),
    ),
    rule(
        "Proxmox, virtual machine",
        On::Cgroup,
        "qemu.slice/#.scope",
        "vm$1",
        (Manager::Proxmox, VM),
    ),
    rule(
        "Firecracker's jailer",
        On::Cgroup,
        "firecracker*/*",
        "$2",
        (Manager::Systemd, VM),
    ),
    rule(
        "Kata",
        On::Cgroup,
        "kata_*",
        "$1",
        (Manager::Kubernetes, VM),
    ),
    // Virtual machines by their command line. KubeVirt's are in the cgroup of a pod.
    rule(
        "QEMU, guest=NAME",
        On::Command,
        "-name guest=*,*",
        "$1",
        (Manager::Libvirt, VM),
    ),
    rule(
        "QEMU, guest=NAME alone",
        On::Command,
        "-name guest=*",
        "$1",
        (Manager::Libvirt, VM),
    ),
    rule(
        "QEMU, -name",
        On::Command,
        "-name *,*",
        "$1",
        (Manager::Systemd, VM),
    ),
    rule(
        "QEMU, -name alone",
        On::Command,
        "-name *",
        "$1",
        (Manager::Systemd, VM),
    ),
    rule(
        "Firecracker, --id",
        On::Command,
        "firecracker --id *",
        "$1",
        (Manager::Systemd, VM),
    ),
    rule(
        "Firecracker, a path and --id",
        On::Command,
        "*/firecracker --id *",
        "$2",
        (Manager::Systemd, VM),
    ),
    rule(
        "cloud-hypervisor, by its socket",
        On::Command,
        "*cloud-hypervisor --api-socket *",
        "$2",
        (Manager::Systemd, VM),
    ),
    // Containers.
    rule(
        "Kubernetes, systemd",
        On::Cgroup,
        "kubepods-*-pod*.slice",
        "pod-$2",
        (Manager::Kubernetes, NO_VM),
    ),
    rule(
        "Kubernetes, systemd, guaranteed",
        On::Cgroup,
        "kubepods-pod*.slice",
        "pod-$1",
        (Manager::Kubernetes, NO_VM),
    ),
    rule(
        "Kubernetes, cgroupfs",
        On::Cgroup,
        "kubepods/*/pod*",
        "pod-$2",
        (Manager::Kubernetes, NO_VM),
    ),
    rule(
        "Kubernetes, cgroupfs, guaranteed",
        On::Cgroup,
        "kubepods/pod*",
        "pod-$1",
        (Manager::Kubernetes, NO_VM),
    ),
    rule(
        "Docker, systemd",
        On::Cgroup,
        "docker-*.scope",
        "docker-$1",
        (Manager::Docker, NO_VM),
    ),
    rule(
        "Docker, cgroupfs",
        On::Cgroup,
        "docker/*",
        "docker-$1",
        (Manager::Docker, NO_VM),
    ),
    rule(
        "Podman, systemd",
        On::Cgroup,
        "libpod-*.scope",
        "podman-$1",
        (Manager::Podman, NO_VM),
    ),
    rule(
        "Podman, cgroupfs",
        On::Cgroup,
        "libpod_parent/libpod-*",
        "podman-$1",
        (Manager::Podman, NO_VM),
    ),
    rule(
        "containerd",
        On::Cgroup,
        "cri-containerd-*.scope",
        "container-$1",
        (Manager::Kubernetes, NO_VM),
    ),
    rule(
        "CRI-O",
        On::Cgroup,
        "crio-*.scope",
        "container-$1",
        (Manager::Kubernetes, NO_VM),
    ),
    rule(
        "LXC",
        On::Cgroup,
        "lxc.payload.*",
        "$1",
        (Manager::Lxc, NO_VM),
    ),
    rule(
        "LXC, its monitor",
        On::Cgroup,
        "lxc.monitor.*",
        "$1",
        (Manager::Lxc, NO_VM),
    ),
    rule(
        "Proxmox or LXC, by number",
        On::Cgroup,
        "lxc/#",
        "ct$1",
        (Manager::Proxmox, NO_VM),
    ),
    rule(
        "LXC, cgroup v1",
        On::Cgroup,
        "lxc/*",
        "$1",
        (Manager::Lxc, NO_VM),
    ),
    rule(
        "systemd-machined",
        On::Cgroup,
        "machine.slice/machine-*.scope",
        "$1",
        (Manager::Systemd, NO_VM),
    ),
    rule(
        "libvirt, LXC, cgroup v1",
        On::Cgroup,
        "machine/lxc-#-*.libvirt-lxc",
        "$2",
        (Manager::Libvirt, NO_VM),
    ),
    rule(
        "a machine's group",
        On::Cgroup,
        "machine/*",
        "$1",
        (Manager::Cgroup, VM),
    ),
    // Units of systemd.
    rule(
        "a user",
        On::Cgroup,
        "user.slice/user-#.slice",
        "user-$1",
        (Manager::Systemd, NO_VM),
    ),
    rule(
        "a service of a template",
        On::Cgroup,
        "system.slice/*.slice/*.service",
        "$2.service",
        (Manager::Systemd, NO_VM),
    ),
    rule(
        "a service",
        On::Cgroup,
        "system.slice/*.service",
        "$1.service",
        (Manager::Systemd, NO_VM),
    ),
    rule(
        "a scope of the system",
        On::Cgroup,
        "system.slice/*.scope",
        "$1.scope",
        (Manager::Systemd, NO_VM),
    ),
    rule(
        "systemd itself",
        On::Cgroup,
        "init.scope",
        "init.scope",
        (Manager::Systemd, NO_VM),
    ),
    // Virtual machines by the name of a thread, which has the name of the guest.
    rule(
        "VMware, vcpu",
        On::Thread,
        "vmx-vcpu-#:*",
        "$2",
        (Manager::Cgroup, VM),
    ),
    // Threads of the kernel: they work for the host.
    rule("kernel", On::Kernel, "*", "kernel", (Manager::Host, NO_VM)),
];

/// Programs that execute virtual machines, by the names of their processes (15 letters).
pub(super) static VMMS: &[&str] = &[
    "qemu-system-*",
    "qemu-kvm",
    "kvm",
    "firecracker",
    "cloud-hyperviso",
    "crosvm",
    "VBoxHeadless",
    "VirtualBoxVM",
    "vmware-vmx",
    "lkvm",
];

/// What threads of a virtual machine are called, by what they do. `#` is the vcpu's number, or the
/// process that the thread works for.
pub(super) static VCPUS: &[&str] = &[
    "CPU #/KVM",
    "CPU #/TCG",
    "CPU #/HVF",
    "fc_vcpu #",
    "vcpu#",
    "crosvm_vcpu#",
    "kvm-vcpu-#",
    "vmx-vcpu-#:*",
    "EMT-#",
    "*:vcpu#",
];

pub(super) static FOR_PROCESS: &[&str] = &["vhost-#", "kvm-pit/#", "kvm-nx-lpage-re-#"];

pub(super) static IO: &[&str] = &["IO *", "iothread*", "_disk*", "_net*", "virtio*", "vhost*"];

pub(super) static WORKERS: &[&str] = &["worker*", "pool-*", "vnc_worker*", "qemu_*"];

/// Threads of the kernel, where a trace has no processes: most of them have a number or a slash.
pub(super) static KERNEL: &[&str] = &[
    "kthreadd",
    "kworker/*",
    "ksoftirqd/*",
    "migration/*",
    "rcu_*",
    "rcuc/*",
    "rcub/*",
    "rcuo*",
    "rcuog/*",
    "rcuop/*",
    "rcuos/*",
    "cpuhp/*",
    "irq/*",
    "idle_inject/*",
    "watchdog*",
    "khugepaged",
    "kswapd*",
    "kcompactd*",
    "ksmd",
    "kauditd",
    "khungtaskd",
    "oom_reaper",
    "kdevtmpfs",
    "jbd2/*",
    "xfsaild/*",
    "xfs-*",
    "md*_raid*",
    "scsi_eh_*",
    "nvme*",
    "napi/*",
    "ktimers/*",
    "kblockd",
    "writeback",
    "flush-*",
    "dm_bufio_cache",
    "kthrotld",
    "ksmbd*",
    "nfsd",
    "txg_sync",
    "z_*",
    "zvol*",
    "arc_*",
    "card*-crtc*",
    "pr/*",
    "psimon",
    "hwrng",
    "edac-poller",
    "mm_percpu_wq",
];
