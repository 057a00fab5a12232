//! The way by BPF: loads the program, and takes the events of its ring buffers.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::{Arc, Mutex, PoisonError};

use libbpf_rs::btf::Btf;
use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, OpenObject, PrintLevel,
    RingBuffer, RingBufferBuilder,
};

use crate::Tasks;
use crate::error::RecordError;
use crate::raw;
use domio_linux::EventWindow;

/// The program, made from `bpf/record.bpf.c` by `cargo xtask bpf`.
const PROGRAM: &[u8] = include_bytes!("../bpf/record.bpf.o");

/// Programs with the trace points that they need; recording is of no use without the first ones.
const PROGRAMS: [(&str, &str, bool); 12] = [
    ("do_wakeup", "sched_wakeup", true),
    ("do_wakeup_new", "sched_wakeup_new", true),
    ("do_migrate", "sched_migrate_task", true),
    ("do_fork", "sched_process_fork", true),
    ("do_exit", "sched_process_exit", true),
    ("do_rename", "task_rename", false),
    ("do_attach", "cgroup_attach_task", false),
    ("do_irq_entry", "irq_handler_entry", false),
    ("do_irq_exit", "irq_handler_exit", false),
    ("do_softirq_entry", "softirq_entry", false),
    ("do_softirq_exit", "softirq_exit", false),
    ("do_switch_state", "sched_switch", true),
];

/// Stands for `do_switch_state` where `sched_switch` does not have the state (before Linux 5.18).
const OLD_SWITCH: &str = "do_switch_plain";

/// What the callback of the ring buffers fills.
#[derive(Default)]
struct Taken {
    window: EventWindow,
    /// Events with names and paths, in their bytes.
    named: Vec<Vec<u8>>,
    refused: u64,
}

/// The loaded program. It is in the kernel as long as this value, and at most as long as the
/// process: nothing of it is pinned.
pub(crate) struct Bpf {
    // In the order in which they are to go.
    links: Vec<Link>,
    ring: RingBuffer<'static>,
    object: Object,
    taken: Arc<Mutex<Taken>>,
    tasks: Tasks,
}

impl Bpf {
    /// Loads and attaches the programs, with ring buffers of `buffer` bytes in all.
    pub fn start(buffer: u32, interrupts: bool) -> Result<Bpf, RecordError> {
        // The error says what the kernel refuses; its log of a program would fill the terminal.
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, _| {})));
        let object =
            load(interrupts, true).or_else(|error| load(interrupts, false).map_err(|_| error))?;
        let taken = Arc::new(Mutex::new(Taken::default()));
        let ring = rings(&object, buffer, &taken)?;
        let mut links = Vec::new();
        for program in object.progs_mut() {
            if program.autoload() {
                let name = program.name().to_string_lossy().into_owned();
                links.push(program.attach().map_err(|e| refused(&name, &e))?);
            }
        }
        Ok(Bpf {
            links,
            ring,
            object,
            taken,
            tasks: Tasks::new(),
        })
    }

    /// Takes what is in the buffer.
    pub fn take(&mut self, window: &mut EventWindow) -> Result<(), RecordError> {
        // The callback puts events where they are wanted, without a list in between.
        std::mem::swap(window, &mut lock(&self.taken).window);
        let consumed = self.ring.consume();
        let mut taken = lock(&self.taken);
        std::mem::swap(window, &mut taken.window);
        consumed.map_err(|error| refused("the ring buffers", &error))?;
        for bytes in taken.named.drain(..) {
            raw::learn(&bytes, &mut self.tasks);
        }
        Ok(())
    }

    /// What is known of threads.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// The same, to add what the system says beside its events.
    pub fn tasks_mut(&mut self) -> &mut Tasks {
        &mut self.tasks
    }

    /// Takes the programs off their trace points.
    pub fn detach(&mut self) {
        self.links.clear();
    }

    /// What the programs counted.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts {
            refused: lock(&self.taken).refused,
            ..Counts::default()
        };
        let map = self.object.maps().find(|map| map.name() == "counts");
        let of_cpus = map.and_then(|map| {
            map.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY)
                .ok()
                .flatten()
        });
        for (cpu, bytes) in of_cpus.unwrap_or_default().iter().enumerate() {
            let word = |n: usize| {
                let bytes = bytes.get(8 * n..).and_then(|bytes| bytes.first_chunk());
                bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
            };
            let (events, lost, timed, ns) = (word(0), word(1), word(3), word(4));
            counts.events += events;
            if lost > 0 {
                counts.lost.insert(cpu as u32, lost);
            }
            counts.ns += (ns as f64 * events as f64 / timed.max(1) as f64) as u64;
        }
        counts
    }
}

