//! Columns that the tables of a command may have, with titles and names for programs, before there
//! are any tables: `--columns` and `--sort` are checked before a host is simulated.

use domio_advise::alert::{AlertPlan, AlertPoint};
use domio_advise::dom0_share::Dom0Point;
use domio_answer::RowType;
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

/// Those of `domio reproduce` with this selection: of the record and of the ledger.
pub fn of_reproduce() -> Vec<(String, String)> {
    let record = ["paper", "title", "claims", "hold", "fail", "undecided"];
    let ledger = [
        "claim",
        "statement",
        "claimed",
        "measured",
        "verdict",
        "checks",
    ];
    record.into_iter().chain(ledger).map(same).collect()
}

/// Those of `domio alert` with this plan.
pub fn of_alert(plan: &AlertPlan) -> Vec<(String, String)> {
    let windows = plan.windows.iter().flat_map(|seconds| {
        ["mean", "worst"].map(|what| {
            let title = format!("{seconds} s, {what}");
            (title, format!("{what}_of_{seconds}_s"))
        })
    });
    let dom0 = ("dom0's error".to_owned(), "dom0_error_percent".to_owned());
    declared::<AlertPoint>()
        .chain(windows)
        .chain([dom0])
        .collect()
}

/// Those of `domio dom0-share` with these measures and domains.
pub fn of_dom0_share(measures: &Measures, domains: &[String]) -> Vec<(String, String)> {
    let setting = ["policy", "setting"].into_iter().map(same);
    let services = domains.iter().flat_map(|domain| {
        let served = measures.figures().map(move |figure| {
            let title = format!("{domain}, {}", figure.title);
            (title.clone(), title)
        });
        let others = domains
            .iter()
            .map(move |other| same(&format!("{domain}, {other}")));
        served.chain(others).chain([same(domain)])
    });
    let points = declared::<Dom0Point>();
    points.chain(setting).chain(services).collect()
}

/// Those that a row declares.
fn declared<R: RowType>() -> impl Iterator<Item = (String, String)> {
    let columns = R::spec().iter();
    columns.map(|column| (column.title.to_string(), column.key.to_string()))
}

fn same(title: &str) -> (String, String) {
    (title.to_owned(), title.to_owned())
}
