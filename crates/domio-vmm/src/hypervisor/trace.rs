//! What a host tells of itself.

use domio_core::{DomainId, Duration, Instant, Kind, PcpuId, Record, Runstate, Sink, VcpuName};

/// The trace of a host: where records go, and the records of the hypervisor itself.
pub(crate) struct Trace<S: Sink> {
    sink: S,
    /// Whether records are made.
    wanted: bool,
}

impl<S: Sink> Trace<S> {
    /// A trace into `sink`, which is taken from the start.
    pub fn new(sink: S) -> Self {
        Trace {
            sink,
            wanted: S::ENABLED,
        }
    }

    /// Whether records are made; with a sink that takes none the compiler knows.
    #[inline(always)]
    pub fn on(&self) -> bool {
        S::ENABLED && self.wanted
    }

    /// Makes records from now on, or none. Whether any were made before.
    pub fn set(&mut self, on: bool) -> bool {
        core::mem::replace(&mut self.wanted, on && S::ENABLED)
    }

    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    pub fn into_sink(self) -> S {
        self.sink
    }

    /// Writes `record`, if records are made.
    #[inline]
    pub fn write(&mut self, record: Record) {
        if self.on() {
            self.sink.record(&record);
        }
    }

    /// `kind` happened to `vcpu`, by code on pcpu `on`. That is all there is to say.
    #[inline]
    pub fn happened(&mut self, now: Instant, on: PcpuId, kind: Kind, vcpu: VcpuName) {
        self.write(Record::new(now, on, kind, vcpu));
    }

    /// `vcpu` goes from one runstate to another.
    #[inline]
    pub fn runstate(
        &mut self,
        now: Instant,
        on: PcpuId,
        vcpu: VcpuName,
        old: Runstate,
        new: Runstate,
    ) {
        self.write(Record::runstate(now, on, vcpu, old, new));
    }

    /// `vcpu`, which has run for `ran`, goes on, with a slice of `slice`.
    pub fn goes_on(
        &mut self,
        now: Instant,
        pcpu: PcpuId,
        vcpu: VcpuName,
        ran: Duration,
        slice: Duration,
    ) {
        let mut record = Record::new(now, pcpu, Kind::Continue, vcpu);
        record.data = [ns_word(ran), ns_word(slice), 0, 0];
        self.write(record);
    }

    /// `pcpu` goes from one vcpu to another.
    pub fn switch(&mut self, now: Instant, pcpu: PcpuId, switch: Switch) {
        let mut record = Record::new(now, pcpu, Kind::Switch, switch.prev);
        record.detail = switch.state as u8;
        record.data = [
            switch.next.word(),
            ns_word(switch.ran),
            ns_word(switch.waited),
            ns_word(switch.slice),
        ];
        self.write(record);
    }

    /// The policy has something to say, which goes to the buffer of `pcpu`.
    pub fn note(
        &mut self,
        now: Instant,
        pcpu: PcpuId,
        policy: u16,
        event: u8,
        len: u8,
        words: [u32; 3],
    ) {
        self.write(Record::policy_note(now, pcpu, policy, event, len, words));
    }

    /// `task` of the guest on `vcpu` has finished a job.
    pub fn job_done(
        &mut self,
        now: Instant,
        pcpu: PcpuId,
        vcpu: VcpuName,
        task: u8,
        turnaround: Duration,
        work: Duration,
    ) {
        let (turnaround, work) = (turnaround.as_nanos(), work.as_nanos());
        let mut record = Record::new(now, pcpu, Kind::JobDone, vcpu);
        record.detail = task;
        record.data = [
            turnaround as u32,
            (turnaround >> 32) as u32,
            work as u32,
            (work >> 32) as u32,
        ];
        self.write(record);
    }

    /// `vcpu` has worked for `domain` for `time`, where the trace is to tell.
    pub fn served(
        &mut self,
        now: Instant,
        pcpu: PcpuId,
        vcpu: VcpuName,
        domain: DomainId,
        time: Duration,
    ) {
        if S::OWNERS {
            self.write(Record::driver_work(
                now,
                pcpu,
                vcpu,
                domain,
                time.as_nanos(),
            ));
        }
    }
}

/// A context switch, for the trace.
pub(crate) struct Switch {
    pub prev: VcpuName,
    pub next: VcpuName,
    /// The runstate of `prev` from now on.
    pub state: Runstate,
    /// How long `prev` ran, and how long `next` waited runnable.
    pub ran: Duration,
    pub waited: Duration,
    /// `next`'s slice, the longest time for none.
    pub slice: Duration,
}

/// A length of time as a trace word; Xen writes -1 for no slice, and so does this for the longest.
fn ns_word(time: Duration) -> u32 {
    u32::try_from(time.as_nanos()).unwrap_or(u32::MAX)
}
