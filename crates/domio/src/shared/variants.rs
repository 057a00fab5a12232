//! What `domio compare` compares: scenarios under policies and settings, and recordings.
//!
//! Every scenario is run under every policy and with every setting. A key of `--set` that is given
//! once holds for all; keys that are given several times go in step: the first values of all of
//! them make the first setting, the second ones the second.

use crate::args::{Compare, How};
use crate::input;
use crate::out;
use crate::shared::choice::Choice;
use crate::shared::host;
use anyhow::{Context, anyhow, bail};
use domio_contract::Policy;
use domio_core::DomainId;
use domio_front::hosts;
use domio_meter::Meter;
use domio_run::simulate::domains;
use domio_run::{Sample, driver_work, measure};
use domio_scenario::{Built, Parts, Scenario};
use domio_trace::{Format, ReadOptions, TraceReader};
use std::path::{Path, PathBuf};

/// One row of a comparison.
pub struct Variant {
    /// What it is called.
    pub label: String,
    /// Scenario or recording, as the command line has it.
    pub source: String,
    /// What the command line changed in the scenario, as `key = value`.
    pub changes: Vec<String>,
    /// What to know of it beside the notices of its scenario.
    pub notices: Vec<String>,
    /// What its figures come from.
    pub what: What,
}

/// What the figures of a variant come from.
pub enum What {
    /// A host to simulate.
    Host(Box<(Scenario, Built)>),
    /// A trace that was measured.
    Recording(Recording),
}

/// A measured trace.
pub struct Recording {
    /// Its figures.
    pub sample: Sample,
    /// Ids and names of its domains.
    pub domains: Vec<(DomainId, String)>,
    /// That of its file.
    pub format: Format,
}

impl Variant {
    /// The host, unless it is a recording.
    pub fn host(&self) -> Option<&(Scenario, Built)> {
        match &self.what {
            What::Host(host) => Some(host),
            What::Recording(_) => None,
        }
    }

    /// Ids and names of its domains.
    pub fn domains(&self) -> Vec<(DomainId, String)> {
        match &self.what {
            What::Host(host) => domains(&host.1),
            What::Recording(recording) => recording.domains.clone(),
        }
    }

    /// Name of its policy, unless it is a recording.
    pub fn policy(&self) -> Option<&'static str> {
        self.host().map(|(_, built)| built.policy.descriptor.name)
    }

    /// What its scenario tells.
    pub fn told(&self) -> Vec<String> {
        let host = self.host().into_iter();
        host.flat_map(|(scenario, built)| hosts::notices(scenario, built))
            .cloned()
            .collect()
    }

    /// Files that it reads.
    pub fn inputs(&self) -> Vec<(&'static str, PathBuf)> {
        match &self.what {
            What::Host(host) => host::inputs(&host.0),
            What::Recording(_) => vec![("the recording", PathBuf::from(&self.source))],
        }
    }
}

