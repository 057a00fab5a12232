//! What `xl` and `xm` print of a host: settings of the scheduler ([`sched_text`]), lists of domains
//! and vcpus, and the JSON of `xl list -l` ([`list`]); all of them together, as a shell shows them
//! ([`HostLists`]).
//!
//! Columns that are not known are skipped, and so are domains that no JSON describes in full. What
//! is there and cannot be right is refused, with its line.

mod host;
mod sched;
mod table;

#[cfg(test)]
mod tests;

pub use host::{CpuTimes, HostLists, ListKind};
pub use sched::{SchedDomain, SchedText, sched_text};

use serde_json::Value;
use std::collections::BTreeMap;
use table::{Column, Row, Table};

/// Lines that are shown of a text that is not what it should be, in characters.
const SHOWN: usize = 60;

/// Largest domid of a domain.
const DOMID_MAX: u16 = 32_751;

/// Why a text is not what `xl` prints.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: \"{found}\"; expected {expected}")]
pub struct XlError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is there.
    pub found: String,
    /// What should be.
    pub expected: &'static str,
}

impl XlError {
    fn new(line: usize, found: &str, expected: &'static str) -> Self {
        let mut shown: String = found.trim().chars().take(SHOWN).collect();
        if shown.len() < found.trim().len() {
            shown.push_str("...");
        }
        XlError {
            line,
            found: shown.escape_debug().to_string(),
            expected,
        }
    }
}

/// A domain as a list shows it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListedDomain {
    /// Its name.
    pub name: Option<String>,
    /// Number of its vcpus.
    pub vcpus: Option<u16>,
    /// Weight and cap, where they are told.
    pub weight: Option<i64>,
    /// See `weight`.
    pub cap: Option<i64>,
    /// Hard affinity by vcpu: pcpus that ascend; none for all.
    pub hard: BTreeMap<u16, Vec<u16>>,
    /// Soft affinity by vcpu: likewise.
    pub soft: BTreeMap<u16, Vec<u16>>,
    /// The last pcpu that one of its vcpus was on.
    pub last_pcpu: Option<u16>,
}

fn domid(word: Option<&str>, number: usize, line: &str) -> Result<u16, XlError> {
    let id = word.and_then(|id| id.parse::<u16>().ok());
    id.filter(|id| *id <= DOMID_MAX)
        .ok_or_else(|| XlError::new(number, line, "a domid of 0 to 32751 in the column ID"))
}

/// Reads the JSON of `xl list -l`, or the text of `xl vcpu-list`, `xl list`, `xm vcpu-list` or
/// `xm list`. A text may hold several of them.
///
/// # Errors
/// The first line that cannot be right.
pub fn list(text: &str) -> Result<BTreeMap<u16, ListedDomain>, XlError> {
    match text.trim_start().starts_with(['[', '{']) {
        true => list_json(text),
        false => list_text(text),
    }
}

const LISTS: &str = "the JSON of `xl list -l`, or the text of `vcpu-list` or `list` of `xl` or \
                     `xm`, with its headings";

fn list_json(text: &str) -> Result<BTreeMap<u16, ListedDomain>, XlError> {
    let root: Value = serde_json::from_str(text).map_err(|e| {
        let line = text.lines().nth(e.line().saturating_sub(1));
        // After a last line break the parser is on a line that is none.
        let last = text.lines().count().max(1);
        XlError::new(e.line().clamp(1, last), line.unwrap_or_default(), LISTS)
    })?;
    let entries = match &root {
        Value::Array(entries) => entries.iter().collect(),
        other => vec![other],
    };
    let mut domains = BTreeMap::new();
    for entry in entries {
        let id = entry.get("domid").and_then(Value::as_u64);
        let id = id.and_then(|id| u16::try_from(id).ok());
        let Some(id) = id.filter(|id| *id <= DOMID_MAX) else {
            let expected = "objects with \"domid\" (0 to 32751) and \"config\", as `xl list -l` \
                            prints them";
            return Err(XlError::new(1, &entry.to_string(), expected));
        };
        let build = &entry["config"]["b_info"];
        let vcpus = build["max_vcpus"].as_u64();
        let online = build["avail_vcpus"]
            .as_array()
            .map(|list| list.len() as u64);
        let vcpus = online.filter(|n| *n > 0).or(vcpus);
        let sched = &build["sched_params"];
        let positive =
            |value: &Value, max: i64, min: i64| value.as_i64().filter(|n| (min..=max).contains(n));
        let domain = ListedDomain {
            name: entry["config"]["c_info"]["name"]
                .as_str()
                .map(str::to_owned),
            vcpus: vcpus.and_then(|n| u16::try_from(n).ok()),
            weight: positive(&sched["weight"], 65_535, 1),
            cap: positive(&sched["cap"], 25_600, 0),
            hard: affinities(&build["vcpu_hard_affinity"]),
            soft: affinities(&build["vcpu_soft_affinity"]),
            last_pcpu: None,
        };
        domains.insert(id, domain);
    }
    Ok(domains)
}

