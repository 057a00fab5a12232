//! Slices: which queue is served, for how long, and what it hands on.

use super::super::cx::ElevatorCx;
use super::super::request::{Jiffies, RequestId};
use super::super::tunables::jiffies_of_ms;
use super::state::Class;
use super::{Cfq, IDLE_CLASS, IDLE_SLICE, SEEKY, slice};

/// Longest wait (ms) for a process that seeks far.
const SEEKY_IDLE_MS: i64 = 2;

/// The idle class is served this part of a second after the last request of another class.
const IDLE_GRACE: i64 = 10;

impl Cfq {
    /// Gives a reference to a queue back; the last one ends the slice of a queue that is active.
    pub(super) fn put(&mut self, cx: &mut ElevatorCx<'_>, at: u32) {
        if self.all.put(at) && self.active == Some(at) {
            self.expire(cx, false);
            self.kick(cx);
        }
    }

    fn slice_used(&self, at: u32, now: Jiffies) -> bool {
        let line = &self.all.lines[at as usize];
        !line.slice_new && now >= line.slice_end
    }

    /// Ends the active queue's slice. `timed_out` keeps what is left of it, or is owed.
    pub(super) fn expire(&mut self, cx: &mut ElevatorCx<'_>, timed_out: bool) {
        let Some(at) = self.active.take() else {
            return;
        };
        let line = self.line(at);
        if core::mem::take(&mut line.waiting) {
            cx.cancel(IDLE_SLICE);
        }
        let line = self.line(at);
        if timed_out && !line.slice_new {
            line.residual = line.slice_end - cx.now;
        }
        self.all.resort(at, false, &self.tunables, cx.now);
        self.active_context = None;
    }

    /// Makes the first queue of the tree the active one; the idle class waits for its time.
    fn activate_next(&mut self, cx: &mut ElevatorCx<'_>) -> Option<u32> {
        let mut next = self.all.first();
        if let Some(at) = next
            && self.line(at).class == Some(Class::Idle)
        {
            let end = self.idle_class_from();
            if cx.now < end {
                cx.arm(IDLE_CLASS, end);
                next = None;
            }
        }
        if let Some(at) = next {
            let line = self.line(at);
            line.slice_end = 0;
            line.slice_new = true;
            line.granted = false;
            line.fifo_checked = false;
        }
        self.active = next;
        next
    }

    fn idle_class_from(&self) -> Jiffies {
        self.last_end + self.hz / IDLE_GRACE
    }

    /// The queue to be served now; `None` also while the disk is kept waiting.
    fn select(&mut self, cx: &mut ElevatorCx<'_>) -> Option<u32> {
        if let Some(at) = self.active {
            if !self.slice_used(at, cx.now) {
                let waits = cx.is_armed(IDLE_SLICE);
                let line = self.line(at);
                if !line.sorted.is_empty() {
                    return Some(at);
                }
                if waits || (line.dispatched > 0 && line.idle_window) {
                    return None;
                }
            }
            self.expire(cx, false);
        }
        self.activate_next(cx)
    }

    /// Hands requests on, in rounds, until there is no queue to serve or the one there is has
    /// enough in flight.
    pub(super) fn serve(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        let mut moved = 0;
        if self.all.busy() == 0 {
            return 0;
        }
        while let Some(at) = self.select(cx) {
            let sync_flight = self.sync_flight;
            let busy = self.all.busy();
            let quantum = self.tunables.quantum;
            let line = self.line(at);
            let most = if line.class == Some(Class::Idle) {
                1
            } else {
                quantum
            };
            if line.dispatched >= most && (busy > 1 || line.dispatched >= 4 * most) {
                break;
            }
            if sync_flight > 0 && !line.sync {
                break;
            }
            line.waiting = false;
            cx.cancel(IDLE_SLICE);
            moved += self.round(cx, at, most);
        }
        moved
    }

    /// Hands on up to `most` requests of a queue.
    fn round(&mut self, cx: &mut ElevatorCx<'_>, at: u32, most: i64) -> usize {
        let mut moved = 0;
        while moved < most && !self.line(at).sorted.is_empty() {
            let rq = self.expired(cx, at).or(self.line(at).next);
            let rq = rq.expect("a queue with requests knows its next one");
            self.hand_on(cx, rq);
            moved += 1;
            let submitter = cx.view()[rq].submitter;
            self.active_context.get_or_insert(submitter);
        }
        let line = &self.all.lines[at as usize];
        let enough = 2 * self.tunables.slice_async_rq * (8 - i64::from(line.level));
        let ends = (!line.sync && moved >= enough) || line.class == Some(Class::Idle);
        if self.all.busy() > 1 && ends {
            self.line(at).slice_end = cx.now + 1;
            self.expire(cx, false);
        }
        moved as usize
    }

