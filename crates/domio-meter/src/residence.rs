//! Where a vcpu ran: its time by pcpu, and its moves. With the host's topology also by core and
//! node, and how much was inside its soft affinity.
//!
//! Time counts where the account of runstates ([`Track`](domio_trace::Track)) has the vcpu running.
//! A move is a stay on another pcpu than that of the stay before.

use std::collections::BTreeMap;
use std::slice::Iter;

use domio_answer::column::{count, key, parts, sum};
use domio_answer::{Cell, Column, FieldType, Known, rows, texts};
use domio_core::{CpuSet, PcpuId, Topology, VcpuName};

/// Where one vcpu ran. Times are nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Residence {
    /// By pcpu.
    ran: Vec<u64>,
    last: Option<PcpuId>,
    /// By the pcpus from which and to which.
    moves: BTreeMap<(PcpuId, PcpuId), u64>,
}

impl Residence {
    /// What [`ran`](Residence::ran) and [`moves`](Residence::moves) told, put together again.
    pub fn of(
        ran: impl IntoIterator<Item = (PcpuId, u64)>,
        moves: impl IntoIterator<Item = ((PcpuId, PcpuId), u64)>,
    ) -> Residence {
        let mut residence = Residence::default();
        for (pcpu, ns) in ran {
            *residence.on(pcpu) += ns;
        }
        residence.moves.extend(moves);
        residence
    }

    /// It ran for `ns` on `pcpu`, after all that was told before.
    #[inline]
    pub(crate) fn stay(&mut self, pcpu: PcpuId, ns: u64) {
        if ns == 0 {
            return;
        }
        let sum = self.on(pcpu);
        *sum = sum.saturating_add(ns);
        if self.last != Some(pcpu) {
            if let Some(last) = self.last {
                *self.moves.entry((last, pcpu)).or_default() += 1;
            }
            self.last = Some(pcpu);
        }
    }

    #[inline]
    fn on(&mut self, pcpu: PcpuId) -> &mut u64 {
        let index = pcpu.index();
        if index >= self.ran.len() {
            self.ran.resize(index + 1, 0);
        }
        &mut self.ran[index]
    }

    /// Adds that of another run.
    pub fn add(&mut self, other: &Residence) {
        for (pcpu, ns) in other.ran() {
            *self.on(pcpu) += ns;
        }
        for (way, count) in other.moves() {
            *self.moves.entry(way).or_default() += count;
        }
    }

    /// Its time on each pcpu where it ran, by number.
    pub fn ran(&self) -> impl Iterator<Item = (PcpuId, u64)> {
        let all = (0..).map(PcpuId).zip(self.ran.iter().copied());
        all.filter(|(_, ns)| *ns > 0)
    }

    /// Moves by the pcpus from which and to which.
    pub fn moves(&self) -> impl Iterator<Item = ((PcpuId, PcpuId), u64)> {
        self.moves.iter().map(|(way, count)| (*way, *count))
    }

    /// Its time by the `level` of which `place` says which one a pcpu is part of, and its moves
    /// between those.
    fn by(&self, level: Level, place: impl Fn(PcpuId) -> usize) -> (Vec<RanOn>, MovedOver) {
        let mut times: BTreeMap<usize, u64> = BTreeMap::new();
        for (pcpu, ns) in self.ran() {
            *times.entry(place(pcpu)).or_default() += ns;
        }
        let all: u64 = times.values().sum();
        let ran = times.into_iter().map(|(number, ns)| RanOn {
            level,
            number,
            ns,
            percent: ns as f64 * 100.0 / all as f64,
        });
        let moves = self.moves();
        let moves = moves.filter(|((from, to), _)| place(*from) != place(*to));
        let moves = moves.map(|(_, count)| count).sum();
        (ran.collect(), MovedOver { level, moves })
    }
}

type Ran = BTreeMap<PcpuId, u64>;
type Moves = BTreeMap<(PcpuId, PcpuId), u64>;

/// Two tables: the time on each pcpu, and the moves between them.
impl FieldType for Residence {
    fn columns(_: &mut dyn Iterator<Item = Column>) -> Vec<Column> {
        let ran = parts("ran", [key("pcpu"), sum("ns", "ns")]);
        let ran = ran.doc("Its time on each pcpu where it ran.");
        let moves = parts("moves", [key("from"), key("to"), count("count")]);
        let moves = moves.doc("How often it ran on another pcpu than before.");
        let ran = Ran::columns(&mut std::iter::once(ran));
        [ran, Moves::columns(&mut std::iter::once(moves))].concat()
    }

    fn put(&self, cells: &mut Vec<Cell>) {
        self.ran().collect::<Ran>().put(cells);
        self.moves.put(cells);
    }

    fn take(cells: &mut Iter<'_, Cell>, known: Known<'_>) -> Option<Self> {
        let ran = Ran::take(cells, known)?;
        Some(Residence::of(ran, Moves::take(cells, known)?))
    }

    fn add(&mut self, other: &Self, columns: &mut Iter<'_, Column>) {
        columns.nth(1);
        Residence::add(self, other);
    }
}

/// The host on which vcpus ran, as far as residence needs to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostPlaces {
    /// Its pcpus.
    pub topology: Topology,
    /// Soft affinity that leaves pcpus out, and that nothing changes while the host runs.
    pub soft: BTreeMap<VcpuName, CpuSet>,
}

/// What a host has several of, where vcpus run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Pcpus.
    Pcpu,
    /// Cores, numbered over all sockets.
    Core,
    /// Nodes, which are sockets.
    Node,
}

impl Level {
    const ALL: [Level; 3] = [Level::Pcpu, Level::Core, Level::Node];

    fn name(self) -> &'static str {
        match self {
            Level::Pcpu => "pcpu",
            Level::Core => "core",
            Level::Node => "node",
        }
    }
}

