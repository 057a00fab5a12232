//! Which private events of Xen's schedulers are which records, and how Xen lays out their words.
//!
//! The number in a policy's class is Xen's event number. The vcpu that a record is about is its
//! actor; the remaining words keep Xen's order. How many there are is the class's matter.

use domio_core::{Class, ClassId, DomainId, Names, Record, VcpuName};

use super::event::{EXTRA_MAX, Extra, SCHED_POLICY};

/// Numbers of events that a scheduler can have here.
const NUMBERS: usize = 64;

/// Ids of schedulers: 3 bits of the event.
pub(super) const SCHEDULERS: usize = 8;

/// A scheduler's id, the name of its class, and where its events name a vcpu.
struct Policy {
    id: u8,
    class: &'static str,
    vcpus: &'static [(u8, Layout)],
}

/// Where the extra words of an event name the vcpu that it is about; other events name none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layout {
    /// The domain in the word with this index, the index in the word behind.
    Split(u8),
    /// `domain << 16 | index` in the word with this index.
    Joint(u8),
}

use Layout::{Joint, Split};

/// Xen's ids are 0, 1, 2 (before 4.0), 3, 4 and 5; SEDF had none and wrote nothing.
static POLICIES: [Policy; 7] = [
    Policy {
        id: 0,
        class: "credit",
        vcpus: &[
            (2, Split(0)),
            (3, Split(0)),
            (4, Split(1)),
            (5, Split(0)),
            (7, Split(0)),
            (8, Split(0)),
            (10, Joint(0)),
            // Not Xen's.
            (48, Joint(0)),
            (49, Joint(0)),
            (50, Joint(0)),
            (51, Joint(0)),
            (52, Joint(0)),
        ],
    },
    Policy {
        id: 1,
        class: "credit2",
        vcpus: &[
            (2, Joint(0)),
            (3, Joint(0)),
            (5, Joint(0)),
            (7, Joint(0)),
            (10, Joint(0)),
            (11, Joint(2)),
            (13, Joint(0)),
            (15, Joint(0)),
            (19, Joint(2)),
            (20, Joint(0)),
            (22, Joint(0)),
            (23, Joint(0)),
        ],
    },
    Policy {
        id: 2,
        class: "bvt",
        vcpus: &[(1, Joint(0)), (2, Joint(0)), (3, Joint(0)), (4, Joint(0))],
    },
    Policy {
        id: 3,
        class: "arinc653",
        vcpus: &[],
    },
    Policy {
        id: 4,
        class: "rtds",
        vcpus: &[(2, Joint(0)), (3, Joint(0)), (4, Joint(0))],
    },
    Policy {
        id: 5,
        class: "null",
        vcpus: &[
            (1, Joint(0)),
            (2, Joint(0)),
            (3, Joint(0)),
            (4, Joint(0)),
            (5, Joint(1)),
        ],
    },
    Policy {
        id: 7,
        class: "sedf",
        vcpus: &[
            (1, Joint(0)),
            (2, Joint(0)),
            (3, Joint(0)),
            (4, Joint(0)),
            (5, Joint(0)),
            (6, Joint(0)),
            (7, Joint(0)),
            (8, Joint(0)),
            (10, Joint(0)),
            (11, Joint(0)),
            (12, Joint(0)),
            (13, Joint(0)),
        ],
    },
];

/// The name of the class whose scheduler has this id.
pub(super) fn class_name(id: u8) -> Option<&'static str> {
    let policy = POLICIES.iter().find(|policy| policy.id == id)?;
    Some(policy.class)
}

/// The name of the policy whose private record `record` is, declared or not.
pub fn policy_of(names: &Names, record: &Record) -> Option<&'static str> {
    if record.class != ClassId::FOREIGN {
        let name = names.class(record.class)?.name;
        return POLICIES
            .iter()
            .map(|p| p.class)
            .find(|class| *class == name);
    }
    let event = record.words[0];
    let is_private = event & !0xfff == SCHED_POLICY && event & 0x1ff < NUMBERS as u32;
    is_private
        .then(|| class_name((event >> 9 & 7) as u8))
        .flatten()
}

/// A private event as a record has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layouts {
    events: [Option<Event>; NUMBERS],
    /// Scheduler's id.
    id: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Event {
    /// Words that name the vcpu, and the index of the first of them.
    vcpu: u8,
    first: u8,
    /// Words of the record, which the class declares.
    words: u8,
}

impl Layouts {
    /// How Xen lays out the records that `class` declares; `None` when it is not a class of one of
    /// Xen's schedulers.
    pub(super) fn of(class: &Class) -> Option<Self> {
        let policy = POLICIES.iter().find(|policy| policy.class == class.name)?;
        let mut events = [None; NUMBERS];
        for declared in class.records {
            let number = declared.number;
            if let Some(event) = events.get_mut(usize::from(number)) {
                let named = policy.vcpus.iter().find(|(n, _)| *n == number);
                let (vcpu, first) = match named {
                    Some((_, Joint(first))) => (1, *first),
                    Some((_, Split(first))) => (2, *first),
                    None => (0, 0),
                };
                *event = Some(Event {
                    vcpu,
                    first,
                    words: declared.words,
                });
            }
        }
        Some(Layouts {
            events,
            id: policy.id,
        })
    }

