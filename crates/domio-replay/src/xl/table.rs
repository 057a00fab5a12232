//! Tables of `xl` and `xm`: columns by their headings.
//!
//! Releases have moved and renamed columns, so that a column is what its heading says, wherever it
//! is. A domain's name comes first and may hold spaces; an affinity comes last and may, too. All
//! between are one word each.

/// What a column tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Column {
    /// The domain's number.
    Id,
    /// Index of a vcpu.
    Vcpu,
    /// How many vcpus the domain has.
    Vcpus,
    /// The pcpu on which a vcpu is.
    Cpu,
    /// Letters for what a domain or a vcpu does.
    State,
    /// A number that nobody needs here.
    Number,
    /// Seconds of processor time that a domain or a vcpu has used.
    Time,
    /// How long the domain has been up: words up to the end of the line.
    Uptime,
    /// Where a vcpu may run, and where it prefers to: `0-1,3 / all`.
    Affinity,
    /// The domain's weight.
    Weight,
    /// The domain's cap in percent of one pcpu.
    Cap,
    /// Microseconds of a reservation's period.
    Period,
    /// Microseconds of a reservation's budget.
    Budget,
    /// Whether time that nobody has reserved is for the domain, too.
    Extratime,
    /// One word that nobody needs here.
    Other,
    /// Words up to the end of the line that nobody needs here.
    Rest,
}

/// Headings of more than one word, then those of one.
const HEADINGS: &[(&[&str], Column)] = &[
    (&["affinity", "(hard", "/", "soft)"], Column::Affinity),
    (&["cpu", "affinity"], Column::Affinity),
    (&["node", "affinity"], Column::Rest),
    (&["security", "label"], Column::Other),
    (&["affinity"], Column::Affinity),
    (&["id"], Column::Id),
    (&["vcpu"], Column::Vcpu),
    (&["vcpus"], Column::Vcpus),
    (&["cpu"], Column::Cpu),
    (&["state"], Column::State),
    (&["mem"], Column::Number),
    (&["mem(mib)"], Column::Number),
    (&["time(s)"], Column::Time),
    (&["uptime"], Column::Uptime),
    (&["weight"], Column::Weight),
    (&["cap"], Column::Cap),
    (&["period"], Column::Period),
    (&["budget"], Column::Budget),
    (&["extratime"], Column::Extratime),
];

impl Column {
    /// Whether the column may hold `word`.
    fn takes(self, word: &str) -> bool {
        match self {
            Column::Id | Column::Vcpu | Column::Vcpus => word.parse::<u16>().is_ok(),
            Column::Cpu => word == "-" || word.parse::<u16>().is_ok(),
            Column::State => word.chars().all(|c| "rbpscd-".contains(c)),
            Column::Number | Column::Time => word.parse::<f64>().is_ok(),
            _ => true,
        }
    }

    fn is_words(self) -> bool {
        matches!(self, Column::Affinity | Column::Rest | Column::Uptime)
    }
}

/// Columns after the name, in their order.
pub(super) struct Table {
    columns: Vec<Column>,
}

/// A line of a table.
pub(super) struct Row<'a> {
    pub name: String,
    cells: Vec<(Column, &'a str)>,
    /// The words of a last column that may hold several.
    pub last: String,
}

impl<'a> Row<'a> {
    /// What is in the column.
    pub fn cell(&self, column: Column) -> Option<&'a str> {
        let mut cells = self.cells.iter();
        cells.find(|(of, _)| *of == column).map(|(_, word)| *word)
    }
}

impl Table {
    /// The table whose headings `line` has; `None` for any other line.
    pub fn of(line: &str) -> Option<Table> {
        let words: Vec<String> = line
            .split_whitespace()
            .map(str::to_ascii_lowercase)
            .collect();
        let mut rest = words.strip_prefix(&["name".to_owned()])?;
        let mut columns = Vec::new();
        while !rest.is_empty() {
            let begins = |heading: &[&str]| {
                heading.len() <= rest.len() && heading.iter().zip(rest).all(|(a, b)| a == b)
            };
            let known = HEADINGS.iter().find(|(heading, _)| begins(heading));
            let (heading, column) = known.copied().unwrap_or((&["?"], Column::Other));
            columns.push(column);
            rest = &rest[heading.len()..];
        }
        // `xm vcpu-list` calls the index so, too. Only vcpus are on a pcpu.
        if columns.contains(&Column::Cpu) {
            let vcpus = columns.iter_mut().filter(|c| **c == Column::Vcpus);
            vcpus.for_each(|column| *column = Column::Vcpu);
        }
        let is_table = columns.contains(&Column::Id);
        is_table.then_some(Table { columns })
    }

    /// Whether the table has the column.
    pub fn has(&self, column: Column) -> bool {
        self.columns.contains(&column)
    }

    /// The line's cells; `None` where they are not what the headings say.
    pub fn row<'a>(&self, line: &'a str) -> Option<Row<'a>> {
        Table::cells(&self.columns, line)
    }

    /// Whether the line is of a domain that does not run: `xm` leaves its number and state out.
    pub fn is_inactive(&self, line: &str) -> bool {
        let columns = self.columns.iter().copied();
        let left = columns.filter(|c| !matches!(c, Column::Id | Column::State));
        let left: Vec<Column> = left.collect();
        left.contains(&Column::Vcpus) && Table::cells(&left, line).is_some()
    }

    fn cells<'a>(columns: &[Column], line: &'a str) -> Option<Row<'a>> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (single, last) = match columns.split_last() {
            Some((last, single)) if last.is_words() => (single, Some(*last)),
            _ => (columns, None),
        };
        let end = words.len().checked_sub(single.len())?;
        let mut begins = match last {
            // One word at least for the name and for the last column.
            Some(_) => 1..end,
            None => end.max(1)..end + 1,
        };
        let fits = |at: &usize| {
            single
                .iter()
                .zip(&words[*at..])
                .all(|(c, word)| c.takes(word))
        };
        let at = begins.find(fits)?;
        Some(Row {
            name: words[..at].join(" "),
            cells: single
                .iter()
                .copied()
                .zip(words[at..].iter().copied())
                .collect(),
            last: match last {
                Some(Column::Affinity | Column::Uptime) => words[at + single.len()..].join(" "),
                _ => String::new(),
            },
        })
    }
}
