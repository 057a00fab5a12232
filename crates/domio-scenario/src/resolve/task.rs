//! Tasks: `[[domain.task]]`, or the workload of a domain itself.

use super::shared::VCPUS_FROM_0;
use super::work::{Task, Work, work};
use crate::check::{self, Cx, Fields};
use domio_core::keys::Span;
use domio_core::keys::{Code, Mistake};
use domio_core::keys::{KeySection, Keys, Need, Nested, Slot, Words, int, name, vcpu, word_text};
use domio_vmm::bus::side::Placing;
use domio_vmm::config::{TaskConfig, Workload};
use std::collections::BTreeMap;

pub(crate) static TASK: KeySection = KeySection::plain(
    "[[domain.task]]",
    "A task inside the guest. It demands processor time; only sleeping blocks it. The \
     workload decides about further keys. `stream`, `ping`, `udp`, `server` and `web` are \
     traffic between the guest and a remote host behind the line of `[network]`. The \
     kernel's part of it is done on vcpu 0, before any task; streams, servers and datagrams \
     from the guest have a process as well. `ping` and datagrams to the guest have none, and \
     take neither `vcpu` nor `priority`.",
    TaskKeys::KEYS,
)
.by("workload", Words::Workloads);

keys! {
    struct TaskKeys {
        "workload" = word_text(Words::Workloads), Need::Required, "Work of the task.";
        name: String = name(), Need::Optional("the workload's, numbered where it is not the first"),
            "Name, unique in the domain.";
        vcpu: Option<u16> = vcpu(),
            Need::Optional(
                "0, and with `guest = \"linux-2.6.18\"` any: its kernel moves processes",
            ),
            "Index of the vcpu that it lives on, or `\"all\"` for one such task on each (but for \
             network workloads).";
        priority: i8 = int(-128, 127), Need::Int(0),
            "Tasks of a higher priority run first; equal ones take turns. Network workloads and \
             `dd`, which sleep most of the time, have 127 without it.";
    }
}

/// The tasks of the domain with `vcpus` vcpus (if that is known) whose table is `domain`: the
/// workload that it names itself, and those at `slot`.
pub(super) fn tasks(
    cx: &mut Cx<'_>,
    domain: &Fields,
    slot: &Slot<Nested>,
    vcpus: Option<usize>,
) -> Vec<Task> {
    if let (Some(short), Some(long)) = (domain.selected(), domain.field(slot)) {
        cx.push(
            Mistake::new(
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
    for (node, table, path) in domain.tables(slot) {
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
fn own_task(cx: &mut Cx<'_>, domain: &Fields) -> Option<Task> {
    let word = domain.variant?.word;
    let work = work(cx, domain, word, None)?;
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

fn task(cx: &mut Cx<'_>, fields: &Fields, vcpus: Option<usize>, names: &mut Names) -> Option<Task> {
    let keys: TaskKeys = fields.read();
    let vcpu = keys.vcpu.or(Some(0));
    if let (Some(Some(v)), Some(n)) = (vcpu, vcpus)
        && usize::from(v) >= n
    {
        cx.push(
            Mistake::new(
                Code::OutOfRange,
                fields.span(&keys.vcpu),
                format!("the domain has no vcpu {v}"),
            )
            .key(fields.path_of(&keys.vcpu))
            .found(v.to_string())
            .expected(format!("0 to {}, or \"all\"", n - 1))
            .hint(VCPUS_FROM_0),
        );
        return None;
    }
    let word = fields.variant?.word;
    let place = Placing {
        vcpu: &keys.vcpu,
        priority: &keys.priority,
    };
    let work = work(cx, fields, word, Some(place))?;
    let name = match keys.name.if_given()? {
        Some(name) => names.take(cx, name, fields, &keys.name),
        // Named once all given names are known.
        None => String::new(),
    };
    Some(Task {
        name,
        priority: match keys.priority.given {
            false if work.is_io_bound() => TaskConfig::IO_BOUND,
            _ => keys.priority.get()?,
        },
        vcpu: vcpu?.map(usize::from),
        placed: keys.vcpu.given,
        work,
        word,
    })
}

/// What to say of `name`, a domain with `vcpus` vcpus whose `tasks` load one of them alone,
/// because nothing says where they are to be: the first one, or one after the other where its
/// kernel `moves` processes.
pub(super) fn notice(name: &str, vcpus: usize, tasks: &[Task], moves: bool) -> Option<String> {
    let computes = |t: &Task| match &t.work {
        Work::Demand(workload) => !matches!(workload, Workload::Idle),
        Work::Replay(_) | Work::Device(..) => false,
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
    defaults: DefaultNames,
}

impl Names {
    /// Takes a given name; reports it when it is taken already.
    fn take(
        &mut self,
        cx: &mut Cx<'_>,
        name: String,
        fields: &Fields,
        slot: &Slot<String>,
    ) -> String {
        let span = fields.span(slot);
        if let Some(first) = self.given.insert(name.clone(), span) {
            cx.push(
                Mistake::new(
                    Code::Duplicate,
                    span,
                    format!("the domain has two tasks `{name}`"),
                )
                .key(fields.path_of(slot))
                .found(&name)
                .expected("a name that is unique in the domain")
                .related(first, "the first one")
                .hint("give it another name; without one it is called after its workload"),
            );
        }
        name
    }

    /// A name for a task without one: its workload's, numbered from the second on.
    fn number(&mut self, word: &str) -> String {
        let given = &self.given;
        self.defaults.number(word, |name| given.contains_key(name))
    }
}

/// How many tasks of each workload were named after it.
#[derive(Default)]
pub(crate) struct DefaultNames(BTreeMap<String, u32>);

impl DefaultNames {
    /// A name for a task of the workload `word` without one, where `is_taken` knows given names.
    pub fn number(&mut self, word: &str, is_taken: impl Fn(&str) -> bool) -> String {
        let n = self.0.entry(word.to_owned()).or_insert(0);
        loop {
            *n += 1;
            let name = match *n {
                1 => word.to_owned(),
                n => format!("{word}-{n}"),
            };
            if !is_taken(&name) {
                return name;
            }
        }
    }
}
