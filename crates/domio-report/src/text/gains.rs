//! Who gains and who pays, in lines.

use crate::figure;
use domio_stats::gains::Gain;

/// Domains that one side of a variant shows at most.
const MOST: usize = 6;

/// For each variant of `labels` but the first: who gains and who pays against it, each with the
/// largest of its changes. A domain that wins one figure and loses another is in both lists.
pub fn render(labels: &[String], changes: &[Gain]) -> String {
    let Some((first, others)) = labels.split_first() else {
        return String::new();
    };
    let mut text = String::new();
    for label in others {
        let own: Vec<&Gain> = changes.iter().filter(|c| c.variant == *label).collect();
        let chance = match own.iter().any(|c| !c.proven) {
            true => ", by one replication, which may be chance",
            false => "",
        };
        text += &format!("{label} against {first}{chance}:\n");
        if own.is_empty() {
            text += "  nobody gains and nobody pays\n";
        }
        for (word, gains) in [("gains", true), ("pays ", false)] {
            let side: Vec<&Gain> = largest(own.iter().copied().filter(|c| c.gains == gains));
            for change in side.iter().take(MOST) {
                text += &format!("  {word}  {}\n", line(change));
            }
            if side.len() > MOST {
                text += &format!("  {word}  and {} more\n", side.len() - MOST);
            }
        }
    }
    text
}

/// The first change of each domain.
fn largest<'a>(changes: impl Iterator<Item = &'a Gain>) -> Vec<&'a Gain> {
    let mut first: Vec<&Gain> = Vec::new();
    for change in changes {
        if !first.iter().any(|c| c.domain == change.domain) {
            first.push(change);
        }
    }
    first
}

fn line(change: &Gain) -> String {
    let (from, to) = (figure::number(change.from), figure::number(change.to));
    let figures = figure::with_unit(&format!("{from} -> {to}"), change.unit);
    format!("{}: {} {figures}", change.domain, change.title)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(variant: &str, domain: &str, to: f64, proven: bool) -> Gain {
        Gain {
            variant: variant.into(),
            domain: domain.into(),
            measure: "wake_p95_us",
            title: "wake to run, 95 %",
            unit: "us",
            from: 100.0,
            to,
            gains: to < 100.0,
            proven,
        }
    }

    #[test]
    fn each_domain_is_told_once_a_side() {
        let labels = ["credit", "sedf", "null"].map(str::to_owned);
        let changes = [
            change("sedf", "web", 10.0, true),
            change("sedf", "web", 50.0, true),
            change("sedf", "hog", 300.0, true),
        ];
        assert_eq!(
            render(&labels, &changes),
            "sedf against credit:\n\
             \x20 gains  web: wake to run, 95 % 100 -> 10 us\n\
             \x20 pays   hog: wake to run, 95 % 100 -> 300 us\n\
             null against credit:\n\
             \x20 nobody gains and nobody pays\n"
        );
        let one = render(&labels[..2], &[change("sedf", "web", 10.0, false)]);
        assert!(one.contains("may be chance"), "{one}");
        let many: Vec<Gain> = (0..9)
            .map(|i| change("sedf", &format!("g{i}"), 10.0, true))
            .collect();
        let text = render(&labels[..2], &many);
        assert!(text.ends_with("  gains  and 3 more\n"), "{text}");
    }
}
