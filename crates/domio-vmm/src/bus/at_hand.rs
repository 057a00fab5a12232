//! Packets that driver domains have at hand, and what the policy is notified of them (Zeng 2015,
//! IV.B).
//!
//! The algorithm of the paper runs in the driver domain, whenever a packet comes or has been passed
//! on: it compares the number of packets at hand with what the hypervisor knows, and notifies the
//! hypervisor of a difference that matters. A vcpu may have packets of several models.

use alloc::vec::Vec;
use domio_contract::Dispatching;
use domio_core::VcpuName;

/// Packets of one model.
#[derive(Clone, Copy, Debug)]
struct Entry {
    device: u16,
    vcpu: VcpuName,
    packets: u32,
}

/// What is known of the packets of a vcpu.
#[derive(Clone, Copy, Debug)]
struct Known {
    vcpu: VcpuName,
    /// What the driver domain has told the hypervisor.
    known: u32,
    /// What the policy was told.
    told: u32,
    /// Whether the vcpu waits among the news.
    is_news: bool,
}

/// What driver domains have at hand.
pub struct AtHand {
    how: Dispatching,
    entries: Vec<Entry>,
    vcpus: Vec<Known>,
    /// Places in `vcpus` of which the policy is to be told.
    news: Vec<usize>,
}

impl AtHand {
    /// Nobody has packets.
    pub fn new(how: Dispatching) -> Self {
        AtHand {
            how,
            entries: Vec::new(),
            vcpus: Vec::new(),
            news: Vec::new(),
        }
    }

    /// Whether the policy is to be told at all.
    #[inline]
    pub fn is_told(&self) -> bool {
        self.how != Dispatching::Untold
    }

    /// Model `device` has so many packets for `vcpu` to pass on. Returns whether the vcpu makes a
    /// hypercall for that.
    pub fn set(&mut self, device: u16, vcpu: VcpuName, packets: u32) -> bool {
        let mut entries = self.entries.iter_mut();
        match entries.find(|e| (e.device, e.vcpu) == (device, vcpu)) {
            Some(entry) => entry.packets = packets,
            None => self.entries.push(Entry {
                device,
                vcpu,
                packets,
            }),
        }
        let own = self.entries.iter().filter(|e| e.vcpu == vcpu);
        let all = own.fold(0_u32, |sum, e| sum.saturating_add(e.packets));
        let place = self.place(vcpu);
        let Known { known, is_news, .. } = &mut self.vcpus[place];
        let differs = match self.how {
            Dispatching::Untold => false,
            Dispatching::Bit => (*known == 0 && all > 1) || (*known > 0 && all == 0),
            Dispatching::Counter => *known != all,
        };
        if differs {
            *known = all;
            if !core::mem::replace(is_news, true) {
                self.news.push(place);
            }
        }
        differs && self.how == Dispatching::Bit
    }

    /// What the policy is to be told next. A number that is what it was before is no news.
    #[inline]
    pub fn next_news(&mut self) -> Option<(VcpuName, u32)> {
        while let Some(place) = self.news.pop() {
            let known = &mut self.vcpus[place];
            known.is_news = false;
            if core::mem::replace(&mut known.told, known.known) != known.known {
                return Some((known.vcpu, known.known));
            }
        }
        None
    }

    /// Where `vcpu` is among those of which something is known.
    fn place(&mut self, vcpu: VcpuName) -> usize {
        let place = self.vcpus.iter().position(|of| of.vcpu == vcpu);
        place.unwrap_or_else(|| {
            self.vcpus.push(Known {
                vcpu,
                known: 0,
                told: 0,
                is_news: false,
            });
            self.vcpus.len() - 1
        })
    }
}
