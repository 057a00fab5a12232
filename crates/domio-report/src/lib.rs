//! Terminal tables and the self-contained HTML report.
