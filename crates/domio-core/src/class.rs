//! Classes of records: what their numbers and words mean, declared once by who writes them.
//!
//! A policy declares its class beside its descriptor, a device beside its blueprint, and the host
//! writes the common class ([`COMMON`](crate::COMMON)). Readers of traces ask the declaration, and
//! never a number: which words are there, what a person calls them ([`Field`]), what the record
//! says of a wait or of a packet's way ([`Says`]), which tallies of a domain the record adds to
//! ([`Tally`]), and which figures become of them ([`FigureTable`]).
//!
//! A class is a `static`. Readers of files that hold declarations of their own keep each that is
//! new for as long as the program runs.

use crate::Record;
use crate::figure::{FigureTable, Tally};

pub use crate::says::{Says, Shows, WaitsFor};

/// Number of a class in one stream of records, from 0 in the order of
/// [`Names::classes`](crate::Names::classes).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassId(pub u8);

impl ClassId {
    /// What every host writes: [`Kind`](crate::Kind).
    pub const COMMON: ClassId = ClassId(0);
    /// Records of a real host that nobody declares, kept as they came: `number` = number of extra
    /// words in the file, `words` = Xen's event id and the first three extra words.
    pub const FOREIGN: ClassId = ClassId(1);

    /// The id as an index into a dense table.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A class of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Class {
    /// Name in files and tables: that of the policy or device, in lower case with hyphens.
    pub name: &'static str,
    /// The records, by ascending number.
    pub records: &'static [Declared],
    /// Rules of a policy's queues from which a reader may conclude what no record says.
    pub queue: QueueRules,
    /// What the items of [`Says::Moved`] are, in the plural ("packets"); empty when nothing moves.
    pub items: &'static str,
    /// Places of such items, by the number that records hold.
    pub places: &'static [Place],
    /// Figures of domains, made of the tallies that the records add to. Files do not hold them.
    pub tables: &'static [&'static FigureTable],
}

impl Class {
    /// A class without rules and places, for a `static`.
    pub const fn new(name: &'static str, records: &'static [Declared]) -> Self {
        Class {
            name,
            records,
            queue: QueueRules::NONE,
            items: "",
            places: &[],
            tables: &[],
        }
    }

    /// The same class with these rules of its queues.
    pub const fn with_queue(mut self, queue: QueueRules) -> Self {
        self.queue = queue;
        self
    }

    /// The same class with `items` that move between `places`.
    pub const fn with_places(mut self, items: &'static str, places: &'static [Place]) -> Self {
        self.items = items;
        self.places = places;
        self
    }

    /// The same class with these figures.
    pub const fn with_tables(mut self, tables: &'static [&'static FigureTable]) -> Self {
        self.tables = tables;
        self
    }

    /// The declaration of the record with `number`.
    pub fn declared(&self, number: u8) -> Option<&Declared> {
        self.records.iter().find(|d| d.number == number)
    }
}

/// One record of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Declared {
    /// Number in the class.
    pub number: u8,
    /// What a person calls it, in lower case ("tickle").
    pub name: &'static str,
    /// Words that a writer of other formats has to keep, 0 to 4.
    pub words: u8,
    /// What is in the words.
    pub fields: &'static [Field],
    /// What a reader may conclude.
    pub says: Says,
    /// What a trace with such a record says in general.
    pub shows: Shows,
    /// Tallies of the actor's domain that the record adds to.
    pub tallies: &'static [Tally],
}

impl Declared {
    /// A record that says nothing, for a `static`. `words` are counted from `fields`.
    pub const fn new(number: u8, name: &'static str, fields: &'static [Field]) -> Self {
        let mut words = 0;
        let mut i = 0;
        while i < fields.len() {
            let last = fields[i].words_end();
            if last > words {
                words = last;
            }
            i += 1;
        }
        Declared {
            number,
            name,
            words,
            fields,
            says: Says::Nothing,
            shows: Shows::NOTHING,
            tallies: &[],
        }
    }

    /// The same record, which says so.
    pub const fn says(mut self, says: Says) -> Self {
        self.says = says;
        self
    }

    /// The same record, which shows that the trace says so.
    pub const fn shows(mut self, shows: Shows) -> Self {
        self.shows = shows;
        self
    }

    /// The same record, which adds to these tallies.
    pub const fn tallies(mut self, tallies: &'static [Tally]) -> Self {
        self.tallies = tallies;
        self
    }

    /// The value of the field with index `field` in `record`; 0 for a field that is not declared.
    #[inline]
    pub fn value(&self, record: &Record, field: u8) -> u64 {
        self.fields
            .get(usize::from(field))
            .map_or(0, |f| f.value(record))
    }
}

