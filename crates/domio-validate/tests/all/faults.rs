//! What is wrong in one thing has to differ from what was recorded.

use domio_validate::recording::Description;
use domio_validate::{Agreement, Judgement, shipped};

/// A model or a description that is wrong in one thing.
pub struct Fault {
    pub what: &'static str,
    pub plant: fn(&mut Description),
    /// Recordings that have to differ, each with one of the figures in which it does.
    pub noticed: &'static [(&'static str, &'static str)],
}

pub fn param(description: &mut Description, name: &str, value: i64) {
    description.params.insert(name.to_owned(), value);
}

/// In which figures an agreement differs, each after the name of its domain.
pub fn differences(agreement: &Agreement) -> Vec<String> {
    let domains = agreement.domains.iter();
    let named = domains.flat_map(|d| d.differs_in.iter().map(|f| format!("{} {f}", d.name)));
    named.collect()
}

/// Plants each fault in each recording that has to differ.
pub fn are_noticed(faults: &[Fault]) {
    for Fault {
        what,
        plant,
        noticed,
    } in faults
    {
        for (name, figure) in *noticed {
            let mut recording = shipped::recording(name).unwrap();
            plant(&mut recording.description);
            let agreement = Agreement::check(&recording).unwrap();
            let differs = differences(&agreement);
            assert_eq!(
                agreement.verdict,
                Judgement::Differs,
                "{what}: {name} agrees"
            );
            assert!(
                differs.iter().any(|d| d == figure),
                "{what}: {name} differs in {differs:?}, not in {figure}"
            );
        }
    }
}
