//! What the numbers of a stream stand for: its classes and its actors.

use crate::class::{Class, ClassId, Declared};
use crate::record::{COMMON, FOREIGN};
use crate::{Actor, ActorId, Record, VcpuName};
use alloc::vec;
use alloc::vec::Vec;

/// Position of a number that a class does not declare.
const UNDECLARED: u8 = u8::MAX;

/// The classes and actors of one stream of records, as far as the stream has gone.
///
/// Whoever writes the stream owns the table and adds to it: an actor before the first record that
/// names it, a class likewise. Both keep their numbers for good. Every record is handed on together
/// with the table ([`Sink::record`](crate::Sink::record)), so that no reader keeps one of its own.
///
/// Classes 0 and 1 are there from the start: [`COMMON`] and [`FOREIGN`].
#[derive(Clone, Debug)]
pub struct Names {
    classes: Vec<&'static Class>,
    /// For each class, where in [`Class::records`] a number is declared.
    declared: Vec<[u8; 256]>,
    actors: Vec<Actor>,
}

impl Default for Names {
    fn default() -> Self {
        Names::new()
    }
}

impl Names {
    /// The two classes that every stream has, and no actor.
    pub fn new() -> Self {
        let mut names = Names {
            classes: Vec::new(),
            declared: Vec::new(),
            actors: Vec::new(),
        };
        names.add_class(&COMMON);
        names.add_class(&FOREIGN);
        names
    }

    /// Adds a class, or finds the one of that name that is there already.
    ///
    /// # Panics
    /// For the 256th class, and for a class with 255 records or more.
    pub fn add_class(&mut self, class: &'static Class) -> ClassId {
        if let Some(id) = self.class_named(class.name) {
            return id;
        }
        assert!(self.classes.len() < 256, "a stream has at most 256 classes");
        assert!(
            class.records.len() < usize::from(UNDECLARED),
            "a class has at most 254 records"
        );
        let mut declared = [UNDECLARED; 256];
        for (i, record) in class.records.iter().enumerate() {
            declared[usize::from(record.number)] = i as u8;
        }
        self.classes.push(class);
        self.declared.push(declared);
        ClassId((self.classes.len() - 1) as u8)
    }

    /// Adds an actor.
    ///
    /// # Panics
    /// When the stream has [`ActorId::MAX`] actors already.
    pub fn add_actor(&mut self, actor: impl Into<Actor>) -> ActorId {
        let id = self.actors.len() as u32;
        assert!(id < ActorId::MAX, "a stream has at most 2^30 actors");
        self.actors.push(actor.into());
        ActorId(id)
    }

    /// The classes, by number.
    pub fn classes(&self) -> &[&'static Class] {
        &self.classes
    }

    /// The actors, by number.
    #[inline]
    pub fn actors(&self) -> &[Actor] {
        &self.actors
    }

    /// The class with number `id`.
    #[inline]
    pub fn class(&self, id: ClassId) -> Option<&'static Class> {
        self.classes.get(id.index()).copied()
    }

    /// The class called `name`.
    pub fn class_named(&self, name: &str) -> Option<ClassId> {
        let place = self.classes.iter().position(|class| class.name == name)?;
        Some(ClassId(place as u8))
    }

    /// The actor with number `id`.
    #[inline]
    pub fn actor(&self, id: ActorId) -> Option<Actor> {
        self.actors.get(id.index()).copied()
    }

    /// The name of the vcpu that actor `id` is.
    #[inline]
    pub fn vcpu(&self, id: ActorId) -> Option<VcpuName> {
        Some(self.actor(id)?.vcpu())
    }

    /// The declaration of `record`; `None` for one that nobody declares.
    #[inline]
    pub fn declared(&self, record: &Record) -> Option<&'static Declared> {
        let class = record.class.index();
        let place = *self.declared.get(class)?.get(usize::from(record.number))?;
        self.classes[class].records.get(usize::from(place))
    }
}

