//! Reads `paper.toml`, `machine.toml` and `cells.toml`, as strictly as scenarios are read.

mod tables;

use super::file::{
    ConfigurationFile, First, Guests, LineFile, MachineFile, MeasureFile, PaperFile, RoleFile,
    Suite, TestFile, TimeByEffort, Times, Together, VaryFile,
};
use super::machines::{Unknown, UnknownRange};
use crate::strict::said;
use domio_core::keys::{Checker, Code, KeySection, KeyTable, Keys, Mistake, Nested, Slot};
use domio_scenario::{ScenarioErrors, read_document};
use std::collections::BTreeMap;
use tables::{
    BY_EFFORT, ByEffortKeys, CELLS, CONFIGURATION, CellsKeys, ConfigurationKeys, FIGURE, FIRST,
    FirstKeys, GUESTS, GuestsKeys, LINE, LineKeys, MACHINE, MachineKeys, MeasureKeys, PAPER,
    PaperKeys, ROLE, RoleKeys, SUITE, SuiteKeys, TEST, TIMES, TOGETHER, TestKeys, TimesKeys,
    TogetherKeys, UNKNOWN, UnknownKeys, VARY, VaryKeys,
};
use toml::{Table, Value};

/// Reads `paper.toml`, whose text is `text` and which messages call `name`.
///
/// # Errors
/// Every mistake.
pub fn paper(name: &str, text: &str) -> Result<PaperFile, ScenarioErrors> {
    read_document(name, text, &PAPER, |_, table| {
        let keys = PaperKeys::read(table);
        let (id, title) = (keys.id.get()?, keys.title.get()?);
        Some(PaperFile { id, title })
    })
}

/// Reads `machine.toml`.
///
/// # Errors
/// Every mistake.
pub fn machine(name: &str, text: &str) -> Result<MachineFile, ScenarioErrors> {
    read_document(name, text, &MACHINE, |cx, table| {
        let keys = MachineKeys::read(table);
        let mut workload = BTreeMap::new();
        for (word, value) in free(&keys.workload)? {
            match value {
                Value::Table(keys) => workload.insert(word, keys),
                _ => {
                    let what = format!("`workload.{word}` is no table");
                    let mistake = Mistake::new(Code::WrongType, table.span(&keys.workload), what);
                    cx.tell(mistake.expected("a table of keys for each workload"));
                    return None;
                }
            };
        }
        Some(MachineFile {
            scenario: free(&keys.scenario)?,
            workload,
            unknowns: each(cx, table, &keys.unknown, &UNKNOWN, unknown)?,
            calibration: keys.calibration.or(Vec::new())?,
        })
    })
}

/// Reads `cells.toml`.
///
/// # Errors
/// Every mistake.
pub fn cells(name: &str, text: &str) -> Result<Vec<Suite>, ScenarioErrors> {
    read_document(name, text, &CELLS, |cx, table| {
        each(cx, table, &CellsKeys::read(table).suite, &SUITE, suite)
    })
}

/// What `read` makes of each table at `slot`; `None` when one of them is bad, after all were read.
fn each<T>(
    cx: &mut dyn Checker,
    table: &dyn KeyTable,
    slot: &Slot<Nested>,
    section: &'static KeySection,
    read: impl Fn(&mut dyn Checker, &dyn KeyTable) -> Option<T>,
) -> Option<Vec<T>> {
    let tables = table.tables(cx, slot, section);
    let all: Vec<Option<T>> = tables.iter().map(|table| read(cx, &**table)).collect();
    all.into_iter().collect()
}

/// As [`each`], of the one table at `slot`, if there is one.
fn one<T>(
    cx: &mut dyn Checker,
    table: &dyn KeyTable,
    slot: &Slot<Nested>,
    section: &'static KeySection,
    read: impl Fn(&mut dyn Checker, &dyn KeyTable) -> Option<T>,
) -> Option<Option<T>> {
    Some(each(cx, table, slot, section, read)?.pop())
}

