//! `[[vary]]`: a scenario as one replication has it.

use crate::amount::split_unit;
use crate::plan::Vary;
use crate::problem::ScenarioErrors;
use crate::scenario::{Draft, Scenario};
use crate::value::Value;
use domio_core::Duration;
use domio_sim::random::RandomStream;
use std::borrow::Cow;

impl Vary {
    /// What replication `replication` draws with this seed.
    pub fn draw(&self, seed: u64, replication: u32) -> Duration {
        RandomStream::new(seed, replication, &self.stream).duration_uniform(self.from, self.to)
    }
}

impl Scenario {
    /// The scenario as replication `replication` has it: with what [`Plan::vary`] lists drawn from
    /// the streams of the seed and that number.
    ///
    /// [`Plan::vary`]: crate::Plan::vary
    ///
    /// # Errors
    /// When what was drawn makes no good scenario.
    pub fn replication(&self, replication: u32) -> Result<Cow<'_, Scenario>, ScenarioErrors> {
        if self.plan().vary.is_empty() {
            return Ok(Cow::Borrowed(self));
        }
        let seed = self.plan().seed;
        let drawn = self.drawn(|vary| vary.draw(seed, replication));
        drawn.map(Cow::Owned)
    }

    /// The scenario, or what is wrong with the keys that it varies.
    pub(crate) fn with_good_vary(self) -> Result<Scenario, ScenarioErrors> {
        if !self.plan().vary.is_empty() {
            self.drawn(|vary| vary.from)?;
        }
        Ok(self)
    }

    /// The scenario with the keys that it varies as `draw` says, and none to vary any more.
    fn drawn(&self, draw: impl Fn(&Vary) -> Duration) -> Result<Scenario, ScenarioErrors> {
        let mut draft = self.draft();
        if let Value::Table(root) = &mut draft.root.value {
            root.entries.retain(|entry| entry.key != "vary");
        }
        let vary = self.plan().vary.iter();
        let changes: Vec<(String, String)> = vary
            .map(|v| (format!("{}_ns", v.key), draw(v).as_nanos().to_string()))
            .collect();
        let changes: Vec<(&str, &str)> = changes
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        self.changed(draft, "[[vary]]", &changes)
    }
}

impl Draft {
    /// Takes what varies `key` out: whoever sets a key wants the value that was given.
    pub fn forget_vary(&mut self, key: &str) {
        let key = split_unit(key).map_or(key, |(base, _)| base);
        let Value::Table(root) = &mut self.root.value else {
            return;
        };
        let Some(entry) = root.get_mut("vary") else {
            return;
        };
        let Value::Array(tables) = &mut entry.node.value else {
            return;
        };
        tables.retain(|table| {
            let varied = table.as_table().and_then(|table| table.get("key"));
            varied.and_then(|entry| entry.node.as_text()) != Some(key)
        });
        if tables.is_empty() {
            root.entries.retain(|entry| entry.key != "vary");
        }
    }
}
