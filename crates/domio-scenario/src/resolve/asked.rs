//! `[[controller]]`: which controllers are asked for, with which parameters.

use super::shared::{given, tell};
use crate::check::{self, Cx, Fields};
use crate::limits::MAX_VCPUS;
use domio_contract::control::Entry;
use domio_contract::control::accounting::SendWeight;
use domio_core::keys::{
    KeyParams, KeySection, Keys, Need, Nested, Slot, WordOf, Words, domain_name, int, word,
    word_text,
};
use domio_core::{Duration, ParamValues};

pub(crate) static CONTROLLER: KeySection = KeySection::with_params(
    "[[controller]]",
    "A controller: a process of a domain that looks at the host once an interval and changes \
     settings, with the interval and the parameters that it declares as keys beside it. What \
     it declares for domains are keys of `[[domain]]`. Reading, deciding and setting take the \
     processor time that the hardware profile says.",
    ControllerKeys::KEYS,
    KeyParams::Controller,
);

keys! {
    pub(super) struct ControllerKeys {
        name: String = word_text(Words::Controllers), Need::Required, "Which controller.";
        domain: String = domain_name(),
            Need::Optional("the first driver domain, or else the domain with id 0"),
            "The domain that its process runs in, from when that is created.";
        vcpu: u16 = int(0, MAX_VCPUS as i64 - 1), Need::Int(0),
            "Index of the vcpu that the process lives on.";
        accounting: bool = word(&ACCOUNTINGS), Need::Word("exact"),
            "How the controller knows for whom driver domains work.";
        send_weight_thousandths: u32 =
            int(*SendWeight::RANGE.start() as i64, *SendWeight::RANGE.end() as i64),
            Need::Int(SendWeight::GUPTA_SYSTEM_1.0 as i64),
            "What a packet that a guest sends costs a driver domain over one that it receives, in \
             thousandths, where packets are counted. `domio calibrate` measures it.";
    }
}

/// Whether packets are counted.
static ACCOUNTINGS: [WordOf<bool>; 2] = [
    WordOf::new(
        "exact",
        false,
        "The exact time, to the nanosecond, which no real host knows.",
    ),
    WordOf::new(
        "packets",
        true,
        "All the time of each driver domain is divided by the packets that pass netback, as in \
         Gupta et al. 2006.",
    ),
];

/// A controller that the text asks for.
pub(super) struct Asked {
    pub entry: &'static Entry,
    pub fields: Fields,
    pub keys: ControllerKeys,
    pub params: ParamValues,
    pub interval: Duration,
}

/// The controllers that exist of those that are asked for, in the order of the text. Domains may
/// have their parameters from now on.
pub(super) fn asked(cx: &mut Cx<'_>, top: &Fields, slot: &Slot<Nested>) -> Vec<Asked> {
    let mut asked = Vec::new();
    for (node, table, path) in top.tables(slot) {
        let fields = check::table(cx, table, node.span, &CONTROLLER, &path, None);
        let keys: ControllerKeys = fields.read();
        let found = keys.name.get();
        let found = found.and_then(|name| cx.parts.controller(&name));
        let Some(entry) = found else {
            cx.known.strange_controller = true;
            continue;
        };
        cx.known.controllers.push(entry);
        let params = fields.values(ParamValues::defaults(entry.descriptor.params));
        // Values that were refused are at their defaults here, so that they cannot clash.
        if let Err(conflict) = (entry.validate)(&params) {
            tell(cx, conflict, &given(&fields), fields.header, &fields.path);
        }
        let interval = fields.param(entry.descriptor.interval.name);
        let interval = interval.map_or(entry.descriptor.interval.default, |g| g.value);
        asked.push(Asked {
            entry,
            params,
            interval: Duration::from_millis(interval as u64),
            fields,
            keys,
        });
    }
    asked
}
