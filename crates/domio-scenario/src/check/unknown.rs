//! What to say about a key that does not exist where it stands.

use super::cx::Cx;
use super::fields::{Fields, base, find_key, param_specs};
use super::meant;
use crate::amount::split_unit;
use crate::parts::Parts;
use crate::suggest::{did_you_mean, nearest};
use crate::value::Entry;
use domio_contract::Policy;
use domio_core::keys::{Code, Mistake, list, quote};
use domio_core::keys::{Key, KeyParams, KeySection, Need, TOP_LEVEL};

impl Fields {
    pub(super) fn unknown(&self, cx: &mut Cx<'_>, entry: &Entry, policy: Option<&Policy>) {
        let written = entry.key.as_str();
        let place = match self.section.header {
            TOP_LEVEL => "at the top level".to_owned(),
            header => format!("in {header}"),
        };
        // With an unknown policy or workload nobody can say what its keys are.
        if self.undecided(cx, written, policy) {
            return;
        }
        if cx.problems.only_count() {
            return;
        }
        let allowed = self.allowed(cx.parts, None, policy);
        let mut message = format!("unknown key `{}` {place}", quote(written));
        let known = |key: Option<&str>| key.map(|key| format!("did you mean `{key}`?"));
        let hint = self
            .needs_unit(written)
            .or_else(|| meant::other_unit(written, &entry.node, self.specs(policy)))
            .or_else(|| known(meant::key(written, &allowed)))
            .or_else(|| {
                let (word, others) = self.other_variant(cx.parts, written)?;
                message = format!("`{}` does not belong to `{word}`", quote(written));
                Some(format!("it is a key of {others}"))
            })
            .or_else(|| {
                let (policy, others) = self.other_policy(cx, written, policy)?;
                message = format!(
                    "the policy {policy} has no parameter `{}` here",
                    quote(written)
                );
                Some(format!("{others} would"))
            })
            .or_else(|| {
                // With the same unit, so that `perod_us` is near to `period_us`.
                let unit = split_unit(written).and_then(|_| written.rsplit_once('_'));
                let mut near = self.allowed(cx.parts, unit.map(|(_, unit)| unit), policy);
                if policy.is_none() || cx.presumed {
                    near.extend(cx.parts.policies().iter().flat_map(|q| {
                        let specs = self.params_kinds().flat_map(|p| param_specs(p, Some(q)));
                        specs.map(|s| s.name.to_owned())
                    }));
                }
                did_you_mean(written, near.iter().map(String::as_str))
            })
            .or_else(|| meant::not_modelled(written).map(str::to_owned))
            .or_else(|| self.elsewhere(cx, written, policy))
            .or_else(|| self.near_elsewhere(cx, written, policy));
        cx.push(
            Mistake::new(Code::UnknownKey, entry.key_span, message)
                .key(self.key_path(written))
                .found(quote(written))
                .expected(format!(
                    "one of: {}",
                    list(allowed.iter().map(String::as_str))
                ))
                .hint_or(hint, cx.strange_key),
        );
    }

    /// Whether `written` may be a key of a policy or variant that could not be determined.
    fn undecided(&self, cx: &Cx<'_>, written: &str, policy: Option<&Policy>) -> bool {
        let of_policy = (policy.is_none() || cx.presumed)
            && self
                .params_kinds()
                .any(|p| cx.parts.policies().iter().any(|q| has_param(p, q, written)));
        let of_variant = self.variant.is_none()
            && must_select(self.section)
            && cx.parts.variants(self.section).iter().any(|v| {
                find_key(v.keys, written).is_some()
                    || cx
                        .parts
                        .policies()
                        .iter()
                        .any(|q| has_param(v.params, q, written))
            });
        of_policy || of_variant || self.of_strange_controller(cx, written)
    }

    /// Whether `written` may be a parameter of a controller whose name is wrong.
    fn of_strange_controller(&self, cx: &Cx<'_>, written: &str) -> bool {
        match self.section.params {
            KeyParams::Domain => {
                cx.known.strange_controller && !of_domain(cx.parts, written).is_empty()
            }
            KeyParams::Controller => {
                self.controlled.is_empty()
                    && cx.parts.controllers().iter().any(|e| {
                        let specs = e.descriptor.params.iter();
                        let mut specs = specs.chain([&e.descriptor.interval]);
                        specs.any(|s| s.name == written)
                    })
            }
            KeyParams::None
            | KeyParams::Policy
            | KeyParams::Vcpu
            | KeyParams::Group
            | KeyParams::Changeable => false,
        }
    }

    /// Every key that is allowed here; times in `unit` if there is one, else in their usual ones.
    fn allowed(&self, parts: &Parts, unit: Option<&str>, policy: Option<&Policy>) -> Vec<String> {
        let write = |k: &Key| match unit {
            Some(unit) if k.has_unit() => format!("{}_{unit}", k.name),
            _ => k.written(),
        };
        let own = self.variant.map_or(&[][..], |v| v.keys);
        // Nobody knows which of them a word that does not exist was to be.
        let selected = self.selected();
        let strange = self.variant.is_none() && selected.is_some();
        let any = parts.variants(self.section).into_iter().filter(|_| strange);
        let mut any: Vec<&Key> = any.flat_map(|v| v.keys).collect();
        any.sort_by_key(|k| k.name);
        any.dedup_by_key(|k| k.name);
        let params = self.specs(policy);
        self.keys
            .iter()
            .copied()
            .chain(own)
            .chain(any)
            .map(write)
            .chain(params.map(|s| s.name.to_owned()))
            .collect()
    }

