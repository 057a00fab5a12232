//! Arguments of `domio scenario import`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  domio scenario import web.xml db.xml capabilities.xml --output host.toml
  domio scenario import /etc/xen/web.cfg /etc/xen/db.cfg --pcpus 8 --release 4.17 -o host.toml
  domio scenario import /sys/fs/cgroup --pcpus 16 -o host.toml

Files are recognised by what is in them: domains of libvirt (`virsh dumpxml GUEST`) and `virsh
capabilities`, configurations of xl, control groups of version 2 (a folder, or what `grep . -r
/sys/fs/cgroup` printed), command lines of QEMU (`ps -eo args`, /proc/PID/cmdline, a script), and
what `lscpu` or `virsh nodeinfo` printed. Several files describe one host; guests with one name in
several files are one guest.

The scenario's comments name file and line of each value, what is assumed, and what was left out.
No such file shows how busy a guest is: each vcpu takes all the time that it can get unless --load
says otherwise.";

/// Arguments of `scenario import`.
#[derive(Debug, Args)]
pub struct ScenarioImport {
    /// Files about a host and its guests, or folders of control groups; - is standard input
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Pcpus of the host, if no file shows them
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub pcpus: Option<u16>,
    /// Release of Linux (6.1, 6.12, 6.18, 7.0, 7.2, 7.3) or of Xen (e.g. 4.17) whose rules apply
    /// [default: 6.12 or 4.17]
    #[arg(long, value_name = "RELEASE")]
    pub release: Option<String>,
    /// Machine that says what work of the hypervisor costs [default: kvm-2020, or ideal for Xen]
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Load in percent of each vcpu; 100 takes all the time that it can get
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = 100,
        value_parser = clap::value_parser!(u16).range(0..=100)
    )]
    pub load: u16,
    /// Mean length of a stretch of work in microseconds
    #[arg(
        long,
        value_name = "US",
        default_value_t = 2_000,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000)
    )]
    pub work_us: u64,
    /// File to write; - is standard output [default: -]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Overwrite a file that domio did not write as the same kind
    #[arg(long)]
    pub force: bool,
    /// Print the text as JSON, with what was taken, assumed and left out
    #[arg(long)]
    pub json: bool,
}
