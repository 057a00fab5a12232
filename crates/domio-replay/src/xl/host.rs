//! What a shell shows of a host: one output of `xl` or `xm` after the other, in any order, as
//! people paste it.
//!
//! Headings say what follows. Lines with a command (`# xl list`, `$ sudo xl vcpu-list`), with the
//! output of `date` and without anything are passed over, unless they are rows of the table before.
//! A list that comes twice says how much time each domain used in between.

use super::table::{Column, Row, Table};
use super::{ListedDomain, SchedText, XlError, domid, is_list, list_json, list_row, sched};
use std::collections::{BTreeMap, BTreeSet};

/// An output of `xl` or `xm`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ListKind {
    /// `list`: a line a domain.
    List,
    /// `list -l`: JSON.
    LongList,
    /// `vcpu-list`: a line a vcpu.
    VcpuList,
    /// `sched-credit`, `sched-credit2` or `sched-rtds`.
    Sched,
    /// `info`: what the machine is.
    Info,
    /// `uptime`: since when each domain has been up.
    Uptime,
}

impl ListKind {
    /// The command.
    pub const fn command(self) -> &'static str {
        match self {
            ListKind::List => "xl list",
            ListKind::LongList => "xl list -l",
            ListKind::VcpuList => "xl vcpu-list",
            ListKind::Sched => "xl sched-*",
            ListKind::Info => "xl info",
            ListKind::Uptime => "xl uptime",
        }
    }
}

/// Processor time in ms as one list shows it: the column `Time(s)`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CpuTimes {
    /// The file, and the line of the headings.
    pub at: (String, usize),
    /// Whether it is a `vcpu-list`.
    pub is_of_vcpus: bool,
    /// Domains that it names.
    pub rows: BTreeMap<u16, TimesRow>,
    /// By domain, of `list`.
    pub domains: BTreeMap<u16, u64>,
    /// By vcpu, of `vcpu-list`.
    pub vcpus: BTreeMap<(u16, u16), u64>,
}

/// A domain in one list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TimesRow {
    /// Its name.
    pub name: String,
    /// Number of its vcpus.
    pub vcpus: u16,
}

/// All that was printed of a host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostLists {
    /// Domains, as all lists together tell.
    pub domains: BTreeMap<u16, ListedDomain>,
    /// Settings of the scheduler.
    pub sched: Option<SchedText>,
    /// Cpupools that the settings are of.
    pub pools: BTreeSet<String>,
    /// Of each list with times, in the order in which they were read.
    pub times: Vec<CpuTimes>,
    /// Domains that are paused, in the last list.
    pub paused: BTreeSet<u16>,
    /// Vcpus that are offline, in the last list.
    pub offline: BTreeSet<(u16, u16)>,
    /// Seconds since the start of each domain.
    pub uptimes: BTreeMap<u16, u64>,
    /// Lines `key : value` of `xl info`.
    pub info: BTreeMap<String, String>,
    /// What was printed, and the file in which it is.
    pub printed: BTreeMap<ListKind, String>,
}

/// What lines belong to.
enum Section {
    List(Table),
    Sched(Table),
    Uptime(Table),
}

const EXPECTED: &str = "an output of `xl` or `xm` with its headings: `list`, `vcpu-list`, \
                        `sched-credit`, `sched-credit2`, `sched-rtds`, `info` or `uptime`";

