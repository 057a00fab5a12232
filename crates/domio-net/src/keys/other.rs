//! Keys of a network that the hypervisor of the host does not have.

use alloc::format;
use domio_core::keys::{Code, KeyReader, Mistake};

/// Reports those of `keys`, each with whether it is given, that are given: they are of one
/// hypervisor, and the host has the other one. Returns whether there is none.
pub(super) fn refuse(
    table: &mut KeyReader<'_>,
    keys: &[(bool, &'static str)],
    [whose, host]: [&str; 2],
) -> bool {
    let mut good = true;
    for (_, name) in keys.iter().filter(|(given, _)| *given) {
        good = false;
        let place = table.keys.place(name);
        let span = place.map_or(table.keys.header(), |place| place.key);
        let says = format!("`{name}` is of {whose}, and the host has {host}");
        table.tell(
            Mistake::new(Code::Conflict, span, says)
                .key(format!("{}.{name}", table.keys.path()))
                .expected("keys of the card and of the line")
                .hint("take it out, or choose the hypervisor by `hypervisor` of [host]"),
        );
    }
    good
}
