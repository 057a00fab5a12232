//! The threads of a host and the groups that they belong to, as actors of a stream.

mod labels;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use domio_core::{ActorId, DomainId, Names, PcpuId, Runstate, VcpuName};
use domio_linux::groups::{Groups, HOST_PART, Known, Manager, ThreadPart};
use domio_linux::{LinuxTask, Tasks, Tid};

use super::host::{HostThread, LinuxHost};
use super::label::Label;
use super::requests::DoneRequest;
use super::tids::{TID_MAX, Tids};

/// Most actors: a host has fewer threads at once, and the bound keeps a damaged file from taking
/// all memory. Threads beyond are counted.
const ACTORS_MAX: usize = 1 << 15;

/// Actors from which those of threads that have ended are used again, in the same group.
const USE_AGAIN: usize = 1 << 13;

/// Most groups. Threads of further ones are in a group together.
const GROUPS_MAX: usize = 1 << 14;

/// Name of the group of the threads of further groups.
const FURTHER: &str = "other groups";

/// Name of the group of the kernel's own threads, which has the place [`OF_KERNEL`].
const KERNEL: &str = "kernel";
pub(super) const OF_KERNEL: u32 = 0;

/// What is known of a thread's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// No record was about it.
    Unheard,
    /// It is in this state since `since`.
    Is(Runstate),
    /// It was found to have left its cpu, and nobody knows for what.
    Lost,
}

/// A thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thread {
    pub tid: Tid,
    /// [`ActorId::NONE`] for one that there is no room for.
    pub actor: ActorId,
    /// Place of its group.
    pub group: u32,
    pub state: State,
    pub since: u64,
    /// The cpu where it runs or ran last, or in whose queue it is.
    pub cpu: u16,
    /// Where a reader of the records takes it to be.
    pub home: u16,
    /// When it was woken last.
    pub woken: Option<u64>,
    /// Its rank as a record has said, [`Says::RANK`](domio_core::Says::RANK) before.
    pub rank: u8,
    /// Its latest priority.
    pub prio: Option<i16>,
    /// Number of the vcpu that it executes, if it does.
    pub is_vcpu: bool,
    /// Made while the trace lasts: its name and its group may not be final.
    pub young: bool,
    /// [`Tasks::changes`] when that was looked at.
    pub checked: u64,
    /// The process that its group is known by.
    process: Option<Tid>,
    /// Time in guest mode of this run.
    pub guest_mode: u64,
    /// It is blocked in state D.
    pub uninterruptible: bool,
    /// The request of its own that was done last.
    pub request: Option<DoneRequest>,
    /// Place of the limit that holds it back at times; `u32::MAX` for none.
    pub limit: u32,
}

/// A group of threads: a domain.
#[derive(Debug)]
pub(super) struct Group {
    pub name: String,
    pub id: DomainId,
    /// The guest that its threads work for.
    pub works_for: Option<DomainId>,
    /// Vcpus that run, and that wait.
    pub running: u32,
    pub waiting: u32,
    /// Since when one ran while another waited.
    pub skewed: Option<u64>,
    /// The request of its threads that was done last.
    pub request: Option<DoneRequest>,
    /// Numbers that are given away.
    taken: Vec<bool>,
    /// Actors of threads that have ended.
    free: Vec<ActorId>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Threads {
    rules: Groups,
    host: LinuxHost,
    by_tid: BTreeMap<Tid, HostThread>,
    tids: Tids,
    list: Vec<Thread>,
    /// Places in `list` of threads that have ended.
    free: Vec<usize>,
    groups: Vec<Group>,
    group_of: HashMap<String, u32>,
    /// Names that rules or control groups gave.
    by_rule: BTreeSet<String>,
    /// [`Tasks::changes`] when the latest of these came.
    ruled: u64,
    /// By actor; none of idle tasks.
    labels: Vec<Option<Label>>,
    /// How many there are.
    labelled: usize,
    /// Places of those that nobody was told yet.
    news: Vec<usize>,
    /// Threads that there was no room for.
    pub left_out: u64,
    /// Threads of vcpus of which nothing says whose they are.
    pub alone: u64,
}

/// Where a thread belongs.
struct Placed {
    group: u32,
    process: Option<Tid>,
    part: ThreadPart,
    is_vcpu: bool,
}

impl Threads {
    pub fn new(rules: Groups, host: LinuxHost) -> Self {
        let processes = host.processes().into_iter().map(|(tid, thread)| {
            let of_process = HostThread {
                tid: tid.0,
                process: Some(tid.0),
                cgroup: thread.cgroup.clone(),
                command: thread.command.clone(),
                ..HostThread::default()
            };
            (tid, of_process)
        });
        let threads = host.by_tid().into_iter();
        let by_tid = processes.chain(threads.map(|(tid, thread)| (tid, thread.clone())));
        let by_tid = by_tid.collect();
        let mut threads = Threads {
            rules,
            host,
            by_tid,
            tids: Tids::default(),
            list: Vec::new(),
            free: Vec::new(),
            groups: Vec::new(),
            group_of: HashMap::new(),
            by_rule: BTreeSet::new(),
            ruled: 0,
            labels: Vec::new(),
            labelled: 0,
            news: Vec::new(),
            left_out: 0,
            alone: 0,
        };
        threads.group(KERNEL, None);
        threads
    }

