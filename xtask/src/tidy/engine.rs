//! The engine never names what is simulated. An engine that knows a vcpu ends up with a rule about
//! it, and then events of two devices no longer meet in an order that both can rely on.

use super::rule::{Findings, Rule};
use super::source::Kind;
use super::tree::Tree;

pub const RULE: Rule = Rule {
    name: "engine-blind",
    demand: "domio-sim names no vcpu, packet, disk or other part of a host",
    check,
};

const FOLDER: &str = "crates/domio-sim/src/";

/// Words of the hosts that run on the engine, singular.
const HOST: &[&str] = &[
    "credit",
    "disk",
    "domain",
    "evtchn",
    "grant",
    "guest",
    "hypervisor",
    "netback",
    "netfront",
    "nic",
    "packet",
    "pcpu",
    "runqueue",
    "runstate",
    "tickle",
    "vcpu",
    "vm",
    "vmm",
    "xen",
];

/// Looks at names and literals, not at comments: a page may say what the engine does not know.
fn check(tree: &Tree, findings: &mut Findings) {
    for (path, source) in tree.rust(FOLDER) {
        for token in source.code().filter(|t| t.kind != Kind::Punct) {
            for word in words(&token.text) {
                if HOST.contains(&word.strip_suffix('s').unwrap_or(&word)) {
                    let message = format!(
                        "the engine names `{word}` (in `{}`); give it a word that fits every \
                         model, or move the code to the crate that models it",
                        token.text
                    );
                    findings.fail(path, token.line, message);
                }
            }
        }
    }
}

/// The words of a name or a text, in lower case: `VcpuTimer` and `vcpu_timer` have two each.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for c in text.chars() {
        if !c.is_alphabetic() || (c.is_uppercase() && after_small) {
            words.push(String::new());
        }
        if c.is_alphabetic() {
            words
                .last_mut()
                .expect("never empty")
                .extend(c.to_lowercase());
        }
        after_small = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::words;

    #[test]
    fn an_engine_that_names_a_part_of_the_host_is_caught() {
        for code in [
            "use domio_core::VcpuId;",
            "struct DiskQueue;",
            "fn next_packets() {}",
            "const NAME: &str = \"per-vcpu\";",
        ] {
            let text = format!("//! The engine.\n#![no_std]\n{code}\n");
            let place = "engine-blind crates/domio-sim/src/lib.rs:3";
            assert_eq!(
                found(&[("crates/domio-sim/src/lib.rs", &text)]),
                [place],
                "{code}"
            );
        }
    }

    #[test]
    fn comments_tests_and_longer_words_are_free() {
        let text = "//! No vcpu here.\n#![no_std]\n// No disk.\nfn accredit() {}\n\
                    #[cfg(test)]\nmod tests { fn vcpu() {} }\n";
        assert_eq!(found(&[("crates/domio-sim/src/lib.rs", text)]), [""; 0]);
    }

    #[test]
    fn names_fall_into_words() {
        assert_eq!(words("VcpuTimer"), ["vcpu", "timer"]);
        assert_eq!(words("next_VMs2go"), ["next", "vms", "go"]);
    }
}
