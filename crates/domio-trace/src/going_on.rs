//! Who runs where, as far as only records that it goes on tell.

use domio_core::{PcpuId, VcpuName};

/// For each pcpu the vcpu of which [`Kind::Continue`](domio_core::Kind::Continue) is all that has
/// told that it runs there.
///
/// Such a run has no record of its end where runstates were not recorded. It is over when another
/// vcpu is on the pcpu: tell this table who is, and it says whose run that ends.
#[derive(Clone, Debug, Default)]
pub struct GoingOn {
    by_pcpu: Vec<Option<VcpuName>>,
}

impl GoingOn {
    /// Nobody goes on yet.
    pub fn new() -> Self {
        GoingOn::default()
    }

    /// `vcpu`, of which nothing else is known, goes on on `pcpu`. Returns the other vcpu whose run
    /// there is over by now.
    pub fn goes_on(&mut self, pcpu: PcpuId, vcpu: VcpuName) -> Option<VcpuName> {
        let index = pcpu.index();
        if self.by_pcpu.len() <= index {
            self.by_pcpu.resize(index + 1, None);
        }
        let before = self.by_pcpu[index].replace(vcpu);
        before.filter(|before| *before != vcpu)
    }

    /// `vcpu` is on `pcpu`, as another record tells. Returns the other vcpu whose run there is over
    /// by now.
    #[inline]
    pub fn comes(&mut self, pcpu: PcpuId, vcpu: VcpuName) -> Option<VcpuName> {
        let before = self.by_pcpu.get_mut(pcpu.index())?.take();
        before.filter(|before| *before != vcpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::DomainId;

    #[test]
    fn a_run_is_over_once_and_where_it_was() {
        let [a, b] = [1, 2].map(|domain| VcpuName::new(DomainId(domain), 0));
        let [here, there] = [PcpuId(1), PcpuId(3)];
        let mut going_on = GoingOn::new();
        assert_eq!(going_on.goes_on(here, a), None);
        assert_eq!(going_on.goes_on(here, a), None);
        assert_eq!(going_on.comes(there, b), None);
        assert_eq!(going_on.comes(here, b), Some(a));
        assert_eq!(going_on.comes(here, b), None);
        assert_eq!(going_on.goes_on(there, b), None);
        assert_eq!(going_on.goes_on(there, a), Some(b));
    }
}
