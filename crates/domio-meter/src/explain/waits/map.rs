//! Who ran where, change by change, in a part of a trace.

use std::collections::{BTreeMap, VecDeque};
use std::slice::Iter;

use domio_answer::column::fact;
use domio_answer::{Cell, Column, FieldType, Known, rows};
use domio_core::{Duration, Instant, PcpuId, Runstate, VcpuName};

/// Rows of a map at its begin, and as many at its end: those between are counted only.
pub const MAP_ROWS: usize = 30;

/// Changes that are kept of the past, so that a wait that turns out to be the longest has its
/// begin.
const PAST_MAX: usize = 4096;

/// The least margin on both sides of a wait.
const MARGIN: u64 = 500_000;

/// Which part of a trace a map shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapWindow {
    /// Between two times since the first record.
    Between(Duration, Duration),
    /// Around the longest wait after a wake-up, or if there is none around the longest of all.
    Worst,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapChange {
    /// A vcpu is put on the pcpu, after another one went to a runstate.
    Runs(VcpuName, Option<(VcpuName, Runstate)>),
    /// A vcpu is woken, by what runs on the pcpu.
    Wakes(VcpuName),
}

rows! {
    /// A change.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct MapRow {
        /// When.
        pub at: Instant = moment("at_ns");
        /// Where.
        pub pcpu: PcpuId = fact("pcpu");
        /// What.
        pub what: MapChange = fact("");
    }

    /// A map.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Map {
        /// Where it begins.
        pub from: Instant = moment("from_ns");
        /// Where it ends.
        pub until: Instant = moment("until_ns");
        /// Who ran on which pcpu at the begin, where that is known; null when it idled.
        pub first: Vec<(PcpuId, VcpuName)> = parts("first", [key("pcpu"), fact("")]);
        /// The changes at the begin.
        pub head: Vec<MapRow> = parts("rows", []);
        /// Changes after them that were left out.
        pub left_out: u64 = count("left_out");
        /// Who ran on which pcpu after those, of the pcpus that they changed.
        pub then: BTreeMap<PcpuId, VcpuName> = parts("then", [key("pcpu"), fact("")]);
        /// The last changes.
        pub tail: Vec<MapRow> = parts("last_rows", []);
    }
}

/// A change is who comes, who leaves, and to where.
impl FieldType for MapChange {
    fn columns(_: &mut dyn Iterator<Item = Column>) -> Vec<Column> {
        let event = fact("event").doc("`runs` or `wakes`.");
        let vcpu = fact("").doc("Who; null when the pcpu idles.");
        let left = fact("left").doc("Who left the pcpu, if that is known and was no idle vcpu.");
        let to = fact("left_to").doc("The runstate that who left went to.");
        [
            String::columns(&mut std::iter::once(event)),
            VcpuName::columns(&mut std::iter::once(vcpu)),
            Option::<VcpuName>::columns(&mut std::iter::once(left)),
            Option::<Runstate>::columns(&mut std::iter::once(to)),
        ]
        .concat()
    }

    fn put(&self, cells: &mut Vec<Cell>) {
        let (event, vcpu, left) = match *self {
            MapChange::Runs(vcpu, left) => ("runs", vcpu, left),
            MapChange::Wakes(vcpu) => ("wakes", vcpu, None),
        };
        cells.push(Cell::text(event));
        vcpu.put(cells);
        left.map(|(vcpu, _)| vcpu).put(cells);
        left.map(|(_, state)| state).put(cells);
    }

    fn take(cells: &mut Iter<'_, Cell>, known: Known<'_>) -> Option<Self> {
        let event = String::take(cells, known)?;
        let vcpu = VcpuName::take(cells, known)?;
        let left = <Option<VcpuName> as FieldType>::take(cells, known)?;
        let to = <Option<Runstate> as FieldType>::take(cells, known)?;
        match event.as_str() {
            "runs" => Some(MapChange::Runs(vcpu, left.zip(to))),
            "wakes" => Some(MapChange::Wakes(vcpu)),
            _ => None,
        }
    }

    fn add(&mut self, _: &Self, columns: &mut Iter<'_, Column>) {
        columns.nth(5);
    }
}

impl Map {
    fn new(from: u64, until: u64, first: Vec<(PcpuId, VcpuName)>) -> Self {
        Map {
            from: Instant::from_nanos(from),
            until: Instant::from_nanos(until),
            first,
            head: Vec::new(),
            left_out: 0,
            then: BTreeMap::new(),
            tail: Vec::new(),
        }
    }

    fn add(&mut self, row: MapRow) {
        if self.head.len() < MAP_ROWS {
            self.head.push(row);
            return;
        }
        if self.tail.len() == 2 * MAP_ROWS {
            // Half of it at once: a row costs a constant time.
            self.leave_out(MAP_ROWS);
        }
        self.tail.push(row);
    }

