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
    let (domain, taken) = domain(root.as_table());
    let what = "this is an `xl` configuration of one guest, not a scenario";
    let what = format!("{what}{}", left_out(text, &taken));
    let problem = Mistake::new(Code::Syntax, first?, what)
        .expected("a scenario: [run], [scheduler] and a [[domain]] for each guest of a host")
        .hint(format!(
            "write {domain} beside `run.duration_s = 10` and `scheduler.policy = \"credit\"`; \
             `domio scenario import FILE` makes a whole one"
        ));
    Some(problem)
}

/// Keys that no [[domain]] takes over as they are, with the key of a scenario that comes nearest.
const NEAREST: [(&str, &str); 10] = [
    ("cpus", "`pin`"),
    ("cpus_soft", "`soft`"),
    ("vcpus", "`vcpus`"),
    ("cpu_weight", "`weight`"),
    ("cap", "`cap`"),
    ("name", "`name`"),
    ("maxvcpus", "`vcpus`, which stay as many"),
    ("pool", "`pool`, with a [[pool]] of that name"),
    (
        "vif",
        "`vif`, whose `rate` is in the same notation: `vif = { rate = \"10MB/s\" }`",
    ),
    ("disk", "`disk = { kind = \"vbd\", size = \"10G\" }`"),
];

/// Keys that only say what is booted and shown: all are named together.
const OF_BOOT: [&str; 15] = [
    "acpi",
    "apic",
    "boot",
    "bootargs",
    "bootloader",
    "builder",
    "cmdline",
    "extra",
    "firmware",
    "kernel",
    "pae",
    "ramdisk",
    "root",
    "type",
    "uuid",
];

/// Which keys of `text` are left out, as the end of a sentence.
fn left_out(text: &str, taken: &[&str]) -> String {
    let (mut named, mut boots): (Vec<String>, bool) = (Vec::new(), false);
    for line in text.lines().filter(|line| !line.starts_with([' ', '\t'])) {
        let Some((key, _)) = line.split_once('=') else {
            continue;
        };
        let key = key.trim();
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_key || taken.contains(&key) {
            continue;
        }
        if OF_BOOT.contains(&key) {
            boots = true;
            continue;
        }
        let nearest = NEAREST.iter().find(|(theirs, _)| *theirs == key);
        let entry = match nearest {
            Some((_, ours)) => format!("{key} (nearest: {ours})"),
            None => key.to_owned(),
        };
        if !named.contains(&entry) {
            named.push(entry);
        }
    }
    if boots {
        named.push("boot options".to_owned());
    }
    match named.is_empty() {
        true => String::new(),
        false => format!("; not taken over: {}", named.join(", ")),
    }
}

/// The [[domain]] of the guest that the configuration describes, in one line, and the keys of the
/// configuration that are in it.
fn domain(table: Option<&Table>) -> (String, Vec<&'static str>) {
    let get = |key: &str| table.and_then(|t| t.get(key)).map(|e| &e.node.value);
    let int = |key: &str| match get(key) {
        Some(Value::Int(n)) if (1..=i128::from(u16::MAX)).contains(n) => Some(*n),
        _ => None,
    };
    let mut taken = Vec::new();
    let name = match get("name") {
        Some(Value::Text(name)) if is_name(name) => {
            taken.push("name");
            name.as_str()
        }
        _ => "web",
    };
    let mut keys = vec![format!("name = \"{name}\"")];
    for (theirs, ours) in [("vcpus", "vcpus"), ("cpu_weight", "weight"), ("cap", "cap")] {
        if let Some(n) = int(theirs) {
            keys.push(format!("{ours} = {n}"));
            taken.push(theirs);
        }
    }
    let vcpus = int("vcpus").unwrap_or(1);
    for (theirs, ours) in [("cpus", "pin"), ("cpus_soft", "soft")] {
        if let Some(pcpus) = get(theirs).and_then(|value| affinity(value, vcpus)) {
            keys.extend(pcpus.map(|pcpus| format!("{ours} = {pcpus}")));
            taken.push(theirs);
        }
    }
    keys.push("workload = \"burn\"".to_owned());
    (format!("`domain = [{{ {} }}]`", keys.join(", ")), taken)
}

/// Pcpus as a scenario has them, `Some(None)` for all of them; `None` for what is no such set. A
/// list has a set for each of so many vcpus.
fn affinity(value: &Value, vcpus: i128) -> Option<Option<String>> {
    let of = |text: &str| pcpu_list(text).ok().map(|set| show_pcpus(&set));
    match value {
        Value::Text(cpus) if cpus == "all" => Some(None),
        Value::Text(cpus) => Some(Some(format!("\"{}\"", of(cpus)?))),
        Value::Array(all) if all.len() as i128 == vcpus => {
            let sets = all.iter().map(|node| match &node.value {
                Value::Text(cpus) => of(cpus),
                Value::Int(cpu) => of(&cpu.to_string()),
                _ => None,
            });
            let sets: Option<Vec<String>> = sets.map(|set| Some(format!("\"{}\"", set?))).collect();
            Some(Some(format!("[{}]", sets?.join(", "))))
        }
        _ => None,
    }
}