    /// The vcpu that event `number` is about, and the words of its record; `None` when the class
    /// does not declare it, or when it has fewer words than declared. Further words are left out.
    #[inline]
    pub(super) fn decode(&self, number: u8, extra: &Extra) -> Option<(Option<VcpuName>, [u32; 4])> {
        let event = self.events.get(usize::from(number))?.as_ref()?;
        if extra.count < event.end() {
            return None;
        }
        let word = |i: u8| extra.words[usize::from(i) & EXTRA_MAX];
        let vcpu = match event.vcpu {
            0 => None,
            1 => Some(VcpuName::from_word(word(event.first))),
            _ => {
                let domain = u16::try_from(word(event.first)).ok()?;
                let index = u16::try_from(word(event.first + 1)).ok()?;
                Some(VcpuName::new(DomainId(domain), index))
            }
        };
        let words = [0, 1, 2, 3].map(|i| match i < event.words {
            true => word(event.place(i)),
            false => 0,
        });
        Some((vcpu, words))
    }

    /// Event id and extra words of a record with `number`, about `vcpu`; `None` when the class does
    /// not declare it.
    #[inline]
    pub(super) fn encode(
        &self,
        number: u8,
        vcpu: VcpuName,
        words: &[u32; 4],
    ) -> Option<(u32, Extra)> {
        let event = self.events.get(usize::from(number))?.as_ref()?;
        let joint = event.vcpu == 1;
        let name = [
            if joint {
                vcpu.word()
            } else {
                vcpu.domain.0.into()
            },
            vcpu.index.into(),
        ];
        let mut out = [0; EXTRA_MAX + 1];
        let mut put = |i: u8, word: u32| out[usize::from(i) & EXTRA_MAX] = word;
        // Without a branch, which is hard to foresee: what does not belong there is overwritten.
        put(event.first, name[0]);
        put(event.first + 1, name[1]);
        for (i, word) in (0..).zip(words) {
            put(event.place(i), if i < event.words { *word } else { 0 });
        }
        let id = SCHED_POLICY | u32::from(self.id) << 9 | u32::from(number);
        let count = event.end();
        Some((id, Extra { words: out, count }))
    }
}

impl Event {
    /// Where the word of the record with index `i` is among the extra words.
    #[inline]
    fn place(&self, i: u8) -> u8 {
        i + if i < self.first { 0 } else { self.vcpu }
    }

    /// How many extra words the record needs.
    #[inline]
    fn end(&self) -> usize {
        usize::from(self.vcpu + self.words.max(self.first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_core::{Declared, Field, Unit};

    const TWO: &[Field] = &[
        Field::word("a", 0, Unit::Number),
        Field::word("b", 1, Unit::Number),
    ];
    const THREE: &[Field] = &[
        Field::long("a", 0, Unit::Number),
        Field::word("b", 2, Unit::Number),
    ];
    static CREDIT: Class = Class::new(
        "credit",
        &[
            Declared::new(4, "stolen", &[Field::word("from", 0, Unit::Pcpu)]),
            Declared::new(7, "boosted", &[]),
            Declared::new(11, "looked", TWO),
        ],
    );
    static CREDIT2: Class = Class::new(
        "credit2",
        &[
            Declared::new(3, "burned", TWO),
            Declared::new(19, "picked", THREE),
        ],
    );

    #[test]
    fn the_vcpu_is_the_actor_and_the_other_words_keep_their_order() {
        let credit = Layouts::of(&CREDIT).unwrap();
        let credit2 = Layouts::of(&CREDIT2).unwrap();
        let vcpu = VcpuName::new(DomainId(5), 1);
        let joint = 5 << 16 | 1;
        for (layouts, id, number, extra, words) in [
            (&credit, 0x22004, 4, &[9, 5, 1][..], [9, 0, 0, 0]),
            (&credit, 0x22007, 7, &[5, 1], [0; 4]),
            (&credit2, 0x22203, 3, &[joint, 6, 7], [6, 7, 0, 0]),
            (&credit2, 0x22213, 19, &[6, 7, joint, 8], [6, 7, 8, 0]),
        ] {
            let extra = Extra::of(extra);
            assert_eq!(layouts.decode(number, &extra), Some((Some(vcpu), words)));
            let encoded = layouts.encode(number, vcpu, &words);
            assert_eq!(encoded, Some((id, extra)));
        }
        let (looked, words) = (Extra::of(&[3, 1]), [3, 1, 0, 0]);
        assert_eq!(credit.decode(11, &looked), Some((None, words)));
        assert_eq!(credit.encode(11, vcpu, &words), Some((0x2200b, looked)));
    }

    #[test]
    fn what_does_not_fit_the_declaration_is_no_record_of_it() {
        let credit = Layouts::of(&CREDIT).unwrap();
        let decode = |number, extra: &[u32]| credit.decode(number, &Extra::of(extra));
        assert_eq!(decode(5, &[5, 1, 0]), None, "not declared");
        assert_eq!(decode(64, &[]), None);
        assert_eq!(decode(4, &[9, 5]), None, "too short");
        assert_eq!(decode(4, &[9, 70_000, 1]), None, "no such domain");
        let more = decode(4, &[9, 5, 1, 8]).unwrap();
        assert_eq!(more.1, [9, 0, 0, 0], "what is further");
        assert_eq!(Layouts::of(&Class::new("network", &[])), None);
    }

    #[test]
    fn ids_are_those_of_xen() {
        let names = [0, 1, 2, 3, 4, 5, 6, 7].map(class_name);
        assert_eq!(names[..2], [Some("credit"), Some("credit2")]);
        assert_eq!(
            names[3..],
            [
                Some("arinc653"),
                Some("rtds"),
                Some("null"),
                None,
                Some("sedf")
            ]
        );
    }
}
