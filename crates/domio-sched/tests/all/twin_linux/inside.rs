//! Section 9.6: groups inside the group of a domain.

use super::{Mistake, Owner, TwinLinux};
use domio_contract::{Cx, WorksFor};
use domio_core::VcpuId;

/// What a group inside is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Name {
    Libvirt,
    Emulator,
    Vcpu(u16),
    Iothread(u32),
}

impl Name {
    /// The page of the policies says how a phase follows from this.
    pub(super) fn number(self) -> u64 {
        match self {
            Name::Libvirt => 0,
            Name::Emulator => 1,
            Name::Vcpu(n) => u64::from(n) * 2 + 2,
            Name::Iothread(n) => u64::from(n) * 2 + 3,
        }
    }

    /// How keys for it begin.
    fn key(self) -> Option<&'static str> {
        match self {
            Name::Libvirt => None,
            Name::Emulator => Some("emulator"),
            Name::Vcpu(_) => Some("vcpu"),
            Name::Iothread(_) => Some("iothread"),
        }
    }
}

impl TwinLinux {
    /// `g` and all below, level by level.
    pub(super) fn groups_below(&self, g: usize) -> Vec<usize> {
        let mut all = Vec::new();
        let mut level = vec![g];
        while !level.is_empty() {
            all.extend(&level);
            let below = level.iter().flat_map(|g| self.rq[*g].children.clone());
            level = below.collect();
        }
        all
    }

    pub(super) fn all_threads(&self, g: usize) -> Vec<usize> {
        let groups = self.groups_below(g).into_iter();
        groups.flat_map(|g| self.rq[g].members.clone()).collect()
    }

    fn has_libvirt(&self, domain: usize) -> bool {
        let told = self.rq[domain].told.as_ref();
        told.is_some_and(|p| p.word("layout") == Some("libvirt"))
    }

    /// The group for `vcpu`.
    pub(super) fn place_of(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> usize {
        let known = self.works.iter().find(|(v, _)| *v == vcpu);
        let vcpus_own = cx.vcpu(vcpu).name;
        let (domain, name) = match known.map(|(_, works)| *works) {
            None => {
                let mut known = self.se.iter().filter(|e| e.vcpu == Some(vcpu));
                let name = match known.next().map_or(0, |e| e.seat) {
                    0 => Name::Vcpu(vcpus_own.index),
                    1 => Name::Emulator,
                    // Past those of threads: 65536 in names, 65536 without names.
                    _ => Name::Iothread(131_072 + u32::from(vcpus_own.index)),
                };
                (vcpus_own.domain, name)
            }
            Some(WorksFor::Kernel) => return 0,
            Some(WorksFor::Emulator(guest)) => (guest, Name::Emulator),
            Some(WorksFor::Iothread(guest, n)) => (guest, Name::Iothread(n)),
        };
        let name = match name {
            Name::Iothread(_) if self.wrong(Mistake::IothreadWithEmulator) => Name::Emulator,
            name => name,
        };
        let of_domain = self.group_of(domain);
        if !self.has_libvirt(of_domain) {
            return of_domain;
        }
        let known = self.rq.len();
        let outer = self.group_called(Owner::Inside(domain.0, Name::Libvirt), of_domain);
        let g = self.group_called(Owner::Inside(domain.0, name), outer);
        self.greet(cx, known);
        self.limit_inside(cx, of_domain, g, name);
        g
    }

    /// Quota and period of `g`, which is called `name`.
    fn limit_inside(&mut self, cx: &mut Cx<'_>, of_domain: usize, g: usize, name: Name) {
        let told = self.rq[of_domain].told.expect("a domain with a layout");
        let of = |key: &str, what: &str| {
            let value = told.by_name(&format!("{key}_{what}_us"));
            i128::from(value.expect("declared")) * 1000
        };
        let (quota, period) = match name.key() {
            Some(key) => (of(key, "quota"), of(key, "period")),
            None => (0, 100_000_000),
        };
        self.set_quota(cx, g, quota, period, 0);
    }

    /// The groups inside of `domain` follow what it was told.
    pub(super) fn arrange(&mut self, cx: &mut Cx<'_>, domain: usize) {
        let libvirt = self.has_libvirt(domain);
        if libvirt {
            for g in self.groups_below(domain) {
                if let Owner::Inside(_, name) = self.rq[g].owner {
                    self.limit_inside(cx, domain, g, name);
                }
            }
        }
        for e in self.all_threads(domain) {
            let vcpu = self.se[e].vcpu.expect("a thread");
            let to = self.place_of(cx, vcpu);
            let from = self.se[e].group;
            if to != from {
                self.carry(cx, e, to);
                self.emptied(cx, from);
            }
        }
    }

    /// The thread `e` goes to the group `to`.
    pub(super) fn carry(&mut self, cx: &mut Cx<'_>, e: usize, to: usize) {
        let from = self.se[e].group;
        let queued = self.pull_out(cx, e);
        if self.cfs() && !self.se[e].relative && !self.wrong(Mistake::CarriedUnplaced) {
            self.place(from, e, "");
            self.se[e].v -= self.rq[from].min_v;
            self.se[e].relative = true;
        }
        self.rq[from].members.retain(|m| *m != e);
        self.rq[to].members.push(e);
        self.se[e].group = to;
        if let Some(runs) = queued {
            self.put_in(cx, e, runs);
            if runs {
                self.resched(cx);
            }
        }
        self.release(cx, to, 0);
        self.resched_if_idle(cx);
    }

    /// Limits of groups without threads go.
    pub(super) fn emptied(&mut self, cx: &mut Cx<'_>, g: usize) {
        if !self.all_threads(g).is_empty() {
            return;
        }
        self.forget_quota(cx, g);
        if let Owner::Inside(..) = self.rq[g].owner {
            self.emptied(cx, self.rq[g].parent);
        }
    }
}