    /// The oldest request of a queue, if it has waited too long. Looks once in a slice.
    fn expired(&mut self, cx: &ElevatorCx<'_>, at: u32) -> Option<RequestId> {
        let tunables = self.tunables;
        let line = self.line(at);
        if core::mem::replace(&mut line.fifo_checked, true) {
            return None;
        }
        let oldest = line.fifo.first()?;
        let limit = match line.sync {
            true => tunables.fifo_expire_sync,
            false => tunables.fifo_expire_async,
        };
        (cx.now >= cx.view()[oldest].start + limit).then_some(oldest)
    }

    /// What a completion means for the slice that it falls into.
    pub(super) fn completed_in_slice(&mut self, cx: &mut ElevatorCx<'_>, at: u32, sync: bool) {
        let tunables = self.tunables;
        let line = self.line(at);
        if core::mem::take(&mut line.slice_new) {
            line.slice_end = cx.now + slice(&tunables, line.sync, line.level);
        }
        let empty = line.sorted.is_empty();
        if self.slice_used(at, cx.now) {
            self.expire(cx, true);
        } else if sync && empty {
            self.wait(cx, at);
        }
    }

    /// Keeps the disk waiting for the active queue's process, if this is worth it.
    fn wait(&mut self, cx: &mut ElevatorCx<'_>, at: u32) {
        let mut idle = self.tunables.slice_idle;
        if idle == 0 || !self.line(at).idle_window {
            return;
        }
        let context = self.active_context.and_then(|who| self.all.context(who));
        let Some(context) = context.filter(|context| context.alive) else {
            return;
        };
        if context.seek.is_valid() && context.seek.mean > SEEKY {
            idle = idle.min(jiffies_of_ms(SEEKY_IDLE_MS, self.hz));
        }
        self.line(at).waiting = true;
        cx.arm(IDLE_SLICE, cx.now + idle);
    }

    /// The disk was kept waiting long enough.
    pub(super) fn waited_enough(&mut self, cx: &mut ElevatorCx<'_>) {
        let mut timed_out = true;
        if let Some(at) = self.active {
            timed_out = false;
            if !self.slice_used(at, cx.now) {
                if self.all.busy() == 0 {
                    return;
                }
                if !self.line(at).sorted.is_empty() {
                    self.kick(cx);
                    return;
                }
            }
        }
        self.expire(cx, timed_out);
        self.kick(cx);
    }

    /// The idle class's time may have come.
    pub(super) fn idle_class_due(&mut self, cx: &mut ElevatorCx<'_>) {
        let end = self.idle_class_from();
        if cx.now < end {
            cx.arm(IDLE_CLASS, end);
        } else {
            self.kick(cx);
        }
    }

    /// Learns from a new request, and lets it begin immediately where the disk waits for it or
    /// where it goes before the active queue.
    pub(super) fn enqueued(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        let request = cx.view()[rq];
        let at = request.private;
        self.line(at).meta += u32::from(request.meta);
        let longest = 2 * self.tunables.slice_idle;
        let context = self.all.known(request.submitter);
        let thought = (cx.now - context.last_end).min(longest);
        context.think.think(thought as u64);
        context.seek.seek(context.last_pos.abs_diff(request.sector));
        context.last_pos = request.end();
        let context = *context;
        self.update_idle_window(at, &context);
        if self.active == Some(at) {
            if self.line(at).waiting {
                cx.cancel(IDLE_SLICE);
                cx.run();
            }
        } else if self.preempts(cx, at, rq) {
            self.expire(cx, true);
            self.all.resort(at, true, &self.tunables, cx.now);
            let line = self.line(at);
            line.slice_end = 0;
            line.slice_new = true;
            cx.run();
        }
    }

    /// Whether the disk may be kept waiting for the process from now on. A queue of the idle class
    /// begins without, but learns as the others do.
    fn update_idle_window(&mut self, at: u32, context: &super::state::Context) {
        let idle = self.tunables.slice_idle;
        let random = self.deep && context.seek.mean > SEEKY;
        let line = self.line(at);
        if !line.sync {
            return;
        }
        if !context.alive || idle == 0 || random {
            line.idle_window = false;
        } else if context.think.is_valid() {
            line.idle_window = context.think.mean <= idle as u64;
        }
    }

    /// Whether a new request of the queue `new` ends the active queue's slice.
    fn preempts(&self, cx: &ElevatorCx<'_>, new: u32, rq: RequestId) -> bool {
        let Some(active) = self.active else {
            return false;
        };
        if self.slice_used(active, cx.now) {
            return true;
        }
        let new = &self.all.lines[new as usize];
        let active = &self.all.lines[active as usize];
        if new.class == Some(Class::Idle) {
            return false;
        }
        let request = &cx.view()[rq];
        if active.class == Some(Class::Idle)
            || (request.is_sync() && !active.sync)
            || (request.meta && active.meta == 0)
        {
            return true;
        }
        let context = self.active_context.filter(|_| active.waiting);
        context
            .and_then(|who| self.all.context(who))
            .is_some_and(|context| {
                let way = self.last_position.abs_diff(request.sector);
                context.seek.is_valid() && way <= context.seek.mean
            })
    }
}
