//! Keys and values as other tools have them, and what they are called here.

use crate::amount::{UNITS, split_unit};
use crate::value::{Node, Value};
use domio_core::ParamSpec;

/// Keys of `xl`, of Xen's boot options and of plain speech, and the key that is meant.
const SYNONYMS: [(&str, &str); 40] = [
    ("affinity", "pin"),
    ("cpus", "pin"),
    ("cpu", "pin"),
    ("cpu_affinity", "pin"),
    ("hard", "pin"),
    ("hard_affinity", "pin"),
    ("pcpus", "pin"),
    ("cpus_soft", "soft"),
    ("soft_affinity", "soft"),
    ("vcpu", "vcpus"),
    ("maxvcpus", "vcpus"),
    ("ncpus", "vcpus"),
    ("cpu_weight", "weight"),
    ("shares", "weight"),
    ("mcuadv", "mcu_advance"),
    ("mcu_adv", "mcu_advance"),
    ("warpvalue", "warp_value"),
    ("limit", "cap"),
    ("timeslice", "tslice_ms"),
    ("timeslice_ms", "tslice_ms"),
    ("time_slice", "tslice_ms"),
    ("time_slice_ms", "tslice_ms"),
    ("tslice", "tslice_ms"),
    ("quantum", "tslice_ms"),
    ("sched_credit_tslice_ms", "tslice_ms"),
    ("ratelimit", "ratelimit_us"),
    ("sched_ratelimit_us", "ratelimit_us"),
    ("migration_delay", "migration_delay_us"),
    ("vcpu_migration_delay", "migration_delay_us"),
    ("sched", "policy"),
    ("scheduler", "policy"),
    ("release", "version"),
    ("xen_version", "xen"),
    ("machine", "profile"),
    ("hardware", "profile"),
    ("sd", "std"),
    ("stddev", "std"),
    ("sigma", "std"),
    ("min", "low"),
    ("max", "high"),
];

/// The key that is meant by `written`, if that is one of `allowed`: those that are keys here, with
/// their units.
pub(super) fn key<'a>(written: &str, allowed: &'a [String]) -> Option<&'a str> {
    let written = written.to_ascii_lowercase();
    // `sd_ms` means `std_ms`.
    let (base, unit) = match split_unit(&written) {
        Some((base, _)) => (base, written.rsplit_once('_').map(|(_, unit)| unit)),
        None => (written.as_str(), None),
    };
    SYNONYMS.iter().find_map(|(word, meant)| {
        let with_unit = unit.map(|unit| format!("{meant}_{unit}"));
        allowed.iter().map(String::as_str).find(|key| {
            *word == written && (*key == *meant || split_unit(key).is_some_and(|k| k.0 == *meant))
                || *word == base && with_unit.as_deref() == Some(*key)
        })
    })
}

/// What there is no model of, and what to do about it.
pub(super) fn not_modelled(written: &str) -> Option<&'static str> {
    match written {
        "memory" | "maxmem" => Some("memory is not modelled: leave the key out"),
        "distribution" => Some(
            "it goes into the time that is drawn, as `burst = { distribution = \"exponential\", \
             mean_ms = 5 }`",
        ),
        _ => None,
    }
}

/// The right key with the right value for a parameter that was written in another unit:
/// `tslice_us = 5000` is `tslice_ms = 5`.
pub(super) fn other_unit(
    written: &str,
    node: &Node,
    specs: impl IntoIterator<Item = &'static ParamSpec>,
) -> Option<String> {
    let (base, given_ns) = split_unit(written)?;
    let (spec, own_ns) = specs.into_iter().find_map(|spec| {
        let (name, ns) = split_unit(spec.name)?;
        (name == base).then_some((spec, ns))
    })?;
    let (name, unit) = (spec.name, spec.unit);
    let ns = match node.value {
        Value::Int(n) => n.checked_mul(i128::from(given_ns)),
        Value::Float(f) if f.is_finite() && f.abs() < 1e12 => {
            Some((f * given_ns as f64).round() as i128)
        }
        _ => None,
    };
    Some(match ns {
        Some(ns) if ns % i128::from(own_ns) == 0 => {
            format!("write `{name} = {}`", ns / i128::from(own_ns))
        }
        Some(ns) => {
            let near = (ns as f64 / own_ns as f64).round().max(1.0);
            format!("{name} is in whole {unit}: `{name} = {near}` is the nearest")
        }
        None => {
            let (long, _) = UNITS.iter().find(|(_, ns)| *ns == own_ns)?;
            format!("write `{name}`, in {long}")
        }
    })
}

/// A number with a comma where TOML wants a point: "1,5" is 1.5.
pub(crate) fn decimal_comma(text: &str) -> Option<String> {
    let (whole, fraction) = text.trim().split_once(',')?;
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let unsigned = whole.strip_prefix('-').unwrap_or(whole);
    (digits(unsigned) && digits(fraction))
        .then(|| format!("write the fraction with a point: {whole}.{fraction}"))
}