/// Finds the actor of a vcpu's name, for readers of files that name vcpus in each record.
#[derive(Clone, Debug, Default)]
pub struct ActorIndex {
    /// For each domain, in ascending order, its vcpus by ascending index: as much as was named,
    /// whatever the numbers are.
    domains: Vec<(u16, Vec<(u16, ActorId)>)>,
    /// Vcpus that were asked for lately, each at the place that its name says.
    lately: Vec<(VcpuName, ActorId)>,
}

/// Places for vcpus that were asked for lately, a power of two: most hosts have fewer.
const LATELY: usize = 256;

impl ActorIndex {
    /// Nobody known.
    pub fn new() -> Self {
        ActorIndex::default()
    }

    /// The actor called `name`, which is added to `names` at first sight.
    #[inline]
    pub fn actor(&mut self, names: &mut Names, name: VcpuName) -> ActorId {
        let place = usize::from(name.domain.0 ^ name.index << 4) % LATELY;
        match self.lately.get(place) {
            Some((lately, id)) if *lately == name && *id != ActorId::NONE => *id,
            _ => self.search(names, name, place),
        }
    }

    /// The actor called `name`, if it was named before.
    pub fn known(&self, name: VcpuName) -> Option<ActorId> {
        let place = self.place(name.domain.0).ok()?;
        let vcpus = &self.domains[place].1;
        let place = vcpus.binary_search_by_key(&name.index, |(index, _)| *index);
        Some(vcpus[place.ok()?].1)
    }

    fn place(&self, domain: u16) -> Result<usize, usize> {
        self.domains.binary_search_by_key(&domain, |(id, _)| *id)
    }

    fn search(&mut self, names: &mut Names, name: VcpuName, lately: usize) -> ActorId {
        let place = self.place(name.domain.0).unwrap_or_else(|place| {
            self.domains.insert(place, (name.domain.0, vec![]));
            place
        });
        let vcpus = &mut self.domains[place].1;
        let place = vcpus.binary_search_by_key(&name.index, |(index, _)| *index);
        let place = place.unwrap_or_else(|place| {
            vcpus.insert(place, (name.index, names.add_actor(name)));
            place
        });
        let id = vcpus[place].1;
        if self.lately.is_empty() {
            self.lately = vec![(VcpuName::default(), ActorId::NONE); LATELY];
        }
        self.lately[lately] = (name, id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DomainId, Instant, Kind, PcpuId};

    #[test]
    fn actors_are_numbered_in_the_order_of_their_first_record() {
        let (mut names, mut index) = (Names::new(), ActorIndex::new());
        let vcpus = [(3, 1), (0, 0), (3, 0), (3, 1), (32767, 65535), (0, 0)];
        let ids = vcpus.map(|(d, v)| {
            let name = VcpuName::new(DomainId(d), v);
            let id = index.actor(&mut names, name);
            assert_eq!(names.vcpu(id), Some(name));
            assert_eq!(index.known(name), Some(id));
            id.0
        });
        assert_eq!(ids, [0, 1, 2, 0, 3, 1]);
        assert_eq!(names.actors().len(), 4);
        assert_eq!(index.known(VcpuName::new(DomainId(3), 2)), None);
        assert_eq!(index.known(VcpuName::new(DomainId(4), 0)), None);
        assert_eq!(names.vcpu(ActorId::NONE), None);
    }

    #[test]
    fn a_record_finds_its_declaration() {
        static CLASS: Class = Class::new("some", &[Declared::new(7, "seven", &[])]);
        let mut names = Names::new();
        let id = names.add_class(&CLASS);
        assert_eq!(id, ClassId(2));
        assert_eq!(names.add_class(&CLASS), id, "it is there");
        let record = |class, number| {
            let at = (Instant::ZERO, PcpuId(0));
            Record::of(at.0, at.1, (class, number), ActorId::NONE, [0; 4])
        };
        let name = |r: &Record| names.declared(r).map(|d| d.name);
        assert_eq!(name(&record(id, 7)), Some("seven"));
        assert_eq!(name(&record(id, 8)), None);
        assert_eq!(name(&record(ClassId(3), 0)), None);
        let wake = Record::new(Instant::ZERO, PcpuId(0), Kind::Wake, ActorId(0));
        assert_eq!(name(&wake), Some("wake"));
    }
}
