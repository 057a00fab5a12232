//! Pages that netback transfers, in lumps, and what a guest pays for them; the way into idle.
//!
//! All costs are zero but those of each test, on a hypervisor that takes no time.

use crate::site::*;
use crate::told::{Kind, Record, Records};
use domio_core::{DomainId, Duration, Instant, Runstate, VcpuName};
use domio_net::class::NetPlace;
use domio_net::host::{FlowKind, NetCosts, NetbackConfig, NetbackForm, NetworkConfig, RxMode};
use domio_net::icmp::{Pace, PingConfig};
use domio_net::nic::{Coalesce, NicConfig};
use domio_vmm::Profile;
use domio_vmm::config::{KernelCosts, Workload};
use domio_vmm::evtchn::Abi;

/// Guest 1, to which `rate` datagrams of 1,000 bytes come in a second. The card tells of `together`
/// at a time.
fn records(costs: NetCosts, rx_mode: RxMode, rate: (u32, u16), time: u64) -> Records {
    of_form(NetbackForm::V3_1, costs, rx_mode, rate, time)
}

/// The same with a netback of `form`.
fn of_form(
    form: NetbackForm,
    costs: NetCosts,
    rx_mode: RxMode,
    (rate, together): (u32, u16),
    time: u64,
) -> Records {
    let nic = NicConfig {
        rx: Coalesce::since_first(ms(5), together),
        ..NicConfig::TG3
    };
    let cards = [NetworkConfig {
        nic,
        costs,
        rx_mode,
        netback: NetbackConfig {
            form,
            ..NetbackConfig::ONE
        },
        remote_irq_latency: Duration::ZERO,
        ..card(0, vec![vif(1, &[udp_in(rate)])])
    }];
    let mut domains: Vec<_> = (0..2).map(|id| domain(id, 1)).collect();
    for domain in &mut domains {
        domain.guest.costs = KernelCosts::FREE;
        domain.guest.tick = None;
    }
    equip(&cards, &mut domains);
    let mut host = host(2, CREDIT_3_1, domains);
    host.profile = Profile::IDEAL;
    let mut simulation = simulation(&host, CREDIT_3_1, &cards, Records::default());
    run(&mut simulation, 0, time);
    simulation.into_sink()
}

/// When packets go from one place to another.
fn moves(records: &[Record], from: NetPlace, to: NetPlace) -> Vec<Instant> {
    let moved = records.iter().filter(|r| r.places() == Some((from, to)));
    moved.map(|r| r.at).collect()
}

/// 5 packets come at a time, each 50 us. 3 us for the hypercall and 2 for each page are spent
/// before the first of them goes up; 1 us each follows, the first one's before it goes on.
#[test]
fn pages_of_all_packets_are_mapped_before_the_first_goes_up() {
    let costs = NetCosts {
        front_remap_call: us(3),
        front_remap: us(2),
        front_rx: us(1),
        ..NetCosts::FREE
    };
    for (mode, lump) in [(RxMode::Flip, 13), (RxMode::Copy, 0)] {
        let records = records(costs, mode, (100_000, 5), 200);
        let came = moves(&records, NetPlace::DriverIn, NetPlace::RxRing);
        let taken = moves(&records, NetPlace::RxRing, NetPlace::GuestIn);
        let batches = came.chunks_exact(5).zip(taken.chunks_exact(5));
        assert!(batches.len() > 1_000);
        for (came, taken) in batches.skip(20) {
            assert!(came.iter().all(|at| *at == came[0]), "{came:?}");
            let after = |n: usize| taken[n].since(came[0]);
            assert_eq!([0, 1, 4].map(after), [0, 1, 4].map(|n| us(lump + n)));
        }
    }
}

