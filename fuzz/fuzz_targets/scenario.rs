//! Any bytes as a scenario: never a panic, and either errors that render or a plan that builds.
//!
//! The first line may hold an override, `key=value`, that is applied to what follows. The shipped
//! scenarios make a good corpus.

#![no_main]

use domio_scenario::{NoReplay, Scenario};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let policies = domio_sched::policies();
    let scenario = match Scenario::parse("fuzz.toml", bytes, policies) {
        Ok(scenario) => scenario,
        Err(errors) => {
            errors.render(true);
            let text = std::str::from_utf8(bytes).ok();
            let Some((first, rest)) = text.and_then(|t| t.split_once('\n')) else { return };
            let Some((key, value)) = first.split_once('=') else { return };
            let parsed = Scenario::parse("fuzz.toml", rest.as_bytes(), policies);
            let Ok(scenario) = parsed else { return };
            match scenario.with(&[(key, value)]) {
                Ok(changed) => changed,
                Err(errors) => {
                    errors.render(false);
                    return;
                }
            }
        }
    };
    if let Ok(built) = scenario.build(&NoReplay) {
        drop(built.scheduler());
    }
});
