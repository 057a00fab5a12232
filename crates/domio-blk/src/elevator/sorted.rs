//! Requests in order of their first sector.

use super::request::{RequestId, Requests};
use alloc::vec::Vec;

/// Requests in order of their first sectors.
///
/// A vector: queues are short (192 requests of a direction at most), and the vector keeps its room.
#[derive(Clone, Default, Debug)]
pub struct Sorted(Vec<(u64, RequestId)>);

impl Sorted {
    /// Puts a request at its sector.
    ///
    /// # Errors
    /// The request that starts at the same sector; nothing changes then.
    pub fn insert(&mut self, requests: &mut Requests, id: RequestId) -> Result<(), RequestId> {
        let key = requests[id].sector;
        match self.0.binary_search_by_key(&key, |(other, _)| *other) {
            Ok(at) => Err(self.0[at].1),
            Err(at) => {
                self.0.insert(at, (key, id));
                requests[id].key = key;
                Ok(())
            }
        }
    }

    /// Puts a request at its sector, behind others that start there.
    pub fn insert_behind(&mut self, requests: &mut Requests, id: RequestId) {
        let key = requests[id].sector;
        let at = self.0.partition_point(|(other, _)| *other <= key);
        self.0.insert(at, (key, id));
        requests[id].key = key;
    }

    /// Takes a request out, also one that has grown in front since.
    pub fn remove(&mut self, requests: &Requests, id: RequestId) {
        let at = self.at(requests, id);
        self.0.remove(at);
    }

    /// The request that starts at `sector`: the first of several.
    pub fn find(&self, sector: u64) -> Option<RequestId> {
        let at = self.0.partition_point(|(other, _)| *other < sector);
        let (key, id) = self.0.get(at)?;
        (*key == sector).then_some(*id)
    }

    /// The first request.
    pub fn first(&self) -> Option<RequestId> {
        self.0.first().map(|(_, id)| *id)
    }

    /// The request behind `id`.
    pub fn next(&self, requests: &Requests, id: RequestId) -> Option<RequestId> {
        let at = self.at(requests, id);
        self.0.get(at + 1).map(|(_, id)| *id)
    }

    /// The request before `id`.
    pub fn prev(&self, requests: &Requests, id: RequestId) -> Option<RequestId> {
        let at = self.at(requests, id).checked_sub(1)?;
        Some(self.0[at].1)
    }

    /// What a sweep weighs against each other once `id` is gone: the request behind, or the first
    /// one at the end; and the request before.
    pub fn around(
        &self,
        requests: &Requests,
        id: RequestId,
    ) -> (Option<RequestId>, Option<RequestId>) {
        let wrapped = || self.first().filter(|first| *first != id);
        let next = self.next(requests, id).or_else(wrapped);
        (next, self.prev(requests, id))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn at(&self, requests: &Requests, id: RequestId) -> usize {
        let key = requests[id].key;
        let first = self.0.partition_point(|(other, _)| *other < key);
        let same = self.0[first..]
            .iter()
            .take_while(|(other, _)| *other == key);
        let among = same.map(|(_, other)| *other).position(|other| other == id);
        first + among.unwrap_or_else(|| panic!("{id:?} is not sorted"))
    }
}
