//! `[network]`, vifs and network workloads: what they become, what is refused.

use crate::common::{errors, good, only, says};
use domio_core::{DomainId, Duration};
use domio_net::host::{
    FlowKind, NetCosts, NetbackForm, NetworkConfig, RxMode, StreamConfig, VifRate,
};
use domio_net::icmp::{Pace, PingConfig};
use domio_net::link::Rate;
use domio_net::nic::NicConfig;
use domio_net::tcp::Control;
use domio_net::udp::UdpConfig;
use domio_scenario::{Code, Scenario};
use domio_vmm::config::{GuestConfig, KernelCosts};
use domio_vmm::evtchn::{Abi, ScanForm, Width};
use domio_vmm::hardware::{OPTERON_242, XEN_4_17_EMULATED};

/// A host with a driver domain, a guest that receives and one that burns.
const BASE: &str = r#"
run.duration_s = 2
[host]
cores = 2
[scheduler]
policy = "credit"
[network]
queue = 1000
[[domain]]
name = "Domain-0"
[[domain]]
name = "web"
workload = "stream"
[[domain]]
name = "batch"
workload = "burn"
"#;

/// [`BASE`] with its first `from` as `to`.
pub fn change(from: &str, to: &str) -> String {
    assert!(BASE.contains(from), "{from}");
    BASE.replacen(from, to, 1)
}

fn network(text: &str) -> NetworkConfig {
    let scenario = good(text);
    let network = scenario.plan().networks().next().cloned();
    network.unwrap_or_else(|| panic!("no network:\n{text}"))
}

/// The kernels of the driver domain and of the first guest.
fn kernels(text: &str) -> [GuestConfig; 2] {
    let scenario = good(text);
    let domains = &scenario.plan().host.domains;
    [domains[0].guest, domains[1].guest]
}

#[test]
fn settings_follow_the_release_unless_they_are_given() {
    let now = network(BASE);
    assert_eq!(now.driver, DomainId(0));
    assert_eq!((now.nic, now.link.rate), (NicConfig::PLAIN, Rate::GBIT_1));
    let abi = |text: &str| kernels(text).map(|guest| guest.abi);
    assert_eq!((now.rx_mode, abi(BASE)), (RxMode::Copy, [Abi::Fifo; 2]));
    let xen_3_1 = change("cores = 2", "xen = \"3.1\"");
    let old = network(&xen_3_1);
    let two_level = |scan| Abi::TwoLevel {
        width: Width::Bits64,
        scan,
    };
    assert_eq!(old.rx_mode, RxMode::Flip);
    let form = |text: &str| network(text).netback.form;
    assert_eq!([form(BASE), form(&xen_3_1)], [NetbackForm::V3_1; 2]);
    let xen_3_0_4 = change("cores = 2", "xen = \"3.0.4\"");
    assert_eq!(form(&xen_3_0_4), NetbackForm::V3_0_4);
    assert_eq!(abi(&xen_3_0_4), [two_level(ScanForm::Nesting); 2]);
    let later = xen_3_0_4.replacen("queue = 1000", "netback = \"3.1\"", 1);
    assert_eq!(form(&later), NetbackForm::V3_1);
    assert_eq!(abi(&xen_3_1), [two_level(ScanForm::Restart); 2]);
    assert_eq!(
        abi(&change("cores = 2", "xen = \"4.1\"")),
        [two_level(ScanForm::ResumeMainline); 2]
    );
    let given = "driver = \"batch\"\nnic = \"tg3\"\nrate = \"100Mb/s\"\nlatency_ms = 1\n\
                 evtchn = \"two-level-32\"\nscan = \"round-robin\"\nrx = \"flip\"";
    // The driver domain comes first, whatever it is called.
    let text = change("queue = 1000", given).replace("Domain-0", "x");
    let text = text.replacen("[[domain]]\nname = \"batch\"\nworkload = \"burn\"\n", "", 1);
    let text = text.replacen("name = \"x\"", "name = \"batch\"\nid = 9", 1);
    let [driver, _] = abi(&text);
    let given = network(&text);
    assert_eq!((given.driver, given.rx_mode), (DomainId(9), RxMode::Flip));
    assert_eq!((given.nic, given.link.queue), (NicConfig::TG3, 1000));
    assert_eq!(given.link.rate, Rate::MBIT_100);
    assert_eq!(given.link.latency, Duration::from_millis(1));
    let (width, scan) = (Width::Bits32, ScanForm::RoundRobin);
    assert_eq!(driver, Abi::TwoLevel { width, scan });
}