    /// Leaves the first `count` rows of the tail out.
    fn leave_out(&mut self, count: usize) {
        for row in self.tail.drain(..count) {
            if let MapChange::Runs(vcpu, _) = row.what {
                self.then.insert(row.pcpu, vcpu);
            }
            self.left_out += 1;
        }
    }

    fn finish(mut self) -> Self {
        self.leave_out(self.tail.len().saturating_sub(MAP_ROWS));
        self
    }
}

/// Makes a map while a trace is read.
#[derive(Debug)]
pub(super) struct Cartographer {
    window: MapWindow,
    /// First record's time.
    begin: u64,
    /// Who runs on each pcpu, by number.
    current: Vec<Option<VcpuName>>,
    past: VecDeque<MapRow>,
    /// Whether one lies before the oldest of `past`.
    forgot: bool,
    map: Option<Map>,
}

impl Cartographer {
    pub fn new(window: MapWindow) -> Self {
        Cartographer {
            window,
            begin: 0,
            current: Vec::new(),
            past: VecDeque::new(),
            forgot: false,
            map: None,
        }
    }

    /// The trace begins.
    pub fn begin(&mut self, at: u64) {
        self.begin = at;
    }

    fn show(&mut self, vcpu: VcpuName, pcpu: PcpuId) {
        let index = pcpu.index();
        if self.current.len() <= index {
            self.current.resize(index + 1, None);
        }
        self.current[index] = Some(vcpu);
    }

    /// `vcpu` is found to run on `pcpu`, since some time.
    pub fn runs_already(&mut self, vcpu: VcpuName, pcpu: PcpuId) {
        self.show(vcpu, pcpu);
        let Some(map) = &mut self.map else {
            return;
        };
        if map.first.iter().all(|(p, _)| *p != pcpu) && map.head.iter().all(|r| r.pcpu != pcpu) {
            map.first.push((pcpu, vcpu));
        }
    }

    /// A change.
    pub fn change(&mut self, row: MapRow) {
        let at = row.at.as_nanos();
        if let MapWindow::Between(from, until) = self.window {
            let from = self.begin.saturating_add(from.as_nanos());
            let until = self.begin.saturating_add(until.as_nanos());
            if at >= from && at < until {
                if self.map.is_none() {
                    self.map = Some(Map::new(from, until, self.currents()));
                }
                let is_known = self
                    .current
                    .get(row.pcpu.index())
                    .is_some_and(Option::is_some);
                if let (Some(map), MapChange::Runs(_, Some((left, _)))) = (&mut self.map, row.what)
                    && !is_known
                {
                    // Who left ran before.
                    map.first.push((row.pcpu, left));
                }
                self.map.iter_mut().for_each(|map| map.add(row));
            }
        } else {
            if let Some(map) = &mut self.map
                && row.at < map.until
            {
                map.add(row);
            }
            if self.past.len() == PAST_MAX {
                self.past.pop_front();
                self.forgot = true;
            }
            self.past.push_back(row);
        }
        if let MapChange::Runs(vcpu, _) = row.what {
            self.show(vcpu, row.pcpu);
        }
    }

    /// The longest wait so far ended just now.
    pub fn longest(&mut self, wait_begin: u64, wait_end: u64) {
        if self.window != MapWindow::Worst {
            return;
        }
        let margin = (wait_end.saturating_sub(wait_begin) / 8).max(MARGIN);
        let from = wait_begin.saturating_sub(margin).max(self.begin);
        let until = wait_end.saturating_add(margin);
        let oldest = self.past.front().map_or(from, |row| row.at.as_nanos());
        // What is forgotten is not shown as if nothing had happened.
        let from = if self.forgot { from.max(oldest) } else { from };
        let mut first = self.currents();
        let mut map = Map::new(from, until, Vec::new());
        for row in self.past.iter().rev() {
            if row.at.as_nanos() < from {
                break;
            }
            // Who left ran before.
            if let MapChange::Runs(_, left) = row.what {
                first.retain(|(pcpu, _)| *pcpu != row.pcpu);
                first.extend(left.map(|(vcpu, _)| (row.pcpu, vcpu)));
            }
        }
        let inside = self.past.iter().filter(|row| row.at.as_nanos() >= from);
        inside.for_each(|row| map.add(*row));
        first.sort();
        map.first = first;
        self.map = Some(map);
    }

    fn currents(&self) -> Vec<(PcpuId, VcpuName)> {
        let current = self.current.iter().enumerate();
        let shown = current.filter_map(|(i, v)| Some((PcpuId(i as u16), (*v)?)));
        shown.collect()
    }

    /// The map, with an end no later than the trace's.
    pub fn finish(self, end: Instant) -> Option<Map> {
        let mut map = self.map?.finish();
        map.until = map.until.min(end).max(map.from);
        Some(map)
    }
}