/// What the programs counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub events: u64,
    pub lost: BTreeMap<u32, u64>,
    /// An estimate of the time that the programs took.
    pub ns: u64,
    /// Events that contradict their layout.
    pub refused: u64,
}

fn lock(taken: &Mutex<Taken>) -> std::sync::MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error for something of libbpf.
fn refused(what: &str, error: &libbpf_rs::Error) -> RecordError {
    let hint = match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => {
            "; CAP_BPF and CAP_PERFMON are needed, and a security module can forbid BPF as well"
        }
        _ => "",
    };
    RecordError::Refused(format!("the kernel refuses {what}: {error:#}{hint}"))
}

/// Opens the object, leaves out what the kernel does not have, and loads the rest.
fn load(interrupts: bool, has_state: bool) -> Result<Object, RecordError> {
    let failed = |error| refused("the BPF program", &error);
    let mut open = ObjectBuilder::default()
        .open_memory(PROGRAM)
        .map_err(failed)?;
    let kernel = Btf::from_vmlinux().map_err(|error| refused("its types", &error))?;
    let has = |point: &str| {
        let name = format!("btf_trace_{point}");
        kernel
            .type_by_name::<libbpf_rs::btf::types::Typedef<'_>>(&name)
            .is_some()
    };
    for (program, point, is_needed) in PROGRAMS {
        let of_interrupts = program.contains("irq");
        if has(point) && (interrupts || !of_interrupts) {
            continue;
        }
        if is_needed {
            return Err(RecordError::Refused(format!(
                "the kernel has no trace point {point} that BPF can use; Linux 5.10 or later is \
                 needed"
            )));
        }
        leave_out(&mut open, program);
    }
    leave_out(
        &mut open,
        match has_state {
            true => OLD_SWITCH,
            false => "do_switch_state",
        },
    );
    for mut map in open.maps_mut() {
        if map.name() == OsStr::new(RINGS) {
            let cpus = libbpf_rs::num_possible_cpus().map_err(failed)?;
            map.set_max_entries(cpus as u32).map_err(failed)?;
        }
    }
    open.load().map_err(failed)
}

fn leave_out(open: &mut OpenObject, name: &str) {
    for mut program in open.progs_mut() {
        if program.name() == OsStr::new(name) {
            program.set_autoload(false);
        }
    }
}

/// The map of the ring buffers, by cpu.
const RINGS: &str = "rings";

/// The smallest ring buffer of a cpu: what a busy one writes in a few tenths of a second.
const RING_MIN: u32 = 256 << 10;

/// Gives each cpu a ring buffer, of `buffer` bytes in all but at least [`RING_MIN`] each, and reads
/// them all into `taken`.
fn rings(
    object: &Object,
    buffer: u32,
    taken: &Arc<Mutex<Taken>>,
) -> Result<RingBuffer<'static>, RecordError> {
    let failed = |error| refused("the ring buffers", &error);
    let map = object.maps().find(|map| map.name() == OsStr::new(RINGS));
    let rings =
        map.ok_or_else(|| RecordError::Refused("the BPF program has no buffers".to_owned()))?;
    let cpus = rings.max_entries();
    let size = (buffer / cpus.max(1)).max(RING_MIN).next_power_of_two();
    let options = libbpf_rs::libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_rs::libbpf_sys::bpf_map_create_opts>() as _,
        ..Default::default()
    };
    let mut made = Vec::new();
    for cpu in 0..cpus {
        let ring = MapHandle::create(MapType::RingBuf, Some("ring"), 0, 0, size, &options);
        let ring = ring.map_err(failed)?;
        let fd = ring.as_fd().as_raw_fd();
        rings
            .update(&cpu.to_ne_bytes(), &fd.to_ne_bytes(), MapFlags::ANY)
            .map_err(failed)?;
        made.push(ring);
    }
    let mut builder = RingBufferBuilder::new();
    for ring in &made {
        let taken = Arc::clone(taken);
        builder
            .add(ring, move |bytes| {
                let taken = &mut *lock(&taken);
                match raw::decode(bytes) {
                    Some(event) => taken.window.push(event),
                    None => taken.refused += 1,
                }
                if raw::is_named(bytes) {
                    taken.named.push(bytes.to_vec());
                }
                0
            })
            .map_err(failed)?;
    }
    builder.build().map_err(failed)
}
