//! What a policy's own records change in the books: what their class says of them, whichever policy
//! it is.

use domio_core::{ActorId, Class, ClassId, Declared, Names, PcpuId, Record, Says};

use super::WaitBooks;
use super::why::Why;

impl WaitBooks {
    /// Takes a record that is not of the common class.
    #[inline]
    pub fn class(&mut self, names: &Names, record: &Record, declared: Option<&'static Declared>) {
        self.pcpu(record.pcpu).seen = true;
        if record.class == ClassId::FOREIGN {
            return;
        }
        match names
            .class(record.class)
            .filter(|_| self.is_policy(names, record.class))
        {
            Some(policy) => self.hear(policy, declared, record),
            None => self.settle(record.pcpu),
        }
    }

    fn is_policy(&mut self, names: &Names, class: ClassId) -> bool {
        if let Some(is_policy) = self.policies.get(class.index()) {
            return *is_policy;
        }
        let new = names.classes().iter().skip(self.policies.len());
        self.policies.extend(new.map(|class| is_policy(class)));
        self.policies.get(class.index()).copied().unwrap_or(false)
    }

    /// Takes what a policy says.
    fn hear(
        &mut self,
        policy: &'static Class,
        declared: Option<&'static Declared>,
        record: &Record,
    ) {
        // Records of one that is understood tell more than those of others.
        let known = self.tells.policy;
        if known.is_none_or(|known| !core::ptr::eq(known, policy))
            && !self.tells.understands_policy()
        {
            self.tells.policy = Some(policy);
        }
        let Some(declared) = declared else {
            return;
        };
        self.tells.add(declared);
        let (at, pcpu, actor) = (record.at.as_nanos(), record.pcpu, record.actor);
        let value = |field| declared.value(record, field);
        match declared.says {
            Says::Pass => self.settle(pcpu),
            Says::Tickled { pcpu: called } => self.tickled(pcpu, PcpuId(value(called) as u16)),
            Says::Boosted => self.boosted(actor, Some(at)),
            Says::BoostOver => self.boosted(actor, None),
            Says::RateLimited => self.limited(actor, at, pcpu, Why::RateLimit),
            Says::Dispatches => self.limited(actor, at, pcpu, Why::Dispatching),
            Says::Queued { pcpu: queue } => self.queued(actor, PcpuId(value(queue) as u16)),
            Says::Wants { pcpu: wanted } => self.wanted(actor, pcpu, value(wanted)),
            Says::Credit { credit, budget } => {
                let signed = |field: u8| {
                    let field = declared.fields.get(usize::from(field));
                    field.map_or((0, 64), |field| (field.signed(record), field.bits))
                };
                let (credit, _) = signed(credit);
                let budget = budget.map(|field| {
                    let (left, bits) = signed(field);
                    let no_cap = i64::MIN >> (64 - bits);
                    (left != no_cap).then_some(left)
                });
                self.credit(actor, at, credit, budget);
            }
            Says::Budget { left } => {
                let left = declared.fields.get(usize::from(left));
                let spent = left.is_some_and(|field| field.signed(record) <= 0);
                self.spent(actor, at, spent);
            }
            Says::Filled => self.spent(actor, at, false),
            Says::HeldInside => {
                if let Some(vcpu) = self.known(actor) {
                    vcpu.held_inside = true;
                }
            }
            Says::Waits(what) => self.waits_for(actor, at, what),
            Says::QueuesOn { pcpu: queue } => {
                self.queues_on(actor, at, PcpuId(value(queue) as u16));
            }
            Says::Ranks { rank } => self.ranks(actor, at, value(rank)),
            Says::Interrupted { time } => self.interrupted(at, pcpu, value(time)),
            Says::MayUse { first, mask } => self.may_use(actor, at, value(first), value(mask)),
            Says::Uninterruptible => {
                if let Some(vcpu) = self.known(actor) {
                    vcpu.uninterruptible = true;
                }
            }
            Says::WaitedForDisk { time } => self.waited_for_disk(actor, at, value(time)),
            Says::Nothing
            | Says::OfGuest
            | Says::DiskQueued { .. }
            | Says::DiskDone { .. }
            | Says::Moved { .. }
            | Says::Full { .. }
            | Says::Held { .. }
            | Says::Fills { .. } => {}
        }
    }

