//! Agreement of simulated hosts with recorded traces: what was judged, and within which limits.

use domio_report::figure;
use domio_report::text::{TextCell, TextColumn, TextTable, Tone, View};
use domio_twin::{Agreement, Compared, Followed, Judgement, Widening};

/// Names and units of the figures of [`domio_twin::DomainAgreement::figures`], in that order.
const FIGURES: [(&str, &str); 6] = [
    ("share of one pcpu", "%"),
    ("run, 50 %", "us"),
    ("run, 95 %", "us"),
    ("wake to run, 50 %", "us"),
    ("wake to run, 95 %", "us"),
    ("switches", "1/s"),
];

/// One table a recording, one row a figure of a domain: its verdict, and what was judged within
/// which limits, or why it was not. Then what else has to be known, and how many agree.
pub fn render(agreements: &[Agreement], view: &View) -> String {
    let mut text = legend(agreements);
    for agreement in agreements {
        let name = &agreement.name;
        let counts = counts(std::slice::from_ref(agreement));
        text += &format!("\n{name}: {}; {counts}\n\n", agreement.verdict.name());
        text += &table(agreement).render(view);
        text += &remarks(agreement);
    }
    text += &format!("\nOf all figures {}.\n", counts(agreements));
    text + &summary(agreements)
}

fn table(agreement: &Agreement) -> TextTable {
    let mut table = TextTable::new([
        TextColumn::words("domain").whole(),
        TextColumn::words("figure").whole(),
        TextColumn::words("verdict").whole(),
        TextColumn::words("what was judged"),
    ]);
    for domain in &agreement.domains {
        for ((_, figure), (title, unit)) in domain.figures().into_iter().zip(FIGURES) {
            let tone = match figure.verdict {
                Judgement::Agrees => Tone::Good,
                Judgement::Differs => Tone::Bad,
                Judgement::CannotTell => Tone::Plain,
                Judgement::NotJudged => Tone::Dim,
            };
            table.row([
                TextCell::new(&domain.name, Tone::Strong),
                title.into(),
                TextCell::new(figure.verdict.name(), tone),
                judged(figure, unit).into(),
            ]);
        }
    }
    table
}

/// A recorded figure in the range of the twins' with its limits, or why it was not judged.
fn judged(compared: &Compared, unit: &str) -> String {
    let why = compared.why.map(|why| why.to_string());
    if compared.verdict == Judgement::NotJudged {
        return why.unwrap_or_default();
    }
    let ends = compared.range.into_iter().flatten();
    let largest = ends.chain(compared.recorded).fold(0.0, f64::max);
    let (factor, unit) = figure::unit_for(largest, unit);
    let number = |value: f64| figure::number(value * factor);
    let recorded = compared.recorded.map_or("nothing".to_owned(), number);
    let twins = compared.range.map(|ends| ends.map(number));
    let twins = twins.map_or("nothing".to_owned(), |[low, high]| match low == high {
        true => low,
        false => format!("{low} to {high}"),
    });
    let limited = match compared.limit {
        None => figure::with_unit(&format!("{recorded} in {twins}"), unit),
        Some(Widening { sum, factor: by }) => {
            let sum = sum.map_or(String::new(), |sum| format!(" ± {}", number(sum)));
            let figures = figure::with_unit(&format!("{recorded} in {twins}{sum}"), unit);
            let or = if sum.is_empty() { "" } else { " or" };
            let by = by.map(|by| format!("{or} ×÷{}", figure::short(by)));
            figures + &by.unwrap_or_default()
        }
    };
    match why {
        None => limited,
        Some(why) => format!("{limited}: {why}"),
    }
}

/// How many figures of `agreements` have which verdict.
fn counts(agreements: &[Agreement]) -> String {
    let domains = agreements.iter().flat_map(|a| &a.domains);
    let verdicts = domains.flat_map(|d| d.figures().map(|(_, figure)| figure.verdict));
    let verdicts: Vec<Judgement> = verdicts.collect();
    let count = |verdict, one: &str, several: &str| {
        let count = verdicts.iter().filter(|v| **v == verdict).count();
        let words = if count == 1 { one } else { several };
        (count > 0).then(|| format!("{count} {words}"))
    };
    let counts = [
        count(Judgement::Agrees, "agrees", "agree"),
        count(Judgement::Differs, "differs", "differ"),
        count(Judgement::CannotTell, "cannot be told", "cannot be told"),
        count(Judgement::NotJudged, "is not judged", "are not judged"),
    ];
    figure::names(counts.into_iter().flatten())
}

