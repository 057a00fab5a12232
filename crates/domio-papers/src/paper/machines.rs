//! Machines: the one that a paper's files describe, and others that its unknowns allow.

use super::merge::without_unit;
use domio_sim::random::RandomStream;
use toml::Value;

/// A machine: what it changes in the scenario of the paper's central one.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Machine {
    changes: Vec<(String, Value)>,
    scaled: Vec<(String, f64)>,
}

impl Machine {
    /// The central machine, which changes nothing.
    pub fn central() -> Self {
        Machine::default()
    }

    /// The central machine with other values at some keys: paths in the scenario, or
    /// `workload.WORD.KEY`.
    pub fn with(changes: Vec<(String, Value)>) -> Self {
        Machine {
            changes,
            scaled: Vec::new(),
        }
    }

    /// The central machine with `values` for the first of `unknowns`, in their order.
    pub fn of(unknowns: &[Unknown], values: &[Value]) -> Self {
        let pairs = || unknowns.iter().zip(values);
        Machine {
            changes: pairs().flat_map(|(u, value)| u.changes(value)).collect(),
            scaled: pairs().flat_map(|(u, value)| u.scaled(value)).collect(),
        }
    }

    /// Keys whose values are multiplied by a factor in the cells that have them.
    pub fn scaled(&self) -> impl Iterator<Item = (&str, f64)> {
        self.scaled
            .iter()
            .map(|(key, factor)| (key.as_str(), *factor))
    }

    /// Keys and their values.
    pub fn changes(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.changes
            .iter()
            .map(|(key, value)| (key.as_str(), value))
    }
}

/// A figure that the paper does not say, with the values that it may have.
#[derive(Clone, PartialEq, Debug)]
pub struct Unknown {
    /// Name for people.
    pub name: String,
    /// Keys that take its value.
    pub keys: Vec<String>,
    /// Keys that grow and shrink in proportion to it in the cells that have them: the slice of a
    /// reservation with its period.
    pub in_proportion: Vec<String>,
    /// The value of the central machine.
    pub central: Value,
    /// What it may be.
    pub range: UnknownRange,
    /// Where that comes from.
    pub source: String,
}

/// The values that an unknown may have.
#[derive(Clone, PartialEq, Debug)]
pub enum UnknownRange {
    /// Any value between two, each equally likely.
    Linear(f64, f64),
    /// Any value between two, each order of magnitude equally likely.
    Log(f64, f64),
    /// One of these, each equally likely. A table gives each of its keys a value.
    Choices(Vec<Value>),
}

