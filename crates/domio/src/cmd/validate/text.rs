//! Agreement of simulated hosts with recorded traces as a table.

use domio_report::figure;
use domio_report::text::{Cell, Column, Table, Tone, View};
use domio_twin::{Agreement, Compared, DomainAgreement, Followed};

const US_PER_MS: f64 = 1e3;

/// One row a domain of a recording; cells show "recorded / simulated".
pub fn render(agreements: &[Agreement], view: &View) -> String {
    let mut table = Table::new([
        Column::words("recording").whole(),
        Column::words("domain").whole(),
        Column::words("verdict").whole(),
        Column::figures("share\n[% of one pcpu]"),
        Column::figures("run, 50 %\n[ms]"),
        Column::figures("run, 95 %\n[ms]"),
        Column::figures("wake to run,\n50 % [us]"),
        Column::figures("wake to run,\n95 % [us]"),
        Column::figures("switches\n[1/s]"),
    ]);
    for agreement in agreements {
        for domain in &agreement.domains {
            let verdict = match domain.agrees {
                // Nothing on both sides is no agreement that would mean anything.
                true if never_ran(domain) => Cell::new("never ran", Tone::Dim),
                true => Cell::new("agrees", Tone::Good),
                false => Cell::new("differs", Tone::Bad),
            };
            table.row([
                agreement.name.as_str().into(),
                domain.name.as_str().into(),
                verdict,
                pair(domain.share, 1.0),
                pair(domain.run_us.p50, US_PER_MS),
                pair(domain.run_us.p95, US_PER_MS),
                pair(domain.wake_to_run_us.p50, 1.0),
                pair(domain.wake_to_run_us.p95, 1.0),
                pair(domain.switches_per_s, 1.0),
            ]);
        }
    }
    let mut text = table.render(view) + "\n" + &legend(agreements);
    for agreement in agreements {
        let name = &agreement.name;
        for domain in &agreement.domains {
            for (what, figure) in domain.figures() {
                if domain.differs_in.contains(&what) {
                    let accepted = accepted(figure);
                    text += &format!("{name}, {} differs in {what}: {accepted}\n", domain.name);
                }
            }
        }
        if let Some(followed) = &agreement.exact {
            text += &format!("{name}: {}\n", follows(followed));
        }
    }
    for agreement in agreements {
        for domain in &agreement.domains {
            if let Some(reason) = &domain.reason {
                text += &format!("{}, {}: {reason}\n", agreement.name, domain.name);
            }
        }
        for remark in &agreement.remarks {
            text += &format!("{}: {remark}\n", agreement.name);
        }
    }
    let agree = agreements.iter().filter(|a| a.agrees).count();
    text + &format!("{agree} of {} recordings agree\n", agreements.len())
}

/// What the two figures of a cell are.
fn legend(agreements: &[Agreement]) -> String {
    let exact = agreements.iter().any(|a| a.exact.is_some());
    let most = agreements.iter().map(|a| a.twins).max().unwrap_or(0);
    match exact {
        true => "Each figure: recorded / of the twin that makes most of the recorded decisions.\n"
            .to_owned(),
        false => format!(
            "Each figure: recorded / lowest–highest of {most} twins that begin in drawn states.\n"
        ),
    }
}

/// A recorded figure beside what it could have been.
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

/// Whether the domain has no processor time, neither recorded nor simulated.
fn never_ran(domain: &DomainAgreement) -> bool {
    let none = |side: Option<f64>| side.is_none_or(|share| share == 0.0);
    none(domain.share.recorded) && none(domain.share.simulated)
}

/// Both sides of a figure in units of `unit`.
fn pair(figure: Compared, unit: f64) -> Cell {
    let recorded = figure.recorded.map(|value| figure::number(value / unit));
    let twins = figure.range.map(|[low, high]| {
        let [low, high] = [low, high].map(|value| figure::short(value / unit));
        if low == high {
            low
        } else {
            format!("{low}–{high}")
        }
    });
    let side = |side: Option<String>| side.unwrap_or("-".to_owned());
    format!("{} / {}", side(recorded), side(twins)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_twin::{ComparedQuantiles, Parting};

    fn pair(recorded: f64, simulated: f64) -> Compared {
        let accepted = [simulated - 1.0, simulated + 1.0];
        Compared {
            recorded: Some(recorded),
            simulated: Some(simulated),
            range: Some([simulated, simulated]),
            accepted: Some(accepted),
            may_lack: false,
        }
    }

    fn domain(agrees: bool) -> DomainAgreement {
        let none = Compared {
            recorded: None,
            simulated: None,
            range: None,
            accepted: None,
            may_lack: false,
        };
        DomainAgreement {
            id: 1,
            name: "g1".into(),
            share: pair(14.2, 20.0),
            run_us: ComparedQuantiles {
                p50: pair(30_000.0, 29_999.0),
                p95: pair(1.0, 1.0),
            },
            wake_to_run_us: ComparedQuantiles {
                p50: none,
                p95: none,
            },
            switches_per_s: pair(4.7, 4.8),
            agrees,
            differs_in: if agrees { vec![] } else { vec!["share"] },
            reason: None,
        }
    }

    fn agreement(name: &str, agrees: bool) -> Agreement {
        Agreement {
            name: name.into(),
            agrees,
            pcpus: 1,
            twins: 40,
            exact: None,
            domains: vec![domain(agrees)],
            remarks: vec![],
        }
    }

    #[test]
    fn what_differs_is_named_with_what_would_agree() {
        let text = render(
            &[agreement("burn7", true), agreement("cap30", false)],
            &View::default(),
        );
        assert!(
            text.contains("14.2 / 20") && text.contains("- / -"),
            "{text}"
        );
        assert!(
            text.contains("recorded / lowest–highest of 40 twins"),
            "{text}"
        );
        let end = "cap30, g1 differs in share: 14.2 is recorded, 19 to 21 agrees, twins have 20\n\
                   1 of 2 recordings agree\n";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn what_is_not_there_is_told_beside_what_is() {
        let mut open = agreement("burn7", true);
        open.remarks = vec!["a default is assumed".into()];
        open.domains.push(DomainAgreement {
            name: "ghost".into(),
            share: pair(0.0, 0.0),
            reason: Some("no record".into()),
            ..domain(true)
        });
        let text = render(&[open], &View::default());
        let row = text.lines().find(|l| l.contains("ghost")).unwrap_or("");
        assert!(
            row.contains("never ran") && !row.contains("agrees"),
            "{text}"
        );
        let end = "burn7, ghost: no record\nburn7: a default is assumed\n1 of 1 recordings agree\n";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn a_search_tells_how_far_it_follows_and_where_it_parts() {
        let followed = |parts| Followed {
            dispatches: 9,
            of: 10,
            parts,
        };
        let mut exact = agreement("burn7", true);
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
