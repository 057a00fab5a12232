//! Scenarios of lists: what they take over, what they admit, and that they run as the host did.

use super::*;
use crate::RecordedDemands;
use domio_core::{DomainId, NullSink};
use domio_run::simulate::simulate;
use proptest::prelude::*;

/// A host of four pcpus as a shell shows it: two lists, ten seconds apart.
const PASTED: &str = "\
root@host:~# xl info
host                   : host
release                : 6.1.0-18-amd64
nr_cpus                : 4
nr_nodes               : 1
cores_per_socket       : 2
threads_per_core       : 2
xen_version            : 4.17.3
xen_scheduler          : credit2
cc_compiler            : gcc (Debian 12.2.0-14) 12.2.0
root@host:~# xl vcpu-list
Name                                ID  VCPU   CPU State   Time(s) Affinity (Hard / Soft)
Domain-0                             0     0    0   r--      45.1  all / all
web                                  3     0    1   -b-      34.0  0-1 / all
batch                                5     0    2   r--     900.0  all / 2-3
batch                                5     1    3   r--     900.0  all / 2-3
root@host:~# xl sched-credit2
Cpupool Pool-0: ratelimit=1000us
Name                                ID Weight  Cap
Domain-0                             0    256    0
web                                  3    512   50
batch                                5    256    0
root@host:~# xl list; sleep 10; xl list
Name                                        ID   Mem VCPUs\tState\tTime(s)
Domain-0                                     0  2048     1     r-----      45.2
web                                          3   512     1     -b----      34.1
batch                                        5   512     2     r-----    1800.0
Name                                        ID   Mem VCPUs\tState\tTime(s)
Domain-0                                     0  2048     1     r-----      45.7
web                                          3   512     1     -b----      36.1
batch                                        5   512     2     r-----    1820.0
root@host:~#
";

pub(super) fn lists(texts: &[&str]) -> HostLists {
    let mut lists = HostLists::default();
    for text in texts {
        lists.read(text, "host.txt").unwrap();
    }
    lists
}

pub(super) fn options(interval: Option<u64>) -> ListOptions {
    ListOptions {
        command: "domio scenario from-lists host.txt".to_owned(),
        interval_ms: interval.map(|seconds| seconds * 1_000),
        pcpus: None,
        work_us: 2_000,
        load_pct: 100,
    }
}

pub(super) fn made(lists: &HostLists, options: &ListOptions) -> OfLists {
    scenario(lists, options, domio_sched::policies()).unwrap()
}