/// Every variant that `args` ask for, at least two.
///
/// # Errors
/// Whatever is wrong with a scenario, a policy, a setting or a recording; when there is nothing to
/// compare with; when labels are too few or too many.
pub fn all(args: &Compare, parts: &Parts) -> anyhow::Result<Vec<Variant>> {
    let choices = args.policies.iter();
    let choices =
        choices.map(|text| Choice::parse(text, parts).map(|choice| (text.as_str(), choice)));
    let choices: Vec<(&str, Choice)> = choices.collect::<anyhow::Result<_>>()?;
    let settings = settings(&args.how.set)?;
    let recorded: Vec<bool> = args
        .scenarios
        .iter()
        .map(|s| input::is_trace(Path::new(s)))
        .collect();
    let mut variants = Vec::new();
    for (source, _) in args.scenarios.iter().zip(&recorded).filter(|(_, r)| !**r) {
        let several = args.scenarios.len() > 1;
        for choice in options(&choices) {
            for setting in &settings {
                let policies: Vec<&Policy> = choices.iter().map(|(_, c)| &c.policy).collect();
                let own = choice.map(|(_, c)| c);
                let (how, notices) = how_of(own, &policies, &args.how, &setting.keys);
                let spec = choice.map(|(text, _)| *text);
                let scenario = host::read(source, &how, spec, parts)?;
                let built = hosts::build(&scenario)?;
                let mut words = Vec::new();
                words.extend(several.then(|| short(source)));
                let many = choices.len() > 1 || choices.iter().any(|(_, c)| !c.params.is_empty());
                words.extend(spec.filter(|_| many).map(str::to_owned));
                words.extend(setting.label.clone());
                if words.is_empty() {
                    words.push(spec.map_or_else(|| short(source), str::to_owned));
                }
                variants.push(Variant {
                    label: words.join(" "),
                    source: source.clone(),
                    changes: scenario.overrides().map(str::to_owned).collect(),
                    notices,
                    what: What::Host(Box::new((scenario, built))),
                });
            }
        }
    }
    // Names of domains that a recording does not say are those of the scenario beside it.
    let names = variants.first().map_or_else(Vec::new, Variant::domains);
    let mut place = 0;
    for (source, recorded) in args.scenarios.iter().zip(recorded) {
        if !recorded {
            place += choices.len().max(1) * settings.len();
            continue;
        }
        let variant = Variant {
            label: short(source),
            source: source.clone(),
            changes: Vec::new(),
            notices: Vec::new(),
            what: What::Recording(measured(source, args.cpu_hz, &names, parts)?),
        };
        variants.insert(place, variant);
        place += 1;
    }
    if variants.len() < 2 {
        bail!(
            "there is nothing to compare with; give a second --policy, a second value of a --set, \
             or a second scenario or recording"
        );
    }
    let counts = |v: &Variant| {
        let What::Recording(recording) = &v.what else {
            return false;
        };
        recording.format != Format::Own
    };
    if args.cpu_hz.is_some() && !variants.iter().any(counts) {
        bail!(
            "--cpu-hz is of xentrace files, and none of {} is one; leave it out",
            args.scenarios.join(", ")
        );
    }
    name_all(&mut variants, &args.labels)?;
    Ok(variants)
}

/// The choices, or one that leaves the scenario's policy as it is.
fn options<'c, 't>(choices: &'c [(&'t str, Choice)]) -> Vec<Option<&'c (&'t str, Choice)>> {
    match choices.is_empty() {
        true => vec![None],
        false => choices.iter().map(Some).collect(),
    }
}

/// Values for the keys of `--set`.
#[derive(Debug)]
struct Setting {
    keys: Vec<(String, String)>,
    /// The keys that have several values, with this one's; `None` without any.
    label: Option<String>,
}

fn settings(set: &[(String, String)]) -> anyhow::Result<Vec<Setting>> {
    let mut keys: Vec<(&str, Vec<&str>)> = Vec::new();
    for (key, value) in set {
        match keys.iter_mut().find(|(k, _)| k == key) {
            Some((_, values)) => values.push(value),
            None => keys.push((key, vec![value])),
        }
    }
    let mut several = keys.iter().filter(|(_, values)| values.len() > 1);
    let count = several.next().map_or(1, |(_, values)| values.len());
    if let Some((key, values)) = several.find(|(_, values)| values.len() != count) {
        let (first, _) = keys
            .iter()
            .find(|(_, v)| v.len() == count)
            .unwrap_or(&keys[0]);
        bail!(
            "--set {first} has {count} values and --set {key} has {}; keys with several values go \
             in step, so give both as many, or one of them a single value",
            values.len()
        );
    }
    let setting = |n: usize| {
        let value = |values: &[&str]| values.get(n).or(values.first()).map(|v| (*v).to_owned());
        let pairs = keys.iter();
        let pairs = pairs.filter_map(|(key, v)| Some(((*key).to_owned(), value(v)?)));
        let changing = keys.iter().filter(|(_, values)| values.len() > 1);
        let label = changing.filter_map(|(key, v)| Some(format!("{key}={}", value(v)?)));
        let label: Vec<String> = label.collect();
        Setting {
            keys: pairs.collect(),
            label: (!label.is_empty()).then(|| label.join(" ")),
        }
    };
    Ok((0..count).map(setting).collect())
}