/// A value in the words of a record: `bits` bits from bit `bit` on, counted from the lowest bit of
/// the first word over all four (0 to 127).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Name in lower case with underscores; the unit is not part of it.
    pub name: &'static str,
    /// Lowest bit.
    pub bit: u8,
    /// Number of bits, 1 to 64.
    pub bits: u8,
    /// What is counted.
    pub unit: Unit,
}

impl Field {
    /// Name of the field of a record that says something moves: the number of the device behind the
    /// driver domain, where a class has several. Readers distinguish these.
    pub const DEVICE: &'static str = "device";

    /// The whole word `word` (0 to 3).
    pub const fn word(name: &'static str, word: u8, unit: Unit) -> Self {
        Field::bits(name, word * 32, 32, unit)
    }

    /// The words `word` (the lower half) and `word + 1`.
    pub const fn long(name: &'static str, word: u8, unit: Unit) -> Self {
        Field::bits(name, word * 32, 64, unit)
    }

    /// Bits `bit` to `bit + bits - 1`.
    pub const fn bits(name: &'static str, bit: u8, bits: u8, unit: Unit) -> Self {
        assert!(bits >= 1 && bits <= 64 && bit < 128 && bit as u16 + bits as u16 <= 128);
        Field {
            name,
            bit,
            bits,
            unit,
        }
    }

    /// Number of the words up to the field's last.
    const fn words_end(&self) -> u8 {
        (self.bit + self.bits - 1) / 32 + 1
    }

    /// The value in `record`, without sign.
    #[inline]
    pub fn value(&self, record: &Record) -> u64 {
        let [a, b, c, d] = record.words.map(u128::from);
        let all = a | b << 32 | c << 64 | d << 96;
        let mask = u64::MAX >> (64 - u32::from(self.bits));
        (all >> self.bit) as u64 & mask
    }

    /// The value in `record` with the sign of its highest bit.
    #[inline]
    pub fn signed(&self, record: &Record) -> i64 {
        let unused = 64 - u32::from(self.bits);
        (self.value(record) << unused).cast_signed() >> unused
    }
}

/// What a [`Field`] counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Unit {
    /// A number without unit.
    Number,
    /// The same with a sign.
    Signed,
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Bytes.
    Bytes,
    /// A pcpu.
    Pcpu,
    /// An [`ActorId`](crate::ActorId).
    Actor,
    /// A [`DomainId`](crate::DomainId).
    Domain,
    /// A [`Runstate`](crate::Runstate).
    Runstate,
    /// An index into [`Class::places`].
    Place,
    /// 0 for no, anything else for yes.
    Flag,
    /// Nanoseconds of a simulated or recorded clock since its start.
    Time,
}

impl Unit {
    /// All units, and their names in files.
    pub const ALL: [(Unit, &'static str); 12] = [
        (Unit::Number, "number"),
        (Unit::Signed, "signed"),
        (Unit::Nanoseconds, "ns"),
        (Unit::Microseconds, "us"),
        (Unit::Bytes, "bytes"),
        (Unit::Pcpu, "pcpu"),
        (Unit::Actor, "actor"),
        (Unit::Domain, "domain"),
        (Unit::Runstate, "runstate"),
        (Unit::Place, "place"),
        (Unit::Flag, "flag"),
        (Unit::Time, "time_ns"),
    ];

    /// Name in files.
    pub fn name(self) -> &'static str {
        let found = Unit::ALL.iter().find(|(unit, _)| *unit == self);
        found.map_or("", |(_, name)| *name)
    }
}

/// Rules of a policy's queues.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct QueueRules {
    /// Vcpus of one priority take turns in the order in which they were queued, and one that is
    /// woken and has credit goes before all that have no boost.
    pub fifo_with_boost: bool,
    /// A pcpu does not idle while a vcpu waits in its queue, for longer than a wake-up takes, but
    /// for one that is held back by a limit.
    pub never_idles: bool,
}

impl QueueRules {
    /// None that a reader may rely on.
    pub const NONE: QueueRules = QueueRules {
        fifo_with_boost: false,
        never_idles: false,
    };
}

/// A place where an item can be on its way between a guest and the world outside, in a host with
/// driver domains. What an item waits for, and for whom, follows from two properties: who has to
/// act, and why the item stays.
///
/// ```text
///  outside ─▶ device ─▶ driver, in ──▶ ring to guest ──▶ guest, in ──▶ process
///  outside ◀─────────── driver, out ◀─ ring from guest ◀─ guest, out ◀─ process
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// What a person calls it ("rx ring").
    pub name: &'static str,
    /// Who has to act before the item continues.
    pub acts: Acts,
    /// What holds the item.
    pub holds: Hold,
    /// Whether items go from here towards the guest: they left the device, or the ring to the
    /// guest.
    pub inwards: bool,
}