/// As [`each`], of tables under names of the writer's own.
fn by_name<T>(
    cx: &mut dyn Checker,
    table: &dyn KeyTable,
    slot: &Slot<Nested>,
    section: &'static KeySection,
    read: impl Fn(&mut dyn Checker, &dyn KeyTable) -> Option<T>,
) -> Option<BTreeMap<String, T>> {
    let entries = table.entries(slot.name).into_iter();
    // Other values were refused already.
    let tables = entries.filter(|entry| entry.is_table);
    let all = tables.map(|entry| {
        let table = cx.table(entry.node, section, &entry.named.key);
        Some((entry.named.name, read(cx, &*table)?))
    });
    all.collect::<Vec<_>>().into_iter().collect()
}

/// The value whose TOML is at `slot`.
fn value(slot: &Slot<String>) -> Option<Option<Value>> {
    let Some(text) = slot.if_given()? else {
        return Some(None);
    };
    let table: Table = format!("value = {text}").parse().ok()?;
    table.into_iter().next().map(|(_, value)| Some(value))
}

/// The table whose TOML is at `slot`; empty when there is none.
fn free(slot: &Slot<String>) -> Option<Table> {
    match value(slot)? {
        Some(Value::Table(table)) => Some(table),
        _ => Some(Table::new()),
    }
}

fn unknown(cx: &mut dyn Checker, table: &dyn KeyTable) -> Option<Unknown> {
    let keys = UnknownKeys::read(table);
    let from = table.number(cx, &keys.from)?;
    let to = table.number(cx, &keys.to)?;
    let range = match (from, to, value(&keys.choices)?) {
        (None, None, Some(Value::Array(choices))) if !choices.is_empty() => {
            Ok(UnknownRange::Choices(choices))
        }
        (Some(from), Some(to), None) if from < to => match keys.log.get()? {
            false => Ok(UnknownRange::Linear(from, to)),
            true if from > 0.0 => Ok(UnknownRange::Log(from, to)),
            true => Err("a range with `scale = \"log\"` begins over zero"),
        },
        _ => Err("expected a list of `choices`, or `from` below `to`"),
    };
    let name = keys.name.get()?;
    let (central, source) = (value(&keys.central)??, keys.source.get()?);
    let in_proportion = keys.in_proportion.or(Vec::new())?;
    let keys = keys.keys.or(Vec::new())?;
    let made = range.and_then(|range| {
        let unknown = Unknown {
            name: name.clone(),
            keys,
            in_proportion,
            central,
            range,
            source,
        };
        unknown.check().map(|()| unknown)
    });
    let tell = |what| {
        let what = format!("unknown \"{name}\": {what}");
        cx.tell(Mistake::new(Code::Conflict, table.header(), what).key(table.path()));
    };
    made.map_err(tell).ok()
}

fn suite(cx: &mut dyn Checker, table: &dyn KeyTable) -> Option<Suite> {
    let keys = SuiteKeys::read(table);
    let times = by_name(cx, table, &keys.times, &TIMES, times);
    let guests = one(cx, table, &keys.guests, &GUESTS, guests);
    let role = by_name(cx, table, &keys.role, &ROLE, role);
    let figure = each(cx, table, &keys.figure, &FIGURE, figure);
    let test = each(cx, table, &keys.test, &TEST, test);
    let configuration = each(
        cx,
        table,
        &keys.configuration,
        &CONFIGURATION,
        configuration,
    );
    let together = one(cx, table, &keys.together, &TOGETHER, together);
    Some(Suite {
        name: keys.name.get()?,
        shipped: keys.shipped.if_given()?,
        alone: keys.alone.or(false)?,
        scenario: free(&keys.scenario)?,
        patience_s: table.number(cx, &keys.patience_s)?.unwrap_or(0.0),
        times: times?,
        guests: guests?,
        role: role?,
        figure: figure?,
        test: test?,
        configuration: configuration?,
        together: together?,
        every_ms: keys.every_ms.if_given()?,
    })
}

fn times(cx: &mut dyn Checker, table: &dyn KeyTable) -> Option<Times> {
    let keys = TimesKeys::read(table);
    let (warmup, measured) = (
        time(cx, table, &keys.warmup_s),
        time(cx, table, &keys.measured_s),
    );
    Some(Times {
        warmup_s: warmup?,
        measured_s: measured?,
        replications: keys.replications.get()?,
    })
}

