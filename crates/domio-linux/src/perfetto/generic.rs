//! Events that Perfetto has no message for: `GenericFtraceEvent` with names of fields in each
//! event, and the later form with a description in the bundle.

use super::wire::{Fields, Value};
use crate::known::{IdMap, Known};
use crate::tracefs::decode::{of_one_number, small, tid};
use crate::{LinuxWhat, Tid};

/// Descriptions by the number of the event's field.
#[derive(Default)]
pub(crate) struct Generics {
    described: IdMap<u32, Described>,
}

#[derive(Default)]
struct Described {
    name: String,
    fields: Vec<(u32, String)>,
}

fn string(value: Value<'_>) -> String {
    String::from_utf8_lossy(value.bytes()).into_owned()
}

impl Generics {
    /// Takes up a `GenericEventDescriptor`, whose field 2 is a `DescriptorProto`.
    pub fn describe(&mut self, data: &[u8]) {
        let (mut id, mut described) = (0, Described::default());
        for (field, value) in Fields::of(data) {
            match field {
                1 => id = value.number() as u32,
                2 => {
                    for (field, value) in Fields::of(value.bytes()) {
                        match field {
                            1 => described.name = string(value),
                            2 => described.fields.extend(field_descriptor(value.bytes())),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        self.described.insert(id, described);
    }

    /// What an event is whose field has number `id`.
    pub fn what(&self, id: u32, data: &[u8], time: u64, known: &mut Known) -> Option<LinuxWhat> {
        let described = self.described.get(&id)?;
        let get = |name: &str| {
            let (number, _) = described.fields.iter().find(|(_, n)| n == name)?;
            Fields::of(data)
                .find(|(field, _)| field == number)
                .map(|(_, v)| v)
        };
        named(&described.name, get, time, known)
    }
}

/// Number and name of a `FieldDescriptorProto`.
fn field_descriptor(data: &[u8]) -> Option<(u32, String)> {
    let (mut number, mut name) = (None, None);
    for (field, value) in Fields::of(data) {
        match field {
            1 => name = Some(string(value)),
            3 => number = Some(value.number() as u32),
            _ => {}
        }
    }
    Some((number?, name?))
}

/// What a `GenericFtraceEvent` is.
pub fn what(data: &[u8], time: u64, known: &mut Known) -> Option<LinuxWhat> {
    let (_, name) = Fields::of(data).find(|(field, _)| *field == 1)?;
    let name = std::str::from_utf8(name.bytes()).ok()?;
    let get = |wanted: &str| {
        let fields = Fields::of(data).filter(|(field, _)| *field == 2);
        fields.into_iter().find_map(|(_, field)| {
            let field = Fields::of(field.bytes());
            let mut parts = field.clone();
            let named = parts.any(|(n, v)| n == 1 && v.bytes() == wanted.as_bytes());
            let mut values = field.filter(|(n, _)| matches!(n, 3..=5));
            named.then(|| values.next().map(|(_, v)| v)).flatten()
        })
    };
    named(name, get, time, known)
}

/// What the event called `name` is, with a field by its name.
fn named<'a>(
    name: &str,
    get: impl Fn(&str) -> Option<Value<'a>>,
    time: u64,
    known: &mut Known,
) -> Option<LinuxWhat> {
    let number = |name: &str| get(name).map(|v| v.number());
    let thread = |name: &str| number(name).map(|n| tid(i64::from(n as i32)));
    let n = |name: &str| number(name).map(|n| small(n as i64));
    if let Some((what, names)) = of_one_number(name) {
        return Some(what(names.iter().find_map(|name| n(name)).unwrap_or(0)));
    }
    let mut comm = |tid: Tid| {
        if let Some(comm) = get("comm") {
            known.name(tid, time, comm.bytes());
        }
        tid
    };
    Some(match name {
        "sched_migrate_task" => LinuxWhat::Migrate {
            tid: comm(thread("pid")?),
            from: n("orig_cpu")?,
            to: n("dest_cpu")?,
        },
        "sched_stat_runtime" => LinuxWhat::Runtime {
            tid: comm(thread("pid")?),
            ns: number("runtime")?,
        },
        "kvm_vcpu_wakeup" => LinuxWhat::KvmWakeup {
            ns: number("ns")?,
            waited: number("waited") != Some(0),
        },
        "kvm_halt_poll_ns" => LinuxWhat::HaltPoll {
            vcpu: n("vcpu_id").unwrap_or(0),
            new: n("new")?,
            old: n("old").unwrap_or(0),
        },
        "napi_poll" => LinuxWhat::NapiPoll {
            work: n("work")?,
            budget: n("budget").unwrap_or(0),
        },
        "cgroup_attach_task" => {
            let tid = comm(thread("pid")?);
            let path = string(get("dst_path")?);
            known.change(tid, |task| task.cgroup = Some(path));
            LinuxWhat::Attach { tid }
        }
        _ => return None,
    })
}