#[test]
fn a_scenario_says_what_nobody_knows_of_card_and_guests() {
    let keys = "nic = \"tg3-untagged\"\nnic_bus = \"800M\"\nrx_target = 128\n\
                costs.bridge_us = 2.4\ncosts.front_release_ns = 900";
    let text = change("queue = 1000", keys);
    let given = network(&text.replacen("cores = 2", "cores = 2\nprofile = \"opteron-242\"", 1));
    let bus = Some(Rate::bits_per_second(800_000_000));
    let card = NicConfig {
        bus,
        ..NicConfig::TG3_UNTAGGED
    };
    assert_eq!(given.nic, card);
    assert!(given.vifs.iter().all(|vif| vif.rx_target == 128));
    let mut costs = NetCosts::on(&OPTERON_242);
    costs.bridge = Duration::from_nanos(2_400);
    costs.front_release = Duration::from_nanos(900);
    assert_eq!(given.costs, costs);
}

/// What a netfront wants is a state of its interface: a guest may have been up for longer than the
/// others.
#[test]
fn a_vif_says_what_its_netfront_wants() {
    let text = change("queue = 1000", "rx_target = 128");
    let two = text.replacen("\"batch\"", "\"batch\"\nvif.rx_target = 70", 1);
    let targets =
        |text: &str| -> Vec<u32> { network(text).vifs.iter().map(|vif| vif.rx_target).collect() };
    assert_eq!(targets(&text), [128]);
    assert_eq!(targets(&two), [128, 70]);
}

/// Old cards have one queue, those of today one on each vcpu of the driver domain, unless told.
#[test]
fn a_card_has_a_queue_on_each_vcpu_where_its_driver_asks_for_that() {
    let queues = |keys: &str, vcpus: u16| {
        let text = change("queue = 1000", keys);
        let text = text.replacen("\"Domain-0\"", &format!("\"Domain-0\"\nvcpus = {vcpus}"), 1);
        let card = network(&text);
        assert_eq!(card.card_vcpus, vcpus);
        card.nic.queues_on(card.card_vcpus)
    };
    for (nic, on_four) in [
        ("plain", 1),
        ("tg3", 1),
        ("tg3-untagged", 1),
        ("e1000", 1),
        ("i40e", 4),
        ("mlx5", 4),
    ] {
        let keys = format!("nic = \"{nic}\"");
        assert_eq!((queues(&keys, 4), queues(&keys, 1)), (on_four, 1), "{nic}");
        let told = format!("{keys}\ncard.queues = 2");
        assert_eq!((queues(&told, 4), queues(&told, 1)), (2, 2), "{nic}");
    }
    for bad in ["0", "129", "\"many\""] {
        let text = change("queue = 1000", &format!("card.queues = {bad}"));
        says(&only(&text), &["queues", "1 to 128"], bad);
    }
}

#[test]
fn the_profile_says_what_the_network_costs() {
    let of = |profile: &str| good(&change("cores = 2", &format!("profile = \"{profile}\"")));
    let costs = |scenario: &Scenario| {
        let network = scenario.plan().networks().next().expect("a network");
        (network.costs, scenario.plan().host.domains[1].guest.costs)
    };
    let opteron = (NetCosts::on(&OPTERON_242), KernelCosts::on(&OPTERON_242));
    let scenario = of("opteron-242");
    assert_eq!(costs(&scenario), opteron);
    assert_eq!(scenario.notices(), [""; 0]);
    let free = (NetCosts::FREE, KernelCosts::FREE);
    assert_eq!(costs(&of("ideal")), free);
    let unknown = of("xen-4.17-emulated");
    // A remote host and a card were not there when what its kernels take was measured.
    let kernels = KernelCosts::on(&XEN_4_17_EMULATED);
    assert_ne!(kernels, KernelCosts::FREE);
    assert_eq!(costs(&unknown), (NetCosts::FREE, kernels));
    let notice = "does not know what a network costs";
    assert!(
        unknown.notices()[0].contains(notice),
        "{:?}",
        unknown.notices()
    );
}

