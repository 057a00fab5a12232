//! Threads by id, without hashing: a page of places for each 1024 ids of which one was seen.

use domio_linux::Tid;

/// Ids that a kernel can give: `PID_MAX_LIMIT` of 64-bit kernels.
pub(super) const TID_MAX: u32 = 1 << 22;

const PAGE: usize = 1 << 10;

/// Nothing is kept of this id.
const NONE: u32 = u32::MAX;

/// Where what is known of each thread is. At most 16 MiB.
#[derive(Debug, Default)]
pub(super) struct Tids {
    pages: Vec<Option<Box<[u32; PAGE]>>>,
}

impl Tids {
    /// The place of `tid`.
    #[inline]
    pub fn get(&self, tid: Tid) -> Option<usize> {
        let (page, at) = (tid.0 as usize / PAGE, tid.0 as usize % PAGE);
        let place = self.pages.get(page)?.as_ref()?[at];
        (place != NONE).then_some(place as usize)
    }

    /// Keeps `place` for `tid`, which is below [`TID_MAX`], or forgets it.
    pub fn set(&mut self, tid: Tid, place: Option<usize>) {
        if tid.0 >= TID_MAX {
            return;
        }
        let (page, at) = (tid.0 as usize / PAGE, tid.0 as usize % PAGE);
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let page = self.pages[page].get_or_insert_with(|| Box::new([NONE; PAGE]));
        page[at] = place.map_or(NONE, |place| place as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_kept_and_forgotten() {
        let mut tids = Tids::default();
        assert_eq!(tids.get(Tid(5)), None);
        tids.set(Tid(5), Some(7));
        tids.set(Tid(TID_MAX - 1), Some(8));
        tids.set(Tid(TID_MAX), Some(9));
        let found = [5, 6, TID_MAX - 1, TID_MAX, u32::MAX].map(|tid| tids.get(Tid(tid)));
        assert_eq!(found, [Some(7), None, Some(8), None, None]);
        tids.set(Tid(5), None);
        assert_eq!(tids.get(Tid(5)), None);
    }
}