    fn needs_unit(&self, written: &str) -> Option<String> {
        let own = self.variant.map_or(&[][..], |v| v.keys);
        let key = self
            .keys
            .iter()
            .copied()
            .chain(own)
            .find(|k| k.has_unit() && k.name == written)?;
        Some(format!("a time ends in its unit: `{}`", key.written()))
    }

    /// The chosen variant's word, and those that have the key.
    fn other_variant(&self, parts: &Parts, written: &str) -> Option<(String, String)> {
        let chosen = match self.variant {
            Some(v) => v.word.to_owned(),
            None => format!(
                "{} without a `{}`",
                self.section.header, self.section.selector?
            ),
        };
        let variants = parts.variants(self.section);
        let others: Vec<&str> = variants
            .iter()
            .filter(|v| {
                find_key(v.keys, written).is_some() || v.keys.iter().any(|k| k.name == written)
            })
            .map(|v| v.word)
            .collect();
        (!others.is_empty()).then(|| {
            (
                chosen,
                format!("{} {}", self.section.selector.unwrap_or(""), list(others)),
            )
        })
    }

    /// The chosen policy's name, and those that declare the parameter here.
    fn other_policy<'p>(
        &self,
        cx: &Cx<'p>,
        written: &str,
        policy: Option<&'p Policy>,
    ) -> Option<(&'p str, String)> {
        let others: Vec<&str> = cx
            .parts
            .policies()
            .iter()
            .filter(|q| self.params_kinds().any(|p| has_param(p, q, written)))
            .map(|q| q.descriptor.name)
            .collect();
        (!others.is_empty()).then(|| (policy.map_or("", |p| p.descriptor.name), list(others)))
    }

    /// The table that the key belongs to.
    fn elsewhere(&self, cx: &Cx<'_>, written: &str, policy: Option<&Policy>) -> Option<String> {
        if self.section.params == KeyParams::Domain
            && let Some(first) = of_domain(cx.parts, written).first()
        {
            let add =
                format!("it is for controllers: add [[controller]] with `name = \"{first}\"`");
            return Some(add);
        }
        cx.sections
            .iter()
            .find(|s| {
                let key = |keys: &'static [Key]| {
                    find_key(keys, written).is_some()
                        || keys
                            .iter()
                            .any(|k| k.name == base(written) && k.kind.section().is_none())
                };
                key(s.keys)
                    || cx.parts.variants(s).iter().any(|v| key(v.keys))
                    || match policy {
                        Some(q) => has_param(s.params, q, written),
                        None => cx
                            .parts
                            .policies()
                            .iter()
                            .any(|q| has_param(s.params, q, written)),
                    }
            })
            .filter(|s| s.header != self.section.header)
            .map(|s| match s.header {
                TOP_LEVEL => "it goes before the first table".to_owned(),
                header => format!("it is a key of {header}"),
            })
    }
}

impl Fields {
    /// The key of another table that the written one is nearest to.
    fn near_elsewhere(
        &self,
        cx: &Cx<'_>,
        written: &str,
        policy: Option<&Policy>,
    ) -> Option<String> {
        let names = |section: &KeySection| {
            let variants = cx.parts.variants(section).into_iter().flat_map(|v| v.keys);
            let keys = section.keys.iter().chain(variants).map(|key| key.name);
            let params = policy.map(|q| param_specs(section.params, Some(q)));
            let params = params.into_iter().flatten().map(|spec| spec.name);
            keys.chain(params).collect::<Vec<_>>()
        };
        let others = cx.sections.iter();
        let others = others.filter(|s| s.header != self.section.header);
        let all: Vec<(&str, &str)> = others
            .flat_map(|s| names(s).into_iter().map(|name| (name, s.header)))
            .collect();
        let key = nearest(written, all.iter().map(|(name, _)| *name))?;
        let (_, header) = all.iter().find(|(name, _)| *name == key)?;
        Some(match *header {
            TOP_LEVEL => format!("did you mean `{key}`, before the first table?"),
            header => format!("did you mean `{key}` of {header}?"),
        })
    }
}

/// Whether a table of `section` is not understood without one of its variants.
fn must_select(section: &KeySection) -> bool {
    let selects = |key: &&Key| Some(key.name) == section.selector;
    let selector = section.keys.iter().find(selects);
    selector.is_some_and(|key| matches!(key.need, Need::Required))
}

/// Names of the controllers that declare the parameter `written` for domains.
fn of_domain(parts: &Parts, written: &str) -> Vec<&'static str> {
    let declares = |e: &&&domio_contract::control::Entry| {
        let mut specs = e.descriptor.domain_params.iter();
        specs.any(|s| s.name == written)
    };
    let all = parts.controllers().iter().filter(declares);
    all.map(|e| e.descriptor.name).collect()
}

fn has_param(params: KeyParams, policy: &Policy, written: &str) -> bool {
    param_specs(params, Some(policy))
        .iter()
        .any(|s| s.name == written)
}
