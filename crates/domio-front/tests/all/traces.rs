//! Traces that scenarios replay and that are not there.

use domio_front::traces::recorded;
use domio_scenario::Scenario;

#[test]
fn a_trace_that_cannot_be_read_is_told_with_its_path_and_the_reason() {
    let folder = std::env::temp_dir().join(format!("domio-no-replay-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("folder")).unwrap();
    let refused = |trace: &str| {
        let text = format!(
            "run.duration_s = 1\nscheduler.policy = \"credit\"\n[[domain]]\nname = \"g\"\n\
             workload = \"replay\"\ntrace = \"{trace}\"\ntrace_domain = 3\n"
        );
        let name = folder.join("s.toml");
        let policies = domio_sched::policies();
        let scenario = Scenario::parse(name.to_str().unwrap(), text.as_bytes(), policies);
        let scenario = scenario.unwrap();
        let errors = scenario.build(&recorded(&scenario)).err().unwrap();
        let p = errors.problems()[0].clone();
        (p.message, p.hint.unwrap())
    };
    let (message, hint) = refused("none.bin");
    let path = folder.join("none.bin").display().to_string();
    let why = format!("cannot be replayed: there is no file {path}");
    assert!(message.ends_with(&why), "{message}");
    assert!(hint.contains("folder of the scenario's file"), "{hint}");
    let (message, hint) = refused(&path);
    assert!(message.ends_with(&why), "{message}");
    assert!(
        !hint.contains("folder"),
        "an absolute path counts from nowhere: {hint}"
    );
    let (message, hint) = refused("folder");
    assert!(message.contains("cannot be read: "), "{message}");
    assert!(hint.contains("folder of the scenario's file"), "{hint}");
    std::fs::remove_dir_all(&folder).unwrap();
}
