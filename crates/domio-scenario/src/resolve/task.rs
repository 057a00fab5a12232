//! Tasks: `[[domain.task]]`, or the workload of a domain itself.

use super::VCPUS_FROM_0;
use super::disk::copy;
use super::flow::flow;
use super::names::NetworkName;
use crate::check::{self, Cx, Fields};
use crate::keys::TASK;
use crate::plan::Replay;
use crate::problem::{Code, Problem};
use crate::source::Span;
use crate::value::Value;
use domio_core::Duration;
use domio_net::host::FlowConfig;
use domio_vmm::config::{TaskConfig, Workload};
use domio_vmm::process::programs::CopyDirection;
use std::collections::BTreeMap;

/// A task before it is given to its vcpus.
#[derive(Clone)]
pub(super) struct Task {
    pub name: String,
    pub priority: i8,
    /// Index of its vcpu, `None` for one on each.
    pub vcpu: Option<usize>,
    /// Whether the text says which vcpu.
    pub placed: bool,
    pub work: Work,
    /// The word for its workload.
    word: &'static str,
}

impl Task {
    /// Whether a kernel that moves processes may move this one. A recorded vcpu's demand is no
    /// process.
    pub fn may_roam(&self) -> bool {
        !self.placed && !matches!(self.work, Work::Replay(_))
    }
}

/// What a task does.
#[derive(Clone)]
pub(super) enum Work {
    /// Computes.
    Demand(Workload),
    /// Replays a recording; its place among the tasks is not known yet.
    Replay(Replay),
    /// Traffic; its process, if it has one, comes with its network.
    Flow(Flow),
    /// Goes through the domain's disk; its process comes with the disk.
    Copy(DiskCopy),
}

impl Work {
    /// Whether its process sleeps most of the time.
    fn is_io_bound(&self) -> bool {
        matches!(self, Work::Flow(_) | Work::Copy(_))
    }
}

/// Traffic.
#[derive(Clone)]
pub(super) struct Flow {
    /// What flows: one thing, or the requests to a server.
    pub configs: Vec<FlowConfig>,
    /// The server.
    pub server: Option<Serving>,
    /// The network, if it names one.
    pub network: Option<NetworkName>,
    /// Of its process, where it has one.
    pub vcpu: u16,
    /// Whether the text says so, so that no kernel moves the process.
    pub placed: bool,
    /// See [`Flow::vcpu`].
    pub priority: i8,
    /// The workload's word.
    pub span: Span,
    /// Path of the table that describes it.
    pub path: String,
}

/// What a server does.
#[derive(Clone, Copy)]
pub(super) struct Serving {
    /// Bytes of a request.
    pub request: u64,
    /// Bytes of an answer.
    pub answer: u64,
    /// Processor time of each.
    pub work: Duration,
}

/// A way through a disk.
#[derive(Clone, Copy)]
pub(super) struct DiskCopy {
    pub direction: CopyDirection,
    /// Bytes of a block.
    pub block: u64,
    /// How much; `None` for the whole disk.
    pub bytes: Option<u64>,
    /// Where that much was asked for, or the workload's word.
    pub span: Span,
}

/// The tasks of a domain with `vcpus` vcpus (if that is known).
pub(super) fn tasks(cx: &mut Cx<'_>, domain: &Fields<'_>, vcpus: Option<usize>) -> Vec<Task> {
    let listed = match domain.node("task").map(|n| &n.value) {
        Some(Value::Array(nodes)) => &nodes[..],
        _ => &[],
    };
    if let (Some(short), Some(long)) = (domain.field("workload"), domain.field("task")) {
        cx.push(
            Problem::new(
                Code::Conflict,
                short.key_span,
                "the domain has both a `workload` and tasks",
            )
            .key(domain.key_path("workload"))
            .expected("one of the two")
            .related(long.key_span, "the tasks")
            .hint("make the workload one more [[domain.task]]"),
        );
    }
    let mut names = Names::default();
    let mut tasks = Vec::new();
    if let Some(task) = own_task(cx, domain) {
        tasks.push(task);
    }
    for (i, node) in listed.iter().enumerate() {
        let path = format!("{}[{i}]", domain.key_path("task"));
        let Some(table) = node.as_table() else {
            continue;
        };
        let fields = check::table(cx, table, node.span, &TASK, &path, None);
        if let Some(task) = task(cx, &fields, vcpus, &mut names) {
            tasks.push(task);
        }
    }
    for task in tasks.iter_mut().filter(|t| t.name.is_empty()) {
        task.name = names.number(task.word);
    }
    tasks
}

/// The task of a domain that names its workload directly.
fn own_task(cx: &mut Cx<'_>, domain: &Fields<'_>) -> Option<Task> {
    let word = domain.variant?.word;
    let work = work(cx, domain, word)?;
    Some(Task {
        name: String::new(),
        priority: if work.is_io_bound() {
            TaskConfig::IO_BOUND
        } else {
            0
        },
        vcpu: Some(0),
        placed: false,
        work,
        word,
    })
}

