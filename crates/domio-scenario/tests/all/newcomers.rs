//! What people write who know other tools, and what they are told.

use crate::common::{BASE, change, errors, only, parse};
use domio_scenario::Scenario;

/// The hint for the only thing that is wrong with `text`.
fn hint(text: &str) -> String {
    let errors = errors(text);
    assert_eq!(errors.total(), 1, "{errors}");
    errors.problems()[0].hint.clone().expect("a hint")
}

fn domain(line: &str) -> String {
    change(
        "workload = \"burn\"",
        &format!("workload = \"burn\"\n{line}"),
    )
}

fn credit(line: &str) -> String {
    change(
        "policy = \"credit\"",
        &format!("policy = \"credit\"\n{line}"),
    )
}

#[test]
fn keys_of_other_tools_are_known() {
    assert_eq!(hint(&domain("affinity = [0]")), "did you mean `pin`?");
    assert_eq!(hint(&domain("cpus = \"0\"")), "did you mean `pin`?");
    assert_eq!(hint(&domain("cpu_weight = 1")), "did you mean `weight`?");
    assert_eq!(hint(&domain("Weight = 1")), "did you mean `weight`?");
    assert!(hint(&domain("memory = 512")).contains("memory is not modelled"));
    assert_eq!(hint(&credit("timeslice = 5")), "did you mean `tslice_ms`?");
}

#[test]
fn another_unit_of_a_parameter_is_converted() {
    assert_eq!(hint(&credit("tslice_us = 5000")), "write `tslice_ms = 5`");
    assert_eq!(
        hint(&credit("ratelimit_ms = 0.5")),
        "write `ratelimit_us = 500`"
    );
}

#[test]
fn a_policy_that_is_not_modelled_is_said_to_be_so() {
    for name in ["FIFO", "fifo"] {
        let hint = hint(&change("\"credit\"", &format!("\"{name}\"")));
        assert!(
            hint.starts_with("fifo is not modelled; null lets each vcpu"),
            "{hint}"
        );
    }
    for name in ["ARINC-653", "arinc"] {
        assert_eq!(
            hint(&change("\"credit\"", &format!("\"{name}\""))),
            "did you mean `arinc653`?"
        );
    }
    assert_eq!(
        hint(&change("\"credit\"", "\"CREDIT\"")),
        "did you mean `credit`?"
    );
}

#[test]
fn a_decimal_comma_is_told() {
    let point = "write the fraction with a point: 1.5";
    for line in ["duration_s = 1,5", "duration_s = 1,5 # long"] {
        let errors = errors(&change("duration_s = 10", line));
        let hints = errors.problems().iter().map(|p| p.hint.as_deref());
        assert!(hints.into_iter().any(|h| h == Some(point)), "{errors}");
    }
    let scenario = parse(BASE).unwrap();
    let refused = scenario.with(&[("run.duration_s", "1,5")]).unwrap_err();
    assert_eq!(refused.problems()[0].hint.as_deref(), Some(point));
}

#[test]
fn a_distribution_at_the_wrong_place_is_told_where_to_go() {
    let periodic = |burst: &str| {
        let lines = format!("workload = \"periodic\"\nperiod_ms = 10\n{burst}");
        change("workload = \"burn\"", &lines)
    };
    let told = hint(&periodic("burst = \"normal\""));
    let written = told
        .strip_prefix("write `")
        .and_then(|h| h.strip_suffix('`'));
    let written = written.unwrap_or_else(|| panic!("{told}"));
    assert!(written.contains("\"normal\""), "{written}");
    parse(&periodic(written)).expect("the hint is a good line");
    assert_eq!(
        hint(&periodic("burst = 300")),
        "write `burst_us = 300` for a constant time"
    );
    let told = hint(&periodic("burst_us = 300\ndistribution = \"normal\""));
    assert!(told.contains("burst = { distribution"), "{told}");
    let table = "burst = { distribution = \"normal\", mean_us = 300, sd_us = 10 }";
    let errors = errors(&periodic(table));
    let hints: Vec<_> = errors.problems().iter().map(|p| p.hint.clone()).collect();
    assert!(
        hints.contains(&Some("did you mean `std_us`?".into())),
        "{errors}"
    );
}

