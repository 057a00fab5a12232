//! What is on the screen, and how keys change it. Drawing is in [`mod@draw`].

mod columns;
mod draw;
mod keys;
mod rows;

pub use draw::draw;
pub use keys::action;

use crate::feed::IntervalEnd;
use crate::history::History;
use crate::names::DomainNames;
use columns::COLUMNS;
use domio_core::{DomainId, PcpuId};
use domio_meter::{IntervalSample, PacketWeight};
use keys::Action;
use rows::{Order, Row, Windows};
use std::collections::BTreeSet;

/// Everything that the screen shows.
pub struct Screen {
    /// What is watched.
    pub title: String,
    /// What domains are called.
    pub names: DomainNames,
    /// How packets are weighed.
    pub weight: PacketWeight,
    /// Whether colours may be used. Nothing is told by colour alone.
    pub colour: bool,
    /// Whether figures are xenbaked's.
    pub compatible: bool,
    /// What is to be said besides figures.
    pub note: Option<String>,
    history: History,
    pcpus: BTreeSet<PcpuId>,
    ended: bool,
    /// The moment that is shown; the latest without it.
    at: Option<u64>,
    pcpu: Option<PcpuId>,
    order: Order,
    open: BTreeSet<DomainId>,
    all_open: bool,
    selected: Option<DomainId>,
    help: bool,
}

impl Screen {
    /// A screen without figures.
    pub fn new(title: String, names: DomainNames, weight: PacketWeight, colour: bool) -> Self {
        Screen {
            title,
            names,
            weight,
            colour,
            compatible: false,
            note: None,
            history: History::default(),
            pcpus: BTreeSet::new(),
            ended: false,
            at: None,
            pcpu: None,
            order: Order {
                column: Some(0),
                reversed: false,
            },
            open: BTreeSet::new(),
            all_open: false,
            selected: None,
            help: false,
        }
    }

    /// Shows one pcpu alone.
    pub fn only(&mut self, pcpu: PcpuId) {
        self.pcpu = Some(pcpu);
    }

    /// Takes the next moment.
    pub fn push(&mut self, moment: IntervalEnd) {
        self.pcpus.extend(moment.short.pcpus());
        self.history.push(moment);
        // What stands still may have been dropped.
        if let (Some(at), Some((first, _))) = (self.at, self.history.ends()) {
            self.at = Some(at.max(first));
        }
    }

    /// No more moments come.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Does what a key asks for; false to quit.
    pub fn act(&mut self, action: Action) -> bool {
        match action {
            Action::Quit => return false,
            Action::Help => self.help = !self.help,
            Action::Close => self.help = false,
            Action::Scope => {
                let after = |pcpu: PcpuId| self.pcpus.range(PcpuId(pcpu.0 + 1)..).next();
                self.pcpu = match self.pcpu {
                    None => self.pcpus.first().copied(),
                    Some(pcpu) => after(pcpu).copied(),
                };
            }
            Action::Pcpu(by) => self.pcpu = self.neighbour(by),
            Action::Pause => {
                self.at = match self.at {
                    Some(_) => None,
                    None => self.history.ends().map(|(_, last)| last),
                };
            }
            Action::Step(by) => {
                if let Some((first, last)) = self.history.ends() {
                    let at = self.at.unwrap_or(last).saturating_add_signed(by);
                    self.at = Some(at.clamp(first, last));
                }
            }
            Action::Oldest => self.at = self.history.ends().map(|(first, _)| first),
            Action::Latest => self.at = None,
            Action::Sort(by) => {
                let places = COLUMNS.len() as i32 + 1;
                let now = self.order.column.map_or(0, |at| at as i32 + 1);
                let next = (now + by).rem_euclid(places);
                self.order.column = usize::try_from(next - 1).ok();
            }
            Action::Reverse => self.order.reversed = !self.order.reversed,
            Action::Select(by) => self.select(by),
            Action::Open => {
                if let Some(domain) = self.selected
                    && !self.open.remove(&domain)
                {
                    self.open.insert(domain);
                }
            }
            Action::OpenAll => self.all_open = !self.all_open,
        }
        true
    }

    /// The pcpu that is `by` away in the circle of all; the first or last from the host.
    fn neighbour(&self, by: i32) -> Option<PcpuId> {
        let pcpus: Vec<PcpuId> = self.pcpus.iter().copied().collect();
        let count = i32::try_from(pcpus.len()).ok().filter(|count| *count > 0)?;
        let now = pcpus.iter().position(|pcpu| Some(*pcpu) == self.pcpu);
        let next = match now {
            Some(now) => now as i32 + by,
            None if by > 0 => 0,
            None => -1,
        };
        pcpus.get(next.rem_euclid(count) as usize).copied()
    }

    fn select(&mut self, by: i32) {
        let Some((short, long)) = self.windows() else {
            return;
        };
        let rows = self.rows(&self.of(&short, &long));
        let domains: Vec<DomainId> = rows
            .iter()
            .filter(|r| !r.is_vcpu)
            .map(|r| r.domain)
            .collect();
        let now = domains.iter().position(|d| Some(*d) == self.selected);
        let next = match now {
            Some(now) => (now as i32 + by).clamp(0, domains.len() as i32 - 1),
            None => 0,
        };
        self.selected = domains.get(next as usize).copied();
    }

    /// Number of the moment that is shown.
    fn shown(&self) -> Option<u64> {
        let (first, last) = self.history.ends()?;
        Some(self.at.unwrap_or(last).clamp(first, last))
    }

    /// The two windows that are shown.
    fn windows(&self) -> Option<(IntervalSample, IntervalSample)> {
        let (short, long) = self.history.windows(self.shown()?);
        Some(match self.pcpu {
            Some(pcpu) => (short.on(pcpu), long.on(pcpu)),
            None => (short, long),
        })
    }

    fn of<'a>(&self, short: &'a IntervalSample, long: &'a IntervalSample) -> Windows<'a> {
        let time = |sample: &IntervalSample| {
            let longest = sample.passed.iter().map(|(_, ns)| *ns).max();
            let of_host = longest.unwrap_or_else(|| sample.length());
            self.pcpu.map_or(of_host, |pcpu| sample.passed(pcpu)) as f64
        };
        Windows {
            short,
            long,
            times: [time(short), time(long)],
        }
    }

    fn rows(&self, windows: &Windows<'_>) -> Vec<Row> {
        let mut open = self.open.clone();
        if self.all_open {
            open.extend(windows.long.domains.iter().map(|d| d.id));
        }
        rows::rows(windows, &self.names, self.order, &open)
    }
}

#[cfg(test)]
mod tests;
