//! What readers of all formats gather while they read.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::report::{FileDamage, LinuxLosses, LinuxRecording};
use crate::{LinuxTask, Tasks, Tid};

/// Longest name of a thread, in bytes.
pub const COMM: usize = 16;

/// Spreads ids of threads, of which the lowest bits differ.
#[derive(Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte) ^ self.0);
        }
    }
    fn write_u32(&mut self, n: u32) {
        self.write_u64(u64::from(n));
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

/// A map from ids, without protection from chosen ids: there are as many as threads.
pub type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// The name that a thread had at a time.
struct Named {
    time: u64,
    comm: [u8; COMM],
}

/// What is gathered.
#[derive(Default)]
pub(crate) struct Known {
    pub tasks: Tasks,
    pub losses: LinuxLosses,
    pub damage: FileDamage,
    pub recording: LinuxRecording,
    names: IdMap<u32, Named>,
}

/// Whether a name says that the recorder did not know it.
fn is_unknown(comm: &[u8]) -> bool {
    comm.is_empty() || comm == b"<...>" || (comm[0] == b'<' && comm.ends_with(b">"))
}

/// The first bytes of `comm` up to a zero, with zeros behind.
#[inline]
fn cut(comm: &[u8]) -> [u8; COMM] {
    const ONES: u128 = u128::MAX / 0xff;
    let bytes = match comm.first_chunk::<COMM>() {
        Some(bytes) => *bytes,
        None => {
            let mut bytes = [0; COMM];
            bytes[..comm.len()].copy_from_slice(comm);
            bytes
        }
    };
    let word = u128::from_le_bytes(bytes);
    // The highest bit of each byte that is zero; above the lowest of these, of others as well.
    let zeros = word.wrapping_sub(ONES) & !word & (ONES << 7);
    match zeros {
        0 => bytes,
        _ => (word & ((1 << (zeros.trailing_zeros() & !7)) - 1)).to_le_bytes(),
    }
}

impl Known {
    /// As [`Known::name`], if there is a name.
    #[inline]
    pub fn name_if(&mut self, tid: Tid, time: u64, comm: Option<&[u8]>) {
        if let Some(comm) = comm {
            self.name(tid, time, comm);
        }
    }

    /// `tid` is called `comm` at `time`. Names of earlier times than a known one are left out. The
    /// idle task has no name.
    #[inline]
    pub fn name(&mut self, tid: Tid, time: u64, comm: &[u8]) {
        if tid == Tid::IDLE {
            return;
        }
        let name = cut(comm);
        if let Some(known) = self.names.get_mut(&tid.0) {
            if known.time > time {
                return;
            }
            known.time = time;
            if known.comm == name {
                return;
            }
        }
        self.rename(tid, time, name);
    }

    /// Whether a name of `tid` is known. The idle task needs none.
    #[inline]
    pub fn is_named(&self, tid: Tid) -> bool {
        tid == Tid::IDLE || self.names.contains_key(&tid.0)
    }

    #[cold]
    fn rename(&mut self, tid: Tid, time: u64, comm: [u8; COMM]) {
        let text = crate::bytes::text(&comm);
        if is_unknown(text.as_bytes()) {
            return;
        }
        self.names.insert(tid.0, Named { time, comm });
        self.tasks.update(tid, |task| task.comm = text);
    }

    /// What is known of `tid` changes, other than its name.
    pub fn change(&mut self, tid: Tid, change: impl FnOnce(&mut LinuxTask)) {
        if tid != Tid::IDLE {
            self.tasks.update(tid, change);
        }
    }

    /// `tid` belongs to `process`.
    pub fn process(&mut self, tid: Tid, process: Tid) {
        let same = |task: &LinuxTask| task.process == Some(process);
        if !self.tasks.get(tid).is_some_and(same) {
            self.change(tid, |task| task.process = Some(process));
        }
    }

    /// `tid` was made by `parent`, with the parent's control group and name.
    pub fn fork(&mut self, tid: Tid, parent: Tid, time: u64) {
        if let Some(name) = self.names.get(&parent.0).map(|n| n.comm) {
            self.name(tid, time, &name);
        }
        let cgroup = self.tasks.get(parent).and_then(|t| t.cgroup.clone());
        self.change(tid, |task| {
            task.parent = Some(parent);
            if cgroup.is_some() {
                task.cgroup = cgroup;
            }
        });
    }

    /// The file says `value` about `name`.
    pub fn note(&mut self, name: &str, value: impl Into<String>) {
        self.recording.notes.push((name.to_string(), value.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_the_first_zero() {
        let long = b"0123456789abcdefgh";
        for length in 0..=long.len() {
            let comm = &long[..length];
            let mut expected = [0; COMM];
            let kept = length.min(COMM);
            expected[..kept].copy_from_slice(&comm[..kept]);
            assert_eq!(cut(comm), expected);
            for end in 0..kept {
                let mut garbage = comm.to_vec();
                garbage[end] = 0;
                // A byte of 1 above a zero borrows, and one of 0x80 has the highest bit.
                garbage[end + 1..].fill(1 + 0x7f * (end as u8 & 1));
                let mut expected = expected;
                expected[end..].fill(0);
                assert_eq!(cut(&garbage), expected, "{garbage:?}");
            }
        }
    }
}
