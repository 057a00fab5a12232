//! What the comparison of recordings with their simulations says, for programs and in words.

use crate::recordings::count;
use domio_answer::{Answered, Inner, Maybe, Sentence, rows};
use domio_report::written;
use domio_validate::{Agreement, Compared, Followed, Judgement};

rows! {
    /// Recordings beside their simulations.
    #[derive(Clone, Debug)]
    struct Validation {
        /// One a recording.
        traces: Vec<Agreement> = parts("traces", []);
        /// Number of recordings.
        summary: Inner<Verdicts> = fact("summary");
    }

    /// Recordings by verdict.
    #[derive(Clone, Debug)]
    struct Verdicts {
        /// That agree.
        agree: usize = count("agree");
        /// That differ.
        differ: usize = count("differ");
        /// Of which nobody can say.
        cannot_tell: usize = count("cannot_tell");
    }
}

/// The agreements for programs.
pub fn answer(agreements: &[Agreement]) -> Answered {
    let doc = "What `domio validate --json` prints: recordings beside their simulations.";
    let validation = Validation {
        traces: agreements.to_vec(),
        summary: Inner(Verdicts {
            agree: count(agreements, Judgement::Agrees),
            differ: count(agreements, Judgement::Differs),
            cannot_tell: count(agreements, Judgement::CannotTell),
        }),
    };
    let mut answer = Answered::of("validate", 4, doc, &validation);
    let remarks = agreements.iter().flat_map(remarks);
    let found = remarks.chain((!agreements.is_empty()).then(|| summary(agreements)));
    answer.findings = found.map(Sentence::new).collect();
    answer
}

/// What is to be known of a recording in addition to its figures.
pub fn remarks(agreement: &Agreement) -> Vec<String> {
    let mut told = Vec::new();
    for domain in &agreement.domains {
        let figures = domain.figures.iter();
        for found in figures.filter(|f| f.compared.verdict == Judgement::Differs) {
            let accepted = accepted(&found.compared);
            told.push(format!(
                "{} differs in {}: {accepted}",
                domain.name, found.figure
            ));
        }
    }
    told.extend(agreement.exact.0.as_ref().map(follows));
    let reasons = agreement.domains.iter();
    told.extend(reasons.filter_map(|d| Some(format!("{}: {}", d.name, d.reason.as_ref()?))));
    told.extend(agreement.remarks.iter().cloned());
    if agreement.verdict == Judgement::CannotTell {
        told.push("cannot tell whether it agrees: no figure has limits that mean something".into());
    }
    let name = &agreement.name;
    told.into_iter()
        .map(|told| format!("{name}: {told}"))
        .collect()
}

/// How many recordings agree.
pub fn summary(agreements: &[Agreement]) -> String {
    let agree = count(agreements, Judgement::Agrees);
    let agree = format!("{agree} of {} recordings agree", agreements.len());
    match count(agreements, Judgement::CannotTell) {
        0 => agree,
        n => format!("{agree}, and {n} cannot be decided"),
    }
}

/// What would have agreed with the simulations.
fn accepted(figure: &Compared) -> String {
    let range = |range: Option<[f64; 2]>| {
        let words = |[a, b]: [f64; 2]| {
            let [a, b] = [a, b].map(|value| written::number(value.max(0.0)));
            if a == b { a } else { format!("{a} to {b}") }
        };
        range.map_or("nothing".to_owned(), words)
    };
    format!(
        "{} is recorded, {} agrees, simulations have {}",
        figure
            .recorded
            .map_or("nothing".to_owned(), written::number),
        range(figure.accepted),
        range(figure.range),
    )
}

/// How far the best simulation of a search follows its recording.
fn follows(followed: &Followed) -> String {
    let Followed { dispatches, of, .. } = followed;
    let made = format!("the best simulation makes {dispatches} of {of} recorded dispatches");
    let Maybe(Some(parts)) = &followed.parts else {
        return made;
    };
    let who = |side: &Option<String>| side.clone().unwrap_or("nobody".to_owned());
    format!(
        "{made}; it parts after {} s, where {} {} in the recording and {} in the simulation",
        written::number(parts.at_s),
        who(&parts.recorded),
        parts.decision,
        who(&parts.simulated),
    )
}
