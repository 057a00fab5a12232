//! Agreement of simulated hosts with recorded traces as a table.

use crate::figure;
use crate::text::{Cell, Column, Table, Tone};
use domio_twin::{Agreement, DomainAgreement, Pair};

/// One row a domain of a recording; cells show "recorded / simulated".
pub fn render(agreements: &[Agreement], width: Option<u16>) -> String {
    let mut table = Table::new([
        Column::words("recording").whole(),
        Column::words("domain").whole(),
        Column::words("verdict").whole(),
        Column::figures("share\n[% of one pcpu]"),
        Column::figures("run, 50 %\n[us]"),
        Column::figures("run, 95 %\n[us]"),
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
                pair(domain.share),
                pair(domain.run_us.p50),
                pair(domain.run_us.p95),
                pair(domain.wake_to_run_us.p50),
                pair(domain.wake_to_run_us.p95),
                pair(domain.switches_per_s),
            ]);
        }
    }
    let mut text = table.render(width) + "\nEach figure: recorded / simulated.\n";
    for agreement in agreements {
        for domain in agreement.domains.iter().filter(|d| !d.agrees) {
            let (name, domain, figures) =
                (&agreement.name, &domain.name, domain.differs_in.join(", "));
            text += &format!("{name}, {domain} differs in {figures}\n");
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

/// Whether the domain has no processor time, neither recorded nor simulated.
fn never_ran(domain: &DomainAgreement) -> bool {
    let none = |side: Option<f64>| side.is_none_or(|share| share == 0.0);
    none(domain.share.recorded) && none(domain.share.simulated)
}

fn pair(pair: Pair) -> Cell {
    let side = |value: Option<f64>| value.map_or("-".to_owned(), figure::number);
    format!("{} / {}", side(pair.recorded), side(pair.simulated)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_twin::Quantiles;

    #[test]
    fn what_differs_is_named() {
        let pair = |a: f64, b: f64| Pair {
            recorded: Some(a),
            simulated: Some(b),
        };
        let none = Pair {
            recorded: None,
            simulated: None,
        };
        let domain = |agrees| DomainAgreement {
            id: 1,
            name: "g1".into(),
            share: pair(14.2, 20.0),
            run_us: Quantiles {
                p50: pair(30_000.0, 29_999.0),
                p95: pair(1.0, 1.0),
            },
            wake_to_run_us: Quantiles {
                p50: none,
                p95: none,
            },
            switches_per_s: pair(4.7, 4.8),
            agrees,
            differs_in: if agrees { vec![] } else { vec!["share"] },
            reason: None,
        };
        let agreement = |name: &str, agrees| Agreement {
            name: name.into(),
            agrees,
            pcpus: 1,
            matched: (9, 10),
            domains: vec![domain(agrees)],
            remarks: vec![],
        };
        let text = render(&[agreement("burn7", true), agreement("cap30", false)], None);
        assert!(
            text.contains("14.2 / 20") && text.contains("- / -"),
            "{text}"
        );
        assert!(text.ends_with("cap30, g1 differs in share\n1 of 2 recordings agree\n"));
        // What is not there is told beside what is.
        let mut open = agreement("burn7", true);
        open.remarks = vec!["a default is assumed".into()];
        open.domains.push(DomainAgreement {
            name: "ghost".into(),
            share: pair(0.0, 0.0),
            reason: Some("no record".into()),
            ..domain(true)
        });
        let text = render(&[open], None);
        let row = text.lines().find(|l| l.contains("ghost")).unwrap_or("");
        assert!(
            row.contains("never ran") && !row.contains("agrees"),
            "{text}"
        );
        let end = "burn7, ghost: no record\nburn7: a default is assumed\n1 of 1 recordings agree\n";
        assert!(text.ends_with(end), "{text}");
    }
}
