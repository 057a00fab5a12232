//! Rows of a sweep in CSV: one a cell, replication and domain.

use super::SWITCHES;
use anyhow::{Context as _, Result};

/// A row of a guest.
#[derive(Clone, Debug)]
pub struct Row {
    pub guests: u32,
    pub replication: u32,
    /// Which switches are on, a bit each.
    pub combination: usize,
    /// Columns with their values, which are empty where nothing was measured.
    values: Vec<(String, String)>,
}

impl Row {
    /// The figure in `column`, if there is one.
    pub fn figure(&self, column: &str) -> Option<f64> {
        let found = self.values.iter().find(|(name, _)| name == column);
        found?.1.parse().ok()
    }
}

/// The rows of guests in `text`. No field of these sweeps has a comma in it.
pub fn parse(text: &str) -> Result<Vec<Row>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().context("no header")?.split(',').collect();
    let place = |name: &str| {
        let found = header.iter().position(|column| *column == name);
        found.with_context(|| format!("no column \"{name}\""))
    };
    let (guests, replication) = (place("domain.guest.count")?, place("replication")?);
    let domain = place("domain")?;
    let mut rows = Vec::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        if fields.len() != header.len() {
            anyhow::bail!("{} fields instead of {}", fields.len(), header.len());
        }
        if !fields[domain].starts_with("guest") {
            continue;
        }
        let mut combination = 0;
        for (bit, switch) in SWITCHES.iter().enumerate() {
            // A switch that the policy does not know has no column, and is off.
            if let Ok(at) = place(switch.key)
                && fields[at] != switch.values[0]
            {
                combination |= 1 << bit;
            }
        }
        let pairs = header.iter().zip(&fields);
        rows.push(Row {
            guests: fields[guests].parse().context("number of guests")?,
            replication: fields[replication].parse().context("replication")?,
            combination,
            values: pairs
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_bits() {
        let text = "cell,replication,domain.guest.count,network.netback_threads,\
                    network.small_packets,domain,net_mbps\n\
                    0,0,2,1,grants,Domain-0,\n\
                    0,0,2,1,pool,guest1,10.5\n\
                    1,1,2,4,grants,guest2,\n";
        let rows = parse(text).unwrap();
        let told: Vec<_> = rows
            .iter()
            .map(|r| (r.replication, r.combination, r.figure("net_mbps")))
            .collect();
        assert_eq!(told, [(0, 0b1000, Some(10.5)), (1, 0b0100, None)]);
        assert!(parse("cell,domain\n").is_err());
    }
}
