//! The shipped scenarios, part of the program.

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../scenarios/", $name, ".toml")))),*]
    };
}

static EXAMPLES: &[(&str, &str)] = shipped![
    "burn7",
    "small-host",
    "weights-1-2-4",
    "cap30",
    "latency-guest",
    "boost-rescues-ping",
    "noisy-neighbour",
    "mixed-guest",
    "tick-dodger",
    "pools-on-a-server",
    "ratelimit-tradeoff",
    "smp-balance",
    "pinning-gone-wrong",
    "sockets-and-threads",
    "dom0-reservation",
    "borrowed-time",
    "linux-groups",
    "kvm-host",
    "kvm-quota",
    "kvm-libvirt-quota",
    "kvm-starved-kworker",
    "kvm-emulator-threads",
    "kvm-latency-guest",
    "kvm-disk",
    "kvm-softirq",
    "kvm-oversubscribed",
    "hot-add",
    "maintenance",
    "driver-domain-streams",
    "ping-among-burners",
    "udp-rate-limit",
    "two-driver-domains",
    "qubes-chain",
    "zeng-host",
    "xcollopts-streams",
    "xcollopts-pings",
    "xcollopts-mixed",
    "caps-follow-demand",
    "debt-collector",
    "packets-first",
    "web-servers",
    "share-guard",
    "calibrate",
    "two-elevators",
    "database-beside-backup",
    "mail-servers",
    "flash-host",
    "fio-jobs",
];

/// Every shipped scenario: its name and its text. They lie in the folder `scenarios` too.
pub fn examples() -> &'static [(&'static str, &'static str)] {
    EXAMPLES
}

/// The text of the shipped scenario called `name`.
pub fn example(name: &str) -> Option<&'static str> {
    EXAMPLES
        .iter()
        .find(|(n, _)| *n == name)
        .map(|(_, text)| *text)
}
