//! Columns that the tables of a command may have, with titles and names for programs, before there
//! are any tables: `--columns` and `--sort` are checked before a host is simulated.

use domio_report::text;
use domio_run::measure::Measures;

/// Columns of what a host did: where vcpus ran, what driver domains did, what was dropped.
const OF_HOST: [&str; 15] = [
    "vcpu",
    "pcpus used",
    "pcpu: % of its time",
    "moves",
    "inside soft",
    "node: %",
    "to another node",
    "to another core",
    "share",
    "time",
    "what",
    "whose pages",
    "size",
    "dropped at",
    "packets",
];

/// Columns of `domio mon` where there is no terminal.
const OF_MON: [&str; 15] = [
    "gotten",
    "per execution",
    "gotten_each_ns",
    "allocated",
    "waited",
    "waited_each_ns",
    "blocked",
    "parked",
    "executions",
    "I/O",
    "driver domain",
    "received",
    "by packets",
    "exact",
    "error",
];

/// Those of `domio run` with these measures.
pub fn of_run(measures: &Measures) -> Vec<(String, String)> {
    let figures = text::compare::columns(measures, &[]);
    let places = [("dropped at".to_owned(), "place".to_owned())];
    let ids = [("id".to_owned(), "name".to_owned())];
    figures
        .into_iter()
        .chain(OF_HOST.into_iter().map(same))
        .chain(places)
        .chain(ids)
        .collect()
}

/// Those of the tables of `domio mon`.
pub fn of_mon() -> Vec<(String, String)> {
    let others = ["domain", "for", "packets sent"];
    let all = OF_MON.into_iter().chain(OF_HOST).chain(others);
    all.map(same).collect()
}

fn same(title: &str) -> (String, String) {
    (title.to_owned(), title.to_owned())
}
