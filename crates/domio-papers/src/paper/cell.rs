//! A cell: one test under one configuration, as the text of a scenario.

use super::Paper;
use super::file::{ConfigurationFile, Length, Suite, TestFile, VaryFile, seconds};
use super::machines::Machine;
use super::merge::{merge, scale, set};
use crate::folders::PREFIX;
use domio_core::Duration;
use domio_scenario::{Scenario, example};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// One test under one configuration of a paper.
#[derive(Clone, Copy, Debug)]
pub struct PaperCell<'p> {
    pub(super) paper: &'p Paper,
    pub(super) suite: &'p Suite,
    pub(super) test: &'p TestFile,
    pub(super) configuration: &'p ConfigurationFile,
}

impl PaperCell<'_> {
    /// Its name in the paper: "test3-orig".
    pub fn name(&self) -> String {
        format!("{}-{}", self.test.name, self.configuration.name)
    }

    /// Its name among scenarios: "papers/ongaro2008/test3-orig".
    pub fn path(&self) -> String {
        format!("{PREFIX}{}/{}", self.paper.name, self.name())
    }

    /// What is done, under which configuration.
    pub fn title(&self) -> String {
        format!(
            "{}, {}: {}",
            self.test.name, self.configuration.name, self.test.title
        )
    }

    /// Name of the experiment that simulates it alone.
    pub fn experiment(&self) -> String {
        let [id, test, last] = [&self.paper.id, &self.test.name, &self.configuration.name];
        format!("{id}.{test}.{last}")
    }

    /// Names of the domains of each group that figures name.
    pub(super) fn groups(&self) -> BTreeMap<&str, Vec<String>> {
        let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (number, role) in (1..).zip(self.roles()) {
            for group in self.suite.role.get(role).iter().flat_map(|r| &r.groups) {
                groups.entry(group).or_default().push(self.guest(number));
            }
        }
        groups
    }

    /// The roles of the guests, one by one.
    fn roles(&self) -> impl Iterator<Item = &str> {
        let listed = self.configuration.guests.iter().chain(&self.test.guests);
        listed.flat_map(|entry| {
            let several = entry.rsplit_once(" x ");
            let several = several.and_then(|(role, count)| Some((role, count.parse().ok()?)));
            let (role, count) = several.unwrap_or((entry.as_str(), 1));
            std::iter::repeat_n(role, count)
        })
    }

    fn guest(&self, number: u32) -> String {
        let name = self.suite.guests.as_ref().map_or("guest", |g| &g.name);
        format!("{name}{number}")
    }

    /// The scenario's text, of the length `length`, on `machine`.
    ///
    /// # Errors
    /// When the paper's files do not say a cell.
    pub fn text(&self, length: Length, machine: &Machine) -> Result<String, String> {
        let table = self.table(length, machine)?;
        toml::to_string(&table).map_err(|e| format!("{}: {e}", self.path()))
    }

    /// The scenario.
    ///
    /// # Errors
    /// As [`PaperCell::text`], and when the text is no good scenario.
    pub fn scenario(&self, length: Length, machine: &Machine) -> Result<Scenario, String> {
        let text = self.text(length, machine)?;
        Scenario::parse(&self.path(), text.as_bytes(), &self.paper.parts)
            .map_err(|mistakes| mistakes.to_string())
    }

    fn table(&self, length: Length, machine: &Machine) -> Result<Table, String> {
        let (suite, test) = (self.suite, self.test);
        let on_machine = !suite.alone && suite.shipped.is_none();
        let mut table = Table::new();
        let title = format!("{} ({})", self.title(), self.paper.title);
        table.insert("title".to_owned(), title.into());
        if let Some(name) = &suite.shipped {
            let text = example(name).ok_or_else(|| {
                format!(
                    "suite {}: no shipped scenario is called \"{name}\"",
                    suite.name
                )
            })?;
            let mut shipped: Table = text.parse().map_err(|e| format!("{name}: {e}"))?;
            shipped.remove("title");
            merge(&mut table, &shipped);
        }
        let times = suite.times.get(&test.times).ok_or_else(|| {
            format!(
                "suite {}: there are no times \"{}\"",
                suite.name, test.times
            )
        })?;
        let (warmup, measured) = times.of(length);
        for (key, time) in [("warmup", warmup), ("duration", measured)] {
            let (key, time) = timed(key, time);
            set(&mut table, &format!("run.{key}"), time)?;
        }
        if on_machine {
            merge(&mut table, &self.paper.machine.scenario);
        }
        merge(&mut table, &suite.scenario);
        merge(&mut table, &self.guests()?);
        merge(&mut table, &test.scenario);
        merge(&mut table, &self.configuration.scenario);
        let mut workloads = match on_machine {
            true => self.paper.machine.workload.clone(),
            false => BTreeMap::new(),
        };
        if on_machine {
            for (key, value) in machine.changes() {
                let Some(key) = self.own_key(key) else {
                    continue;
                };
                match key
                    .strip_prefix("workload.")
                    .and_then(|key| key.split_once('.'))
                {
                    Some((word, key)) => {
                        let keys = workloads.entry(word.to_owned()).or_default();
                        merge(keys, &Table::from_iter([(key.to_owned(), value.clone())]));
                    }
                    None => set(&mut table, key, value.clone())?,
                }
            }
            for (key, factor) in machine.scaled() {
                scale(&mut table, key, factor);
            }
        }
        if let Length::Shortened(divisor) = length {
            shorten_work(&mut table, divisor);
        }
        complete(&mut table, &workloads);
        Ok(in_order(table))
    }

    /// `key` of a machine without the test and the configuration that it is for; nothing where
    /// those are others than the cell's.
    fn own_key<'k>(&self, mut key: &'k str) -> Option<&'k str> {
        let own = [
            ("test.", &self.test.name),
            ("configuration.", &self.configuration.name),
        ];
        for (scope, name) in own {
            if let Some(of) = key.strip_prefix(scope) {
                key = of.strip_prefix(name.as_str())?.strip_prefix('.')?;
            }
        }
        Some(key)
    }

    /// The guests, with what replications draw of them.
    fn guests(&self) -> Result<Table, String> {
        let mut domains = Vec::new();
        let mut vary = Vec::new();
        for (number, role) in (1..).zip(self.roles()) {
            let name = self.guest(number);
            let role =
                self.suite.role.get(role).ok_or_else(|| {
                    format!("test {}: there is no role \"{role}\"", self.test.name)
                })?;
            let mut domain = Table::new();
            domain.insert("name".to_owned(), name.clone().into());
            let common = self.suite.guests.as_ref();
            if let Some(common) = common {
                merge(&mut domain, &common.domain);
            }
            merge(&mut domain, &role.domain);
            domains.push(Value::Table(domain));
            let all = common.map_or(&[][..], |c| &c.vary).iter().chain(&role.vary);
            vary.extend(all.map(|one| drawn(one, &name, number)));
        }
        let mut table = Table::new();
        let lists = [("domain", domains), ("vary", vary)];
        for (key, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            table.insert(key.to_owned(), Value::Array(list));
        }
        Ok(table)
    }
}