#[test]
fn workloads_become_flows_and_tasks_side_by_side() {
    let tasks = r#"
vif = { rate = "10Mb/s@20ms" }
  [[domain.task]]
  workload = "burn"
  [[domain.task]]
  name = "out"
  workload = "stream"
  direction = "out"
  send_buffer = 65536
  congestion = "bic"
  sack = "off"
  begin_ms = 7
  [[domain.task]]
  workload = "ping"
  [[domain.task]]
  workload = "ping"
  pace = "flood"
  bytes = 8
  [[domain.task]]
  workload = "ping"
  pace = "flood"
  timeout_ms = 30
  [[domain.task]]
  workload = "ping"
  pace = "interval"
  [[domain.task]]
  workload = "ping"
  pace = "interval"
  interval_ms = 5
  [[domain.task]]
  workload = "udp"
  pps = 50
  bytes = 100
"#;
    let text = change("workload = \"stream\"", tasks);
    let scenario = good(&text);
    let web = &scenario.plan().host.domains[1].vcpus[0].tasks;
    let names: Vec<&str> = web.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(
        names,
        ["burn", "stream-out"],
        "pings and what comes have no process"
    );
    let network = network(&text);
    assert_eq!(network.vifs.len(), 1);
    let vif = &network.vifs[0];
    let interval = Duration::from_millis(20);
    let rate = VifRate {
        bytes: 25_000,
        interval,
    };
    assert_eq!((vif.domain, vif.rate), (DomainId(1), Some(rate)));
    let kinds: Vec<FlowKind> = vif.flows.iter().map(|f| f.kind).collect();
    let FlowKind::StreamOut(StreamConfig { tcp, .. }) = kinds[0] else {
        panic!("{:?}", kinds[0]);
    };
    assert_eq!(tcp.send_buffer, 65_536);
    assert_eq!((tcp.control, tcp.selective), (Control::Bic, false));
    let ping = |bytes, pace| {
        FlowKind::Ping(PingConfig {
            bytes,
            pace,
            ticks: None,
        })
    };
    let rest = [
        FlowKind::Ping(PingConfig::default()),
        ping(8, Pace::Flood(Duration::from_millis(10))),
        ping(56, Pace::Flood(Duration::from_millis(30))),
        ping(56, Pace::Every(Duration::from_secs(1))),
        ping(56, Pace::Every(Duration::from_millis(5))),
        FlowKind::UdpIn(UdpConfig {
            bytes: 100,
            rate: 50,
            wake: Duration::ZERO,
            jitter: Duration::ZERO,
        }),
    ];
    assert_eq!(kinds[1..], rest);
    assert_eq!(vif.flows[0].start, Duration::from_millis(7));
}

#[test]
fn a_group_has_a_vif_each_and_one_member_may_differ() {
    let text = change("name = \"web\"", "name = \"web\"\ncount = 3");
    let scenario = good(&text);
    let changed = scenario.with(&[
        ("domain.web2.workload", "burn"),
        ("domain.web.vif.rate", "1MB/s"),
        ("network.rate", "10G"),
    ]);
    let changed = changed.unwrap_or_else(|e| panic!("{}", e.render(false)));
    let network = changed.plan().networks().next().expect("a network");
    let flows: Vec<usize> = network.vifs.iter().map(|v| v.flows.len()).collect();
    assert_eq!(flows, [1, 0, 1], "the second has a vif for its limit alone");
    assert!(
        network
            .vifs
            .iter()
            .all(|v| v.rate.is_some_and(|r| r.bytes == 50_000))
    );
    assert_eq!(network.link.rate, Rate::GBIT_10);
}

#[test]
fn without_a_vif_there_is_no_network() {
    let scenario = good(&change("workload = \"stream\"", "workload = \"burn\""));
    assert_eq!(scenario.plan().networks().count(), 0);
    let notices = scenario.notices();
    assert!(notices[0].contains("no domain has a vif"), "{notices:?}");
    let bare = change("workload = \"stream\"", "vif = {}");
    assert!(network(&bare).vifs[0].flows.is_empty());
    let late = good(&change("\"stream\"", "\"stream\"\nbegin_s = 2"));
    assert!(
        late.notices()[0].contains("after the end"),
        "{:?}",
        late.notices()
    );
    // Nothing has to be said of a network that is like all others.
    let bad = bare.replacen("queue = 1000", "driver = \"none\"", 1);
    let no_vif = bad.replacen("vif = {}", "", 1);
    assert_eq!(only(&no_vif).code, Code::UnknownName, "told without a vif");
    let like_others = change("[network]\nqueue = 1000", "");
    assert!(good(&like_others).notices()[0].starts_with("traffic takes no processor time"));
    let said = like_others.replacen("cores = 2", "cores = 2\nprofile = \"ideal\"", 1);
    assert_eq!(good(&said).notices(), [""; 0]);
}

/// A change to the base, then code, and words that the message, what was expected or the hint must
/// hold.
type Case = (&'static str, &'static str, Code, &'static [&'static str]);