    #[inline]
    pub fn get(&self, place: usize) -> &Thread {
        &self.list[place]
    }

    #[inline]
    pub fn get_mut(&mut self, place: usize) -> &mut Thread {
        &mut self.list[place]
    }

    #[inline]
    pub fn group_at(&mut self, place: u32) -> &mut Group {
        &mut self.groups[place as usize]
    }

    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Places of all threads that are there.
    pub fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let free: std::collections::HashSet<usize> = self.free.iter().copied().collect();
        (0..self.list.len()).filter(move |place| !free.contains(place))
    }

    /// The place of `tid`, which is added at first sight; `None` for an id that no kernel gives,
    /// and where there is no room.
    #[inline]
    pub fn place(&mut self, names: &mut Names, tasks: &Tasks, tid: Tid) -> Option<usize> {
        match self.tids.get(tid) {
            Some(place) => Some(place),
            None => self.add(names, tasks, tid),
        }
    }

    /// The place of `tid`, if it is known.
    pub fn known(&self, tid: Tid) -> Option<usize> {
        self.tids.get(tid)
    }

    #[cold]
    fn add(&mut self, names: &mut Names, tasks: &Tasks, tid: Tid) -> Option<usize> {
        if tid.0 >= TID_MAX {
            self.left_out += 1;
            return None;
        }
        let placed = self.placed(tasks, tid);
        let actor = self.actor(names, tasks, tid, &placed);
        if actor == ActorId::NONE {
            self.left_out += 1;
        }
        let place = self.push(Thread {
            tid,
            actor,
            group: placed.group,
            is_vcpu: placed.is_vcpu,
            process: placed.process,
            checked: tasks.changes(),
            ..Thread::unheard()
        });
        self.tids.set(tid, Some(place));
        Some(place)
    }

    /// The idle task of `cpu`.
    pub fn add_idle(&mut self, names: &mut Names, cpu: PcpuId) -> usize {
        let actor = names.add_actor(VcpuName::idle(cpu));
        self.push(Thread {
            actor,
            cpu: cpu.0,
            home: cpu.0,
            ..Thread::unheard()
        })
    }

    fn push(&mut self, thread: Thread) -> usize {
        match self.free.pop() {
            Some(place) => {
                self.list[place] = thread;
                place
            }
            None => {
                self.list.push(thread);
                self.list.len() - 1
            }
        }
    }

    /// The thread has ended. Its id may be another one's from now on.
    pub fn remove(&mut self, place: usize) {
        let thread = self.list[place];
        if self.tids.get(thread.tid) != Some(place) {
            return;
        }
        self.tids.set(thread.tid, None);
        self.free.push(place);
        if thread.actor != ActorId::NONE {
            self.groups[thread.group as usize].free.push(thread.actor);
        }
    }

    /// Whether the thread in `place` belongs elsewhere by now, as its name or its group has
    /// changed.
    pub fn is_elsewhere(&mut self, tasks: &Tasks, place: usize) -> bool {
        let thread = self.list[place];
        self.list[place].checked = tasks.changes();
        // Where nothing has changed that is known of it, no rule says anything else.
        let of_process = thread.process.map_or(0, |process| tasks.changed(process));
        let latest = tasks.changed(thread.tid).max(of_process).max(self.ruled);
        if latest <= thread.checked {
            return false;
        }
        let placed = self.placed(tasks, thread.tid);
        self.list[place].process = placed.process;
        let stays = (placed.group, placed.is_vcpu) == (thread.group, thread.is_vcpu);
        let comm = self.told(tasks, thread.tid).comm;
        if stays
            && !comm.is_empty()
            && let Some(Some(label)) = self.labels.get_mut(thread.actor.index())
        {
            label.comm = comm;
            label.becomes_news(thread.actor, &mut self.news);
        }
        !stays
    }

