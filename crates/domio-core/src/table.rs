//! Tables by pcpu.

use crate::{MAX_PCPUS, PcpuId};
use alloc::boxed::Box;
use alloc::vec;
use core::ops::{Index, IndexMut};

/// One `T` for each pcpu of a host.
///
/// A host has at most [`MAX_PCPUS`] pcpus and policies look into such tables several times in each
/// decision, so there is room for all of them and a look needs no check: an id counts modulo
/// [`MAX_PCPUS`]. A [`CpuSet`](crate::CpuSet) refuses ids that are too high.
#[derive(Clone, Debug)]
pub struct PcpuTable<T> {
    cells: Box<[T; MAX_PCPUS]>,
    len: usize,
}

impl<T: Clone> PcpuTable<T> {
    /// A table for a host of `len` pcpus, with `value` for each.
    ///
    /// # Panics
    /// When there are more than [`MAX_PCPUS`].
    pub fn new(len: usize, value: T) -> Self {
        assert!(len <= MAX_PCPUS, "a host has at most {MAX_PCPUS} pcpus");
        let cells = vec![value; MAX_PCPUS].into_boxed_slice();
        match cells.try_into() {
            Ok(cells) => PcpuTable { cells, len },
            Err(_) => unreachable!("it was made with this length"),
        }
    }
}

impl<T> PcpuTable<T> {
    /// Number of pcpus of the host.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the host has no pcpu at all.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The pcpus of the host in ascending order.
    pub fn ids(&self) -> impl Iterator<Item = PcpuId> + use<T> {
        (0..self.len).map(|p| PcpuId(p as u16))
    }

    /// The entries of the pcpus of the host.
    pub fn iter(&self) -> core::slice::Iter<'_, T> {
        self.cells[..self.len].iter()
    }

    /// The entries of the pcpus of the host, to change them.
    pub fn iter_mut(&mut self) -> core::slice::IterMut<'_, T> {
        self.cells[..self.len].iter_mut()
    }
}

impl<T> Index<PcpuId> for PcpuTable<T> {
    type Output = T;

    #[inline]
    fn index(&self, pcpu: PcpuId) -> &T {
        &self.cells[pcpu.index() % MAX_PCPUS]
    }
}

impl<T> IndexMut<PcpuId> for PcpuTable<T> {
    #[inline]
    fn index_mut(&mut self, pcpu: PcpuId) -> &mut T {
        &mut self.cells[pcpu.index() % MAX_PCPUS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_long_as_the_host() {
        let mut table = PcpuTable::new(3, 0);
        for pcpu in table.ids() {
            table[pcpu] = pcpu.0;
        }
        assert!(table.iter().eq(&[0, 1, 2]));
        assert_eq!((table.len(), table[PcpuId(2)]), (3, 2));
        assert_eq!(table[PcpuId(255)], 0, "there is room for every pcpu");
    }

    #[test]
    #[should_panic(expected = "at most 256 pcpus")]
    fn it_has_an_end() {
        PcpuTable::new(257, ());
    }
}
