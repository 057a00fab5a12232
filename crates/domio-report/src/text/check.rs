//! What the check of a trace found, a line each.

use domio_meter::CheckReport;

/// First what is damaged of the file, then each finding, and what was read.
pub fn render(report: &CheckReport, damage: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(damage.iter().map(|d| format!("the file is damaged: {d}")));
    lines.extend(report.findings.iter().map(|f| {
        let (record, at, pcpu) = (f.record, f.at, f.pcpu);
        format!("record {record} at {at} on {pcpu}: {}", f.problem)
    }));
    let unshown = report.total - report.findings.len() as u64;
    lines.extend((unshown > 0).then(|| format!("and {unshown} more")));
    let read = match damage.is_empty() {
        true => "",
        false => " in what could be read",
    };
    lines.push(report.covers() + read);
    lines.join("\n") + "\n"
}
