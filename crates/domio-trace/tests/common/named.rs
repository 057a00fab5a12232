//! Records with names in place of numbers, which differ from stream to stream.

use domio_core::{ActorId, Instant, Names, PcpuId, Record, Unit, VcpuName};

/// A record that can be compared with one of another stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    pub at: Instant,
    pub pcpu: PcpuId,
    pub class: &'static str,
    pub number: u8,
    pub actor: Option<VcpuName>,
    /// Words that are an actor's number are its name's word.
    pub words: [u32; 4],
}

pub fn named(names: &Names, record: &Record) -> Named {
    let mut words = record.words;
    if let Some(declared) = names.declared(record) {
        for field in declared.fields {
            let actor = ActorId(field.value(record) as u32);
            let word = &mut words[usize::from(field.bit / 32)];
            if field.unit == Unit::Actor && field.bits == 32 {
                *word = names.vcpu(actor).map_or(u32::MAX, VcpuName::word);
            }
        }
    }
    Named {
        at: record.at,
        pcpu: record.pcpu,
        class: names
            .class(record.class)
            .expect("its class is announced")
            .name,
        number: record.number,
        actor: names.vcpu(record.actor),
        words,
    }
}