fn task(
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    vcpus: Option<usize>,
    names: &mut Names,
) -> Option<Task> {
    let vcpu = match fields.field("vcpu") {
        None => Some(Some(0)),
        Some(_) => fields.vcpu("vcpu"),
    };
    if let (Some(Some(v)), Some(n)) = (vcpu, vcpus)
        && usize::from(v) >= n
    {
        cx.push(
            Problem::new(
                Code::OutOfRange,
                fields.span("vcpu"),
                format!("the domain has no vcpu {v}"),
            )
            .key(fields.key_path("vcpu"))
            .found(v.to_string())
            .expected(format!("0 to {}, or \"all\"", n - 1))
            .hint(VCPUS_FROM_0),
        );
        return None;
    }
    let given = fields.field("name").map(|f| (fields.text("name"), f.span));
    let word = fields.variant?.word;
    let work = work(cx, fields, word)?;
    let name = match given {
        Some((name, span)) => names.take(cx, name?, span, fields),
        // Named once all given names are known.
        None => String::new(),
    };
    Some(Task {
        name,
        priority: match fields.field("priority") {
            None if work.is_io_bound() => TaskConfig::IO_BOUND,
            _ => fields.int("priority")? as i8,
        },
        vcpu: vcpu?.map(usize::from),
        placed: fields.field("vcpu").is_some(),
        work,
        word,
    })
}

/// What the workload `word`, which `fields` describe, does.
fn work(cx: &mut Cx<'_>, fields: &Fields<'_>, word: &str) -> Option<Work> {
    let workload = match word {
        "burn" => Workload::Burn,
        "idle" => Workload::Idle,
        "periodic" => Workload::Periodic {
            period: fields.time("period")?,
            phase: fields.time("phase")?,
            burst: fields.lengths("burst")?,
        },
        "on-off" => Workload::OnOff {
            on: fields.lengths("on")?,
            off: fields.lengths("off")?,
        },
        "compute" => Workload::Compute {
            work: fields.time("work")?,
        },
        "yield" => Workload::Yielding {
            burst: fields.lengths("burst")?,
        },
        "stream" | "ping" | "udp" | "server" | "web" => {
            return flow(cx, fields, word).map(Work::Flow);
        }
        "dd" => return copy(fields).map(Work::Copy),
        _ => {
            let replay = Replay {
                trace: fields.text("trace")?,
                domain: fields.int("trace_domain")? as u16,
                vcpu: fields.int("trace_vcpu")? as u16,
                hz: match fields.field("trace_hz") {
                    Some(_) => Some(fields.int("trace_hz")? as u64),
                    None => None,
                },
                at: (0, 0, 0),
                span: fields.span("trace"),
            };
            return Some(Work::Replay(replay));
        }
    };
    Some(Work::Demand(workload))
}

/// What to say of `name`, a domain with `vcpus` vcpus whose `tasks` load one of them alone,
/// because nothing says where they are to be: the first one, or one after the other where its
/// kernel `moves` processes.
pub(super) fn notice(name: &str, vcpus: usize, tasks: &[Task], moves: bool) -> Option<String> {
    let computes = |t: &Task| match &t.work {
        Work::Demand(workload) => !matches!(workload, Workload::Idle),
        Work::Replay(_) | Work::Flow(_) | Work::Copy(_) => false,
    };
    let first = tasks.iter().find(|t| computes(t) && !t.placed)?;
    let alone = match moves {
        true => tasks.len() == 1,
        false => tasks.iter().all(|t| t.vcpu == Some(0)),
    };
    (vcpus > 1 && alone).then(|| {
        let word = first.word;
        let loads = match moves {
            true => "one of them at a time",
            false => "vcpu 0 alone",
        };
        format!(
            "domain {name} has {vcpus} vcpus, but its workload \"{word}\" loads {loads}; for one \
             on each write `task = [{{ workload = \"{word}\", vcpu = \"all\" }}]` instead"
        )
    })
}

/// Names of the tasks of one domain.
#[derive(Default)]
struct Names {
    given: BTreeMap<String, Span>,
    by_workload: BTreeMap<&'static str, u32>,
}

impl Names {
    /// Takes a given name; reports it when it is taken already.
    fn take(&mut self, cx: &mut Cx<'_>, name: String, span: Span, fields: &Fields<'_>) -> String {
        if let Some(first) = self.given.insert(name.clone(), span) {
            cx.push(
                Problem::new(
                    Code::Duplicate,
                    span,
                    format!("the domain has two tasks `{name}`"),
                )
                .key(fields.key_path("name"))
                .found(&name)
                .expected("a name that is unique in the domain")
                .related(first, "the first one")
                .hint("give it another name; without one it is called after its workload"),
            );
        }
        name
    }

    /// A name for a task without one: its workload's, numbered from the second on.
    fn number(&mut self, word: &'static str) -> String {
        loop {
            let n = self.by_workload.entry(word).or_insert(0);
            *n += 1;
            let name = if *n == 1 {
                word.to_owned()
            } else {
                format!("{word}-{n}")
            };
            if !self.given.contains_key(&name) {
                return name;
            }
        }
    }
}