texts! {
    Level: |level| level.name().into(),
        |text, _| Level::ALL.into_iter().find(|level| level.name() == text);
}

rows! {
    /// Time of a vcpu on one pcpu, core or node.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct RanOn {
        /// `pcpu`, `core` (numbered over all sockets) or `node` (a socket).
        pub level: Level = key("of");
        /// Its number, from 0.
        pub number: usize = key("number");
        /// The time.
        pub ns: u64 = sum("ns", "ns");
        /// The same in percent of the time that the vcpu ran.
        pub percent: f64 = share("percent");
    }

    /// Moves of a vcpu between pcpus, cores or nodes.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct MovedOver {
        /// `pcpu`, `core` (numbered over all sockets) or `node` (a socket).
        pub level: Level = key("of");
        /// How often it ran on another one than before.
        pub moves: u64 = count("moves");
    }

    /// Where a vcpu ran.
    #[derive(Clone, PartialEq, Debug)]
    pub struct RanWhere {
        /// Where it ran, by number; cores and nodes where the topology is known.
        pub ran: Vec<RanOn> = parts("residence", []);
        /// How often it moved.
        pub moved: Vec<MovedOver> = parts("moved", []);
        /// How much of its time was inside its soft affinity; null where it has none, where an
        /// action changes it, or in a trace.
        pub inside_soft_percent: Option<f64> = share("inside_soft_percent");
    }
}

impl RanWhere {
    /// Where `vcpu` ran, on `places` if that is known.
    pub fn new(vcpu: VcpuName, residence: &Residence, places: Option<&HostPlaces>) -> Self {
        let known = |pcpu: PcpuId, t: &Topology| PcpuId(pcpu.0.min(t.pcpus() as u16 - 1));
        let soft = places.and_then(|places| places.soft.get(&vcpu));
        let all: u64 = residence.ran().map(|(_, ns)| ns).sum();
        let inside = soft.filter(|_| all > 0).map(|soft| {
            let inside = residence.ran().filter(|(pcpu, _)| soft.contains(*pcpu));
            inside.map(|(_, ns)| ns).sum::<u64>() as f64 * 100.0 / all as f64
        });
        let mut levels = vec![residence.by(Level::Pcpu, PcpuId::index)];
        if let Some(t) = places.map(|places| &places.topology) {
            let core = |pcpu| t.core_of(known(pcpu, t));
            let node = |pcpu| t.socket_of(known(pcpu, t));
            levels.extend([
                residence.by(Level::Core, core),
                residence.by(Level::Node, node),
            ]);
        }
        let (ran, moved): (Vec<_>, Vec<_>) = levels.into_iter().unzip();
        RanWhere {
            ran: ran.concat(),
            moved,
            inside_soft_percent: inside,
        }
    }

    /// Its time at one level, by number; of those where it ran.
    pub fn at(&self, level: Level) -> Vec<RanOn> {
        let ran = self.ran.iter().filter(|ran| ran.level == level);
        ran.copied().collect()
    }

    /// How often it moved at one level, where the topology is known.
    pub fn moves(&self, level: Level) -> Option<u64> {
        let moved = self.moved.iter().find(|moved| moved.level == level);
        moved.map(|moved| moved.moves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::DomainId;

    #[test]
    fn time_and_moves_are_told_by_pcpu_core_and_node() {
        let mut residence = Residence::default();
        // Two sockets of two cores with two threads each: pcpus 0 and 1 are one core.
        for (pcpu, ns) in [(0, 10), (0, 10), (1, 20), (7, 0), (2, 20), (6, 40), (0, 0)] {
            residence.stay(PcpuId(pcpu), ns);
        }
        let vcpu = VcpuName::new(DomainId(1), 0);
        let mut soft = CpuSet::EMPTY;
        soft.insert(PcpuId(6));
        let places = HostPlaces {
            topology: Topology::new(2, 2, 2).unwrap(),
            soft: BTreeMap::from([(vcpu, soft)]),
        };
        let told = RanWhere::new(vcpu, &residence, Some(&places));
        let list = |level| {
            let ran = told.at(level).into_iter();
            let ran = ran.map(|p| (p.number, p.ns, p.percent));
            (ran.collect::<Vec<_>>(), told.moves(level).unwrap())
        };
        let pcpus = vec![(0, 20, 20.0), (1, 20, 20.0), (2, 20, 20.0), (6, 40, 40.0)];
        assert_eq!(list(Level::Pcpu), (pcpus, 3));
        let cores = vec![(0, 40, 40.0), (1, 20, 20.0), (3, 40, 40.0)];
        assert_eq!(list(Level::Core), (cores, 2));
        let nodes = vec![(0, 60, 60.0), (1, 40, 40.0)];
        assert_eq!(list(Level::Node), (nodes, 1));
        assert_eq!(told.inside_soft_percent, Some(40.0));
        let other = VcpuName::new(DomainId(1), 1);
        let told = RanWhere::new(other, &residence, Some(&places));
        assert_eq!(told.inside_soft_percent, None);
        let told = RanWhere::new(vcpu, &residence, None);
        assert_eq!(told.moved.len(), 1, "the topology is not known");
    }

    #[test]
    fn runs_add_up_and_lists_make_the_same() {
        let mut residence = Residence::default();
        for pcpu in [0, 1, 0, 1] {
            residence.stay(PcpuId(pcpu), 5);
        }
        let mut again = Residence::of(residence.ran(), residence.moves());
        again.add(&residence);
        let ran: Vec<_> = again.ran().collect();
        assert_eq!(ran, [(PcpuId(0), 20), (PcpuId(1), 20)]);
        assert_eq!(again.moves().map(|(_, count)| count).sum::<u64>(), 6);
    }
}