/// What is to be known of a recording besides its table.
fn remarks(agreement: &Agreement) -> String {
    let name = &agreement.name;
    let mut told = Vec::new();
    for domain in &agreement.domains {
        for (what, figure) in domain.figures() {
            if figure.verdict == Judgement::Differs {
                let accepted = accepted(figure);
                told.push(format!("{} differs in {what}: {accepted}", domain.name));
            }
        }
    }
    told.extend(agreement.exact.as_ref().map(follows));
    let reasons = agreement.domains.iter();
    told.extend(reasons.filter_map(|d| Some(format!("{}: {}", d.name, d.reason.as_ref()?))));
    told.extend(agreement.remarks.iter().cloned());
    if agreement.verdict == Judgement::CannotTell {
        told.push("cannot tell whether it agrees: no figure has limits that mean something".into());
    }
    let lines = told.iter().map(|told| format!("{name}: {told}\n"));
    lines.collect()
}

fn summary(agreements: &[Agreement]) -> String {
    let count = |verdict| agreements.iter().filter(|a| a.verdict == verdict).count();
    let agree = format!(
        "{} of {} recordings agree",
        count(Judgement::Agrees),
        agreements.len()
    );
    match count(Judgement::CannotTell) {
        0 => agree + "\n",
        n => format!("{agree}, and of {n} nobody can tell\n"),
    }
}

/// How a row is read.
fn legend(agreements: &[Agreement]) -> String {
    let exact = agreements.iter().any(|a| a.exact.is_some());
    let most = agreements.iter().map(|a| a.twins).max().unwrap_or(0);
    let twins = match exact {
        true => "the twin that follows best".to_owned(),
        false => format!("{most} twins (drawn start states)"),
    };
    format!(
        "What was judged: recorded in lowest to highest of {twins},\n\
         made wider by limits: so much on either side (±) or by a factor (×÷).\n"
    )
}

/// What would have agreed with the twins.
fn accepted(figure: &Compared) -> String {
    let range = |range: Option<[f64; 2]>| {
        let words = |[a, b]: [f64; 2]| {
            let [a, b] = [a, b].map(|value| figure::number(value.max(0.0)));
            if a == b { a } else { format!("{a} to {b}") }
        };
        range.map_or("nothing".to_owned(), words)
    };
    format!(
        "{} is recorded, {} agrees, twins have {}",
        figure.recorded.map_or("nothing".to_owned(), figure::number),
        range(figure.accepted),
        range(figure.range),
    )
}

