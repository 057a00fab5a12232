//! ShareGuard on a host: what its keys become and what is refused, what it sees and sets, and that
//! traffic comes back without it.

use crate::common::{only, parse, says};
use domio_contract::control::accounting::SendWeight;
use domio_contract::control::{
    Adjustment, Answers, Change, Controller, Descriptor, DomainSeen, Observation, Traffic,
};
use domio_control::share_guard::ShareGuard;
use domio_core::{DomainId, Duration, Instant, NullSink, ParamValues};
use domio_run::Replication;
use domio_scenario::{Built, Code, DeviceModel, NoReplay, Scenario};
use domio_vmm::bus::Device as _;
use domio_vmm::config::Accounting;
use std::cell::{Cell, RefCell};
use std::fmt;

/// An observation, and what was answered.
#[derive(Clone)]
pub struct Look {
    pub now: Instant,
    pub since: Instant,
    pub domains: Vec<DomainSeen>,
    pub set: Vec<(DomainId, Traffic)>,
}

impl Look {
    pub fn length(&self) -> Duration {
        self.now.since(self.since)
    }

    pub fn of(&self, id: DomainId) -> &DomainSeen {
        let found = self.domains.iter().find(|d| d.id == id);
        found.expect("the domain is there")
    }
}

thread_local! {
    static LOOKS: RefCell<Vec<Look>> = const { RefCell::new(Vec::new()) };
    /// After so many observations the controller answers no more, as one that has crashed.
    static CRASHES: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// ShareGuard, with somebody who takes down what it sees and does.
struct Watched(ShareGuard);

impl Controller for Watched {
    fn descriptor(&self) -> &'static Descriptor {
        self.0.descriptor()
    }

    fn set_domain(&mut self, domain: DomainId, params: &ParamValues) {
        self.0.set_domain(domain, params);
    }

    fn observe(&mut self, seen: &Observation<'_>, answers: &mut Answers) {
        if LOOKS.with_borrow(Vec::len) < CRASHES.get() {
            self.0.observe(seen, answers);
        }
        let set = answers.list().iter().map(|answer| match answer {
            Adjustment::Domain {
                domain,
                change: Change::Traffic(traffic),
            } => (*domain, *traffic),
            other => panic!("{other}"),
        });
        let look = Look {
            now: seen.now,
            since: seen.since,
            domains: seen.domains.to_vec(),
            set: set.collect(),
        };
        LOOKS.with_borrow_mut(|looks| looks.push(look));
    }

    fn dump(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.0.dump(out)
    }
}

fn good(text: &str) -> Scenario {
    parse(text).unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)))
}

type Host = Replication<'static, NullSink>;

/// The host of a scenario, at its begin, with its ShareGuard watched.
fn start(text: &str, crashes: usize) -> (Built, Host) {
    let mut built = good(text).build(&NoReplay).expect("nothing is replayed");
    for controller in &mut built.host.controllers {
        controller.entry.make = |params| Box::new(Watched(ShareGuard::new(params)));
    }
    LOOKS.take();
    CRASHES.set(crashes);
    let host = Replication::new(&built, 0, NullSink);
    (built, host)
}

fn run(host: &mut Host, until: Instant) {
    host.until(until).unwrap_or_else(|fault| panic!("{fault}"));
}

/// What ShareGuard sees and does in the whole of a scenario.
pub fn looks(text: &str, crashes: usize) -> Vec<Look> {
    let (built, mut host) = start(text, crashes);
    run(&mut host, Instant::ZERO + built.warmup + built.duration);
    LOOKS.take()
}

/// Domain-0 with a pcpu of its own, a controller, a sender, and a guest that is no concern of it.
const BASE: &str = r#"
run.duration_s = 3
[host]
profile = "opteron-242"
xen = "3.1"
cores = 3
[scheduler]
policy = "credit"
version = "3.1"
[network]
nic = "tg3"
[[controller]]
name = "share-guard"
interval_ms = 100
[[domain]]
name = "Domain-0"
vcpus = 2
[[domain]]
name = "bulk"
driver_limit_percent = 5
  [[domain.task]]
  workload = "udp"
  direction = "out"
  pps = 20000
  bytes = 500
[[domain]]
name = "web"
  [[domain.task]]
  workload = "udp"
  pps = 5000
  bytes = 500
[[domain]]
name = "compute"
workload = "burn"
"#;

const BULK: DomainId = DomainId(1);
const WEB: DomainId = DomainId(2);

fn change(changes: &[(&str, &str)]) -> String {
    let mut text = BASE.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    text
}

