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
use crate::lots::Taken;
use crate::options::LiveOptions;
use crate::points::{POINTS, Part};
use crate::raw::{self, LotHead};
use crate::window::Window;

/// The program, made from `bpf/record.bpf.c` by `cargo xtask bpf`.
const PROGRAM: &[u8] = include_bytes!("../bpf/record.bpf.o");

/// Stands for `do_switch_state` where `sched_switch` does not have the state (before Linux 5.18).
const OLD_SWITCH: &str = "do_switch_plain";

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
    /// Loads and attaches the programs.
    pub fn start(options: &LiveOptions) -> Result<Bpf, RecordError> {
        // The error says what the kernel refuses; its log of a program would fill the terminal.
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, _| {})));
        let object =
            load(options, true).or_else(|error| load(options, false).map_err(|_| error))?;
        let taken = Arc::new(Mutex::new(Taken::default()));
        let ring = rings(&object, options.buffer, &taken)?;
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

    /// Takes what there is, up to now.
    ///
    /// Lots that are not full are looked at first. What has become full since is in the ring buffer
    /// by the time that this is read, so that nothing is left out that was there at the begin.
    pub fn take(&mut self, window: &mut Window) -> Result<(), RecordError> {
        let looked = self.look()?;
        // The callback puts events where they are wanted, without a list in between.
        std::mem::swap(window, &mut lock(&self.taken).window);
        let consumed = self.ring.consume();
        let mut taken = lock(&self.taken);
        for (cpu, head, lot) in &looked {
            taken.lot(*cpu, *head, lot, false);
        }
        std::mem::swap(window, &mut taken.window);
        consumed.map_err(|error| refused("the ring buffers", &error))?;
        for bytes in taken.named.drain(..) {
            raw::learn(&bytes, &mut self.tasks);
        }
        Ok(())
    }

    /// What is in lots that are not full.
    ///
    /// The programs go on meanwhile. An event is whole when it is counted: the count of one look is
    /// taken with the events of the next look, if a third one finds that the lot is still the same.
    fn look(&self) -> Result<Vec<(u32, LotHead, Vec<u8>)>, RecordError> {
        let heads = self.of_cpus()?;
        let events = self.of_cpus()?;
        let after = self.of_cpus()?;
        let mut lots = Vec::new();
        for (cpu, (head, (events, after))) in heads
            .into_iter()
            .zip(events.into_iter().zip(after))
            .enumerate()
        {
            let of = |bytes: &[u8]| LotHead::of(bytes.get(LOT_AT..).unwrap_or_default());
            let (Some(head), Some(after)) = (of(&head), of(&after)) else {
                continue;
            };
            if head.used > 0 && head.number == after.number {
                let lot = events.get(LOT_AT..).unwrap_or_default().to_vec();
                lots.push((cpu as u32, head, lot));
            }
        }
        Ok(lots)
    }

    /// What the programs keep, of each cpu.
    fn of_cpus(&self) -> Result<Vec<Vec<u8>>, RecordError> {
        let map = self
            .object
            .maps()
            .find(|map| map.name() == OsStr::new(CPUS));
        let map =
            map.ok_or_else(|| RecordError::Refused("the BPF program is damaged".to_owned()))?;
        let of_cpus = map.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY);
        let of_cpus = of_cpus.map_err(|error| refused("a look at its events", &error))?;
        Ok(of_cpus.unwrap_or_default())
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
        for (cpu, bytes) in self.of_cpus().unwrap_or_default().iter().enumerate() {
            let word = |n: usize| {
                let bytes = bytes.get(8 * n..).and_then(|bytes| bytes.first_chunk());
                bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
            };
            let (events, lost, timed, ns) = (word(0), word(1), word(2), word(3));
            counts.events += events;
            if lost > 0 {
                counts.lost.insert(cpu as u32, lost);
            }
            counts.ns += (ns as f64 * events as f64 / timed.max(1) as f64) as u64;
        }
        lock(&self.taken).without_rescued(&mut counts.lost);
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

/// The map of what the programs keep of each cpu, and where the lot is in its entry (`struct cpu`).
const CPUS: &str = "cpus";
const LOT_AT: usize = 40;

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
fn load(options: &LiveOptions, has_state: bool) -> Result<Object, RecordError> {
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
    for point in POINTS {
        let is_there = has(point.name) && (point.part != Part::Disks || has_disks(&kernel));
        if is_there && options.wants(point.part) {
            continue;
        }
        if point.part == Part::Threads {
            return Err(RecordError::Refused(format!(
                "the kernel has no trace point {} that BPF can use; Linux 5.10 or later is needed",
                point.name
            )));
        }
        leave_out(&mut open, point.program);
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

/// Whether trace points of block devices have the arguments that the programs take: from Linux 5.12
/// on, where a `struct bio` names its device as they expect.
fn has_disks(kernel: &Btf<'_>) -> bool {
    let bio = kernel.type_by_name::<libbpf_rs::btf::types::Struct<'_>>("bio");
    bio.is_some_and(|bio| {
        bio.iter()
            .any(|member| member.name == Some(OsStr::new("bi_bdev")))
    })
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
    buffer: u64,
    taken: &Arc<Mutex<Taken>>,
) -> Result<RingBuffer<'static>, RecordError> {
    let failed = |error| refused("the ring buffers", &error);
    let map = object.maps().find(|map| map.name() == OsStr::new(RINGS));
    let rings =
        map.ok_or_else(|| RecordError::Refused("the BPF program has no buffers".to_owned()))?;
    let cpus = rings.max_entries();
    let each = u32::try_from(buffer / u64::from(cpus.max(1))).unwrap_or(1 << 30);
    let size = each.max(RING_MIN).next_power_of_two();
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
    for (cpu, ring) in (0..).zip(&made) {
        let taken = Arc::clone(taken);
        builder
            .add(ring, move |bytes| {
                lock(&taken).bytes(cpu, bytes);
                0
            })
            .map_err(failed)?;
    }
    builder.build().map_err(failed)
}