/// How one policy is run: with `keys`, but without parameters that another policy has and it has
/// not, of which the second part of the answer tells.
fn how_of(
    own: Option<&Choice>,
    all: &[&Policy],
    how: &How,
    keys: &[(String, String)],
) -> (How, Vec<String>) {
    let mut how = how.clone();
    how.set = keys.to_vec();
    let mut notices = Vec::new();
    let Some(own) = own else {
        return (how, notices);
    };
    how.set.retain(|(key, _)| {
        let param = key.rsplit('.').next().unwrap_or(key);
        let strange = !has(&own.policy, key, param) && all.iter().any(|p| has(p, key, param));
        if strange {
            let name = own.name();
            notices.push(format!(
                "--set {key} is left out, {name} has no such parameter"
            ));
        }
        !strange
    });
    (how, notices)
}

/// What is to be known of `variants` before they are measured.
pub fn notices(variants: &[Variant]) -> Vec<String> {
    let mut notices = merged(variants, |index| variants[index].told());
    // These name the policy.
    for own in variants.iter().flat_map(|v| &v.notices) {
        if !notices.contains(own) {
            notices.push(own.clone());
        }
    }
    notices
}

/// What `told` says of `variants`, in the order of the first that each is said of, and once each.
/// What does not hold for all of them names those that it holds for.
pub fn merged(variants: &[Variant], told: impl Fn(usize) -> Vec<String>) -> Vec<String> {
    let mut merged: Vec<(String, Vec<&str>)> = Vec::new();
    for (index, variant) in variants.iter().enumerate() {
        for notice in told(index) {
            let label = variant.label.as_str();
            match merged.iter_mut().find(|(text, _)| *text == notice) {
                Some((_, labels)) if labels.contains(&label) => {}
                Some((_, labels)) => labels.push(label),
                None => merged.push((notice, vec![label])),
            }
        }
    }
    let hosts = variants.iter().filter(|v| v.host().is_some()).count();
    let merged = merged.into_iter().map(|(text, labels)| match labels.len() {
        n if n >= hosts => text,
        _ => format!("{}: {text}", labels.join(", ")),
    });
    merged.collect()
}

/// Whether `key` sets parameter `param` of `policy`.
fn has(policy: &Policy, key: &str, param: &str) -> bool {
    let descriptor = policy.descriptor;
    let specs = match key.starts_with("scheduler.") {
        true => descriptor.params,
        false => descriptor.domain_params,
    };
    specs.iter().any(|spec| spec.name == param)
}

/// The last part of a path, without its ending.
fn short(source: &str) -> String {
    let path = Path::new(source);
    if input::is_stdin(path) {
        return input::STDIN_NAME.to_owned();
    }
    let stem = path.file_stem().and_then(|s| s.to_str());
    stem.unwrap_or(source).to_owned()
}

/// Gives the variants `labels`, or distinguishes those that are called the same.
fn name_all(variants: &mut [Variant], labels: &[String]) -> anyhow::Result<()> {
    if !labels.is_empty() && labels.len() != variants.len() {
        let own: Vec<&str> = variants.iter().map(|v| v.label.as_str()).collect();
        bail!(
            "{} variants are compared ({}), but --label is given {} times; give it once for each, \
             in that order",
            own.len(),
            own.join(", "),
            labels.len()
        );
    }
    for (variant, label) in variants.iter_mut().zip(labels) {
        variant.label.clone_from(label);
    }
    for i in 1..variants.len() {
        let (before, rest) = variants.split_at_mut(i);
        let label = rest[0].label.clone();
        let is_taken = |name: &str| before.iter().any(|v| v.label == name);
        let numbered = (2..).map(|n| format!("{label} ({n})"));
        let mut names = [label.clone()].into_iter().chain(numbered);
        rest[0].label = names.find(|n| !is_taken(n)).unwrap_or(label);
    }
    Ok(())
}