impl HostLists {
    /// Reads `text`, which comments call `file`, behind what was read before.
    ///
    /// # Errors
    /// The first line that cannot be right.
    pub fn read(&mut self, text: &str, file: &str) -> Result<(), XlError> {
        if text.trim_start().starts_with(['[', '{']) {
            self.domains.extend(list_json(text)?);
            self.note(ListKind::LongList, file);
            return Ok(());
        }
        let mut section = None;
        let before = self.printed.len();
        let mut any = false;
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            any |= self.line(&mut section, (number, line), file)?;
        }
        if !any && self.printed.len() == before {
            let first = text.lines().next().unwrap_or_default();
            return Err(XlError::new(1, first, EXPECTED));
        }
        Ok(())
    }

    /// Notes that `what` was printed, and is in `file`.
    fn note(&mut self, what: ListKind, file: &str) {
        let files = self.printed.entry(what).or_default();
        if files.is_empty() {
            *files = file.to_owned();
        } else if !files.split(", ").any(|f| f == file) {
            *files += &format!(", {file}");
        }
    }

    /// A line; whether it told anything.
    fn line(
        &mut self,
        section: &mut Option<Section>,
        (number, line): (usize, &str),
        file: &str,
    ) -> Result<bool, XlError> {
        if line.split_whitespace().next() == Some("Cpupool") {
            let sched = self.sched.get_or_insert_default();
            sched::pool(sched, number, line)?;
            let name = line.split_whitespace().nth(1).unwrap_or_default();
            self.pools.insert(name.trim_end_matches(':').to_owned());
            self.note(ListKind::Sched, file);
            *section = None;
            return Ok(true);
        }
        if let Some(table) = Table::of(line) {
            *section = Some(self.headings(table, (number, line), file)?);
            return Ok(true);
        }
        let fits = match section.as_ref() {
            Some(Section::List(table)) => table.row(line).is_some() || table.is_inactive(line),
            Some(Section::Sched(table) | Section::Uptime(table)) => table.row(line).is_some(),
            None => false,
        };
        if !fits && is_of_shell(line) {
            return Ok(false);
        }
        // A key has one word, so that it cannot be taken for a row.
        if !fits && let Some((key, value)) = setting(line) {
            self.info.insert(key.to_owned(), value.to_owned());
            self.note(ListKind::Info, file);
            *section = None;
            return Ok(true);
        }
        match section {
            Some(Section::List(table)) => {
                if let Some(row) = list_row(&mut self.domains, table, number, line)? {
                    self.listed(&row, number, line)?;
                }
            }
            Some(Section::Sched(table)) => {
                let sched = self.sched.get_or_insert_default();
                sched::domain(sched, table, number, line)?;
            }
            Some(Section::Uptime(table)) => self.uptime(table, number, line)?,
            None => return Err(XlError::new(number, line, EXPECTED)),
        }
        Ok(true)
    }

    /// A line of headings.
    fn headings(
        &mut self,
        table: Table,
        (number, line): (usize, &str),
        file: &str,
    ) -> Result<Section, XlError> {
        if table.has(Column::Uptime) {
            self.note(ListKind::Uptime, file);
            return Ok(Section::Uptime(table));
        }
        let is_sched = table.has(Column::Weight) || table.has(Column::Budget);
        if is_sched || !is_list(&table) {
            let sched = self.sched.get_or_insert_default();
            let table = sched::headings(sched, number, line)?;
            self.note(ListKind::Sched, file);
            return Ok(Section::Sched(table));
        }
        let is_of_vcpus = table.has(Column::Vcpu);
        self.note(
            match is_of_vcpus {
                true => ListKind::VcpuList,
                false => ListKind::List,
            },
            file,
        );
        if table.has(Column::Time) {
            self.times.push(CpuTimes {
                at: (file.to_owned(), number),
                is_of_vcpus,
                ..CpuTimes::default()
            });
        }
        Ok(Section::List(table))
    }

    /// What a list says about a domain, except its identity.
    fn listed(&mut self, row: &Row<'_>, number: usize, line: &str) -> Result<(), XlError> {
        let id = domid(row.cell(Column::Id), number, line)?;
        let vcpu: Option<u16> = row.cell(Column::Vcpu).and_then(|vcpu| vcpu.parse().ok());
        let state = row.cell(Column::State);
        let is_paused = state.is_some_and(|state| state.contains('p'));
        match vcpu {
            Some(vcpu) => put(&mut self.offline, (id, vcpu), is_paused),
            None => put(&mut self.paused, id, is_paused),
        }
        let (Some(word), Some(times)) = (row.cell(Column::Time), self.times.last_mut()) else {
            return Ok(());
        };
        let listed = times.rows.entry(id).or_default();
        listed.name.clone_from(&row.name);
        let vcpus = row.cell(Column::Vcpus).and_then(|n| n.parse().ok());
        let of_vcpu = vcpu.map(|vcpu| vcpu.saturating_add(1));
        listed.vcpus = listed.vcpus.max(vcpus.or(of_vcpu).unwrap_or(1));
        let expected = "seconds, as 12.3, in the column Time(s)";
        let ms = milliseconds(word).ok_or_else(|| XlError::new(number, line, expected))?;
        match vcpu {
            Some(vcpu) => times.vcpus.insert((id, vcpu), ms),
            None => times.domains.insert(id, ms),
        };
        Ok(())
    }

    /// A line of `xl uptime`: `web  3  2 days, 3:04:05`.
    fn uptime(&mut self, table: &Table, number: usize, line: &str) -> Result<(), XlError> {
        let expected = "a name, a domid and a time as \"2 days, 3:04:05\", as `xl uptime` prints \
                        them";
        let row = table.row(line);
        let row = row.ok_or_else(|| XlError::new(number, line, expected))?;
        let id = domid(row.cell(Column::Id), number, line)?;
        let seconds = uptime(&row.last).ok_or_else(|| XlError::new(number, line, expected))?;
        self.uptimes.insert(id, seconds);
        Ok(())
    }

    /// The number in the line of `xl info` with this key.
    pub fn number(&self, key: &str) -> Option<u16> {
        self.info.get(key)?.parse().ok().filter(|n| *n > 0)
    }
}