    /// The thread in `place` is another actor from now on, where it belongs.
    pub fn renew(&mut self, names: &mut Names, tasks: &Tasks, place: usize) {
        let before = self.list[place];
        let placed = self.placed(tasks, before.tid);
        let actor = self.actor(names, tasks, before.tid, &placed);
        if before.actor != ActorId::NONE {
            self.groups[before.group as usize].free.push(before.actor);
        }
        self.list[place] = Thread {
            actor,
            group: placed.group,
            is_vcpu: placed.is_vcpu,
            process: placed.process,
            state: State::Unheard,
            rank: domio_core::Says::RANK,
            home: u16::MAX,
            ..before
        };
    }

    /// Whom `tid` belongs to, and what it does.
    fn placed(&mut self, tasks: &Tasks, tid: Tid) -> Placed {
        let own = self.told(tasks, tid);
        let comm = own.comm.clone();
        let part = ThreadPart::of(&comm);
        // What works for a process is where that process is, unless its own group is known.
        let for_process = match (part, &own.cgroup) {
            (ThreadPart::ForProcess(process), None) => Some(process),
            _ => None,
        };
        let of = match for_process {
            Some(process) => Told {
                process: Some(process),
                ..self.told(tasks, process)
            },
            None => own,
        };
        let process = of.process.map(|process| self.told(tasks, process));
        let known = Known {
            comm: if for_process.is_some() { "" } else { &comm },
            cgroup: of.cgroup.as_deref(),
            command: of
                .command
                .as_deref()
                .or(process.as_ref().and_then(|p| p.command.as_deref())),
            process: of.process,
            process_comm: process.as_ref().map(|process| process.comm.as_str()),
        };
        let mut belongs = self.rules.of(&known);
        let is_vcpu = matches!(part, ThreadPart::Vcpu(_));
        if is_vcpu && belongs.guest == comm {
            belongs.guest = format!("{comm}-{tid}");
            self.alone += 1;
        }
        let works = !is_vcpu && (belongs.is_vm || part.helps()) && belongs.manager != Manager::Host;
        let mut guest = belongs.guest;
        if !belongs.by_rule && self.by_rule.contains(&guest) {
            // A thread that has the name of a guest is not the guest's.
            guest += " (by name)";
        } else if belongs.by_rule && self.by_rule.insert(guest.clone()) {
            self.ruled = tasks.changes();
        }
        let group = self.group(&guest, None);
        let group = match works {
            false => group,
            true => {
                let works_for = self.groups[group as usize].id;
                self.group(&format!("{guest}{HOST_PART}"), Some(works_for))
            }
        };
        Placed {
            group,
            process: known.process,
            part,
            is_vcpu,
        }
    }

    /// What trace and file say of a thread.
    fn told(&self, tasks: &Tasks, tid: Tid) -> Told {
        let (default, host) = (LinuxTask::default(), self.by_tid.get(&tid));
        let task = tasks.get(tid).unwrap_or(&default);
        let comm = match (task.comm.is_empty(), host) {
            (true, Some(host)) => host.comm.clone(),
            _ => task.comm.clone(),
        };
        let process = task.process.or(host.and_then(|host| host.process).map(Tid));
        // A vcpu's thread was made by its process.
        let parent = task
            .parent
            .filter(|_| !matches!(ThreadPart::of(&comm), ThreadPart::Other));
        let process = process.or(parent.filter(|parent| parent.0 > 2));
        let of_host = |what: fn(&HostThread) -> Option<String>| host.and_then(what);
        let cgroup = task.cgroup.clone();
        let cgroup = cgroup.or_else(|| of_host(|host| host.cgroup.clone()));
        let of_group = cgroup.as_deref().and_then(|path| self.host.group(path));
        let command = task
            .command
            .clone()
            .or_else(|| of_host(|host| host.command.clone()));
        let command = command.or_else(|| of_group.and_then(|group| group.command.clone()));
        Told {
            comm,
            process,
            cgroup,
            command,
        }
    }