/// A guest posts buffers when 32 of its 64 are missing: after 35 packets, where 5 come at a time.
/// 7 us for the hypercall and 2 for each buffer, before the guest takes more packets.
#[test]
fn buffers_are_posted_in_lumps() {
    let costs = NetCosts {
        front_release_call: us(7),
        front_release: us(1),
        front_refill: us(1),
        ..NetCosts::FREE
    };
    for (mode, lump) in [(RxMode::Flip, 7 + 2 * 35_u64), (RxMode::Copy, 35)] {
        let records = records(costs, mode, (100_000, 5), 200);
        let came = moves(&records, NetPlace::DriverIn, NetPlace::RxRing);
        let taken = moves(&records, NetPlace::RxRing, NetPlace::GuestIn);
        // Packets come each 50 us; one that waits longer than a moment waits for a lump.
        let waits = came
            .iter()
            .zip(&taken)
            .map(|(came, taken)| taken.since(*came));
        let longest = waits.clone().max().expect("packets come");
        assert_eq!(longest, us(lump.saturating_sub(50)));
        let late = waits.skip(1_000).take(7_000).filter(|wait| !wait.is_zero());
        assert_eq!(late.count(), if lump > 50 { 7_000 / 7 } else { 0 });
    }
}

/// The card tells of 40 packets at a time. All are copied, 1 us each, before the first page is
/// transferred, as softirqs go before tasklets. The batch then flushes the TLB once, and gets new
/// pages for each 64.
#[test]
fn all_packets_of_the_card_are_copied_before_the_first_is_transferred() {
    let mut costs = NetCosts {
        back_queue: us(1),
        back_flush: us(4),
        back_pages: us(30),
        ..NetCosts::FREE
    };
    costs.grants.hypercall = us(2);
    let records = records(costs, RxMode::Flip, (10_000, 40), 400);
    let left = moves(&records, NetPlace::Card, NetPlace::DriverIn);
    let came = moves(&records, NetPlace::DriverIn, NetPlace::RxRing);
    let mut lumps = 0_usize;
    for (left, came) in left.chunks_exact(40).zip(came.chunks_exact(40)).skip(2) {
        // From the first packet's begin: 40 us, the hypercall, the flush, and pages or none.
        let after = came[39].since(left[0]);
        assert!(came[0] == came[39], "one batch");
        match after {
            after if after == us(40 + 2 + 4) => {}
            after if after == us(40 + 2 + 4 + 30) => lumps += 1,
            other => panic!("{other}"),
        }
    }
    let batches = came.len() / 40 - 2;
    // 40 of each 64 pages are used by a batch: five in eight get new ones.
    let expected = batches * 40 / 64;
    assert!(lumps.abs_diff(expected) <= 1, "{lumps} of {batches}");
}

/// Nothing costs but flushes. Datagrams leave one at a time, each with a batch of its own.
#[test]
fn each_batch_that_is_unmapped_flushes_the_tlb() {
    let costs = NetCosts {
        back_unmap_flush: us(5),
        back_flush: us(100),
        ..NetCosts::FREE
    };
    let cards = [NetworkConfig {
        costs,
        rx_mode: RxMode::Flip,
        ..card(0, vec![vif(1, &[udp_out(1_000)])])
    }];
    let mut domains: Vec<_> = (0..2).map(|id| domain(id, 1)).collect();
    for domain in &mut domains {
        domain.guest.costs = KernelCosts::FREE;
        domain.guest.tick = None;
    }
    equip(&cards, &mut domains);
    let mut host = host(2, CREDIT_3_1, domains);
    host.profile = Profile::IDEAL;
    let mut simulation = simulation(&host, CREDIT_3_1, &cards, Records::default());
    run(&mut simulation, 0, 400);
    let records = simulation.into_sink();
    let left = moves(&records, NetPlace::TxRing, NetPlace::DriverOut).len();
    let driver = runs(&records, VcpuName::new(DomainId(0), 0));
    let flushes: Vec<&Duration> = driver.iter().filter(|ran| !ran.is_zero()).collect();
    assert!(left > 300, "{left}");
    assert!(flushes.iter().all(|ran| **ran == us(5)), "{flushes:?}");
    assert!(
        flushes.len().abs_diff(left) <= 1,
        "{} of {left}",
        flushes.len()
    );
}