/// Puts `item` into `set`, or takes it out.
fn put<T: Ord>(set: &mut BTreeSet<T>, item: T, is_in: bool) {
    if is_in {
        set.insert(item);
    } else {
        set.remove(&item);
    }
}

/// Whether a line is the shell's: a prompt with a command, or the output of `date`.
fn is_of_shell(line: &str) -> bool {
    let line = line.trim();
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_command = |word: &&str| matches!(*word, "xl" | "xm" | "sudo" | "date" | "sleep");
    let after_prompt = words
        .iter()
        .position(|word| word.ends_with(['#', '$', '>', '%']));
    let command = match after_prompt {
        Some(prompt) => words.get(prompt + 1),
        None => words.first(),
    };
    let is_date = || {
        let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
        let first = words.first().copied().unwrap_or_default();
        let day = days.iter().any(|day| first.starts_with(day));
        day && words.iter().any(|word| word.split(':').count() == 3)
    };
    match (command, after_prompt) {
        // An empty prompt at the end.
        (None, Some(_)) => true,
        (Some(command), _) => is_command(command) || after_prompt.is_none() && is_date(),
        (None, None) => false,
    }
}

/// Key and value of a line `key : value`.
fn setting(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let (key, value) = (key.trim(), value.trim());
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_key = !key.is_empty() && key.chars().all(is_word);
    is_key.then_some((key, value))
}

/// Seconds with a fraction, in ms.
fn milliseconds(word: &str) -> Option<u64> {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    let mut digits = fraction.chars().chain("000".chars());
    let thousandths = (0..3).try_fold(0_u64, |sum, _| {
        Some(sum * 10 + u64::from(digits.next()?.to_digit(10)?))
    });
    let whole: u64 = whole.parse().ok()?;
    whole.checked_mul(1_000)?.checked_add(thousandths?)
}

/// Seconds of `2 days, 3:04:05`.
fn uptime(words: &str) -> Option<u64> {
    let (days, clock) = match words.split_once(',') {
        Some((days, clock)) => {
            let (number, unit) = days.trim().split_once(' ')?;
            if !unit.trim().starts_with("day") {
                return None;
            }
            (number.parse::<u32>().ok()?, clock)
        }
        None => (0, words),
    };
    let parts: Option<Vec<u32>> = clock
        .trim()
        .split(':')
        .map(|part| part.trim().parse().ok())
        .collect();
    let [hours, minutes, seconds] = match parts?[..] {
        [hours, minutes] => [hours, minutes, 0],
        [hours, minutes, seconds] => [hours, minutes, seconds],
        _ => return None,
    };
    let hours = u64::from(days) * 24 + u64::from(hours);
    Some((hours * 60 + u64::from(minutes)) * 60 + u64::from(seconds))
}