/// The trace `source`, measured as a simulation is. `names` are those of domains by their ids, for
/// formats that do not tell them.
fn measured(
    source: &str,
    tsc_hz: Option<u64>,
    names: &[(DomainId, String)],
    parts: &Parts,
) -> anyhow::Result<Recording> {
    let context = || format!("cannot read the recording {source}");
    let options = ReadOptions {
        tsc_hz,
        classes: parts.classes(),
        ..ReadOptions::default()
    };
    let file = input::trace(Path::new(source)).with_context(context)?;
    let mut reader = TraceReader::new(file, &options).with_context(context)?;
    let mut meter = Meter::new();
    match reader.copy_to(&mut meter) {
        Ok(_) => {}
        Err(error) if error.is_truncation() && error.records > 0 => {
            out::message(&format!("warning: {source}: {error}; using what is there"));
        }
        Err(error) => return Err(anyhow::Error::new(error).context(context())),
    }
    if let Some(skipped) = reader.skipped() {
        out::message(&format!("warning: {source}: {skipped}"));
    }
    let header = reader.header().cloned();
    if header.is_none() && tsc_hz.is_none() {
        let hz = reader.tsc_hz();
        out::notice(&format!(
            "{source}: times are as of a clock of {hz} Hz; give that of the host with \
             --cpu-hz"
        ));
    }
    let summary = meter.finish();
    if !summary.runstates {
        return Err(anyhow!(
            "{source} has no records of runstates; record with `xentrace -e 0x0002f000`"
        ));
    }
    let name = |id: DomainId| {
        let told = header.as_ref().and_then(|h| h.domain_name(id.0));
        let known = names.iter().find(|(other, _)| *other == id);
        let known = known.map(|(_, name)| name.clone());
        told.map(str::to_owned)
            .or(known)
            .unwrap_or_else(|| format!("d{}", id.0))
    };
    let ids = summary.domains.iter().map(|d| d.id);
    let domains = ids.filter(|id| *id != DomainId::IDLE);
    let domains: Vec<(DomainId, String)> = domains.map(|id| (id, name(id))).collect();
    let mut sample = measure::sample(&summary, &domains);
    driver_work::note(&mut sample, &summary);
    Ok(Recording {
        sample,
        domains,
        format: reader.format(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(set: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        set.iter().map(owned).collect()
    }

    #[test]
    fn keys_with_several_values_go_in_step() {
        let set = pairs(&[("a", "0"), ("b", "x"), ("a", "1"), ("c", "7"), ("b", "y")]);
        let settings = settings(&set).unwrap();
        let labels: Vec<_> = settings.iter().map(|s| s.label.as_deref()).collect();
        assert_eq!(labels, [Some("a=0 b=x"), Some("a=1 b=y")]);
        assert_eq!(
            settings[1].keys,
            pairs(&[("a", "1"), ("b", "y"), ("c", "7")])
        );
    }

    #[test]
    fn one_value_each_is_one_setting() {
        let settings = settings(&pairs(&[("a", "0"), ("b", "x")])).unwrap();
        assert_eq!((settings.len(), &settings[0].label), (1, &None));
        assert_eq!(super::settings(&[]).unwrap().len(), 1);
    }

    #[test]
    fn uneven_numbers_of_values_are_refused() {
        let set = pairs(&[("a", "0"), ("a", "1"), ("b", "1"), ("b", "2"), ("b", "3")]);
        let error = settings(&set).unwrap_err().to_string();
        assert!(
            error.starts_with("--set a has 2 values and --set b has 3"),
            "{error}"
        );
    }
}