fn refused(lists: &HostLists, options: &ListOptions) -> String {
    let refused = scenario(lists, options, domio_sched::policies());
    refused.unwrap_err().to_string()
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The head of a text, without the marks of comments and breaks of lines.
pub(super) fn head(text: &str) -> String {
    let head = text.lines().take_while(|line| line.starts_with('#'));
    let words = head.flat_map(|line| line.trim_start_matches('#').split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn all_that_a_shell_shows_is_taken_over() {
    let made = made(&lists(&[PASTED]), &options(Some(10)));
    has(
        &made.text,
        &[
            "xen = \"4.17\"\nsockets = 1\ncores = 2\nthreads = 2\n",
            "policy = \"credit2\"\nversion = \"4.17\"\nratelimit_us = 1000\n",
            "name = \"web\"\nid = 3\nvcpus = 1\nweight = 512\ncap = 50\npin = \"0-1\"\n",
            "name = \"batch\"\nid = 5\nvcpus = 2\nweight = 256\nsoft = \"2-3\"\n",
            // 2.0 s of 10 s: 2 ms of work and 8 ms of rest.
            "  workload = \"on-off\"\n  on = { distribution = \"exponential\", mean_us = 2000 }\n  \
             off = { distribution = \"exponential\", mean_us = 8000 }\n",
            "  workload = \"burn\"\n  vcpu = \"all\"\n",
        ],
    );
    has(
        &head(&made.text),
        &[
            "- the scheduler, credit2: its settings",
            "- 4 pcpus: `xl info` - sockets, cores and threads: `xl info`",
            "- how busy domains are: the column Time(s) of two lists",
            "- work comes in stretches of 2000 us on average",
            "- how long a stretch of work is and when it comes",
        ],
    );
    // Nothing else is unknown.
    assert_eq!(made.notices.len(), 1, "{:?}", made.notices);
}

/// Who used a fifth of a pcpu uses a fifth in the simulated host.
#[test]
fn the_simulated_host_shows_what_the_lists_showed() {
    let made = made(&lists(&[PASTED]), &options(Some(10)));
    let policies = domio_sched::policies();
    let scenario = Scenario::parse("host.toml", made.text.as_bytes(), policies).unwrap();
    let built = scenario.build(&RecordedDemands::of(&scenario, BTreeMap::new()));
    let summary = simulate(&built.unwrap(), 0, NullSink).unwrap().summary;
    for (id, share) in [(0, 0.05), (3, 0.2), (5, 2.0)] {
        let domain = summary.domains.iter().find(|d| d.id == DomainId(id));
        let running = domain.unwrap().total.running as f64;
        let got = running / summary.end.since(summary.start).as_nanos() as f64;
        assert!((got - share).abs() < share * 0.1, "d{id}: {got}");
    }
}

/// A column of one list tells nothing of the load: that is said, and what is assumed instead.
#[test]
fn one_list_tells_no_load() {
    let text = "Name ID Mem VCPUs State Time(s)\n\
                Domain-0 0 2048 2 r----- 45.2\n\
                web 3 512 2 -b---- 34.1\n\
                off 4 512 1 --p--- 3.1\n";
    let one = lists(&[text]);
    let all = made(&one, &options(None));
    has(
        &all.text,
        &[
            "# Assumed: it idles.\n",
            "# Assumed: each vcpu takes all the time that it can get.\n",
            "name = \"web\"\nid = 3\nvcpus = 2\nweight = 256\n\n  [[domain.task]]\n  \
             workload = \"burn\"\n  vcpu = \"all\"\n",
            "# It is paused.\n",
            "policy = \"credit2\"\n",
        ],
    );
    let told = head(&all.text);
    has(
        &told,
        &[
            "- each vcpu of web takes all the time that it can get (--load 100): no list shows \
                         the load",
            "- Domain-0 idles: no list shows the load",
            "- no vcpu is pinned: there is no output of `xl vcpu-list`",
            "- 1 pcpu, of cores without threads in one socket: no list shows more",
            "- the scheduler is credit2, Xen's default since 4.12",
            "- names and vcpus: `xl list` (host.txt)",
        ],
    );
    assert!(
        !told.contains("Time(s)") && !told.contains("asked for no more"),
        "{told}"
    );
    for what in [
        "the load of web and Domain-0: `xl list; sleep 10; xl list`, with --interval 10",
        "weights and caps: `xl sched-credit2`",
        "pins and soft affinity: `xl vcpu-list`",
        "how many pcpus the host has",
        "which scheduler the host has",
        "the release of Xen",
    ] {
        assert!(
            all.notices.iter().any(|n| n.contains(what)),
            "{what}: {:?}",
            all.notices
        );
    }
    let half = ListOptions {
        load_pct: 50,
        pcpus: Some(6),
        ..options(None)
    };
    let half = made(&one, &half).text;
    has(
        &half,
        &[
            "cores = 6\n",
            "mean_us = 2000 }\n  off = { distribution = \"exponential\", mean_us = 2000 }",
        ],
    );
}

/// Old headings, settings alone, JSON, and the mean since the start.
#[test]
fn other_outputs_tell_what_they_have() {
    let xm = "Name ID VCPUs CPU State Time(s) CPU Affinity\n\
              Domain-0 0 0 0 r-- 45.7 any cpu\n\
              win 14 0 0 -b- 34.0 0\n\
              win 14 1 6 -b- 34.0 2,4-6\n";
    let text = made(&lists(&[xm]), &options(None)).text;
    has(&text, &["cores = 7\n", "pin = [\"0\", \"2,4-6\"]\n"]);
    has(
        &head(&text),
        &["- names, vcpus and pins: `xl vcpu-list` (host.txt)"],
    );
    let credit = "Cpupool Pool-0: tslice=30ms ratelimit=1000us migration-delay=0us\n\
                  Name ID Weight Cap\nweb 3 512 50\n";
    let text = made(&lists(&[credit]), &options(None)).text;
    has(
        &text,
        &[
            "policy = \"credit\"\ntslice_ms = 30\n",
            "weight = 512\ncap = 50\n",
        ],
    );
    has(
        &head(&text),
        &["- 1 vcpu for web: no list shows the number"],
    );
    let rtds = "Cpupool Pool-0: sched=RTDS\nName ID VCPU Period Budget Extratime\n\
                web 3 0 10000 4000 yes\n";
    let text = made(&lists(&[rtds]), &options(None)).text;
    has(
        &text,
        &[
            "policy = \"rtds\"\n",
            "period_us = 10000\nbudget_us = 4000\nextratime = true\n",
        ],
    );
    let json =
        r#"[{"domid": 3, "config": {"c_info": {"name": "web"}, "b_info": {"max_vcpus": 2}}}]"#;
    has(
        &made(&lists(&[json]), &options(None)).text,
        &["vcpus = 2\n"],
    );
    let uptime = "Name ID Mem VCPUs State Time(s)\nweb 3 512 2 -b---- 720.0\n\
                  Name ID Uptime\nweb 3 2:00:00\n";
    let text = made(&lists(&[uptime]), &options(None)).text;
    has(
        &text,
        &["# It used 10.0 % of one pcpu on average since it started 2.0 hours ago, taken"],
    );
    has(&text, &["mean_us = 38000 }\n  vcpu = \"all\"\n"]);
    let pools = "Cpupool Pool-0: ratelimit=1000us\nName ID Weight Cap\nweb 3 512 50\n\
                 Cpupool two: ratelimit=500us\nName ID Weight Cap\nb 4 256 0\n";
    let told = head(&made(&lists(&[pools]), &options(None)).text);
    has(&told, &["one pool: settings are of 2 (Pool-0, two)"]);
}

/// A domain may be called like a command.
#[test]
fn rows_are_no_commands() {
    let text = "# xl list\nThu Nov 26 15:17:19 UTC 2026\nName ID Mem VCPUs State Time(s)\n\
                date 3 512 1 -b---- 34.1\nxl 4 512 1 -b---- 34.1\n$ xl list\n";
    let names = lists(&[text]).domains.into_values().filter_map(|d| d.name);
    assert_eq!(names.collect::<Vec<_>>(), ["date", "xl"]);
}

/// Where all pcpus were busy, somebody asked for more than he used, and nothing tells who.
#[test]
fn a_host_that_was_full_is_told() {
    let of = |busy: &str| {
        let list = |time: &str| {
            format!(
                "Name ID Mem VCPUs State Time(s)\n\
                 a 1 512 1 r----- {time}\nb 2 512 2 r----- {time}\n"
            )
        };
        let two = ListOptions {
            pcpus: Some(2),
            ..options(Some(10))
        };
        made(&lists(&[&list("10.0"), &list(busy)]), &two).notices
    };
    let full = |notices: &[String]| notices.iter().any(|n| n.contains("99 % of the time"));
    assert!(full(&of("19.9")) && !full(&of("15.0")), "{:?}", of("19.9"));
}

/// Lists of vcpus tell each vcpu's load, and vcpus that are offline have none.
#[test]
fn vcpus_have_loads_of_their_own() {
    let list = |busy: &str, quiet: &str| {
        format!(
            "Name ID VCPU CPU State Time(s) Affinity (Hard / Soft)\n\
             web 3 0 0 -b- {busy} all / all\nweb 3 1 1 -b- {quiet} all / all\n\
             web 3 2 - --p 0.0 all / all\n"
        )
    };
    let both = list("10.0", "5.0") + &list("20.0", "6.0");
    let text = made(&lists(&[&both]), &options(Some(10))).text;
    has(
        &text,
        &[
            "# It used 110.0 % of one pcpu in the 10.0 s between the lists.\n",
            "  name = \"v0\"\n  workload = \"burn\"\n  vcpu = 0\n",
            "  name = \"v1\"\n  workload = \"on-off\"\n",
            "mean_us = 18000 }\n  vcpu = 1\n",
        ],
    );
    assert!(!text.contains("\"v2\""), "{text}");
}

#[test]
fn what_contradicts_itself_is_refused() {
    let list = |time: &str| format!("Name ID Mem VCPUs State Time(s)\nweb 3 512 1 -b---- {time}\n");
    let twice = |first: &str, last: &str| lists(&[&list(first), &list(last)]);
    let said = refused(&twice("30.0", "10.0"), &options(Some(10)));
    has(
        &said,
        &[
            "web (id 3) has used 30.0 s",
            "host.txt, line 1",
            "in the order in which",
        ],
    );
    let said = refused(&twice("30.0", "50.0"), &options(Some(10)));
    has(
        &said,
        &[
            "web (id 3) used 20.0 s",
            "more than 1 vcpu can in 10.0 s",
            "--interval",
        ],
    );
    let said = refused(&lists(&[&list("30.0")]), &options(Some(10)));
    has(&said, &["no list with the column Time(s) comes twice"]);
    let said = refused(&HostLists::default(), &options(None));
    has(&said, &["have no domain"]);
    let two = "Name ID Mem VCPUs State Time(s)\na 1 512 2 r----- 10.0\nb 2 512 2 r----- 10.0\n";
    let later = two.replace("10.0", "30.0");
    let few = ListOptions {
        pcpus: Some(2),
        ..options(Some(10))
    };
    let said = refused(&lists(&[two, &later]), &few);
    has(&said, &["the time of 4 pcpus, and --pcpus says 2"]);
    let pinned = "Name ID VCPU CPU State Time(s) Affinity\nweb 3 0 5 -b- 1.0 5\n";
    let one = ListOptions {
        interval_ms: None,
        ..few
    };
    let said = refused(&lists(&[pinned]), &one);
    has(&said, &["a list names pcpu 5", "--pcpus says 2"]);
    // Lists without an interval tell no load.
    let told = made(&twice("10.0", "12.0"), &options(None));
    let how = "the load of web: --interval, the seconds from the first list to the last";
    assert!(
        told.notices.iter().any(|n| n.contains(how)),
        "{:?}",
        told.notices
    );
}

#[test]
fn mistakes_are_told_with_their_line() {
    for (text, line, part) in [
        ("", 1, "an output of `xl` or `xm`"),
        ("root@host:~# xl list\n", 1, "an output of `xl` or `xm`"),
        ("nonsense here\n", 1, "an output of `xl` or `xm`"),
        (
            "\nName ID Mem VCPUs State Time(s)\nweb 1\n",
            3,
            "ID, Mem and VCPUs",
        ),
        (
            "Name ID VCPU CPU State Time(s) Affinity\nweb 1 0 300 -b- 1.0 all\n",
            2,
            "below 256",
        ),
        ("Name ID Weight Cap\nweb 1 0 0\n", 2, "weight of 1 to 65535"),
        ("Name ID Uptime\nweb 1 long\n", 2, "2 days, 3:04:05"),
        (
            "Name ID Mem VCPUs State Time(s)\nweb 1 512 1 r----- 1e3\n",
            2,
            "seconds, as 12.3",
        ),
    ] {
        let error = HostLists::default().read(text, "f").unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
}

fn lines() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "Name",
        "ID",
        "VCPU",
        "VCPUs",
        "CPU",
        "State",
        "Time(s)",
        "Weight",
        "Cap",
        "Mem",
        "Uptime",
        "Affinity",
        "web",
        "0",
        "7",
        "-1",
        "99999999999",
        "1.5",
        "r--",
        "-b-",
        "-",
        "all",
        "/",
        "0-3,6",
        "Cpupool",
        "Pool-0:",
        "tslice=30ms",
        "2",
        "days,",
        "3:04:05",
        "nr_cpus",
        ":",
        "xen_version",
        "4.17",
        "#",
        "xl",
        "$",
        "\n",
        "\n",
        "\u{e4}",
        "\t",
    ]);
    prop::collection::vec(word, 0..60).prop_map(|words| words.join(" "))
}

proptest! {
    /// Any text is a host or is refused, with a line that it has.
    #[test]
    fn no_text_does_harm(
        text in ".{0,200}",
        lines in lines(),
        interval in prop::option::of(1..20_u64),
    ) {
        for text in [&text, &lines] {
            let mut lists = HostLists::default();
            match lists.read(text, "f") {
                Ok(()) => _ = scenario(&lists, &options(interval), domio_sched::policies()),
                Err(error) => prop_assert!(error.line <= text.lines().count().max(1)),
            }
        }
    }
}