    /// The group called `name`, which is added at first sight.
    fn group(&mut self, name: &str, works_for: Option<DomainId>) -> u32 {
        if let Some(place) = self.group_of.get(name) {
            return *place;
        }
        if self.groups.len() >= GROUPS_MAX && name != FURTHER {
            return self.group(FURTHER, None);
        }
        let place = self.groups.len() as u32;
        self.groups.push(Group {
            name: name.to_owned(),
            // Below the idle domain's id.
            id: DomainId(place as u16),
            works_for,
            running: 0,
            waiting: 0,
            skewed: None,
            request: None,
            taken: Vec::new(),
            free: Vec::new(),
        });
        self.group_of.insert(name.to_owned(), place);
        place
    }

    /// An actor for a thread: vcpus have their number, if it is free.
    fn actor(&mut self, names: &mut Names, tasks: &Tasks, tid: Tid, placed: &Placed) -> ActorId {
        let full = self.labelled >= USE_AGAIN;
        let group = &mut self.groups[placed.group as usize];
        let again = full.then(|| group.free.pop()).flatten();
        let comm = self.told(tasks, tid).comm;
        if let Some(actor) = again {
            if let Some(Some(label)) = self.labels.get_mut(actor.index()) {
                (label.tid, label.comm, label.is_vcpu) = (tid, comm, false);
                label.becomes_news(actor, &mut self.news);
            }
            return actor;
        }
        if self.labelled >= ACTORS_MAX {
            return ActorId::NONE;
        }
        let group = &mut self.groups[placed.group as usize];
        let wanted = match placed.part {
            ThreadPart::Vcpu(number) if placed.is_vcpu => usize::try_from(number).ok(),
            _ => None,
        };
        let is_free = |number: &usize| {
            *number < ACTORS_MAX && !group.taken.get(*number).copied().unwrap_or(false)
        };
        let next = || {
            let free = group.taken.iter().position(|taken| !taken);
            free.unwrap_or(group.taken.len())
        };
        let number = wanted.filter(is_free).unwrap_or_else(next);
        if group.taken.len() <= number {
            group.taken.resize(number + 1, false);
        }
        group.taken[number] = true;
        let name = VcpuName::new(group.id, number as u16);
        let actor = names.add_actor(name);
        self.labels.resize_with(actor.index() + 1, || None);
        let label = self.labels[actor.index()].insert(Label {
            name,
            tid,
            comm,
            is_vcpu: wanted == Some(number),
            is_news: false,
        });
        label.becomes_news(actor, &mut self.news);
        self.labelled += 1;
        actor
    }

    /// The path and the limit of the nearest group of a thread that has a limit.
    pub fn limit(&self, tasks: &Tasks, place: usize) -> Option<(&str, u64, u64)> {
        let told = self.told(tasks, self.list[place].tid);
        self.host.limit(told.cgroup.as_deref()?)
    }

    /// Bits of the cpus that the thread in `place` may use, if not all.
    pub fn allowed(&self, tasks: &Tasks, place: usize) -> Option<Vec<u64>> {
        let tid = self.list[place].tid;
        let (host, told) = (self.by_tid.get(&tid), self.told(tasks, tid));
        self.host.allowed(host, told.cgroup.as_deref())
    }

    /// Release of the kernel as the file beside the trace says.
    pub fn kernel(&self) -> &str {
        &self.host.kernel
    }
}

/// What trace and file say of a thread.
struct Told {
    comm: String,
    process: Option<Tid>,
    cgroup: Option<String>,
    command: Option<String>,
}

impl Thread {
    const fn unheard() -> Self {
        Thread {
            tid: Tid::IDLE,
            actor: ActorId::NONE,
            group: 0,
            state: State::Unheard,
            since: 0,
            cpu: 0,
            home: u16::MAX,
            woken: None,
            rank: domio_core::Says::RANK,
            prio: None,
            is_vcpu: false,
            young: false,
            checked: 0,
            process: None,
            guest_mode: 0,
            uninterruptible: false,
            request: None,
            limit: u32::MAX,
        }
    }

    #[inline]
    pub fn is(&self, state: Runstate) -> bool {
        self.state == State::Is(state)
    }
}
