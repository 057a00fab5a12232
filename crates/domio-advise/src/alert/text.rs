//! Allocation errors (ALERT) for the terminal, and in words.

use crate::alert::worst::AlertWorst;
use crate::alert::{AlertDom0, AlertOutcome, AlertPlan, AlertSummary};
use domio_answer::column::share;
use domio_answer::{Cell, Sentence, Table};
use domio_report::text::View;
use domio_report::text::table::render as drawn;

/// The table of one policy, how far it errs, and why it errs where it errs most.
pub fn render(plan: &AlertPlan, outcome: &AlertOutcome, view: &View) -> String {
    let AlertOutcome { label, way, .. } = outcome;
    let mut text = format!("{label}; set by {way}\n\n");
    text += &drawn(&table(plan, outcome), view);
    text.push('\n');
    for finding in findings(outcome) {
        text += &view.item("", &finding.text);
    }
    text += &why(label, &outcome.worst.0, view);
    text
}

/// How far a policy errs over windows of each length, a sentence each.
pub fn findings(outcome: &AlertOutcome) -> Vec<Sentence> {
    let of_window = |window: &AlertSummary| {
        Sentence::new(format!(
            "Over {} s {} errs by {} % of the allocation on average, and by {} % at worst, where \
             {:.0} % are allocated.",
            window.seconds,
            outcome.label,
            size(window.mean_percent),
            signed(window.worst_percent),
            window.worst_allocation
        ))
    };
    outcome.summary.iter().map(of_window).collect()
}

/// The allocations, with two columns for windows of each length; with one where there is one
/// window.
fn table(plan: &AlertPlan, outcome: &AlertOutcome) -> Table {
    let points = &outcome.points;
    let mut table = Table::of("", points);
    for (i, window) in outcome.summary.iter().enumerate() {
        let title = |what: &str| format!("{} s, {what}", window.seconds);
        let key = |what: &str| format!("{what}_of_{}_s", window.seconds);
        if points.iter().any(|point| point.windows[i].count > 1) {
            let means = points.iter().map(|p| p.windows[i].mean_percent.into());
            table.derive(share(key("mean")).title(title("mean")), means);
        }
        let worst = points.iter().map(|p| p.windows[i].worst_percent.into());
        table.derive(share(key("worst")).title(title("worst")), worst);
    }
    if plan.dom0_work == AlertDom0::Burn {
        let errors = points.iter().map(|p| Cell::from(p.dom0.0.error_percent));
        table.derive(share("dom0_error_percent").title("dom0's error"), errors);
    }
    table
}

/// A size in percent: as many digits as it deserves.
fn size(percent: f64) -> String {
    match percent {
        p if p >= 99.95 => format!("{p:.0}"),
        p if p >= 9.995 => format!("{p:.1}"),
        p => format!("{p:.2}"),
    }
}

fn signed(percent: f64) -> String {
    let size = size(percent.abs());
    match percent {
        _ if size == "0.00" => size,
        p if p < 0.0 => format!("-{size}"),
        _ => format!("+{size}"),
    }
}

fn why(label: &str, worst: &AlertWorst, view: &View) -> String {
    let allocated = worst.share.allocated_percent;
    let mut text = match size(worst.window_error_percent.abs()).as_str() {
        "0.00" => format!("\nHow {label} keeps {allocated:.0} %:\n"),
        _ => format!(
            "\nWhy {label} errs at {allocated:.0} %, over windows of {} s, the worst of which \
             begins at {} s:\n",
            worst.window_s, worst.window_begin_s
        ),
    };
    for line in &worst.why {
        text += &view.item("  ", line);
    }
    if worst.excerpt.is_empty() {
        return text;
    }
    text += "\nFrom the trace, with what the policy has in its books:\n";
    let half = worst.excerpt.len().div_ceil(2);
    for (i, step) in worst.excerpt.iter().enumerate() {
        if worst.left_out > 0 && i == half {
            text += &format!("  ... {} more changes of the books ...\n", worst.left_out);
        }
        let happened = match step.happened.as_str() {
            "" => "-",
            happened => happened,
        };
        text += &format!("  {:.6} s  {happened}\n", step.at_s);
        if !step.books.is_empty() {
            text += &format!("              {}\n", step.books);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_their_digits_and_sign() {
        let shown = [0.001, -0.004, 0.5, -12.34, 233.33].map(signed);
        assert_eq!(shown, ["0.00", "0.00", "+0.50", "-12.3", "+233"]);
        assert_eq!([9.996, 99.96].map(size), ["10.0", "100"]);
    }
}