static MISTAKES: &[Case] = &[
    (
        "queue = 1000",
        "nic = \"tg\"",
        Code::UnknownName,
        &["tg3, tg3-untagged, e1000", "`tg3`"],
    ),
    ("queue = 1000", "rate = 1.5", Code::WrongType, &["1G"]),
    (
        "queue = 1000",
        "rate = 10",
        Code::OutOfRange,
        &["`rate` is out of range", "1000 to"],
    ),
    (
        "queue = 1000",
        "rate = \"1T\"",
        Code::OutOfRange,
        &["`1T` is no rate", "1G"],
    ),
    (
        "queue = 1000",
        "rate = \"400001M\"",
        Code::OutOfRange,
        &["400000000000", "for example `rate = \"1G\"`"],
    ),
    (
        "queue = 1000",
        "latency = 3",
        Code::UnknownKey,
        &["ends in its unit: `latency_us`"],
    ),
    (
        "queue = 1000",
        "vif = {}",
        Code::UnknownKey,
        &["it is a key of [[domain]]"],
    ),
    (
        "queue = 1000",
        "scan = \"resume\"",
        Code::Conflict,
        &["FIFO", "two-level-64"],
    ),
    (
        "cores = 2",
        "nic = \"tg3\"",
        Code::UnknownKey,
        &["it is a key of [network]"],
    ),
    (
        "queue = 1000",
        "driver = \"bach\"",
        Code::UnknownName,
        &["no domain `bach`", "`batch`"],
    ),
    (
        "queue = 1000",
        "driver = \"web\"",
        Code::Conflict,
        &["cannot have a vif of its own", "let a domain without a vif"],
    ),
    (
        "queue = 1000",
        "driver = \"batch\"",
        Code::Conflict,
        &["web has a vif but is created before"],
    ),
    (
        "\"Domain-0\"",
        "\"control\"",
        Code::MissingKey,
        &["no driver domain", "Domain-0"],
    ),
    (
        "\"Domain-0\"",
        "\"Domain-0\"\nstop_s = 1",
        Code::Conflict,
        &["cannot be destroyed", "no `stop`", "a domain that stays"],
    ),
    (
        "\"Domain-0\"",
        "\"Domain-0\"\nstart_ms = 1",
        Code::Conflict,
        &["created before the driver"],
    ),
    (
        "\"Domain-0\"",
        "\"Domain-0\"\nworkload = \"ping\"",
        Code::Conflict,
        &["Domain-0 is the driver domain"],
    ),
    (
        "name = \"web\"",
        "name = \"web\"\nvif = 3",
        Code::WrongType,
        &["a table, [domain.vif]"],
    ),
    (
        "name = \"web\"",
        "name = \"web\"\nvif.rate = 3",
        Code::WrongType,
        &["10Mb/s@20ms"],
    ),
    (
        "name = \"web\"",
        "name = \"web\"\nvif.rate = \"3Mb\"",
        Code::OutOfRange,
        &["`3Mb` is no rate", "after `@`"],
    ),
    (
        "name = \"web\"",
        "name = \"web\"\nvif.rate = \"1Mb/s@1\"",
        Code::OutOfRange,
        &["`1` is no interval"],
    ),
    (
        "name = \"web\"",
        "name = \"web\"\nvif.rat = \"1Mb/s\"",
        Code::UnknownKey,
        &["did you mean `rate`"],
    ),
    (
        "\"stream\"",
        "\"stream\"\ndirection = \"up\"",
        Code::UnknownName,
        &["in, out", "for example `direction = \"in\"`"],
    ),
    (
        "\"stream\"",
        "\"stream\"\nreceive_buffer = 0",
        Code::OutOfRange,
        &["1 to"],
    ),
    (
        "\"stream\"",
        "\"stream\"\npps = 3",
        Code::UnknownKey,
        &["does not belong to `stream`", "workload udp"],
    ),
    (
        "\"stream\"",
        "\"udp\"",
        Code::MissingKey,
        &["`pps` is missing (workload udp needs it)"],
    ),
    (
        "\"stream\"",
        "\"udp\"\npps = 1\nbytes = 1473",
        Code::OutOfRange,
        &["0 to 1472", "for example `bytes = 1472`"],
    ),
    (
        "\"stream\"",
        "\"udp\"\npps = 1\nbytes = 0\ndirection = \"out\"",
        Code::Conflict,
        &["at least a byte", "direction = \"out\""],
    ),
    (
        "\"stream\"",
        "\"ping\"\ntimeout_ms = 3",
        Code::Conflict,
        &["ping of pace \"adaptive\" has no timeout", "flood"],
    ),
    (
        "\"stream\"",
        "\"ping\"\npace = \"flood\"\ninterval_ms = 3",
        Code::Conflict,
        &[
            "ping of pace \"flood\" has no interval",
            "pace = \"interval\"",
        ],
    ),
    (
        "workload = \"stream\"",
        "[[domain.task]]\nworkload = \"ping\"\npriority = 3",
        Code::Conflict,
        &["`priority` does not belong to `ping`", "vcpu 0"],
    ),
    (
        "workload = \"stream\"",
        "[[domain.task]]\nworkload = \"ping\"\nvcpu = \"all\"",
        Code::Conflict,
        &["`vcpu` does not belong to `ping`"],
    ),
    (
        "workload = \"stream\"",
        "[[domain.task]]\nworkload = \"udp\"\npps = 3\npriority = 3",
        Code::Conflict,
        &["`priority` does not belong to `udp` with `direction = \"in\"`"],
    ),
    (
        "workload = \"stream\"",
        "[[domain.task]]\nworkload = \"stream\"\nvcpu = \"all\"",
        Code::Conflict,
        &["a `stream` has one process", "a separate [[domain.task]]"],
    ),
    (
        "\"stream\"",
        "\"stream\"\nnetwork = \"lan\"",
        Code::UnknownName,
        &["no network `lan`", "none has a name", "[[network]]"],
    ),
];