/// Each KiB that is copied takes 10 us. Pages that the card has filled are transferred as they are
/// by a netback of Xen 3.0, and those of a guest by none.
#[test]
fn netback_of_3_0_copies_foreign_packets_alone() {
    let costs = NetCosts {
        copy_kib: us(10),
        ..NetCosts::FREE
    };
    let forms = [NetbackForm::V3_0, NetbackForm::V3_1];
    let [old, new] = forms.map(|form| {
        let records = of_form(form, costs, RxMode::Flip, (10_000, 1), 100);
        let left = moves(&records, NetPlace::Card, NetPlace::DriverIn);
        let came = moves(&records, NetPlace::DriverIn, NetPlace::RxRing);
        assert!(came.len() > 500);
        came[500].since(left[500])
    });
    // 1,000 bytes with their headers.
    assert_eq!(old, Duration::ZERO);
    assert!((us(10)..us(11)).contains(&new), "{new}");
    let [old, new] = forms.map(|form| {
        let config = PingConfig {
            pace: Pace::Every(ms(10)),
            ..PingConfig::default()
        };
        let flows = [vec![FlowKind::PingGuest(config, 1)], vec![]];
        let vifs = (1..).zip(&flows).map(|(id, flows)| vif(id, flows));
        let cards = [NetworkConfig {
            costs,
            rx_mode: RxMode::Flip,
            netback: NetbackConfig {
                form,
                ..NetbackConfig::ONE
            },
            ..card(0, vifs.collect())
        }];
        let domains = (0..3).map(|id| domain(id, 1)).collect();
        let records = after(200, 3, domains, &cards).into_sink();
        moves(&records, NetPlace::DriverIn, NetPlace::RxRing)
    });
    assert!(
        old.len() > 20 && old == new,
        "{} and {}",
        old.len(),
        new.len()
    );
}

/// A guest that wakes each 10 ms executes for 2 us before it blocks, and for the upcall's 3 us.
#[test]
fn a_kernel_takes_its_time_to_go_idle() {
    for (idle, expected) in [(0, 3), (2, 5)] {
        let mut domains: Vec<_> = (0..2).map(|id| domain(id, 1)).collect();
        domains[1].guest.tick = None;
        domains[1].guest.abi = Abi::Fifo;
        domains[1].guest.costs = KernelCosts {
            idle: us(idle),
            timer_irq: us(3),
            ..KernelCosts::FREE
        };
        domains[1] = with(
            domains[1].clone(),
            0,
            Workload::Periodic {
                period: ms(10),
                phase: ms(5),
                burst: domio_vmm::config::Distribution::Constant(us(100)),
            },
        );
        let cards = [card(0, vec![vif(1, &[])])];
        let mut host = host(2, CREDIT_3_1, domains);
        host.profile = Profile::IDEAL;
        let mut simulation = simulation(&host, CREDIT_3_1, &cards, Records::default());
        run(&mut simulation, 0, 200);
        let vcpu = VcpuName::new(DomainId(1), 0);
        let records: Records = simulation.into_sink();
        let ran = runs(&records, vcpu);
        assert!(ran.len() > 15, "{ran:?}");
        let whole = us(100 + expected);
        assert!(ran.iter().skip(3).all(|time| *time == whole), "{ran:?}");
    }
}

/// How long `vcpu` ran each time.
fn runs(records: &[Record], vcpu: VcpuName) -> Vec<Duration> {
    let mut since = None;
    let mut runs = Vec::new();
    for record in records.iter().filter(|r| r.is(Kind::Switch)) {
        if record.other == Some(vcpu) {
            since = Some(record.at);
        } else if record.vcpu == vcpu && record.left_to() != Some(Runstate::Running) {
            runs.extend(since.take().map(|since| record.at.since(since)));
        }
    }
    runs
}