impl Unknown {
    /// Why its values do not go together.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        match &self.range {
            UnknownRange::Choices(choices) if !choices.contains(&self.central) => {
                return Err("`central` has to be one of the `choices`");
            }
            UnknownRange::Linear(from, to) | UnknownRange::Log(from, to)
                if !number(&self.central).is_some_and(|n| (from..=to).contains(&&n)) =>
            {
                return Err("`central` has to be from `from` to `to`");
            }
            _ => {}
        }
        if !self.in_proportion.is_empty() && !self.is_of_positive_numbers() {
            return Err("keys `in_proportion` need values that are numbers over zero");
        }
        let tables = |value: &Value| value.is_table();
        let of_tables = matches!(&self.range, UnknownRange::Choices(c) if c.iter().all(tables));
        match self.keys.is_empty() == of_tables {
            true => Ok(()),
            false => Err("expected `keys`, or `choices` that are tables of keys and values"),
        }
    }

    fn is_of_positive_numbers(&self) -> bool {
        let positive = |value: &Value| number(value).is_some_and(|n| n > 0.0);
        let range = match &self.range {
            UnknownRange::Linear(from, _) | UnknownRange::Log(from, _) => *from > 0.0,
            UnknownRange::Choices(choices) => choices.iter().all(positive),
        };
        range && positive(&self.central)
    }

    /// The value at `place`, from 0 to below 1, of the range.
    pub fn at(&self, place: f64) -> Value {
        match &self.range {
            UnknownRange::Linear(from, to) => self.shaped(from + place * (to - from)),
            UnknownRange::Log(from, to) => {
                let (from, to) = (from.ln(), to.ln());
                self.shaped((from + place * (to - from)).exp())
            }
            UnknownRange::Choices(choices) => {
                let index = (place * choices.len() as f64) as usize;
                choices[index.min(choices.len() - 1)].clone()
            }
        }
    }

    /// `value` as a whole number where the central value is one, and with three digits behind the
    /// point otherwise, which are nanoseconds where it is in microseconds.
    fn shaped(&self, value: f64) -> Value {
        match self.central {
            Value::Integer(_) => Value::Integer(value.round() as i64),
            _ => Value::Float((value * 1e3).round() / 1e3),
        }
    }

    /// What `value` changes: keys and their values.
    pub fn changes(&self, value: &Value) -> Vec<(String, Value)> {
        match value {
            Value::Table(table) if self.keys.is_empty() => flat("", table),
            _ => self
                .keys
                .iter()
                .map(|key| (key.clone(), value.clone()))
                .collect(),
        }
    }

    /// What `value` scales: keys and their factors.
    fn scaled(&self, value: &Value) -> Vec<(String, f64)> {
        let (Some(value), Some(central)) = (number(value), number(&self.central)) else {
            return Vec::new();
        };
        let keys = self.in_proportion.iter();
        keys.map(|key| (key.clone(), value / central)).collect()
    }

    /// The range for people.
    pub fn range_shown(&self) -> String {
        match &self.range {
            UnknownRange::Linear(from, to) | UnknownRange::Log(from, to) => {
                let [from, to] = [*from, *to].map(|end| self.shown(&self.shaped(end)));
                format!("{from} to {to}")
            }
            UnknownRange::Choices(choices) => {
                let shown = choices.iter().map(|choice| self.shown(choice));
                shown.collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// `value` for people: with the unit of the keys.
    pub fn shown(&self, value: &Value) -> String {
        let unit = self.keys.first().and_then(|key| {
            let name = without_unit(key)?;
            Some(&key[name.len() + 1..])
        });
        let shown = match value {
            Value::String(text) => text.clone(),
            Value::Table(table) => {
                let parts = flat("", table).into_iter().map(|(key, value)| {
                    let last = key.rsplit('.').next().unwrap_or(&key).to_owned();
                    format!("{last} {}", plain(&value))
                });
                parts.collect::<Vec<_>>().join(", ")
            }
            other => plain(other),
        };
        match unit {
            Some(unit) => format!("{shown} {unit}"),
            None => shown,
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(i) => Some(*i as f64),
        Value::Float(f) => Some(*f),
        _ => None,
    }
}

/// Paths and values of a table of tables.
fn flat(prefix: &str, table: &toml::Table) -> Vec<(String, Value)> {
    let entries = table.iter().flat_map(|(key, value)| {
        let path = match prefix {
            "" => key.clone(),
            _ => format!("{prefix}.{key}"),
        };
        match value {
            Value::Table(inner) => flat(&path, inner),
            other => vec![(path, other.clone())],
        }
    });
    entries.collect()
}

/// A machine that was drawn, with the value of each unknown.
#[derive(Clone, PartialEq, Debug)]
pub struct DrawnMachine {
    /// By unknown.
    pub values: Vec<Value>,
    /// What it changes.
    pub machine: Machine,
}

/// `count` machines by Latin hypercube: each range is cut into as many parts of equal probability,
/// and each part is drawn from once. Streams are those of `seed`.
pub fn draw(unknowns: &[Unknown], count: u32, seed: u64) -> Vec<DrawnMachine> {
    let n = count as usize;
    let columns: Vec<Vec<Value>> = unknowns
        .iter()
        .map(|unknown| {
            let stream = format!("laboratory/machines/{}", unknown.name);
            let mut random = RandomStream::new(seed, 0, &stream);
            let mut parts: Vec<usize> = (0..n).collect();
            // Fisher and Yates.
            for last in (1..n).rev() {
                parts.swap(last, random.below(last as u64 + 1) as usize);
            }
            let place = |part: usize, random: &mut RandomStream| {
                (part as f64 + random.below(1 << 32) as f64 / 4_294_967_296.0) / n as f64
            };
            parts
                .into_iter()
                .map(|part| unknown.at(place(part, &mut random)))
                .collect()
        })
        .collect();
    (0..n)
        .map(|i| {
            let values: Vec<Value> = columns.iter().map(|column| column[i].clone()).collect();
            DrawnMachine {
                machine: Machine::of(unknowns, &values),
                values,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folders;
    use crate::paper::{Length, Paper};

    fn ongaro() -> Paper {
        Paper::read(&folders::find("ongaro2008").unwrap()).unwrap()
    }

    /// A longer period of dom0 leaves its share as it is, in each cell.
    #[test]
    fn a_slice_grows_with_its_period() {
        let paper = Paper::read(&folders::find("gupta2006").unwrap()).unwrap();
        let unknowns = &paper.unknowns;
        let period = unknowns.iter().position(|u| !u.in_proportion.is_empty());
        let mut values: Vec<Value> = unknowns.iter().map(|u| u.central.clone()).collect();
        values[period.unwrap()] = Value::Integer(1_000_000);
        let slow = Machine::of(unknowns, &values);
        for (cell, central, scaled) in [
            ("table2-without", 12_000, 600_000),
            ("fig6-r200-sedf", 8_000, 400_000),
        ] {
            let cell = paper.cell(cell).unwrap();
            let dom0 = |machine: &Machine| {
                let text = cell.text(Length::Shortened(1), machine).unwrap();
                let table: toml::Table = text.parse().unwrap();
                let domains = table["domain"].as_array().unwrap();
                let dom0 = domains.iter().find(|d| d["name"].as_str() == Some("dom0"));
                let dom0 = dom0.unwrap();
                [&dom0["period_us"], &dom0["slice_us"]].map(|v| v.as_integer().unwrap())
            };
            assert_eq!(dom0(&Machine::central()), [20_000, central]);
            assert_eq!(dom0(&slow), [1_000_000, scaled]);
        }
    }

    /// What the central machine says of its unknowns is what it is.
    #[test]
    fn central_values_are_the_machines() {
        let paper = ongaro();
        let cell = paper.cell("test7-orig").unwrap();
        let plan = |machine: &Machine| {
            let scenario = cell.scenario(Length::Shortened(1), machine).unwrap();
            format!("{:?}", scenario.plan())
        };
        let central = plan(&Machine::central());
        assert!(paper.unknowns.len() > 9);
        for unknown in &paper.unknowns {
            let same = Machine::with(unknown.changes(&unknown.central));
            assert!(plan(&same) == central, "{}", unknown.name);
            let ends = [0.0, 0.999_999].map(|place| {
                let value = unknown.at(place);
                plan(&Machine::with(unknown.changes(&value)))
            });
            assert!(ends[0] != ends[1], "{} changes nothing", unknown.name);
        }
    }

    #[test]
    fn a_latin_hypercube_has_one_machine_in_each_part() {
        let paper = ongaro();
        let (n, of) = (20, |name: &str| {
            paper.unknowns.iter().position(|u| u.name == name).unwrap()
        });
        let machines = draw(&paper.unknowns, n, 1);
        assert_eq!(machines, draw(&paper.unknowns, n, 1));
        assert_ne!(machines, draw(&paper.unknowns, n, 2));
        let line = of("line");
        let mut parts: Vec<u32> = machines
            .iter()
            .map(|m| {
                let us = m.values[line].as_integer().unwrap() as f64;
                (((us - 20.0) / 60.0 * f64::from(n)) as u32).min(n - 1)
            })
            .collect();
        parts.sort_unstable();
        parts.dedup();
        // Rounding to microseconds moves some to the next part.
        assert!(parts.len() > 14, "{parts:?}");
        let words = of("port words");
        let narrow = machines
            .iter()
            .filter(|m| m.values[words].as_str() == Some("two-level-32"));
        assert_eq!(narrow.count(), 10, "half of them");
    }

    #[test]
    fn a_range_is_checked() {
        let told = |text: &str| {
            let text = format!("[[unknown]]\nname = \"u\"\nsource = \"s\"\n{text}");
            let read = super::super::read::machine("machine.toml", &text);
            read.err()
                .map(|mistakes| mistakes.to_string())
                .unwrap_or_default()
        };
        let keys = "keys = [\"network.latency_us\"]\n";
        assert_eq!(told(&format!("{keys}central = 2\nfrom = 1\nto = 3")), "");
        assert!(told(&format!("{keys}central = 2\nfrom = 3\nto = 1")).contains("below"));
        assert!(told(&format!("{keys}central = 4\nfrom = 1\nto = 3")).contains("central"));
        assert!(told(&format!("{keys}central = 2\nchoices = [1, 3]")).contains("choices"));
        assert!(told("central = 2\nfrom = 1\nto = 3").contains("keys"));
        assert!(told(&format!("{keys}central = nan\nfrom = 1\nto = 3")).contains("central"));
        assert!(told(&format!("{keys}central = 2007-01-01\nchoices = [1]")).contains("a date"));
        assert!(told("central = { \"a b\" = \"\\u007f\" }\nchoices = [1]").contains("choices"));
        let with = format!("{keys}in_proportion = [\"network.queue\"]\ncentral = 2\n");
        assert_eq!(told(&format!("{with}from = 1\nto = 3")), "");
        assert!(told(&format!("{with}from = 0\nto = 3")).contains("in_proportion"));
        let log = format!("{keys}central = 2\nfrom = 0\nto = 3\nscale = \"log\"");
        assert!(told(&log).contains("over zero"));
    }
}