    /// `called` is tickled for who was woken last on `pcpu`.
    fn tickled(&mut self, pcpu: PcpuId, called: PcpuId) {
        if let Some(slot) = self.pcpu(pcpu).pending.take()
            && let Some(wait) = &mut self.list[slot].wait
            && wait.base.is_none()
        {
            wait.base = Some(Why::Pass);
            wait.called = Some(called);
            self.pcpu(called).called.push(slot);
        }
    }

    /// The vcpu has a boost since a time, or none.
    fn boosted(&mut self, actor: ActorId, since: Option<u64>) {
        if let Some(vcpu) = self.known(actor) {
            vcpu.boosted = Some(since.is_some());
            vcpu.boosted_at = since;
        }
    }

    /// A pass lets the vcpu go on on `pcpu`, and whom the pcpu was tickled for waits for that.
    fn limited(&mut self, actor: ActorId, at: u64, pcpu: PcpuId, why: Why) {
        if let Some(vcpu) = self.known(actor) {
            vcpu.limited = true;
        }
        for slot in self.pcpu(pcpu).called.clone() {
            self.changes_base(slot, at, why, true);
        }
    }

    /// The vcpu, which was woken, waits on `pcpu`.
    fn queued(&mut self, actor: ActorId, pcpu: PcpuId) {
        if let Some(vcpu) = self.known(actor) {
            vcpu.strays |= pcpu != vcpu.home;
        }
    }

    fn credit(&mut self, actor: ActorId, at: u64, credit: i64, budget: Option<Option<i64>>) {
        let Some(slot) = self.place(actor) else {
            return;
        };
        // A wait of which it is not clear yet whether a pcpu is tickled has no other cause before.
        let wait = self.list[slot].wait.as_ref();
        if wait.is_some_and(|wait| wait.base.is_some()) || budget.is_some() {
            self.flush(slot, at);
        }
        let vcpu = &mut self.list[slot];
        vcpu.credit = Some(credit);
        vcpu.credit_at = at;
        if let Some(budget) = budget {
            vcpu.budget = budget;
        }
    }

    /// The vcpu's own budget is used up at `at`, or is not.
    fn spent(&mut self, actor: ActorId, at: u64, spent: bool) {
        let Some(slot) = self.place(actor) else {
            return;
        };
        if self.list[slot].spent != spent {
            self.flush(slot, at);
            self.list[slot].spent = spent;
        }
    }

    /// The sleep of the vcpu that ends at `at` was for a disk, for so long.
    fn waited_for_disk(&mut self, actor: ActorId, at: u64, time: u64) {
        let part = self.window.part(at.saturating_sub(time), at);
        if let Some(vcpu) = self.known(actor) {
            vcpu.sums.disk += part;
        }
    }

    /// The policy says where the vcpu had best be.
    fn wanted(&mut self, actor: ActorId, pcpu: PcpuId, wanted: u64) {
        let runs = self.runs(actor, pcpu);
        if let Some(vcpu) = self.known(actor) {
            if runs {
                // The tick has taken the boost.
                vcpu.boosted = Some(false);
            }
            vcpu.strays |= wanted != u64::from(vcpu.home.0);
        }
    }
}

/// Whether a class is a policy's: in a device's something moves, or adds to a figure and makes no
/// passes. Of one without declarations nothing is known.
fn is_policy(class: &Class) -> bool {
    let adds = class
        .records
        .iter()
        .any(|record| !record.tallies.is_empty());
    let passes = class
        .records
        .iter()
        .any(|record| matches!(record.says, Says::Pass | Says::Waits(_)));
    class.items.is_empty() && !class.records.is_empty() && (!adds || passes)
}
