//! A sample as bytes, and back: every bit of every figure.

use domio_run::Sample;
use domio_trace::scenario_sha256;

/// The sample as bytes: values by name, then lists by name, then the bytes of tables. Numbers are
/// little-endian.
pub fn encode(sample: &Sample) -> Vec<u8> {
    let mut out = Vec::new();
    let values: Vec<(&str, f64)> = sample.values().collect();
    count(&mut out, values.len());
    for (name, value) in values {
        text(&mut out, name);
        out.extend(value.to_bits().to_le_bytes());
    }
    let lists: Vec<(&str, &[f64])> = sample.lists().collect();
    count(&mut out, lists.len());
    for (name, list) in lists {
        text(&mut out, name);
        count(&mut out, list.len());
        for value in list {
            out.extend(value.to_bits().to_le_bytes());
        }
    }
    count(&mut out, sample.tables.len());
    out.extend(&sample.tables);
    out
}

/// The sample that became `bytes`; `None` if none did.
pub fn decode(bytes: &[u8]) -> Option<Sample> {
    let mut rest = bytes;
    let mut sample = Sample::new();
    for _ in 0..take_count(&mut rest)? {
        let name = take_text(&mut rest)?;
        sample.set(name, take_value(&mut rest)?);
    }
    for _ in 0..take_count(&mut rest)? {
        let name = take_text(&mut rest)?;
        let length = take_count(&mut rest)?;
        let values = (0..length).map(|_| take_value(&mut rest));
        sample.set_list(name, values.collect::<Option<Vec<f64>>>()?);
    }
    let length = take_count(&mut rest)?;
    sample.tables = rest.to_vec();
    (rest.len() == length).then_some(sample)
}

/// Digest of a row: of the key, so that a row is not taken for another, and of the figures.
pub(super) fn digest(
    program: &str,
    fingerprint: &str,
    seed: u64,
    replication: u32,
    figures: &[u8],
) -> String {
    let mut all = Vec::new();
    text(&mut all, program);
    text(&mut all, fingerprint);
    all.extend(seed.to_le_bytes());
    all.extend(replication.to_le_bytes());
    all.extend(figures);
    scenario_sha256(&all)
}

fn count(out: &mut Vec<u8>, n: usize) {
    out.extend((n as u64).to_le_bytes());
}

fn text(out: &mut Vec<u8>, text: &str) {
    count(out, text.len());
    out.extend(text.as_bytes());
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, others) = rest.split_first_chunk()?;
    *rest = others;
    Some(*first)
}

/// A count of things that have a byte each at least, so that none is absurd.
fn take_count(rest: &mut &[u8]) -> Option<usize> {
    let n = usize::try_from(u64::from_le_bytes(take(rest)?)).ok()?;
    (n <= rest.len()).then_some(n)
}

fn take_text<'b>(rest: &mut &'b [u8]) -> Option<&'b str> {
    let length = take_count(rest)?;
    let (text, others) = rest.split_at(length);
    *rest = others;
    std::str::from_utf8(text).ok()
}

fn take_value(rest: &mut &[u8]) -> Option<f64> {
    Some(f64::from_bits(u64::from_le_bytes(take(rest)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bits(sample: &Sample) -> Vec<(String, Vec<u64>)> {
        let values = sample
            .values()
            .map(|(n, v)| (n.to_owned(), vec![v.to_bits()]));
        let lists = sample
            .lists()
            .map(|(n, l)| (n.to_owned(), l.iter().map(|v| v.to_bits()).collect()));
        values.chain(lists).collect()
    }

    proptest! {
        #[test]
        fn every_bit_comes_back(
            values in prop::collection::btree_map(".{0,9}", any::<u64>(), 0..6),
            lists in prop::collection::btree_map(
                ".{0,9}", prop::collection::vec(any::<u64>(), 0..6), 0..4),
            tables in prop::collection::vec(any::<u8>(), 0..9),
            cut in 0..400_usize,
        ) {
            let mut sample = Sample::new();
            for (name, value) in &values {
                sample.set(name, f64::from_bits(*value));
            }
            for (name, list) in &lists {
                sample.set_list(name, list.iter().map(|v| f64::from_bits(*v)).collect());
            }
            sample.tables = tables.clone();
            let bytes = encode(&sample);
            prop_assert_eq!(decode(&bytes).unwrap().tables, tables);
            prop_assert_eq!(bits(&decode(&bytes).unwrap()), bits(&sample));
            if cut < bytes.len() {
                prop_assert_eq!(decode(&bytes[..cut]), None);
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            decode(&bytes);
        }
    }
}
