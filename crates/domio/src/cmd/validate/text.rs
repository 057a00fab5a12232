//! Agreement of simulated hosts with recorded traces: what was judged, and within which limits.

use domio_answer::{Column, Table, Tone};
use domio_front::validated::{remarks, summary};
use domio_report::text::{View, table};
use domio_report::{tables, written};
use domio_validate::{Agreement, Compared, Judgement, Widening};

/// How many recordings agree, and the verdict of each in a line. Then one table a recording, one
/// row a figure of a domain: its verdict, and what was judged within which limits, or why it was
/// not, and what else has to be known.
pub fn render(agreements: &[Agreement], view: &View) -> String {
    let mut text = format!("{}\n\n", summary(agreements));
    for agreement in agreements {
        let counts = counts(std::slice::from_ref(agreement));
        let (name, verdict) = (&agreement.name, agreement.verdict.name());
        text += &format!("{name}: {verdict}; {counts}\n");
    }
    text += &format!("\nOf all figures {}.\n", counts(agreements));
    text += &legend(agreements);
    for agreement in agreements {
        let table = table::render(&figures(agreement), view);
        text += &format!("\n{}\n\n{table}", agreement.name);
        text.extend(remarks(agreement).into_iter().map(|remark| remark + "\n"));
    }
    text
}

/// The columns of each table.
fn heads() -> [Column; 4] {
    [
        tables::name("domain"),
        tables::name("figure"),
        tables::name("verdict"),
        tables::text("what was judged"),
    ]
}

/// Titles and names of the columns, before there is a table.
pub fn columns() -> Vec<(String, String)> {
    let column = |column: Column| (column.title.into_owned(), column.key.into_owned());
    heads().map(column).into()
}

/// Every figure of every domain.
fn figures(agreement: &Agreement) -> Table {
    let mut table = Table::new("", heads());
    for domain in &agreement.domains {
        for found in &domain.figures {
            let verdict = found.compared.verdict;
            let tone = match verdict {
                Judgement::Agrees => Tone::Good,
                Judgement::Differs => Tone::Bad,
                Judgement::CannotTell => Tone::Plain,
                Judgement::NotJudged => Tone::Dim,
            };
            table.set_tone(table.rows().len(), 2, tone);
            table.row([
                domain.name.clone().into(),
                found.title.clone().into(),
                verdict.name().into(),
                judged(&found.compared, &found.unit).into(),
            ]);
        }
    }
    table
}