/// A time in seconds: a number, or a table of one for each effort.
fn time(cx: &mut dyn Checker, table: &dyn KeyTable, slot: &Slot<String>) -> Option<TimeByEffort> {
    let tables = table.nodes(slot.name).into_iter();
    let tables: Vec<_> = tables
        .map(|(node, path)| cx.table(node, &BY_EFFORT, &path))
        .collect();
    match tables.first() {
        None => table.number(cx, slot)?.map(TimeByEffort::Fixed),
        Some(table) => {
            let keys = ByEffortKeys::read(table);
            let mut at = |slot| table.number(cx, slot).flatten();
            let [quick, normal, full] = [&keys.quick, &keys.normal, &keys.full].map(&mut at);
            Some(TimeByEffort::ByEffort {
                quick: quick?,
                normal: normal?,
                full: full?,
            })
        }
    }
}

fn guests(cx: &mut dyn Checker, table: &dyn KeyTable) -> Option<Guests> {
    let keys = GuestsKeys::read(table);
    Some(Guests {
        name: keys.name.get()?,
        domain: free(&keys.domain)?,
        vary: each(cx, table, &keys.vary, &VARY, vary)?,
    })
}

fn role(cx: &mut dyn Checker, table: &dyn KeyTable) -> Option<RoleFile> {
    let keys = RoleKeys::read(table);
    Some(RoleFile {
        groups: keys.groups.or(Vec::new())?,
        domain: free(&keys.domain)?,
        vary: each(cx, table, &keys.vary, &VARY, vary)?,
    })
}

fn vary(cx: &mut dyn Checker, table: &dyn KeyTable) -> Option<VaryFile> {
    let keys = VaryKeys::read(table);
    Some(VaryFile {
        key: keys.key.get()?,
        from_ms: table.number(cx, &keys.from_ms)??,
        to_ms: table.number(cx, &keys.to_ms)??,
        later_ms: table.number(cx, &keys.later_ms)?.unwrap_or(0.0),
        stream: keys.stream.get()?,
    })
}

fn figure(cx: &mut dyn Checker, table: &dyn KeyTable) -> Option<MeasureFile> {
    let keys = MeasureKeys::read(table);
    let mut over = BTreeMap::new();
    for entry in table.entries(keys.over.name) {
        for (_, text) in entry.texts {
            over.insert(entry.named.name.clone(), said(&text).ok()?);
        }
    }
    let first = one(cx, table, &keys.first, &FIRST, |_, table| {
        let keys = FirstKeys::read(table);
        let (name, count) = (keys.name.get()?, keys.count.get()?);
        Some(First { name, count })
    });
    Some(MeasureFile {
        measure: keys.measure.get()?,
        group: keys.group.if_given()?,
        domain: keys.domain.if_given()?,
        key: keys.key.if_given()?,
        name: keys.name.if_given()?,
        over,
        first: first?,
        over_time: keys.over_time.if_given()?,
        send_weight: table.number(cx, &keys.send_weight)?,
    })
}

fn test(_: &mut dyn Checker, table: &dyn KeyTable) -> Option<TestFile> {
    let keys = TestKeys::read(table);
    Some(TestFile {
        name: keys.name.get()?,
        title: keys.title.get()?,
        times: keys.times.get()?,
        guests: keys.guests.or(Vec::new())?,
        configurations: keys.configurations.if_given()?,
        scenario: free(&keys.scenario)?,
    })
}

fn configuration(_: &mut dyn Checker, table: &dyn KeyTable) -> Option<ConfigurationFile> {
    let keys = ConfigurationKeys::read(table);
    Some(ConfigurationFile {
        name: keys.name.get()?,
        guests: keys.guests.or(Vec::new())?,
        scenario: free(&keys.scenario)?,
    })
}

fn together(cx: &mut dyn Checker, table: &dyn KeyTable) -> Option<Together> {
    let keys = TogetherKeys::read(table);
    let line = one(cx, table, &keys.line, &LINE, |_, table| {
        let keys = LineKeys::read(table);
        let (figure, off_pct) = (keys.figure.get()?, keys.off_pct.get()?);
        Some(LineFile { figure, off_pct })
    });
    Some(Together {
        name: keys.name.get()?,
        line: line?,
    })
}