/// How far the best twin of a search follows its recording.
fn follows(followed: &Followed) -> String {
    let Followed { dispatches, of, .. } = followed;
    let made = format!("the best twin makes {dispatches} of {of} recorded dispatches");
    let Some(parts) = &followed.parts else {
        return made;
    };
    let who = |side: &Option<String>| side.clone().unwrap_or("nobody".to_owned());
    format!(
        "{made}; it parts after {} s, where {} {} in the recording and {} in the twin",
        figure::number(parts.at_s),
        who(&parts.recorded),
        parts.decision,
        who(&parts.simulated),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_twin::{ComparedQuantiles, DomainAgreement, Doubt, Parting};

    fn pair(recorded: f64, simulated: f64, verdict: Judgement) -> Compared {
        Compared {
            recorded: Some(recorded),
            simulated: Some(simulated),
            range: Some([simulated, simulated]),
            limit: Some(Widening {
                sum: Some(1.0),
                factor: None,
            }),
            accepted: Some([simulated - 1.0, simulated + 1.0]),
            verdict,
            why: None,
        }
    }

    fn domain(verdict: Judgement) -> DomainAgreement {
        let none = Compared {
            recorded: None,
            simulated: None,
            range: None,
            limit: None,
            accepted: None,
            verdict: Judgement::NotJudged,
            why: Some(Doubt::NoSample),
        };
        let agrees = |a, b| pair(a, b, Judgement::Agrees);
        DomainAgreement {
            id: 1,
            name: "g1".into(),
            share: pair(14.2, 20.0, verdict),
            run_us: ComparedQuantiles {
                p50: agrees(30_000.0, 29_999.0),
                p95: agrees(1.0, 1.0),
            },
            wake_to_run_us: ComparedQuantiles {
                p50: none,
                p95: none,
            },
            switches_per_s: agrees(4.7, 4.8),
            verdict,
            differs_in: Vec::new(),
            reason: None,
        }
    }

    fn agreement(name: &str, verdict: Judgement) -> Agreement {
        Agreement {
            name: name.into(),
            verdict,
            pcpus: 1,
            twins: 40,
            exact: None,
            domains: vec![domain(verdict)],
            remarks: vec![],
        }
    }

    #[test]
    fn a_figure_stands_in_its_range_with_its_limits() {
        let share = Compared {
            range: Some([29.8, 30.4]),
            ..pair(30.1, 30.0, Judgement::Agrees)
        };
        assert_eq!(judged(&share, "%"), "30.1 in 29.8 to 30.4 ± 1 %");
        let wait = Compared {
            limit: Some(Widening {
                sum: Some(20.0),
                factor: Some(1.9),
            }),
            ..pair(9.0, 2_900.0, Judgement::CannotTell)
        };
        let wait = Compared {
            why: Some(Doubt::TooWide),
            ..wait
        };
        assert_eq!(
            judged(&wait, "us"),
            "0.009 in 2.9 ± 0.02 ms or ×÷1.9: \
             the limits are more than twice as wide as the figure"
        );
        let run = Compared {
            limit: Some(Widening {
                sum: None,
                factor: Some(1.75),
            }),
            ..pair(2_100.0, 1_600.0, Judgement::Agrees)
        };
        assert_eq!(judged(&run, "us"), "2.1 in 1.6 ms ×÷1.75");
        let smp = Compared {
            limit: None,
            why: Some(Doubt::NoLimit),
            ..pair(277.0, 495.0, Judgement::CannotTell)
        };
        let told = judged(&smp, "1/s");
        assert!(
            told.starts_with("277 in 495 1/s: no limit is known"),
            "{told}"
        );
    }

    #[test]
    fn what_differs_is_named_with_what_would_agree() {
        let text = render(
            &[
                agreement("burn7", Judgement::Agrees),
                agreement("cap30", Judgement::Differs),
            ],
            &View::default(),
        );
        assert!(text.contains("of 40 twins (drawn start states),"), "{text}");
        let heads = [
            "\nburn7: agrees; 4 agree and 2 are not judged\n",
            "\ncap30: differs; 3 agree, 1 differs and 2 are not judged\n",
        ];
        assert!(heads.iter().all(|head| text.contains(head)), "{text}");
        let differs = "cap30: g1 differs in share: 14.2 is recorded, 19 to 21 agrees, twins \
                       have 20\n";
        assert!(text.contains(differs), "{text}");
        let end = "Of all figures 7 agree, 1 differs and 4 are not judged.\n\
                   1 of 2 recordings agree\n";
        assert!(text.ends_with(end), "{text}");
    }

    /// What is not judged is listed, with the reason.
    #[test]
    fn what_is_not_there_is_told_beside_what_is() {
        let mut open = agreement("burn7", Judgement::CannotTell);
        open.remarks = vec!["a default is assumed".into()];
        open.domains[0].reason = Some("no wake-up".into());
        let text = render(&[open], &View::of_width(80));
        let rows = text.lines().filter(|l| l.contains("not judged")).count();
        assert_eq!(rows, 4, "two rows and two counts: {text}");
        assert!(text.contains("neither side has any"), "{text}");
        let end = "burn7: g1: no wake-up\nburn7: a default is assumed\n\
                   burn7: cannot tell whether it agrees: no figure has limits that mean \
                   something\n";
        assert!(text.contains(end), "{text}");
        let last = "0 of 1 recordings agree, and of 1 nobody can tell\n";
        assert!(text.ends_with(last), "{text}");
    }

    #[test]
    fn a_search_tells_how_far_it_follows_and_where_it_parts() {
        let followed = |parts| Followed {
            dispatches: 9,
            of: 10,
            parts,
        };
        let mut exact = agreement("burn7", Judgement::Agrees);
        exact.exact = Some(followed(None));
        let text = render(std::slice::from_ref(&exact), &View::default());
        assert!(
            text.contains("burn7: the best twin makes 9 of 10 recorded dispatches\n"),
            "{text}"
        );
        exact.exact = Some(followed(Some(Parting {
            at_s: 0.54,
            decision: "is dispatched".into(),
            recorded: Some("d1v0".into()),
            simulated: None,
        })));
        let text = render(&[exact], &View::default());
        let told = "it parts after 0.54 s, where d1v0 is dispatched in the recording and nobody in \
                    the twin\n";
        assert!(text.contains(told), "{text}");
    }
}