/// By vcpu, of a list of lists of pcpus.
fn affinities(listed: &Value) -> BTreeMap<u16, Vec<u16>> {
    let of = |pcpus: &Value| {
        let pcpus = pcpus.as_array().into_iter().flatten();
        let pcpus = pcpus.filter_map(|p| u16::try_from(p.as_u64()?).ok());
        let mut pcpus: Vec<u16> = pcpus.filter(|p| *p < PCPUS_MAX).collect();
        pcpus.sort_unstable();
        pcpus.dedup();
        pcpus
    };
    let listed = listed.as_array().into_iter().flatten();
    (0..).zip(listed.map(of)).collect()
}

/// Pcpus from which on no host of a scenario has any.
const PCPUS_MAX: u16 = domio_core::cpuset::MAX_PCPUS as u16;

fn list_text(text: &str) -> Result<BTreeMap<u16, ListedDomain>, XlError> {
    let mut domains: BTreeMap<u16, ListedDomain> = BTreeMap::new();
    let mut table: Option<Table> = None;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        if let Some(next) = Table::of(line).filter(is_list) {
            table = Some(next);
            continue;
        }
        let Some(table) = &table else {
            return Err(XlError::new(number, line, LISTS));
        };
        list_row(&mut domains, table, number, line)?;
    }
    match table {
        Some(_) => Ok(domains),
        None => Err(XlError::new(1, text, LISTS)),
    }
}

/// Whether the table is one of domains or vcpus.
fn is_list(table: &Table) -> bool {
    table.has(Column::Vcpu) || table.has(Column::Vcpus)
}

/// A line of a list; none where the line is of a domain that does not run.
fn list_row<'a>(
    domains: &mut BTreeMap<u16, ListedDomain>,
    table: &Table,
    number: usize,
    line: &'a str,
) -> Result<Option<Row<'a>>, XlError> {
    match table.row(line) {
        Some(row) if table.has(Column::Vcpu) => {
            vcpu_row(domains, &row, number, line)?;
            Ok(Some(row))
        }
        Some(row) => {
            let id = domid(row.cell(Column::Id), number, line)?;
            let vcpus = row.cell(Column::Vcpus).and_then(|n| n.parse().ok());
            let domain = domains.entry(id).or_default();
            domain.name = Some(row.name.clone());
            domain.vcpus = domain.vcpus.max(vcpus);
            Ok(Some(row))
        }
        None if table.is_inactive(line) => Ok(None),
        None if table.has(Column::Vcpu) => Err(XlError::new(number, line, VCPU_ROW)),
        None => {
            let expected = "a name, and figures for ID, Mem and VCPUs";
            Err(XlError::new(number, line, expected))
        }
    }
}

const VCPU_ROW: &str = "Name, ID, VCPU, CPU, State, Time(s) and Affinity in the order of the \
                        headings, as `xl vcpu-list` prints them: web 1 0 3 -b- 12.5 0-3 / all";

/// A line of `xl vcpu-list`: `Domain-0  0  0  0  r--  12.3  0-1,3 / all`.
fn vcpu_row(
    domains: &mut BTreeMap<u16, ListedDomain>,
    row: &Row<'_>,
    number: usize,
    line: &str,
) -> Result<(), XlError> {
    let id = domid(row.cell(Column::Id), number, line)?;
    let vcpu = row.cell(Column::Vcpu).and_then(|vcpu| vcpu.parse().ok());
    let vcpu: u16 = vcpu.ok_or_else(|| XlError::new(number, line, VCPU_ROW))?;
    let pcpu = row.cell(Column::Cpu).and_then(|pcpu| pcpu.parse().ok());
    if pcpu.is_some_and(|pcpu| pcpu >= PCPUS_MAX) {
        let expected = "a pcpu below 256 in the column CPU, or - for none";
        return Err(XlError::new(number, line, expected));
    }
    let domain = domains.entry(id).or_default();
    domain.name = Some(row.name.clone());
    domain.vcpus = domain.vcpus.max(vcpu.checked_add(1));
    domain.last_pcpu = domain.last_pcpu.max(pcpu);
    if row.last.is_empty() {
        return Ok(());
    }
    // Before soft affinity there was one set, without a stroke.
    let (hard, soft) = row.last.split_once('/').unwrap_or((&row.last, "all"));
    let wrong = |expected| XlError::new(number, line, expected);
    let hard = pcpus(hard.trim())
        .ok_or_else(|| wrong("a hard affinity below 256 as \"0-3,6\", \"all\" or \"any cpu\""))?;
    // No pcpu is preferred to any other.
    let soft = match soft.trim() {
        "none" => "all",
        soft => soft,
    };
    let soft = pcpus(soft)
        .ok_or_else(|| wrong("a soft affinity below 256 as \"0-3,6\", \"all\" or \"none\""))?;
    domain.hard.insert(vcpu, hard);
    domain.soft.insert(vcpu, soft);
    Ok(())
}

/// Pcpus as `xl` lists them, ascending; none for all.
fn pcpus(text: &str) -> Option<Vec<u16>> {
    if matches!(text, "all" | "any cpu" | "any") {
        return Some(Vec::new());
    }
    let mut found = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (
            first.trim().parse::<u16>().ok()?,
            last.trim().parse::<u16>().ok()?,
        );
        if last >= PCPUS_MAX || first > last {
            return None;
        }
        found.extend(first..=last);
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}
