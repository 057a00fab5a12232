//! Configurations of `xl`, which people give as scenarios: recognised, with what to write instead.

use crate::amount::{pcpu_list, show_pcpus};
use crate::check::words::is_name;
use crate::value::{Node, Table, Value};
use domio_core::keys::Span;
use domio_core::keys::{Code, Mistake};

/// Keys that only a configuration of `xl` or `xm` has.
const OWN: [&str; 22] = [
    "builder",
    "kernel",
    "ramdisk",
    "cmdline",
    "bootloader",
    "bootargs",
    "on_poweroff",
    "on_reboot",
    "on_crash",
    "maxmem",
    "vfb",
    "vnc",
    "device_model_version",
    "device_model_override",
    "firmware",
    "localtime",
    "pae",
    "apic",
    "acpi",
    "usbdevice",
    "cpu_weight",
    "cpus_soft",
];

/// Keys that it has and that a scenario might have by mistake: two of them tell.
const SHARED: [&str; 11] = [
    "name", "memory", "vcpus", "maxvcpus", "cpus", "root", "extra", "uuid", "boot", "serial",
    "type",
];

/// What to say of `text`, read as `root`, if it is a configuration of `xl`.
pub(crate) fn problem(text: &str, root: &Node) -> Option<Mistake> {
    let (mut own, mut shared, mut first) = (false, 0, None);
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        let line = line.trim_end();
        // A scenario's tables and keys with dots settle it.
        let unindented = line.trim_start();
        if unindented.starts_with('[') && line == unindented {
            return None;
        }
        let Some((key, value)) = unindented.split_once('=') else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim_start());
        let of_run = ["run.", "scheduler.", "host.", "domain."];
        if of_run.iter().any(|prefix| key.starts_with(prefix)) {
            return None;
        }
        // `vif = [ 'mac=...' ]` and `disk = [ 'phy:...' ]` are lists of strings there.
        let list = ["vif", "disk", "pci", "p9", "usbctrl"].contains(&key) && value.starts_with('[');
        let is_own = OWN.contains(&key) || list;
        own |= is_own;
        shared += usize::from(SHARED.contains(&key));
        if (is_own || SHARED.contains(&key)) && first.is_none() {
            let indent = line.len() - unindented.len();
            first = Some(Span::new(0, start + indent..start + line.len()));
        }
    }
    if !own && (shared < 2 || !text.contains("memory")) {
        return None;
    }
    let problem = Mistake::new(
        Code::Syntax,
        first?,
        "this is an `xl` configuration of one guest, not a scenario",
    )
    .expected("a scenario: [run], [scheduler] and a [[domain]] for each guest of a host")
    .hint(format!(
        "write {} beside `run.duration_s = 10` and `scheduler.policy = \"credit\"`; `domio \
         scenario show burn7` prints a whole one, and memory, disks and boot options are left out",
        domain(root.as_table())
    ));
    Some(problem)
}

/// The [[domain]] of the guest that the configuration describes, in one line.
fn domain(table: Option<&Table>) -> String {
    let get = |key: &str| table.and_then(|t| t.get(key)).map(|e| &e.node.value);
    let int = |key: &str| match get(key) {
        Some(Value::Int(n)) if (1..=i128::from(u16::MAX)).contains(n) => Some(*n),
        _ => None,
    };
    let name = match get("name") {
        Some(Value::Text(name)) if is_name(name) => name.as_str(),
        _ => "web",
    };
    let mut keys = vec![format!("name = \"{name}\"")];
    for (theirs, ours) in [("vcpus", "vcpus"), ("cpu_weight", "weight"), ("cap", "cap")] {
        keys.extend(int(theirs).map(|n| format!("{ours} = {n}")));
    }
    if let Some(Value::Text(cpus)) = get("cpus")
        && let Ok(set) = pcpu_list(cpus)
        && *cpus != "all"
    {
        keys.push(format!("pin = \"{}\"", show_pcpus(&set)));
    }
    keys.push("workload = \"burn\"".to_owned());
    format!("`domain = [{{ {} }}]`", keys.join(", "))
}
