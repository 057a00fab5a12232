//! Settings of the scheduler: `xl sched-credit`, `sched-credit2` and `sched-rtds`, and what `xm`
//! printed of them.

use super::table::{Column, Row, Table};
use super::{XlError, domid};
use std::collections::BTreeMap;

/// Settings of the scheduler, as `xl sched-credit`, `sched-credit2` or `sched-rtds` prints them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SchedText {
    /// Name of the policy, where the text tells.
    pub policy: Option<&'static str>,
    /// Parameters of the policy by domio's names.
    pub params: BTreeMap<&'static str, i64>,
    /// By domid.
    pub domains: BTreeMap<u16, SchedDomain>,
}

/// Settings of a domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchedDomain {
    /// Its name.
    pub name: String,
    /// What the text tells by domio's names: `weight`, `cap` in percent of one pcpu (0 for none),
    /// `period_us`, `budget_us` and `extratime` (0 or 1).
    pub params: BTreeMap<&'static str, i64>,
    /// The same of each vcpu, where the text has a line a vcpu. Those of the first one are the
    /// domain's, too.
    pub vcpus: BTreeMap<u16, BTreeMap<&'static str, i64>>,
}

/// A column of settings: its name in scenarios, which figures are good, and what should be there.
type Setting = (
    Column,
    &'static str,
    std::ops::RangeInclusive<i64>,
    &'static str,
);

/// The longest reservation: an hour.
const LONGEST_US: i64 = 3_600_000_000;

const SETTINGS: [Setting; 4] = [
    (
        Column::Weight,
        "weight",
        1..=65_535,
        "a weight of 1 to 65535 in the column Weight",
    ),
    (
        Column::Cap,
        "cap",
        0..=25_600,
        "a cap of 0 to 25600 percent of one pcpu in the column Cap",
    ),
    (
        Column::Period,
        "period_us",
        10..=LONGEST_US,
        "microseconds, 10 to 3600000000, in the column Period",
    ),
    (
        Column::Budget,
        "budget_us",
        10..=LONGEST_US,
        "microseconds, 10 to 3600000000, in the column Budget",
    ),
];

/// Reads the output of `xl sched-credit`, `xl sched-credit2` or `xl sched-rtds`, or of `xm`.
///
/// # Errors
/// The first line that cannot be right.
pub fn sched_text(text: &str) -> Result<SchedText, XlError> {
    let mut sched = SchedText::default();
    let mut table: Option<Table> = None;
    let mut last = 1;
    for (number, line) in (1..).zip(text.lines()) {
        last = number;
        let first = line.split_whitespace().next();
        match (first, &table) {
            (None, _) => {}
            (Some("Cpupool"), _) => pool(&mut sched, number, line)?,
            (Some("Name"), _) => table = Some(headings(&mut sched, number, line)?),
            (Some(_), Some(table)) => domain(&mut sched, table, number, line)?,
            (Some(_), None) => {
                return Err(XlError::new(
                    number,
                    line,
                    "a line \"Name ID Weight Cap\" before the domains, as `xl sched-credit` \
                     prints it",
                ));
            }
        }
    }
    match table {
        Some(_) => Ok(sched),
        None => Err(XlError::new(
            last,
            text.lines().next_back().unwrap_or_default(),
            "the output of `xl sched-credit`, `xl sched-credit2` or `xl sched-rtds`: a line \"Name \
             ID Weight Cap\" and a line a domain",
        )),
    }
}

pub(super) fn headings(sched: &mut SchedText, number: usize, line: &str) -> Result<Table, XlError> {
    let table = Table::of(line);
    let is_rtds = |t: &Table| t.has(Column::Period) && t.has(Column::Budget);
    let table = table.filter(|t| t.has(Column::Weight) || is_rtds(t));
    let table = table.ok_or_else(|| {
        let expected = "the columns Name, ID, Weight and Cap of `xl sched-credit` or `xl \
                        sched-credit2`, or Name, ID, Period and Budget of `xl sched-rtds`";
        XlError::new(number, line, expected)
    })?;
    if is_rtds(&table) {
        sched.policy.get_or_insert("rtds");
    }
    Ok(table)
}

/// The line of a pool: `Cpupool Pool-0: tslice=30ms ratelimit=1000us migration-delay=0us`.
pub(super) fn pool(sched: &mut SchedText, number: usize, line: &str) -> Result<(), XlError> {
    // Of several pools the first one counts.
    if sched.policy.is_some() {
        return Ok(());
    }
    let mut policy = "credit2";
    for part in line.split([' ', ',', '\t']) {
        let Some((key, value)) = part.split_once('=') else {
            continue;
        };
        let (name, unit) = match key {
            "tslice" => ("tslice_ms", "ms"),
            "ratelimit" => ("ratelimit_us", "us"),
            "migration-delay" => ("migration_delay_us", "us"),
            "sched" if value.eq_ignore_ascii_case("rtds") => {
                policy = "rtds";
                continue;
            }
            _ => continue,
        };
        if name == "tslice_ms" {
            policy = "credit";
        }
        let number_of = value.strip_suffix(unit).unwrap_or(value);
        let value = number_of.parse::<u32>().map_err(|_| {
            XlError::new(
                number,
                part,
                "a time as tslice=30ms, ratelimit=1000us or migration-delay=0us",
            )
        })?;
        sched.params.insert(name, i64::from(value));
    }
    sched.policy = Some(policy);
    Ok(())
}

/// The line of a domain, or of a vcpu in `xl sched-rtds -v all`.
pub(super) fn domain(
    sched: &mut SchedText,
    table: &Table,
    number: usize,
    line: &str,
) -> Result<(), XlError> {
    let columns = "a name, and a word in each further column that the line of headings has, the \
                   domid a number";
    let row = table.row(line);
    let row = row.ok_or_else(|| XlError::new(number, line, columns))?;
    let id = domid(row.cell(Column::Id), number, line)?;
    let params = params(&row, number, line)?;
    let domain = sched.domains.entry(id).or_insert_with(|| SchedDomain {
        name: row.name.clone(),
        params: params.clone(),
        vcpus: BTreeMap::new(),
    });
    if let Some(vcpu) = row.cell(Column::Vcpu) {
        let vcpu = vcpu.parse().unwrap_or_default();
        domain.vcpus.insert(vcpu, params);
    }
    Ok(())
}

fn params(
    row: &Row<'_>,
    number: usize,
    line: &str,
) -> Result<BTreeMap<&'static str, i64>, XlError> {
    let mut params = BTreeMap::new();
    for (column, name, good, expected) in &SETTINGS {
        let Some(word) = row.cell(*column) else {
            continue;
        };
        let value = word.parse().ok().filter(|value| good.contains(value));
        let value = value.ok_or_else(|| XlError::new(number, line, expected))?;
        params.insert(*name, value);
    }
    match row.cell(Column::Extratime) {
        None => {}
        Some("yes") => _ = params.insert("extratime", 1),
        Some("no") => _ = params.insert("extratime", 0),
        Some(_) => {
            let expected = "yes or no in the column Extratime";
            return Err(XlError::new(number, line, expected));
        }
    }
    Ok(params)
}
