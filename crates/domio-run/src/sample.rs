//! What one replication measured.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Named figures of one replication: single values and lists.
///
/// Names are words joined by dots, and say the unit last where there is one
/// ("d3.share_pct", "ping.latency_ms").
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Sample {
    #[serde(deserialize_with = "numbers::values")]
    values: BTreeMap<String, f64>,
    #[serde(deserialize_with = "numbers::lists")]
    lists: BTreeMap<String, Vec<f64>>,
    /// What else is kept, as the bytes of its rows ([`domio_answer::encode`]); empty for nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<u8>,
}

impl Sample {
    /// A sample without figures.
    pub fn new() -> Self {
        Sample::default()
    }

    /// Sets the value called `name`, and hands the sample back.
    pub fn with(mut self, name: &str, value: f64) -> Self {
        self.set(name, value);
        self
    }

    /// Sets the value called `name`.
    pub fn set(&mut self, name: &str, value: f64) {
        self.values.insert(name.to_owned(), value);
    }

    /// Sets the list called `name`: one value a domain, an interval, a request.
    pub fn set_list(&mut self, name: &str, list: Vec<f64>) {
        self.lists.insert(name.to_owned(), list);
    }

    /// The value called `name`.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }

    /// The list called `name`; empty when there is none.
    pub fn list(&self, name: &str) -> &[f64] {
        self.lists.get(name).map_or(&[], Vec::as_slice)
    }

    /// All values, by name.
    pub fn values(&self) -> impl Iterator<Item = (&str, f64)> {
        self.values
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
    }

    /// All lists, by name.
    pub fn lists(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.lists
            .iter()
            .map(|(name, list)| (name.as_str(), list.as_slice()))
    }
}

/// JSON has no numbers that are none: they are written as `null`, and read back here.
mod numbers {
    use serde::{Deserialize, Deserializer};
    use std::collections::BTreeMap;

    fn number(read: Option<f64>) -> f64 {
        read.unwrap_or(f64::NAN)
    }

    pub fn values<'d, D: Deserializer<'d>>(from: D) -> Result<BTreeMap<String, f64>, D::Error> {
        let read = BTreeMap::<String, Option<f64>>::deserialize(from)?;
        Ok(read.into_iter().map(|(n, v)| (n, number(v))).collect())
    }

    pub fn lists<'d, D: Deserializer<'d>>(from: D) -> Result<BTreeMap<String, Vec<f64>>, D::Error> {
        let read = BTreeMap::<String, Vec<Option<f64>>>::deserialize(from)?;
        let list = |list: Vec<Option<f64>>| list.into_iter().map(number).collect();
        Ok(read.into_iter().map(|(n, l)| (n, list(l))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_name() {
        let mut sample = Sample::new().with("d1.share_pct", 14.3);
        sample.set_list("rtt_ms", vec![0.2, 0.3]);
        assert_eq!(sample.get("d1.share_pct"), Some(14.3));
        assert_eq!(sample.get("d2.share_pct"), None);
        assert_eq!(sample.list("rtt_ms"), [0.2, 0.3]);
        assert!(sample.list("other").is_empty());
    }

    #[test]
    fn a_sample_is_written_and_read() {
        let mut sample = Sample::new().with("a", 0.1).with("none", f64::NAN);
        sample.set_list("l", vec![1.5, f64::NAN]);
        let text = serde_json::to_string(&sample).unwrap();
        let json = r#"{"values":{"a":0.1,"none":null},"lists":{"l":[1.5,null]}}"#;
        assert_eq!(text, json);
        let read: Sample = serde_json::from_str(&text).unwrap();
        assert_eq!(read.get("a"), Some(0.1));
        assert!(read.get("none").unwrap().is_nan() && read.list("l")[1].is_nan());
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
