//! What a network is made of, from the keys of `[network]`.

use super::super::costs::{
    NETWORK_CARD, NETWORK_COSTS, NETWORK_WRITERS, network_card, network_costs, network_writers,
};
use super::{Driven, NetworkTable};
use crate::host::{
    FlowKind, LocalConfig, NetbackConfig, NetbackForm, NetworkConfig, OtherPorts, RxMode,
    SmallPackets, VifConfig,
};
use crate::icmp::Ticks;
use crate::link::{LinkConfig, Rate};
use crate::nic::NicConfig;
use alloc::format;
use alloc::vec::Vec;
use domio_core::keys::{Given, KeyReader, KeySection, Nested, Slot};
use domio_core::{Duration, XenVersion};

impl NetworkTable {
    /// The network; `None` when something is wrong with it.
    pub fn blueprint(&self, table: &mut KeyReader<'_>, with: Driven) -> Option<NetworkConfig> {
        let keys = &self.0;
        let mut nic = keys.nic.get()?;
        if let Some(bus) = keys.nic_bus.if_given()? {
            nic.bus = Some(Rate::bits_per_second(bus));
        }
        let (mut costs, mut writers, mut vifs) = (with.costs, with.writers, with.vifs);
        // All tables are checked, whatever is wrong with the first.
        let card = one(table, &keys.card, &NETWORK_CARD, |t| {
            network_card(t, &mut nic)
        });
        let work = one(table, &keys.costs, &NETWORK_COSTS, |t| {
            network_costs(t, &mut costs)
        });
        let processes = one(table, &keys.writers, &NETWORK_WRITERS, |t| {
            network_writers(t, &mut writers)
        });
        card.and(work).and(processes)?;
        self.remote_ticks(&mut vifs)?;
        let form = match &with.vhost {
            Some(_) => NetbackForm::VHOST,
            None => keys.netback.or(NetbackForm::of(with.version?))?,
        };
        self.one_page(table, form, &mut nic)?;
        Some(NetworkConfig {
            driver: with.driver?,
            nic,
            link: LinkConfig {
                rate: Rate::bits_per_second(keys.rate.get()?),
                latency: keys.latency.get()?,
                queue: keys.queue.get()?,
            },
            remote_gap: keys.remote_gap.get()?,
            remote_irq_latency: keys.remote_irq_latency.get()?,
            remote_writers: writers,
            costs,
            rx_mode: keys.rx.or(match with.version? < XenVersion::V4_0 {
                true => RxMode::Flip,
                false => RxMode::Copy,
            })?,
            grant_lock: with.version? < XenVersion::V4_2,
            vcpu: 0,
            card_vcpus: match &with.vhost {
                Some(threads) => (threads.card.len() as u16).max(1),
                None => with.driver_vcpus.max(1),
            },
            card_at: match &with.vhost {
                Some(threads) => threads.card.clone(),
                None => Vec::new(),
            },
            softirqs: with.vhost.as_ref().and_then(|threads| threads.softirqs),
            netback: match &with.vhost {
                Some(vhost) => NetbackConfig {
                    form,
                    kworkers: vhost.kworkers,
                    ..NetbackConfig::spread(vhost.threads)
                },
                None => self.netback(table, with.driver_vcpus, form, &vifs)?,
            },
            local: self.local(table, with.switch, &vifs)?,
            behind: Vec::new(),
            other_ports: OtherPorts {
                boot: keys.boot_ports.get()?,
                guest: keys.guest_ports.get()?,
            },
            vifs,
        })
    }

    /// The driver domain's own end of the flows of `vifs`, if it has it. Requests come from the
    /// remote host alone.
    fn local(
        &self,
        table: &mut KeyReader<'_>,
        switch: Duration,
        vifs: &[VifConfig],
    ) -> Option<Option<LocalConfig>> {
        let slot = &self.0.other_end;
        if !slot.get()? {
            return Some(None);
        }
        let mut flows = vifs.iter().flat_map(|vif| &vif.flows);
        if flows.any(|flow| flow.kind.asks()) {
            table.tell(table.keys.misplaced(slot).says(
                "the requests of `server`, `web` and `rr` come from the remote host",
                "`stream`, `udp` and `ping` alone on the network",
                "give the others a network with a remote host",
            ));
            return None;
        }
        Some(Some(LocalConfig {
            of_linux_6: false,
            ping_switch: switch,
        }))
    }

    /// How netback of a driver domain of `vcpus` vcpus is set up, which is of `form` and serves
    /// `vifs`.
    fn netback(
        &self,
        table: &mut KeyReader<'_>,
        vcpus: u16,
        form: NetbackForm,
        vifs: &[VifConfig],
    ) -> Option<NetbackConfig> {
        let keys = &self.0;
        let threads = keys.netback_threads.get()?.min(vcpus.max(1));
        let pairs = keys.netback_pairs.if_given()?.unwrap_or(threads);
        let last = vifs.iter().filter_map(|vif| vif.pair).max();
        if let Some(last) = last
            && last >= pairs
        {
            table.tell(table.keys.misplaced(&keys.netback_pairs).says(
                format!("a vif asks for pair {last}, and netback has {pairs}"),
                "more pairs than the highest `pair` of [domain.vif]",
                format!("pairs count from 0: `netback_pairs = {}`", last + 1),
            ));
            return None;
        }
        let (out, inward) = keys.small_packets.get()?;
        Some(NetbackConfig {
            threads,
            pairs,
            assign: keys.netback_assign.get()?,
            small: SmallPackets {
                out,
                inward,
                pages: keys.small_pool_pages.get()?,
            },
            form,
            kworkers: None,
        })
    }

    /// Switches off what makes frames of several pages, where netback of `form` has none.
    fn one_page(
        &self,
        table: &mut KeyReader<'_>,
        form: NetbackForm,
        nic: &mut NicConfig,
    ) -> Option<()> {
        if form.fragments {
            return Some(());
        }
        if self.0.card.given && (nic.tso || nic.gro) {
            table.tell(table.keys.misplaced(&self.0.card).says(
                "netback of Xen 3.0 takes packets of one page, and the card joins them",
                "`tso = \"off\"` and `gro = \"off\"` in [network.card]",
                "or choose a later one by `netback` of [network]",
            ));
            return None;
        }
        (nic.tso, nic.gro) = (false, false);
        Some(())
    }

    /// Gives the pings of `vifs` the ticks of the remote host's kernel, if it has any.
    fn remote_ticks(&self, vifs: &mut [VifConfig]) -> Option<()> {
        let (length, phase) = (self.0.remote_tick.get()?, self.0.remote_tick_phase.get()?);
        if length.is_zero() {
            return Some(());
        }
        for flow in vifs.iter_mut().flat_map(|vif| &mut vif.flows) {
            if let FlowKind::Ping(ping) = &mut flow.kind {
                ping.ticks = Some(Ticks { length, phase });
            }
        }
        Some(())
    }
}

/// Reads the table at `slot`, if there is one.
fn one(
    table: &mut KeyReader<'_>,
    slot: &Slot<Nested>,
    section: &'static KeySection,
    read: impl FnOnce(&dyn Given) -> Option<()>,
) -> Option<()> {
    match table.tables(slot, section).first() {
        Some(inner) => read(&**inner),
        None => Some(()),
    }
}