/// An entry of `[[vary]]` for the guest called `name`.
fn drawn(vary: &VaryFile, name: &str, number: u32) -> Value {
    let time = |key: &str, first_ms: f64| {
        let ms = first_ms + vary.later_ms * f64::from(number - 1);
        timed(key, seconds(ms / 1e3))
    };
    let text = |key: &str, text: String| (key.to_owned(), Value::String(text));
    let entries = [
        text("key", format!("domain.{name}.{}", vary.key)),
        time("from", vary.from_ms),
        time("to", vary.to_ms),
        text("stream", vary.stream.replace("{name}", name)),
    ];
    Value::Table(entries.into_iter().collect())
}

/// The key `name` and its value, a time in the longest unit that takes a whole number.
fn timed(name: &str, time: Duration) -> (String, Value) {
    let ns = time.as_nanos();
    let units = [
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
    ];
    let whole = units.into_iter().find(|(_, unit)| ns.is_multiple_of(*unit));
    let (unit, length) = whole.unwrap_or(("ns", 1));
    (
        format!("{name}_{unit}"),
        Value::Integer((ns / length) as i64),
    )
}

/// The tables of domains and of their tasks.
fn with_workloads(table: &mut Table) -> impl Iterator<Item = &mut Table> {
    let domains = table.get_mut("domain").and_then(Value::as_array_mut);
    let domains = domains
        .into_iter()
        .flatten()
        .filter_map(Value::as_table_mut);
    domains.flat_map(|domain| {
        let has_own = domain.contains_key("workload");
        let tables: Vec<&mut Table> = match has_own {
            true => vec![domain],
            false => {
                let tasks = domain.get_mut("task").and_then(Value::as_array_mut);
                tasks
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_table_mut)
                    .collect()
            }
        };
        tables
    })
}

/// Gives every task the keys of its workload that it does not have itself.
fn complete(table: &mut Table, workloads: &BTreeMap<String, Table>) {
    for task in with_workloads(table) {
        let word = task.get("workload").and_then(Value::as_str);
        let Some(keys) = word.and_then(|word| workloads.get(word)) else {
            continue;
        };
        let own = task.clone();
        merge(task, keys);
        merge(task, &own);
    }
}

/// Divides the work of tasks that end.
fn shorten_work(table: &mut Table, divisor: u32) {
    for task in with_workloads(table) {
        if let Some(Value::Float(work)) = task.get_mut("work_s") {
            *work /= f64::from(divisor);
        }
    }
}

/// The tables of the scenario in the order in which one reads it.
fn in_order(mut table: Table) -> Table {
    const ORDER: [&str; 9] = [
        "title",
        "description",
        "seed",
        "run",
        "host",
        "scheduler",
        "network",
        "domain",
        "vary",
    ];
    let known = ORDER
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), table.remove(*key)?)));
    let mut ordered: Table = known.collect();
    ordered.extend(table);
    ordered
}