#[test]
fn each_mistake_is_told_with_what_to_do() {
    for (from, to, code, words) in MISTAKES {
        let problem = only(&change(from, to));
        assert_eq!(problem.code, *code, "{to}: {problem:?}");
        says(&problem, words, to);
        assert!(problem.line > 1, "{to}: {problem:?}");
    }
}

#[test]
fn what_a_release_or_its_event_channels_cannot_do_is_told() {
    let old = change("cores = 2", "xen = \"4.3\"");
    let problem = only(&old.replacen("queue = 1000", "evtchn = \"fifo\"", 1));
    assert_eq!(problem.code, Code::Conflict);
    assert!(
        problem.message.contains("Xen 4.3 has no FIFO"),
        "{problem:?}"
    );
    let many = change("name = \"web\"", "name = \"web\"\ncount = 1022");
    let evtchn = "evtchn = \"two-level-32\"";
    let problem = only(&many.replacen("queue = 1000", evtchn, 1));
    assert_eq!((problem.code, &*problem.found), (Code::Limit, "1025"));
    assert!(problem.message.contains("Domain-0 needs"), "{problem:?}");
    let just = many.replacen("1022", "1021", 1);
    good(&just.replacen("queue = 1000", evtchn, 1));
    let eight = "  [[domain.task]]\n  workload = \"ping\"\n".repeat(8);
    let eight = network(&change("workload = \"stream\"\n", &eight));
    assert_eq!(eight.vifs[0].flows.len(), 8, "there is no limit for flows");
}

#[test]
fn mistakes_of_a_network_come_with_all_others() {
    let text = change("queue = 1000", "nic = \"x\"\nrate = \"y\"\ndriver = \"z\"");
    let text = text.replacen(
        "\"stream\"",
        "\"stream\"\nbegin_ms = -1\nvif.rate = \"w\"",
        1,
    );
    let text = text.replacen("duration_s = 2", "duration_s = 0", 1);
    assert_eq!(errors(&text).total(), 6, "{}", errors(&text).render(false));
}

/// Traffic inside one host: the driver domain has a process for each flow. Requests have to come
/// from outside.
#[test]
fn the_driver_domain_may_have_the_other_end_of_all_flows() {
    let text = change("queue = 1000", "other_end = \"driver\"");
    let scenario = good(&text);
    let tasks = |domain: usize| scenario.plan().host.domains[domain].vcpus[0].tasks.len();
    assert_eq!((tasks(0), tasks(1), tasks(2)), (1, 1, 1));
    let network = network(&text);
    assert!(network.local.is_some_and(|local| !local.of_linux_6));
    let asks = text.replacen("\"stream\"", "\"rr\"", 1);
    let mistake = only(&asks);
    assert_eq!(mistake.code, Code::Conflict);
}

#[test]
fn request_and_response_have_one_size() {
    let text = change("\"stream\"", "\"rr\"\nbytes = \"8K\"");
    let network = network(&text);
    let kinds: Vec<FlowKind> = network.vifs[0].flows.iter().map(|f| f.kind).collect();
    let [FlowKind::Turns(turns)] = kinds[..] else {
        panic!("{kinds:?}");
    };
    assert_eq!(turns.bytes, 8_192);
    assert_eq!(good(&text).plan().host.domains[1].vcpus[0].tasks.len(), 1);
}