#[test]
fn its_keys_are_parameters_and_the_way_of_accounting() {
    let scenario = good(BASE);
    assert_eq!(scenario.notices(), [""; 0]);
    let controller = &scenario.plan().host.controllers[0];
    assert_eq!(controller.accounting, Accounting::Exact);
    let limits = controller.domain_params.iter();
    let limits: Vec<_> = limits
        .map(|(id, params)| (*id, params.by_name("driver_limit_percent").unwrap()))
        .collect();
    assert_eq!(limits, [(BULK, 5)]);
    let keys = "100\nform = \"graded\"\ndefence = \"printed\"\naccounting = \"packets\"";
    let counted = good(&change(&[("100", keys)]));
    let controller = &counted.plan().host.controllers[0];
    let weight = SendWeight::GUPTA_SYSTEM_1;
    assert_eq!(controller.accounting, Accounting::Packets(weight));
    let params = |name| controller.params.by_name(name);
    assert_eq!((params("form"), params("defence")), (Some(2), Some(1)));
    let weighted = format!("{keys}\nsend_weight_thousandths = 1160");
    let weighted = good(&change(&[("100", &weighted)]));
    let accounting = weighted.plan().host.controllers[0].accounting;
    assert_eq!(accounting, Accounting::Packets(SendWeight(1_160)));
}

/// Changes of the text, the code of the mistake, and what is told.
type Mistake = (
    &'static [(&'static str, &'static str)],
    Code,
    &'static [&'static str],
);

#[test]
fn limits_that_cannot_be_kept_and_other_mistakes_are_told() {
    let cases: &[Mistake] = &[
        (
            &[("percent = 5", "percent = 200")],
            Code::OutOfRange,
            &[
                "a limit of 200 % is not below all that Domain-0 may have",
                "1 to 199",
            ],
        ),
        (
            &[("vcpus = 2", "cap = 40"), ("percent = 5", "percent = 40")],
            Code::OutOfRange,
            &["not below", "1 to 39, or 0", "larger cap"],
        ),
        (
            &[("_ms = 100", "_ms = 100\ndriver_limit_percent = 250")],
            Code::OutOfRange,
            &["250 %"],
        ),
        (
            &[("percent = 5", "percent = -5")],
            Code::OutOfRange,
            &["-5", "1 to 10000"],
        ),
        (
            &[("_ms = 100", "_ms = 0")],
            Code::OutOfRange,
            &["10 to 60000"],
        ),
        (
            &[("_ms = 100", "_ms = -100")],
            Code::OutOfRange,
            &["10 to 60000"],
        ),
        (
            &[("_ms = 100", "_ms = 100\nform = \"dropp\"")],
            Code::UnknownName,
            &["drop", "hold", "graded"],
        ),
        (
            &[("_ms = 100", "_ms = 100\nsend_weight_thousandths = 0")],
            Code::OutOfRange,
            &["1 to 1000000"],
        ),
        (
            &[(
                "name = \"share-guard\"\ninterval_ms = 100",
                "name = \"cap-follows-demand\"",
            )],
            Code::UnknownKey,
            &["driver_limit_percent"],
        ),
    ];
    for (changes, code, words) in cases {
        let problem = only(&change(changes));
        assert_eq!(problem.code, *code, "{changes:?}: {problem:?}");
        says(&problem, words, &format!("{changes:?}"));
    }
    let errors = good(BASE).with(&[("domain.blk.driver_limit_percent", "3")]);
    let errors = errors.map(|_| ()).unwrap_err();
    assert!(
        errors.render(false).contains("bulk"),
        "{}",
        errors.render(false)
    );
}

#[test]
fn limits_that_do_nothing_are_noticed() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (
            &[("driver_limit_percent = 5\n", "")],
            "no guest has a `driver_limit_percent`",
        ),
        (
            &[("\"burn\"", "\"burn\"\ndriver_limit_percent = 3")],
            "compute has no vif",
        ),
        (
            &[("vcpus = 2", "vcpus = 2\ndriver_limit_percent = 3")],
            "Domain-0 has a card",
        ),
        (
            &[("_ms = 100", "_ms = 100\nsend_weight_thousandths = 900")],
            "does nothing without",
        ),
    ];
    for (changes, words) in cases {
        let scenario = good(&change(changes));
        let notices = scenario.notices();
        let told = notices.iter().any(|notice| notice.contains(words));
        assert!(told, "{words}: {notices:?}");
    }
}