/// What the [[domain]] does not take over is named, with the key that comes nearest.
#[test]
fn what_an_xl_configuration_loses_is_named() {
    let text = "name = \"web\"\ntype = \"pvh\"\nvcpus = 2\nmaxvcpus = 4\ncpus = [\"4\", \"5\"]\n\
                cpus_soft = \"4-7\"\ncpu_weight = 512\ncap = 150\n\
                pool = \"Pool-1\"\nmemory = 2048\n\
                vif = [ 'bridge=xenbr0,rate=10MB/s' ]\ndisk = [ 'phy:/dev/vg/web,xvda,w' ]\n";
    let problem = only(text);
    let said = format!("{} | {}", problem.hint.unwrap_or_default(), problem.message);
    let domain = "name = \"web\", vcpus = 2, weight = 512, cap = 150, pin = [\"4\", \"5\"], \
                  soft = \"4-7\", workload";
    for part in [
        domain,
        "; not taken over: maxvcpus (nearest: `vcpus`",
        "pool (nearest: `pool`, with a [[pool]] of that name)",
        "vif (nearest: `vif`, whose `rate`",
        "disk (nearest: `disk = {",
        ", memory, ",
        "boot options",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // A list that is no set for each vcpu is not taken over, and named.
    let short = text.replace("vcpus = 2", "vcpus = 3");
    let said = only(&short).message;
    assert!(
        said.contains("not taken over: maxvcpus") && said.contains("cpus (nearest: `pin`)"),
        "{said}"
    );
}

#[test]
fn an_xl_configuration_is_recognised_with_what_to_write() {
    let configuration = "# web server\nname = \"web\"\nbuilder = 'hvm'\nmemory = 512\nvcpus = 2\n\
                         cpus = \"0-1\"\nvif = [ 'mac=00:16:3e:00:00:01, bridge=xenbr0' ]\n\
                         disk = [ 'phy:/dev/vg/web,hda,w' ]\n";
    let wrong = errors(configuration);
    let [problem] = wrong.problems() else {
        panic!("{wrong}");
    };
    assert!(problem.message.contains("`xl` configuration"), "{wrong}");
    assert_eq!(problem.line, 2);
    let hint = problem.hint.as_deref().unwrap();
    let domain = hint.split('`').nth(1).unwrap();
    let text =
        format!("host.cores = 2\nrun.duration_s = 1\nscheduler.policy = \"credit\"\n{domain}\n");
    let scenario = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let guest = &scenario.plan().host.domains[0];
    assert_eq!((guest.name.as_str(), guest.vcpus.len()), ("web", 2));
    assert_eq!(guest.vcpus[0].hard.len(), 2);
    for other in ["memory = 512\nname = \"a\"\n", "vif = ['mac=1']\n"] {
        let wrong = errors(other);
        let message = &wrong.problems()[0].message;
        assert!(message.contains("`xl` configuration"), "{other}: {wrong}");
    }
    // A scenario with a key of `xl` is a scenario.
    let wrong = errors(&self::domain("memory = 512\nvif = ['mac=1']"));
    assert!(!wrong.to_string().contains("configuration"), "{wrong}");
}

#[test]
fn every_release_and_its_point_releases_are_taken() {
    let host = |xen: &str| {
        let text = change("cores = 2", &format!("cores = 2\nxen = \"{xen}\""));
        text.replace("policy = \"credit\"", "policy = \"round-robin\"")
    };
    let minor = |major, last| (0..=last).map(move |minor| format!("{major}.{minor}"));
    let all = minor(2, 0).chain(minor(3, 4)).chain(minor(4, 20));
    let all: Vec<String> = all.collect();
    for name in &all {
        let scenario = parse(&host(name)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(scenario.plan().host.version.name(), name);
        let takes = |policy: &str| {
            let lines = format!("policy = \"{policy}\"\nversion = \"{name}\"");
            parse(&change("policy = \"credit\"", &lines)).is_ok()
        };
        assert_eq!(takes("bvt"), ["2.0", "3.0"].contains(&&**name), "{name}");
        assert_eq!(takes("credit"), !takes("bvt"), "{name}");
        let last = all.iter().position(|n| n == "4.5");
        let ships = name != "2.0" && all.iter().position(|n| n == name) <= last;
        assert_eq!(takes("sedf"), ships, "{name}");
    }
    for (point, release) in [
        ("4.17.4", "4.17"),
        ("2.0.6", "2.0"),
        ("3.0.1", "3.0"),
        ("3.0.4", "3.0.4"),
    ] {
        let scenario = parse(&host(point)).unwrap();
        assert_eq!(scenario.plan().host.version.name(), release);
    }
    let credit = credit("version = \"4.12.1\"");
    assert!(parse(&credit).is_ok());
    let later = hint(&host("4.21"));
    assert!(later.contains("from 2.0 to 4.20"), "{later}");
}

#[test]
fn a_policy_that_hears_of_no_packets_is_noticed() {
    let alone = change("\"credit\"", "\"communication-aware\"");
    let notices = parse(&alone).unwrap().notices().join(" ");
    assert!(
        notices.contains("communication-aware decides by packets, and no domain has an interface"),
        "{notices}"
    );
    let driver = "[network]\n[[domain]]\nname = \"Domain-0\"\n";
    let pinged = format!("{alone}{driver}[[domain]]\nname = \"b\"\nworkload = \"ping\"\n");
    let notices = parse(&pinged).unwrap().notices().join(" ");
    assert!(!notices.contains("packets"), "{notices}");
}

#[test]
fn vcpus_that_nothing_loads_are_noticed() {
    let notices = |text: &str| -> Vec<String> {
        let scenario = parse(text).unwrap_or_else(|e| panic!("{e}"));
        scenario.notices().to_vec()
    };
    let four = notices(&domain("vcpus = 4"));
    let [notice] = &four[..] else {
        panic!("{four:?}");
    };
    assert!(notice.contains("4 vcpus") && notice.contains("loads vcpu 0 alone"));
    // What it says to write is right, and stills it.
    let task = notice.split('`').nth(1).unwrap();
    let all = change("workload = \"burn\"", &format!("vcpus = 4\n{task}"));
    assert_eq!(notices(&all), [""; 0]);
    let scenario: Scenario = parse(&all).unwrap();
    let vcpus = &scenario.plan().host.domains[0].vcpus;
    assert!(vcpus.iter().all(|v| v.tasks.len() == 1));
    // Whoever says which vcpu means that one, and an idle guest needs none.
    let one = change(
        "workload = \"burn\"",
        "vcpus = 4\ntask = [{ workload = \"burn\", vcpu = 0 }]",
    );
    assert_eq!(notices(&one), [""; 0]);
    let idle = change("workload = \"burn\"", "vcpus = 4\nworkload = \"idle\"");
    assert_eq!(notices(&idle), [""; 0]);
    assert_eq!(notices(BASE), [""; 0]);
}
