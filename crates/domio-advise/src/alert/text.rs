//! Allocation errors (ALERT) for the terminal.

use crate::alert::worst::AlertWorst;
use crate::alert::{AlertDom0, AlertOutcome, AlertPlan, AlertPoint};
use domio_report::text::{TextColumn, TextTable, View};

/// The table of one policy, its summary, and why it errs where it errs most.
pub fn render(plan: &AlertPlan, outcome: &AlertOutcome, view: &View) -> String {
    let AlertOutcome { label, way, .. } = outcome;
    let mut text = format!("{label}; told by {way}\n\n");
    text += &table(plan, outcome).render(view);
    text += &format!("\n{}", summary(outcome));
    text += &why(label, &outcome.worst, view);
    text
}

fn table(plan: &AlertPlan, outcome: &AlertOutcome) -> TextTable {
    let burns = plan.dom0_work == AlertDom0::Burn;
    let mut columns = vec![
        TextColumn::figures("allocated\n[%]"),
        TextColumn::figures("measured\n[%]"),
        TextColumn::figures("error\n[points]"),
        TextColumn::figures("error\n[%]"),
    ];
    for window in &outcome.summary {
        let head = format!("{} s: mean,\nworst [%]", window.seconds);
        columns.push(TextColumn::figures(head));
    }
    if burns {
        columns.push(TextColumn::figures("dom0's\nerror [%]"));
    }
    let mut table = TextTable::new(columns);
    for point in &outcome.points {
        let mut cells = cells(point);
        if burns {
            cells.push(signed(point.dom0.error_percent));
        }
        table.row(cells.into_iter().map(Into::into));
    }
    table
}

fn cells(point: &AlertPoint) -> Vec<String> {
    let guest = &point.guest;
    let mut cells = vec![
        format!("{:.0}", guest.allocated_percent),
        format!("{:.2}", guest.measured_percent),
        format!("{:+.2}", guest.error_points),
        signed(guest.error_percent),
    ];
    for window in &point.windows {
        let worst = signed(window.worst_percent);
        cells.push(match window.count {
            1 => worst,
            _ => format!("{}, {worst}", size(window.mean_percent)),
        });
    }
    cells
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

fn summary(outcome: &AlertOutcome) -> String {
    let mut text = format!("{} errs, in percent of the allocation:\n", outcome.label);
    for window in &outcome.summary {
        text += &format!(
            "  over {} s by {} on average, by {} at worst, where {:.0} % are allocated\n",
            window.seconds,
            size(window.mean_percent),
            signed(window.worst_percent),
            window.worst_allocation
        );
    }
    text
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