/// 10,000 packets a second take Domain-0 more than 5 % of a pcpu: an interval is free, and then as
/// many are not as make the average 5 %.
#[test]
fn a_sender_over_its_limit_is_stopped_until_it_complies() {
    for (form, loses) in [("drop", true), ("hold", false)] {
        let form_key = format!("_ms = 100\nform = \"{form}\"");
        let text = change(&[("_ms = 100", &form_key), ("pps = 20000", "pps = 10000")]);
        let looks = looks(&text, usize::MAX);
        let (mut served, mut length) = (Duration::ZERO, Duration::ZERO);
        let mut cycles = 0;
        // Cycle by cycle, from the third on: what was served from one violation to the next.
        for look in &looks[3..] {
            served += look.of(BULK).served;
            length += look.length();
            if look.set.contains(&(BULK, Traffic::Free)) {
                assert!(served * 20 <= length, "{form}: {served} in {length}");
                assert!(cycles == 0 || served * 40 > length, "{served} in {length}");
                (served, length) = (Duration::ZERO, Duration::ZERO);
                cycles += 1;
            }
            assert!(look.set.iter().all(|(id, _)| *id == BULK));
            let came = look.of(WEB).packets_in;
            assert!((480..=520).contains(&came), "{form}: web got {came}");
        }
        assert!(cycles >= 4, "{cycles} of {form}");
        let (_, mut host) = start(&text, usize::MAX);
        run(&mut host, Instant::from_nanos(2_000_000_000));
        let dropped = dropped(&host);
        assert_eq!(dropped > 0, loses, "{form}: {dropped}");
    }
}

fn dropped(host: &Host) -> u64 {
    use domio_net::queue::{DropPlace, Ledger};
    let DeviceModel::Network(network) = &host.devices()[0] else {
        panic!("the first device is the network");
    };
    let mut ledger = Ledger::new();
    ledger.add(network);
    ledger.dropped_at(DropPlace("netback, traffic dropped"))
}

/// A ration follows the limit: after two seconds each interval has about 5 %.
#[test]
fn a_graded_guest_is_served_its_limit_in_each_interval() {
    let text = change(&[("_ms = 100", "_ms = 100\nform = \"graded\"")]);
    let looks = looks(&text, usize::MAX);
    assert!(looks.len() >= 30);
    let mut all = Duration::ZERO;
    for look in &looks[20..] {
        let (served, length) = (look.of(BULK).served, look.length());
        let near = served * 100 > length * 3 && served * 100 < length * 6;
        assert!(near, "{served} in {length} at {}", look.now);
        all += served;
    }
    // An interval is 100 ms, of which 5 % are 5 ms.
    let mean = all.as_nanos() / (looks.len() as u64 - 20);
    assert!(
        (4_500_000..=5_100_000).contains(&mean),
        "{mean} ns an interval"
    );
}

/// By packets Domain-0's whole time is divided among those who have packets; the estimate of each
/// is near the truth where all packets are alike.
#[test]
fn who_counts_packets_divides_all_of_the_driver_domain_s_time() {
    let counting = "_ms = 100\naccounting = \"packets\"\nsend_weight_thousandths = 1000";
    let all = change(&[("_ms = 100", counting), ("percent = 5", "percent = 0")]);
    let looks = looks(&all, usize::MAX);
    for look in &looks[2..] {
        let parts: Duration = look
            .domains
            .iter()
            .map(|d| d.served)
            .fold(Duration::ZERO, |a, b| a + b);
        assert_eq!(parts, look.of(DomainId(0)).gotten);
        assert!(look.of(DomainId(3)).served.is_zero());
        let (bulk, web) = (look.of(BULK).served, look.of(WEB).served);
        assert!(
            bulk * 10 > web * 38 && bulk * 10 < web * 42,
            "{bulk} and {web}"
        );
    }
}

/// Packets a second that netback takes from bulk in the 100 ms from `from` ms on.
fn rate(host: &mut Host, from: u64) -> u64 {
    let at = |ms| Instant::from_nanos(ms * 1_000_000);
    run(host, at(from));
    let before = host.devices()[0].counted(DomainId::DOM0, BULK).sent;
    run(host, at(from + 100));
    (host.devices()[0].counted(DomainId::DOM0, BULK).sent - before) * 10
}

/// The controller is gone in the middle of a long defence: its domain is destroyed (it is removed),
/// paused (it stalls), or it answers no more (it has crashed). An interval later traffic flows.
#[test]
fn without_the_controller_traffic_is_back_within_an_interval() {
    let pause = "[[action]]\nat_ms = 530\ndo = \"pause\"\ndomain = \"monitor\"\n";
    let never = usize::MAX;
    // Observations are at 0, 100, ... 500: the sixth is the last one that is answered, and 600 is
    // when the next answer is missed.
    let cases = [
        ("stop_ms = 530\n", never, 530),
        (pause, never, 530),
        ("", 6, 600),
    ];
    for (rest, crashes, gone) in cases {
        for form in ["drop", "hold", "graded"] {
            let keys = format!("_ms = 100\nform = \"{form}\"\ndomain = \"monitor\"");
            let text = change(&[("_ms = 100", &keys), ("percent = 5", "percent = 1")]);
            let text = format!("{text}[[domain]]\nname = \"monitor\"\n{rest}");
            let (_, mut host) = start(&text, crashes);
            let guarded = rate(&mut host, 420);
            assert!(guarded < 6_000, "{form}: {guarded}/s while it is guarded");
            let free = rate(&mut host, gone + 101);
            assert!(free > 19_000, "{form}, {rest:?}: {free}/s");
        }
    }
}
