//! Sets of pcpus as texts.

use super::{ImportError, ImportPlace};
use domio_core::cpuset::MAX_PCPUS;
use std::collections::BTreeSet;

/// The pcpus that `text` names, ascending: "0-3,6", "0-7,^2". None for "all".
///
/// # Errors
/// When the text is no such list.
pub(super) fn cpus(text: &str, place: &ImportPlace) -> Result<Option<Vec<u16>>, ImportError> {
    let text = text.trim();
    if text == "all" {
        return Ok(None);
    }
    let wrong = || {
        let last = MAX_PCPUS - 1;
        let expected = format!("pcpus from 0 to {last}, e.g. 0-3,6 or 0-7,^2");
        ImportError::wrong(place, text, expected)
    };
    let pcpu = |text: &str| {
        let n = text.trim().parse::<u16>().ok();
        n.filter(|n| usize::from(*n) < MAX_PCPUS).ok_or_else(wrong)
    };
    let mut set = BTreeSet::new();
    for part in text.split(',').map(str::trim) {
        let (range, out) = match part.strip_prefix('^') {
            Some(range) => (range, true),
            None => (part, false),
        };
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (pcpu(first)?, pcpu(last)?),
            None => (pcpu(range)?, pcpu(range)?),
        };
        if first > last {
            return Err(wrong());
        }
        for n in first..=last {
            match out {
                true => set.remove(&n),
                false => set.insert(n),
            };
        }
    }
    match set.is_empty() {
        true => Err(wrong()),
        false => Ok(Some(set.into_iter().collect())),
    }
}
