//! Which private events of Xen's schedulers are which records, and how Xen lays out their words.
//!
//! The number in a policy's class is Xen's event number. The vcpu that a record is about is its
//! actor; the remaining words keep Xen's order. How many there are is the class's matter.

use domio_core::{Class, DomainId, VcpuName};

use super::event::{EXTRA_MAX, SCHED_POLICY};

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

/// Where the extra words of an event name the vcpu that it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layout {
    /// Nowhere.
    Words,
    /// The domain in the word with this index, the index in the word behind.
    Split(usize),
    /// `domain << 16 | index` in the word with this index.
    Joint(usize),
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
        vcpus: &[],
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

/// A private event as a record has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layouts {
    events: [Option<Event>; NUMBERS],
    /// Scheduler's id.
    id: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Event {
    layout: Layout,
    /// Words of the record, which the class declares.
    words: usize,
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
                *event = Some(Event {
                    layout: named.map_or(Layout::Words, |(_, layout)| *layout),
                    words: usize::from(declared.words),
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
    pub(super) fn decode(&self, number: u8, extra: &[u32]) -> Option<(Option<VcpuName>, [u32; 4])> {
        let Event { layout, words } = (*self.events.get(usize::from(number))?)?;
        if extra.len() < words + layout.words() {
            return None;
        }
        let (vcpu, first) = match layout {
            Layout::Words => (None, extra.len()),
            Joint(i) => (Some(VcpuName::from_word(*extra.get(i)?)), i),
            Split(i) => {
                let domain = u16::try_from(*extra.get(i)?).ok()?;
                let index = u16::try_from(*extra.get(i + 1)?).ok()?;
                (Some(VcpuName::new(DomainId(domain), index)), i)
            }
        };
        let rest = extra[..first]
            .iter()
            .chain(extra.iter().skip(first + layout.words()));
        let mut out = [0; 4];
        for (to, from) in out.iter_mut().zip(rest.take(words)) {
            *to = *from;
        }
        Some((vcpu, out))
    }

    /// Event id and extra words of a record with `number`, about `vcpu`, and how many words those
    /// are; `None` when the class does not declare it.
    #[inline]
    pub(super) fn encode(
        &self,
        number: u8,
        vcpu: VcpuName,
        words: &[u32; 4],
    ) -> Option<(u32, [u32; EXTRA_MAX], usize)> {
        let event = (*self.events.get(usize::from(number))?)?;
        let mut out = [0; EXTRA_MAX];
        let (domain, index) = (u32::from(vcpu.domain.0), u32::from(vcpu.index));
        let first = match event.layout {
            Layout::Words => event.words,
            Joint(i) => {
                out[i] = vcpu.word();
                i
            }
            Split(i) => {
                (out[i], out[i + 1]) = (domain, index);
                i
            }
        };
        for (i, word) in words.iter().take(event.words).enumerate() {
            let behind = if i < first { 0 } else { event.layout.words() };
            out[i + behind] = *word;
        }
        let id = SCHED_POLICY | u32::from(self.id) << 9 | u32::from(number);
        Some((id, out, event.words.max(first) + event.layout.words()))
    }
}

impl Layout {
    /// Words that name the vcpu.
    const fn words(self) -> usize {
        match self {
            Layout::Words => 0,
            Joint(_) => 1,
            Split(_) => 2,
        }
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
            assert_eq!(layouts.decode(number, extra), Some((Some(vcpu), words)));
            let (event, back, n) = layouts.encode(number, vcpu, &words).unwrap();
            assert_eq!((event, &back[..n]), (id, extra));
        }
        let looked = [3, 1];
        assert_eq!(credit.decode(11, &looked), Some((None, [3, 1, 0, 0])));
        let (event, back, n) = credit.encode(11, vcpu, &[3, 1, 0, 0]).unwrap();
        assert_eq!((event, &back[..n]), (0x2200b, &looked[..]));
    }

    #[test]
    fn what_does_not_fit_the_declaration_is_no_record_of_it() {
        let credit = Layouts::of(&CREDIT).unwrap();
        assert_eq!(credit.decode(5, &[5, 1, 0]), None, "not declared");
        assert_eq!(credit.decode(64, &[]), None);
        assert_eq!(credit.decode(4, &[9, 5]), None, "too short");
        assert_eq!(credit.decode(4, &[9, 70_000, 1]), None, "no such domain");
        let more = credit.decode(4, &[9, 5, 1, 8]).unwrap();
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