/// A recorded figure in the range of the simulations' with its limits, or why it was not judged.
fn judged(compared: &Compared, unit: &str) -> String {
    let why = compared.why.map(|why| why.to_string());
    if compared.verdict == Judgement::NotJudged {
        return why.unwrap_or_default();
    }
    let ends = compared.range.into_iter().flatten();
    let largest = ends.chain(compared.recorded).fold(0.0, f64::max);
    let (factor, unit) = written::unit_for(largest, unit);
    let number = |value: f64| written::number(value * factor);
    let recorded = compared.recorded.map_or("nothing".to_owned(), number);
    let simulations = compared.range.map(|ends| ends.map(number));
    let simulations = simulations.map_or("nothing".to_owned(), |[low, high]| match low == high {
        true => low,
        false => format!("{low} to {high}"),
    });
    let limited = match compared.limit.0 {
        None => written::with_unit(&format!("{recorded} in {simulations}"), unit),
        Some(Widening { sum, factor: by }) => {
            let sum = sum.map_or(String::new(), |sum| format!(" ± {}", number(sum)));
            let within = format!("{recorded} in {simulations}");
            let figures = match (unit.starts_with('%'), sum.as_str()) {
                // What is added to percents are points.
                (true, " ± 1") => written::with_unit(&within, unit) + " ± 1 point",
                (true, sum) if !sum.is_empty() => {
                    format!("{}{sum} points", written::with_unit(&within, unit))
                }
                _ => written::with_unit(&(within + &sum), unit),
            };
            let or = if sum.is_empty() { "" } else { " or" };
            let by = by.map(|by| format!("{or} ×÷{}", written::short(by)));
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
    let figures = domains.flat_map(|d| &d.figures);
    let verdicts: Vec<Judgement> = figures.map(|f| f.compared.verdict).collect();
    let count = |verdict, one: &str, several: &str| {
        let count = verdicts.iter().filter(|v| **v == verdict).count();
        let words = if count == 1 { one } else { several };
        (count > 0).then(|| format!("{count} {words}"))
    };
    let counts = [
        count(Judgement::Agrees, "agrees", "agree"),
        count(Judgement::Differs, "differs", "differ"),
        count(
            Judgement::CannotTell,
            "cannot be decided",
            "cannot be decided",
        ),
        count(Judgement::NotJudged, "is not judged", "are not judged"),
    ];
    written::names(counts.into_iter().flatten())
}

/// How a row is read.
fn legend(agreements: &[Agreement]) -> String {
    let exact = agreements.iter().any(|a| a.exact.0.is_some());
    let most = agreements.iter().map(|a| a.simulations).max().unwrap_or(0);
    let simulations = match exact {
        true => "the simulation that follows best".to_owned(),
        false => format!("{most} simulations (drawn start states)"),
    };
    format!(
        "What was judged: recorded in the range of {simulations},\n\
         made wider by limits: so much on either side (±) or by a factor (×÷).\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_answer::Maybe;
    use domio_core::DomainId;
    use domio_validate::{DomainAgreement, Doubt, FigureAgreement, Followed, Parting};

    fn pair(recorded: f64, simulated: f64, verdict: Judgement) -> Compared {
        Compared {
            recorded: Some(recorded),
            simulated: Some(simulated),
            range: Some([simulated, simulated]),
            limit: Maybe(Some(Widening {
                sum: Some(1.0),
                factor: None,
            })),
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
            limit: Maybe(None),
            accepted: None,
            verdict: Judgement::NotJudged,
            why: Some(Doubt::NoSample),
        };
        let agrees = |a, b| pair(a, b, Judgement::Agrees);
        let figures = [
            ("share", "share of one pcpu", pair(14.2, 20.0, verdict)),
            ("run_us.p50", "run, p50", agrees(30_000.0, 29_999.0)),
            ("run_us.p95", "run, p95", agrees(1.0, 1.0)),
            ("wake_to_run_us.p50", "wake to run, p50", none),
            ("wake_to_run_us.p95", "wake to run, p95", none),
            ("switches_per_s", "switches", agrees(4.7, 4.8)),
        ];
        let figures = figures.map(|(figure, title, compared)| FigureAgreement {
            figure: figure.into(),
            title: title.into(),
            unit: "".into(),
            compared,
        });
        DomainAgreement {
            id: DomainId(1),
            name: "g1".into(),
            figures: figures.into(),
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
            simulations: 40,
            exact: Maybe(None),
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
        assert_eq!(judged(&share, "%"), "30.1 in 29.8 to 30.4 % ± 1 point");
        let wait = Compared {
            limit: Maybe(Some(Widening {
                sum: Some(20.0),
                factor: Some(1.9),
            })),
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
            limit: Maybe(Some(Widening {
                sum: None,
                factor: Some(1.75),
            })),
            ..pair(2_100.0, 1_600.0, Judgement::Agrees)
        };
        assert_eq!(judged(&run, "us"), "2.1 in 1.6 ms ×÷1.75");
        let smp = Compared {
            limit: Maybe(None),
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
        assert!(
            text.contains("of 40 simulations (drawn start states),"),
            "{text}"
        );
        let opening = "1 of 2 recordings agree\n\n\
                       burn7: agrees; 4 agree and 2 are not judged\n\
                       cap30: differs; 3 agree, 1 differs and 2 are not judged\n\n\
                       Of all figures 7 agree, 1 differs and 4 are not judged.\n";
        assert!(text.starts_with(opening), "{text}");
        let differs = "cap30: g1 differs in share: 14.2 is recorded, 19 to 21 agrees, simulations \
                       have 20\n";
        assert!(text.ends_with(differs), "{text}");
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
        assert!(text.ends_with(end), "{text}");
        let first = "0 of 1 recordings agree, and 1 cannot be decided\n";
        assert!(text.starts_with(first), "{text}");
    }

    #[test]
    fn a_search_tells_how_far_it_follows_and_where_it_parts() {
        let followed = |parts| Followed {
            dispatches: 9,
            of: 10,
            parts: Maybe(parts),
        };
        let mut exact = agreement("burn7", Judgement::Agrees);
        exact.exact = Maybe(Some(followed(None)));
        let text = render(std::slice::from_ref(&exact), &View::default());
        assert!(
            text.contains("burn7: the best simulation makes 9 of 10 recorded dispatches\n"),
            "{text}"
        );
        exact.exact = Maybe(Some(followed(Some(Parting {
            at_s: 0.54,
            decision: "is dispatched".into(),
            recorded: Some("d1v0".into()),
            simulated: None,
        }))));
        let text = render(&[exact], &View::default());
        let told = "it parts after 0.54 s, where d1v0 is dispatched in the recording and nobody in \
                    the simulation\n";
        assert!(text.contains(told), "{text}");
    }
}
