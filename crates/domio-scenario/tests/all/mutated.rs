//! Scenarios that were edited at random.

use domio_scenario::examples;
use proptest::prelude::*;

/// Pieces that a scenario is made of, and some that it should not be.
pub const PIECES: &[&str] = &[
    "\n",
    " ",
    "=",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    ",",
    ".",
    "\"",
    "'",
    "\"\"\"",
    "#",
    "\\",
    "-",
    "_",
    "0",
    "1",
    "2",
    "7",
    "-1",
    "1e9",
    "1e400",
    "nan",
    "inf",
    "-inf",
    "0x10",
    "true",
    "false",
    "1979-05-27",
    "99999999999999999999999999",
    "9223372036854775807",
    "4096",
    "65535",
    "32751",
    "256",
    "\u{feff}",
    "\0",
    "é",
    "\u{202e}",
    "\r\n",
    "\t",
    "\u{1b}[31m",
    "\n[run]\n",
    "\n[host]\n",
    "\n[scheduler]\n",
    "\n[[domain]]\n",
    "\n[[domain.task]]\n",
    "\n[[action]]\n",
    "\n[[network]]\n",
    "\n[[controller]]\nname = \"cap-follows-demand\"\n",
    "\ndisk = { kind = \"loopback\", size = \"1M\" }\n",
    "\nvif = [{ network = \"x\" }]\n",
    "\nworkload = \"dd\"\n",
    "\nnetwork = \"x\"\n",
    "\nceiling_percent = 50\n",
    "\ndomain = \"x\"\n",
    "\nname = \"x\"\n",
    "\ncount = 3\n",
    "\ncount = 4096\n",
    "\nid = 0\n",
    "\nid = 32751\n",
    "\nvcpus = 2\n",
    "\nvcpus = 4096\n",
    "\ncores = 4\n",
    "\nthreads = 2\n",
    "\npin = [0]\n",
    "\npin = \"all,^0\"\n",
    "\nsoft = \"1-3\"\n",
    "\nstart_ms = 3\n",
    "\nstop_ms = 7\n",
    "\nweight = 512\n",
    "\ncap = 50\n",
    "\nworkload = \"burn\"\n",
    "\nworkload = \"periodic\"\nperiod_us = 5\nburst_us = 2\n",
    "\nworkload = \"compute\"\nwork_ms = 1\n",
    "\nworkload = \"replay\"\ntrace = \"t\"\ntrace_domain = 0\n",
    "\nvcpu = \"all\"\n",
    "\nvcpu = 1\n",
    "\nguest = \"linux-2.6.18\"\n",
    "\nguest = { tick_ms = 4 }\n",
    "\n[network]\n",
    "\n[domain.vif]\n",
    "\ndriver = \"x\"\n",
    "\nrate = \"10Mb/s@20ms\"\n",
    "\nrate = \"1G\"\n",
    "\nscan = \"restart\"\n",
    "\nevtchn = \"two-level-32\"\n",
    "\nvif = {}\n",
    "\nname = \"Domain-0\"\n",
    "\nworkload = \"stream\"\n",
    "\nworkload = \"udp\"\npps = 9\ndirection = \"out\"\n",
    "\nworkload = \"ping\"\n",
    "\npolicy = \"null\"\n",
    "\npolicy = \"reserving\"\n",
    "\ntslice_ms = 1\n",
    "\nratelimit_us = 0\n",
    "\nversion = \"3.1\"\n",
    "\n[[action]]\nat_ms = 1\ndo = \"pause\"\ndomain = \"x\"\n",
    "\n[[action]]\nat_ms = 5\ndo = \"set\"\ndomain = \"g\"\nweight = 3\n",
    "\n[[action]]\nat_ms = 5\ndo = \"pcpu-offline\"\npcpu = 1\n",
    "\n[[action]]\nat_ms = 9\ndo = \"pcpu-online\"\npcpu = 1\n",
    "\n[[action]]\nat_ms = 5\ndo = \"pin\"\ndomain = \"g1\"\npin = [1]\n",
];

/// A change to a text: cut this much at that place (both in per mille), then put a piece there.
#[derive(Clone, Debug)]
struct Edit {
    at: usize,
    cut: usize,
    piece: usize,
}

fn edit() -> impl Strategy<Value = Edit> {
    let cut = prop_oneof![4 => Just(0usize), 2 => 1usize..6, 1 => 0usize..200];
    (0usize..1000, cut, 0..PIECES.len()).prop_map(|(at, cut, piece)| Edit { at, cut, piece })
}

/// A shipped scenario with up to five edits.
pub fn mutated() -> impl Strategy<Value = Vec<u8>> {
    (0..examples().len(), proptest::collection::vec(edit(), 1..6)).prop_map(|(which, edits)| {
        let mut bytes = examples()[which].1.as_bytes().to_vec();
        for edit in edits {
            // At the start of a line half of the time: whole pieces fit there.
            let mut at = bytes.len() * edit.at / 1000;
            if edit.at % 2 == 0 {
                at = bytes[..at].iter().rposition(|b| *b == b'\n').unwrap_or(0);
            }
            let end = (at + edit.cut).min(bytes.len());
            bytes.splice(at..end, PIECES[edit.piece].bytes());
        }
        bytes
    })
}
