//! A policy as the command line names it: `credit`, or `credit:ratelimit_us=0,tslice_ms=5`.

use crate::shared::registered;
use anyhow::{anyhow, bail};
use domio_contract::Policy;
use domio_core::{ParamKind, ParamSpec, ParamValues, XenVersion};
use domio_scenario::Parts;

/// A policy with values for some of its parameters.
#[derive(Clone)]
pub struct Choice {
    /// The policy.
    pub policy: Policy,
    /// Parameters that are not at their defaults, as they were written.
    pub params: Vec<(String, String)>,
}

impl Choice {
    /// Reads `text`, which names one of the policies of `parts`.
    ///
    /// # Errors
    /// When there is no such policy, or something after the colon is no `PARAMETER=VALUE`.
    pub fn parse(text: &str, parts: &Parts) -> anyhow::Result<Self> {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        let policy = registered::policy(name, parts)?;
        let param = |part: &str| match part.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
                Ok((key.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(anyhow!(
                "\"{part}\" after \"{name}:\" is no PARAMETER=VALUE; write for instance \
                 credit:ratelimit_us=0,tslice_ms=5"
            )),
        };
        let params = rest.map_or(Ok(Vec::new()), |rest| {
            let parts = rest.split(',');
            parts.map(param).collect::<anyhow::Result<Vec<_>>>()
        })?;
        Ok(Choice { policy, params })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.policy.descriptor.name
    }

    /// What it changes in a scenario, as keys and values.
    pub fn changes(&self) -> Vec<(String, String)> {
        let policy = ("scheduler.policy".to_owned(), self.name().to_owned());
        let params = self.params.iter();
        let params = params.map(|(key, value)| (format!("scheduler.{key}"), value.clone()));
        [policy].into_iter().chain(params).collect()
    }

    /// Its parameters, as it is made without a scenario.
    ///
    /// # Errors
    /// With what was expected of a parameter that does not exist or has a bad value.
    pub fn values(&self) -> anyhow::Result<ParamValues> {
        let name = self.name();
        let specs = self.policy.descriptor.params;
        let mut values = ParamValues::defaults(specs);
        for (key, text) in &self.params {
            let Some(spec) = specs.iter().find(|s| s.name == key) else {
                bail!(
                    "{name} has no parameter \"{key}\"; `domio policy show {name}` lists them all"
                );
            };
            let value = number(spec, text).filter(|v| spec.allows(*v));
            let Some(value) = value else {
                let (range, unit) = (spec.range(), spec.unit);
                bail!("{key} of {name} is \"{text}\"; expected {range} {unit}");
            };
            values.set(key, value)?;
        }
        (self.policy.validate)(&values).map_err(|conflict| anyhow!("{conflict}"))?;
        Ok(values)
    }
}

/// What `text` stands for as a value of `spec`.
fn number(spec: &ParamSpec, text: &str) -> Option<i64> {
    match spec.kind {
        ParamKind::Int { .. } => text.parse().ok(),
        ParamKind::Flag => text.parse::<bool>().ok().map(i64::from),
        ParamKind::Choice(words) => {
            let release = XenVersion::of_release(text).map(XenVersion::name);
            let release = release.filter(|_| spec.name == "version");
            let of = |word: &str| words.iter().position(|w| *w == word);
            of(text).or_else(|| of(release?)).map(|i| i as i64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> anyhow::Result<Choice> {
        Choice::parse(text, &domio_sched::policies().into())
    }

    #[test]
    fn parameters_follow_a_colon() {
        let choice = parse("credit:ratelimit_us=0, tslice_ms=5").unwrap();
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            choice.changes(),
            [
                pair("scheduler.policy", "credit"),
                pair("scheduler.ratelimit_us", "0"),
                pair("scheduler.tslice_ms", "5")
            ]
        );
        let values = choice.values().unwrap();
        assert_eq!(values.by_name("tslice_ms"), Some(5));
        let point = parse("credit:version=4.12.3").unwrap().values().unwrap();
        let same = parse("credit:version=4.12").unwrap().values().unwrap();
        assert_eq!(point.by_name("version"), same.by_name("version"));
        assert!(parse("null").unwrap().params.is_empty());
    }

    #[test]
    fn what_is_wrong_is_told() {
        let refuses = |text: &str, words: &str| {
            let result = parse(text).and_then(|c| c.values());
            let error = result.expect_err(text).to_string();
            assert!(error.contains(words), "{error}");
        };
        refuses("credit:ratelimit_us", "write for instance");
        refuses("credit:banana=1", "no parameter \"banana\"");
        refuses("credit:tslice_ms=0", "expected 1 to 1000 ms");
        refuses(
            "credit:tslice_ms=1,ratelimit_us=5000",
            "longer than the time slice",
        );
        refuses("credit3", "no policy is called \"credit3\"");
    }
}