impl Place {
    /// A place, for a `static`.
    pub const fn new(name: &'static str, acts: Acts, holds: Hold) -> Self {
        Place {
            name,
            acts,
            holds,
            inwards: false,
        }
    }

    /// The same place, from which items go towards the guest.
    pub const fn inwards(mut self) -> Self {
        self.inwards = true;
        self
    }

    /// Whether `acts` has to act here and items are held for this reason.
    #[inline]
    pub fn is(&self, acts: Acts, holds: Hold) -> bool {
        (self.acts, self.holds) == (acts, holds)
    }

    /// Whether the place holds items back from a device that has those of others: the time that
    /// items of one domain spend here and in the device is due to those in the device.
    pub fn is_before_device(&self) -> bool {
        match self.acts {
            Acts::Driver => self.holds == Hold::Order,
            Acts::Device => self.holds != Hold::Nothing,
            Acts::Nobody | Acts::Guest => false,
        }
    }
}

/// Who has to act before an item leaves its place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Acts {
    /// Nobody: the item is beyond the host, or nowhere (not begun, over, dropped).
    Nobody,
    /// The guest whose item it is.
    Guest,
    /// The driver domain.
    Driver,
    /// The device behind the driver domain.
    Device,
}

impl Acts {
    /// All, and their names in files.
    pub const ALL: [(Acts, &'static str); 4] = [
        (Acts::Nobody, "nobody"),
        (Acts::Guest, "guest"),
        (Acts::Driver, "driver"),
        (Acts::Device, "device"),
    ];

    /// Name in files.
    pub fn name(self) -> &'static str {
        Acts::ALL[self as usize].1
    }
}

/// Why an item stays at its place, other than that a party has not acted yet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Hold {
    /// Nothing else: who has to act has the item in hand.
    Nothing,
    /// The item is in a ring that another domain takes items from.
    Ring,
    /// A thread takes one item of the domain after the other, and has not come to this one.
    Thread,
    /// A queue orders and holds back, whatever vcpus do.
    Order,
    /// There is no room in memory: a thread that has the item stands still until there is.
    Memory,
    /// A rate is used up.
    Rate,
    /// A budget is used up.
    Budget,
}

impl Hold {
    /// All, and their names in files.
    pub const ALL: [(Hold, &'static str); 7] = [
        (Hold::Nothing, "nothing"),
        (Hold::Ring, "ring"),
        (Hold::Thread, "thread"),
        (Hold::Order, "order"),
        (Hold::Memory, "memory"),
        (Hold::Rate, "rate"),
        (Hold::Budget, "budget"),
    ];

    /// Name in files.
    pub fn name(self) -> &'static str {
        Hold::ALL[self as usize].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ActorId, Instant, PcpuId};

    const FIELDS: &[Field] = &[
        Field::word("flow", 0, Unit::Number),
        Field::bits("credit", 32, 16, Unit::Signed),
        Field::long("time", 2, Unit::Nanoseconds),
        Field::bits("place", 60, 4, Unit::Place),
    ];

    #[test]
    fn fields_are_cut_out_of_the_words() {
        let declared = Declared::new(3, "some", FIELDS);
        assert_eq!(declared.words, 4);
        let words = [7, 0xa000_fffe, 5, 6];
        let record = Record::of(
            Instant::ZERO,
            PcpuId(0),
            (ClassId(2), 3),
            ActorId::NONE,
            words,
        );
        let values = [0, 1, 2, 3, 4].map(|field| declared.value(&record, field));
        assert_eq!(values, [7, 0xfffe, 6 << 32 | 5, 0xa, 0]);
        assert_eq!(FIELDS[1].signed(&record), -2);
        assert_eq!(FIELDS[2].signed(&record), 6 << 32 | 5);
    }

    #[test]
    fn words_are_counted_to_the_last_field() {
        assert_eq!(Declared::new(0, "none", &[]).words, 0);
        assert_eq!(Declared::new(0, "two", &FIELDS[..2]).words, 2);
    }

    #[test]
    fn properties_of_places_are_listed_by_number() {
        for (i, (acts, _)) in Acts::ALL.into_iter().enumerate() {
            assert_eq!(acts as usize, i);
        }
        for (i, (holds, _)) in Hold::ALL.into_iter().enumerate() {
            assert_eq!(holds as usize, i);
        }
    }
}
