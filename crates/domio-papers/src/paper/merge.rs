//! Puts tables of a scenario on top of each other.

use toml::{Table, Value};

/// Arrays of tables that have names: an entry goes on top of the one of its name.
const NAMED: [&str; 5] = ["domain", "task", "controller", "network", "vif"];

/// Puts `top` on `base`. Tables go into each other, the members of `domain` and `task` by name;
/// `vary` and other lists of tables get longer; any other value takes the place of the one before,
/// a time that of the same time in another unit, and a workload that of the old one with all of its
/// keys.
pub fn merge(base: &mut Table, top: &Table) {
    if let (Some(old), Some(new)) = (base.get("workload"), top.get("workload"))
        && old != new
    {
        base.retain(|key, _| key == "name");
    }
    for (key, value) in top {
        match (base.get_mut(key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            (Some(Value::Array(old)), Value::Array(new)) if is_of_tables(new) => {
                for entry in new {
                    add(old, entry, NAMED.contains(&key.as_str()));
                }
            }
            (Some(old), new) => *old = new.clone(),
            (None, new) => {
                base.retain(|other, _| !is_same_time(other, key));
                base.insert(key.clone(), new.clone());
            }
        }
    }
}

fn is_of_tables(list: &[Value]) -> bool {
    list.iter().all(Value::is_table)
}

/// Adds `entry` to `list`, or puts it on the member of its name.
fn add(list: &mut Vec<Value>, entry: &Value, by_name: bool) {
    let name = |value: &Value| value.get("name").cloned();
    let own = name(entry).filter(|_| by_name);
    let same = list
        .iter_mut()
        .find(|other| own.is_some() && name(other) == own);
    match (same, entry) {
        (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
        _ => list.push(entry.clone()),
    }
}

/// The key without a unit of time, if it has one.
pub fn without_unit(key: &str) -> Option<&str> {
    let units = ["_s", "_ms", "_us", "_ns"];
    units.into_iter().find_map(|unit| key.strip_suffix(unit))
}

/// Whether two keys are one time in two units.
fn is_same_time(one: &str, other: &str) -> bool {
    one != other && without_unit(one).is_some() && without_unit(one) == without_unit(other)
}

/// Puts `value` at `path`, names joined by dots, with the tables on the way. Members of lists are
/// found by name.
///
/// # Errors
/// When something on the way is no table.
pub fn set(base: &mut Table, path: &str, value: Value) -> Result<(), String> {
    let mut names: Vec<&str> = path.split('.').collect();
    let last = names.pop().unwrap_or(path);
    let mut table = base;
    let mut names = names.into_iter();
    while let Some(name) = names.next() {
        let next = table
            .entry(name)
            .or_insert_with(|| Value::Table(Table::new()));
        table = match next {
            Value::Table(inner) => inner,
            Value::Array(list) => {
                let member = names.next().unwrap_or_default();
                let mut tables = list.iter_mut().filter_map(Value::as_table_mut);
                let named = |t: &&mut Table| t.get("name").and_then(Value::as_str) == Some(member);
                tables
                    .find(named)
                    .ok_or_else(|| format!("\"{path}\": there is no {name} \"{member}\""))?
            }
            _ => return Err(format!("\"{path}\": \"{name}\" has no keys of its own")),
        };
    }
    let top = Table::from_iter([(last.to_owned(), value)]);
    merge(table, &top);
    Ok(())
}

/// Multiplies the number at `path` by `factor`; a whole number stays whole. Nothing, where there is
/// no number.
pub fn scale(base: &mut Table, path: &str, factor: f64) {
    match found(base, path) {
        Some(Value::Integer(n)) => *n = (*n as f64 * factor).round() as i64,
        Some(Value::Float(n)) => *n *= factor,
        _ => {}
    }
}

/// The value at `path`, as [`set`] reads paths.
fn found<'t>(base: &'t mut Table, path: &str) -> Option<&'t mut Value> {
    let mut names = path.split('.');
    let mut value = base.get_mut(names.next()?)?;
    for name in names {
        value = match value {
            Value::Table(inner) => inner.get_mut(name)?,
            Value::Array(list) => {
                let named = |v: &&mut Value| v.get("name").and_then(Value::as_str) == Some(name);
                list.iter_mut().find(named)?
            }
            _ => return None,
        };
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn tables_go_into_each_other() {
        let mut base = table(
            "run.warmup_s = 2\n[[domain]]\nname = \"a\"\nworkload = \"periodic\"\nperiod_ms = 3\n\
             [[domain]]\nname = \"b\"\nstart_ms = 1\n[[vary]]\nkey = \"x\"",
        );
        merge(
            &mut base,
            &table(
                "run.warmup_ms = 5\n[[domain]]\nname = \"a\"\nworkload = \"burn\"\n\
                 [[domain]]\nname = \"c\"\n[[vary]]\nkey = \"x\"",
            ),
        );
        let wanted = table(
            "run.warmup_ms = 5\n[[domain]]\nname = \"a\"\nworkload = \"burn\"\n\
             [[domain]]\nname = \"b\"\nstart_ms = 1\n[[domain]]\nname = \"c\"\n\
             [[vary]]\nkey = \"x\"\n[[vary]]\nkey = \"x\"",
        );
        assert_eq!(base, wanted);
    }

    #[test]
    fn a_path_leads_through_tables_and_names() {
        let mut base = table("[[domain]]\nname = \"a\"\nstart_ms = 1");
        set(&mut base, "domain.a.start_us", Value::Integer(7)).unwrap();
        set(&mut base, "network.costs.bridge_us", Value::Float(1.5)).unwrap();
        let wanted = table("network.costs.bridge_us = 1.5\n[[domain]]\nname = \"a\"\nstart_us = 7");
        assert_eq!(base, wanted);
        let wrong = set(&mut base, "domain.b.start_us", Value::Integer(7));
        assert!(wrong.unwrap_err().contains("no domain \"b\""));
    }
}
