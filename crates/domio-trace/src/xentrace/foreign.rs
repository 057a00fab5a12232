//! Names of Xen's events that nobody declares.

use super::event::SCHED_POLICY;
use super::policy::class_name;

/// Xen's classes of events, by the bit that stands for each.
const CLASSES: [(u32, &str); 9] = [
    (0x0001_0000, "general"),
    (0x0002_0000, "scheduler"),
    (0x0004_0000, "dom0 operation"),
    (0x0008_0000, "hvm"),
    (0x0010_0000, "memory"),
    (0x0020_0000, "pv"),
    (0x0040_0000, "shadow"),
    (0x0080_0000, "hardware"),
    (0x0800_0000, "guest"),
];

/// Events that are known by name, though nothing is concluded from them.
const NAMES: [(u32, &str); 7] = [
    (0x28010, "shutdown-code"),
    (0x28011, "switch-infcont"),
    (0x20_1001, "pv-hypercall"),
    (0x20_1101, "pv-hypercall"),
    (0x20_100d, "pv-hypercall-v2"),
    (0x20_110d, "pv-hypercall-v2"),
    (0x20_200e, "pv-hypercall-subcall"),
];

/// What a person calls Xen's event `event`, as well as is known: "pv-hypercall-v2 0x20100d",
/// "credit2 event 3 0x22203", "hvm 0x81001".
pub(crate) fn foreign_name(event: u32) -> String {
    if let Some((_, name)) = NAMES.iter().find(|(id, _)| *id == event) {
        return format!("{name} {event:#x}");
    }
    if event & !0xfff == SCHED_POLICY
        && let Some(policy) = class_name((event >> 9 & 7) as u8)
    {
        return format!("{policy} event {} {event:#x}", event & 0x1ff);
    }
    let mut of = CLASSES.iter().filter(|(bit, _)| event & bit != 0);
    match (of.next(), of.next()) {
        (Some((_, class)), None) => format!("{class} {event:#x}"),
        _ => format!("event {event:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_known() {
        for (event, name) in [
            (0x20_100d, "pv-hypercall-v2 0x20100d"),
            (0x22203, "credit2 event 3 0x22203"),
            (0x22c01, "scheduler 0x22c01"),
            (0x81001, "hvm 0x81001"),
            (0x80_2001, "hardware 0x802001"),
            (0x7, "event 0x7"),
            (0x0fff_ffff, "event 0xfffffff"),
        ] {
            assert_eq!(foreign_name(event), name);
        }
    }
}
