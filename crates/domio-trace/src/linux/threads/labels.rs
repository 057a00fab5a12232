//! What threads are called.

use domio_core::VcpuName;
use domio_linux::Tasks;

use super::super::label::{Label, LinuxThread};
use super::Threads;

impl Threads {
    /// Every thread that is an actor, with what is known of it. One that had another name or group
    /// before is there once more.
    pub fn known_threads(&self, tasks: &Tasks) -> Vec<LinuxThread> {
        let labels = self.labels.iter().flatten();
        let threads = labels.map(|label| {
            let told = self.told(tasks, label.tid);
            LinuxThread {
                name: label.name,
                tid: label.tid.0,
                comm: label.comm.clone(),
                is_vcpu: label.is_vcpu,
                cgroup: told.cgroup,
                prio: self.tids.get(label.tid).and_then(|at| self.list[at].prio),
            }
        });
        threads.collect()
    }

    /// What threads are called beside those that execute the vcpu of their number.
    pub fn labels(&self, tasks: &Tasks) -> Vec<(VcpuName, String)> {
        let all = 0..self.labels.len();
        let mut labels: Vec<_> = all.filter_map(|place| self.label(tasks, place)).collect();
        labels.sort_unstable();
        labels
    }

    /// Whether there are threads or names that [`Threads::take_news`] has not handed out.
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// The labels of threads that are new, or are called otherwise, since this was asked last.
    pub fn take_news(&mut self, tasks: &Tasks) -> Vec<(VcpuName, String)> {
        let news = std::mem::take(&mut self.news);
        for place in &news {
            if let Some(Some(label)) = self.labels.get_mut(*place) {
                label.is_news = false;
            }
        }
        let labels = news.into_iter();
        labels
            .filter_map(|place| self.label(tasks, place))
            .collect()
    }

    /// What the thread of the actor with this number is called, unless it has a vcpu's name.
    fn label(&self, tasks: &Tasks, place: usize) -> Option<(VcpuName, String)> {
        let label = self.labels[place].as_ref().filter(|label| !label.is_vcpu)?;
        let group = &self.groups[usize::from(label.name.domain.0)].name;
        let Label { tid, comm, .. } = label;
        // It may have another name by now.
        let actor = self.tids.get(*tid).map(|at| self.list[at].actor.index());
        let now = tasks.get(*tid).filter(|_| actor == Some(place));
        let now = now.map(|task| &task.comm).filter(|comm| !comm.is_empty());
        let comm = now.unwrap_or(comm);
        let is_alone = *group == format!("{comm}-{tid}");
        let number = comm.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_told = number.len() < comm.len() && number.ends_with(['-', '/', ':', ' ']);
        let called = match is_told {
            _ if is_alone => return Some((label.name, group.clone())),
            true => comm.clone(),
            false => format!("{comm}-{tid}"),
        };
        Some((label.name, format!("{group}.{called}")))
    }
}
