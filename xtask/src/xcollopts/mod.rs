//! `cargo xtask xcollopts`: which of the four switches of Zeng and others (2015) help on which
//! host.
//!
//! Sweeps three shipped scenarios over numbers of guests and cores, with every combination of the
//! switches under credit, and of those that credit2 knows under credit2. What came out is written
//! into `docs/xcollopts.md`, between two marks, and into pictures beside the others.
//!
//! | file | holds |
//! |---|---|
//! | `mod` | what is swept, and where the results go |
//! | `rows` | rows of a sweep |
//! | `effects` | what switches change, with intervals |
//! | `page` | tables in words |
//! | `picture` | a picture of what switches change |

mod effects;
mod page;
mod picture;
mod rows;

use crate::docs;
use anyhow::{Context as _, Result, bail};
use effects::Results;
use std::path::Path;
use std::process::{Command, Stdio};

/// A switch: its name, the key that it is, and what that is set to, off and on. A number of vcpus
/// stands for `N`.
struct Switch {
    name: &'static str,
    key: &'static str,
    values: [&'static str; 2],
}

/// The switches, in the order of their bits in a combination.
const SWITCHES: [Switch; 4] = [
    Switch {
        name: "LB",
        key: "scheduler.boost_balance",
        values: ["false", "true"],
    },
    Switch {
        name: "P3",
        key: "scheduler.dispatch_vector",
        values: ["off", "bit"],
    },
    Switch {
        name: "MTP",
        key: "network.netback_threads",
        values: ["1", "N"],
    },
    Switch {
        name: "SDP",
        key: "network.small_packets",
        values: ["grants", "pool"],
    },
];

/// A policy, the settings that choose it, and the switches that it knows.
struct Policy {
    name: &'static str,
    settings: &'static [&'static str],
    switches: &'static [usize],
}

const POLICIES: [Policy; 2] = [
    Policy {
        name: "credit",
        settings: &[],
        switches: &[0, 1, 2, 3],
    },
    Policy {
        name: "credit2",
        settings: &[
            "host.xen=4.17",
            "scheduler.version=4.17",
            "scheduler.policy=credit2",
        ],
        switches: &[2, 3],
    },
];

/// A load, what else is set to the number of cores, and the measures of its guests.
struct Load {
    name: &'static str,
    title: &'static str,
    follows: &'static [&'static str],
    measures: &'static [Measure],
}

/// A column of a sweep.
struct Measure {
    column: &'static str,
    title: &'static str,
    /// Whether more is better; the guests' figures are added then, and averaged otherwise.
    more: bool,
    /// What counts for a guest that has no figure. A guest that receives nothing has no
    /// throughput; pings without an answer have no round trip at all.
    without: Option<f64>,
}

const RATE: Measure = Measure {
    column: "net_mbps",
    title: "throughput",
    more: true,
    without: Some(0.0),
};

const TRIP: Measure = Measure {
    column: "ping_p99_ms",
    title: "round trip, 99 %",
    more: false,
    without: None,
};

const LOADS: [Load; 3] = [
    Load {
        name: "streams",
        title: "Guests that receive streams",
        follows: &["domain.Domain-0.vcpus"],
        measures: &[RATE],
    },
    Load {
        name: "pings",
        title: "Pings beside computation",
        follows: &["domain.Domain-0.vcpus", "domain.burner.vcpus"],
        measures: &[TRIP],
    },
    Load {
        name: "mixed",
        title: "Streams, pings and computation",
        follows: &["domain.Domain-0.vcpus"],
        measures: &[RATE, TRIP],
    },
];

/// Numbers of guests and cores, and of replications.
struct Grid {
    guests: &'static [u32],
    cores: &'static [u32],
    replications: u32,
}

const FULL: Grid = Grid {
    guests: &[1, 2, 4, 8, 16, 32],
    cores: &[1, 2, 4, 8, 16],
    replications: 4,
};

const SMALL: Grid = Grid {
    guests: &[2],
    cores: &[1, 2],
    replications: 2,
};

/// Cores of a socket.
const SOCKET: u32 = 4;

/// Where tables go, and between which lines.
const PAGE: &str = "docs/xcollopts.md";
const BEGIN: &str = "<!-- begin: cargo xtask xcollopts -->";
const END: &str = "<!-- end: cargo xtask xcollopts -->";

/// Sweeps, and writes page and pictures at `root`. A `small` sweep goes over a few hosts, and its
/// results into `out/xcollopts` alone.
///
/// # Errors
/// There is no release build, a sweep fails, or a file cannot be written.
pub fn run(root: &Path, small: bool) -> Result<bool> {
    let grid = if small { &SMALL } else { &FULL };
    let out = root.join("out/xcollopts");
    std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let pictures = match small {
        true => out.clone(),
        false => root.join("docs/images"),
    };
    let mut text = String::new();
    for load in &LOADS {
        let mut results = Vec::new();
        for policy in &POLICIES {
            let mut all = Results::new(load.measures.len());
            for &cores in grid.cores {
                let rows = sweep(root, &out, (load, policy), cores, grid)?;
                all.add(cores, &rows, load.measures)?;
            }
            results.push(all);
        }
        text += &format!("## {}\n\n", load.title);
        for (i, measure) in load.measures.iter().enumerate() {
            let name = format!("xcollopts-{}-{}.svg", load.name, measure.word());
            let svg = picture::draw(load, measure, &results, i, grid);
            let path = pictures.join(&name);
            std::fs::write(&path, svg).with_context(|| format!("cannot write {name}"))?;
            text += &page::section(measure, &name, &results, i, grid);
        }
    }
    if small {
        let path = out.join("tables.md");
        std::fs::write(&path, &text).context("cannot write tables.md")?;
        println!("wrote {}", path.display());
        return Ok(true);
    }
    let path = root.join(PAGE);
    let before = std::fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    std::fs::write(&path, between_marks(&before, &text)?)?;
    println!("wrote {PAGE}");
    Ok(true)
}

