//! Listings as the tools print them, and what is not one.

use super::*;
use proptest::prelude::*;

const CREDIT: &str = "\
Cpupool Pool-0: tslice=5ms ratelimit=500us migration-delay=0us
Name                                ID Weight  Cap
Domain-0                             0    256    0
my web server                        3    512   50
";

const VCPUS: &str = "\
Name                                ID  VCPU   CPU State   Time(s) Affinity (Hard / Soft)
Domain-0                             0     0    0   r--      12.3  all / all
web                                  3     0    1   -b-       1.1  0-1,3 / all
web                                  3     1    -   --p       0.0  2 / all
";

#[test]
fn settings_of_credit_are_read() {
    let sched = sched_text(CREDIT).unwrap();
    assert_eq!(sched.policy, Some("credit"));
    assert_eq!(sched.params["tslice_ms"], 5);
    assert_eq!(sched.params["ratelimit_us"], 500);
    let web = &sched.domains[&3];
    assert_eq!(
        (&*web.name, web.params["weight"], web.params["cap"]),
        ("my web server", 512, 50)
    );
    assert_eq!(sched.domains.len(), 2);
}

#[test]
fn credit2_has_no_slice_and_old_releases_no_cap() {
    let text = "Cpupool Pool-0: ratelimit=1000us\nName ID Weight\nDomain-0 0 256\n";
    let sched = sched_text(text).unwrap();
    let params = &sched.domains[&0].params;
    assert_eq!(
        (sched.policy, params.get("weight"), params.get("cap")),
        (Some("credit2"), Some(&256), None)
    );
    let bare = sched_text("Name ID Weight Cap\n").unwrap();
    assert_eq!((bare.policy, bare.domains.len()), (None, 0));
}

#[test]
fn mistakes_are_told_with_their_line() {
    for (text, line, part) in [
        ("", 1, "xl sched-credit"),
        ("nonsense\n", 1, "before the domains"),
        ("Name ID State\n", 1, "columns Name, ID, Weight"),
        ("Name ID Weight Cap\nweb 1 0 0\n", 2, "weight of 1 to 65535"),
        ("Name ID Weight Cap\nweb 1 256 x\n", 2, "cap of 0 to 25600"),
        (
            "Name ID Weight Cap\n\nweb 32767 256 0\n",
            3,
            "domid of 0 to",
        ),
        ("Name ID Weight Cap\n256 0\n", 2, "each further column"),
        (
            "Cpupool Pool-0: tslice=longms\n",
            1,
            "a time as tslice=30ms",
        ),
    ] {
        let error = sched_text(text).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
    for (text, line, part) in [
        ("", 1, "xl list -l"),
        ("{\n  \"domid\": }", 2, "xl list -l"),
        ("[{\"domid\": -1}]", 1, "objects with \"domid\""),
        ("Name ID VCPU CPU State\nweb 1 0\n", 2, "as `xl vcpu-list`"),
        ("Name ID Mem VCPUs State\nweb 1\n", 2, "ID, Mem and VCPUs"),
    ] {
        let error = list(text).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
    let far = VCPUS.replace("0-1,3", "0-4000");
    assert!(
        list(&far)
            .unwrap_err()
            .to_string()
            .contains("hard affinity")
    );
}

#[test]
fn vcpus_are_listed_with_their_pins() {
    let domains = list(VCPUS).unwrap();
    let web = &domains[&3];
    assert_eq!((web.name.as_deref(), web.vcpus), (Some("web"), Some(2)));
    assert_eq!(web.hard[&0], [0, 1, 3]);
    assert_eq!(web.hard[&1], [2]);
    assert!(domains[&0].hard[&0].is_empty());
}

#[test]
fn domains_are_listed() {
    let text = "Name            ID   Mem VCPUs      State   Time(s)\n\
                    Domain-0         0  1024     2     r-----      20.1\n\
                    a b              7   512     1     -b----       0.4\n";
    let domains = list(text).unwrap();
    assert_eq!(domains[&0].vcpus, Some(2));
    assert_eq!(domains[&7].name.as_deref(), Some("a b"));
}

#[test]
fn the_json_of_a_long_list_is_read() {
    let text = r#"[{"domid": 3, "config": {
            "c_info": {"type": "pvh", "name": "web"},
            "b_info": {"max_vcpus": 4, "avail_vcpus": [0, 1],
                "vcpu_hard_affinity": [[1, 0], [2]], "vcpu_soft_affinity": [[1]],
                "sched_params": {"weight": 512, "cap": 50}}}},
            {"domid": 0, "config": {"c_info": {"name": "Domain-0"}}}]"#;
    let domains = list(text).unwrap();
    let web = &domains[&3];
    assert_eq!(
        (web.vcpus, web.weight, web.cap),
        (Some(2), Some(512), Some(50))
    );
    assert_eq!((&web.hard[&0], &web.hard[&1]), (&vec![0, 1], &vec![2]));
    assert_eq!(web.soft, BTreeMap::from([(0, vec![1])]));
    assert_eq!(domains[&0].vcpus, None);
}

fn lines() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "Name",
        "ID",
        "VCPU",
        "VCPUs",
        "CPU",
        "State",
        "Weight",
        "Cap",
        "Mem",
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
        "3-0",
        "any cpu",
        "Cpupool",
        "Pool-0:",
        "tslice=30ms",
        "ratelimit=",
        "{",
        "[",
        "\"domid\":",
        "3",
        "}",
        "]",
        ",",
        "\n",
        "\n",
        "\u{e4}",
        "\t",
    ]);
    prop::collection::vec(word, 0..40).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn no_text_does_harm(text in ".{0,200}", lines in lines()) {
        for text in [&text, &lines] {
            if let Err(error) = sched_text(text) {
                prop_assert!(error.line <= text.lines().count().max(1));
            }
            if let Err(error) = list(text) {
                prop_assert!(error.line <= text.lines().count().max(1));
            }
        }
    }
}