/// `page` with `text` between the marks.
fn between_marks(page: &str, text: &str) -> Result<String> {
    let (Some(begin), Some(end)) = (page.find(BEGIN), page.find(END)) else {
        bail!("{PAGE} has no lines \"{BEGIN}\" and \"{END}\"");
    };
    let (head, tail) = (&page[..begin + BEGIN.len()], &page[end..]);
    Ok(format!("{head}\n\n{text}{tail}"))
}

impl Measure {
    /// A word for names of files.
    fn word(&self) -> &'static str {
        if self.more { "rate" } else { "trip" }
    }
}

/// Runs the cells of one number of cores, and returns the rows.
fn sweep(
    root: &Path,
    out: &Path,
    (load, policy): (&Load, &Policy),
    cores: u32,
    grid: &Grid,
) -> Result<Vec<rows::Row>> {
    let file = out.join(format!("{}-{}-{cores}.csv", load.name, policy.name));
    let program = docs::release_folder(root).join("domio");
    let mut command = Command::new(&program);
    command
        .arg("sweep")
        .arg(format!("scenarios/xcollopts-{}.toml", load.name));
    for setting in settings(load, policy, cores, grid) {
        command.args(["--set", &setting]);
    }
    command
        .args(["--replications", &grid.replications.to_string(), "--force"])
        .args(["--quiet", "--output"])
        .arg(&file)
        .current_dir(root)
        .stdin(Stdio::null());
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    if !status.success() {
        bail!("the sweep of {} at {cores} cores failed", load.name);
    }
    let text = std::fs::read_to_string(&file)?;
    rows::parse(&text).with_context(|| format!("rows of {}", file.display()))
}

/// What is set in the cells of one number of cores, as `--set` has it.
fn settings(load: &Load, policy: &Policy, cores: u32, grid: &Grid) -> Vec<String> {
    let list = |all: &[u32]| all.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mut settings = vec![
        format!("host.sockets={}", cores.div_ceil(SOCKET)),
        format!("host.cores={}", cores.min(SOCKET)),
        format!("domain.guest.count={}", list(grid.guests)),
    ];
    settings.extend(load.follows.iter().map(|key| format!("{key}={cores}")));
    settings.extend(policy.settings.iter().map(|s| (*s).to_owned()));
    for switch in policy.switches.iter().map(|s| &SWITCHES[*s]) {
        let [off, on] = switch.values.map(|v| v.replace('N', &cores.to_string()));
        // On one vcpu there is nothing to spread: the switch has one position.
        let values = if off == on {
            off
        } else {
            format!("{off},{on}")
        };
        settings.push(format!("{}={values}", switch.key));
    }
    settings
}

/// The name of a combination of switches, which are bits.
fn name_of(combination: usize) -> String {
    let on = SWITCHES.iter().enumerate();
    let on = on.filter(|(bit, _)| combination & (1 << bit) != 0);
    let names: Vec<&str> = on.map(|(_, switch)| switch.name).collect();
    match names[..] {
        [] => "none".to_owned(),
        _ => names.join("+"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_between_the_marks() {
        let page = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let new = between_marks(&page, "new\n").unwrap();
        assert_eq!(new, format!("a\n{BEGIN}\n\nnew\n{END}\nb\n"));
        assert!(between_marks("a", "new").is_err());
    }

    #[test]
    fn sixteen_combinations_of_credit_and_four_of_credit2() {
        let axes = |policy: &Policy, cores| {
            let all = settings(&LOADS[1], policy, cores, &FULL);
            let values = all.iter().map(|s| s.split(',').count());
            values.product::<usize>() / FULL.guests.len()
        };
        assert_eq!([4, 1].map(|cores| axes(&POLICIES[0], cores)), [16, 8]);
        assert_eq!([4, 1].map(|cores| axes(&POLICIES[1], cores)), [4, 2]);
        let all = settings(&LOADS[1], &POLICIES[0], 16, &FULL);
        assert!(all.contains(&"host.sockets=4".to_owned()), "{all:?}");
        assert!(
            all.contains(&"domain.burner.vcpus=16".to_owned()),
            "{all:?}"
        );
        assert!(
            all.contains(&"network.netback_threads=1,16".to_owned()),
            "{all:?}"
        );
    }

    #[test]
    fn combinations_have_names() {
        assert_eq!(name_of(0), "none");
        assert_eq!(name_of(0b1010), "P3+SDP");
        assert_eq!(name_of(15), "LB+P3+MTP+SDP");
    }
}
