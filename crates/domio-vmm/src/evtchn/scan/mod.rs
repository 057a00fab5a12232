//! How a guest's kernel looks for the ports that were sent to.
//!
//! A scan is asked for one port at a time and reads shared state only when it is asked, because the
//! handler of a port runs before the next question. Passes over the ports differ by kernel; what
//! they have in common, nested upcalls and the timer that comes first, is here.

pub(super) mod fifo;
pub(crate) mod form;
mod restart;
mod resume;
mod round_robin;

use crate::evtchn::port::{Port, Width};
use crate::evtchn::two_level::TwoLevel;
use form::{Pass, ScanForm};
use restart::Restart;
use resume::Resume;
use round_robin::RoundRobin;

/// The passes over the bitmaps of the two-level ABI.
#[derive(Clone, Debug)]
pub(super) enum BitmapPass {
    Restart(Restart),
    RoundRobin(RoundRobin),
    Resume(Resume),
}

impl BitmapPass {
    pub(super) fn new(form: ScanForm, width: Width) -> BitmapPass {
        match form {
            ScanForm::Nesting | ScanForm::Restart => {
                BitmapPass::Restart(Restart::new(form.nests()))
            }
            ScanForm::RoundRobin => BitmapPass::RoundRobin(RoundRobin::new(width)),
            ScanForm::Resume => BitmapPass::Resume(Resume::new(false)),
            ScanForm::ResumeMainline => BitmapPass::Resume(Resume::new(true)),
        }
    }
}

impl Pass<TwoLevel> for BitmapPass {
    fn comes_first(&self, events: &TwoLevel, port: Port, vcpu: u16) -> bool {
        let (word, bit) = events.width().locate(port);
        matches!(self, BitmapPass::Resume(_)) && events.active(word, vcpu) >> bit & 1 != 0
    }

    fn begin(&mut self, events: &mut TwoLevel, vcpu: u16) {
        let selected = events.take_selector(vcpu);
        match self {
            BitmapPass::Restart(pass) => pass.begin(selected),
            BitmapPass::RoundRobin(pass) => pass.begin(selected),
            BitmapPass::Resume(pass) => pass.begin(selected),
        }
    }

    fn next(&mut self, events: &mut TwoLevel, vcpu: u16) -> Option<Port> {
        match self {
            BitmapPass::Restart(pass) => pass.next(events, vcpu),
            BitmapPass::RoundRobin(pass) => pass.next(events, vcpu),
            BitmapPass::Resume(pass) => pass.next(events, vcpu),
        }
    }

    fn set_aside(&mut self) -> Option<Self> {
        match self {
            BitmapPass::Restart(pass) => pass.set_aside().map(BitmapPass::Restart),
            BitmapPass::RoundRobin(_) | BitmapPass::Resume(_) => None,
        }
    }

    fn goes_on_when_due(&self) -> bool {
        matches!(self, BitmapPass::Resume(pass) if pass.mainline())
    }
}

/// How far an upcall is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// No upcall.
    Outside,
    /// A pass has begun, and the timer has not been looked at.
    Timer,
    /// What says where to look has not been read.
    Begin,
    /// Going over the ports.
    Pass,
}

/// The upcalls of one vcpu, whose kernel goes over the ports in passes `P`.
#[derive(Clone, Debug)]
pub(super) struct Scan<P> {
    pass: P,
    stage: Stage,
    /// Upcalls that came during this pass.
    nested: u32,
    /// The pass of the outer upcall, while a nested one makes its own.
    outer: Option<P>,
    /// Served before all others, by the forms that do so.
    timer: Option<Port>,
}

impl<P> Scan<P> {
    pub(super) fn new(pass: P) -> Scan<P> {
        Scan {
            pass,
            stage: Stage::Outside,
            nested: 0,
            outer: None,
            timer: None,
        }
    }

    pub(super) fn set_timer(&mut self, port: Option<Port>) {
        self.timer = port;
    }

    /// Begins an upcall; false if it is nested, and over.
    #[inline]
    pub(super) fn begin<E>(&mut self) -> bool
    where
        P: Pass<E>,
    {
        if self.stage != Stage::Outside {
            if self.outer.is_none() && self.stage == Stage::Pass {
                self.outer = self.pass.set_aside();
            }
            if self.outer.is_none() {
                self.nested += 1;
                return false;
            }
        }
        self.stage = Stage::Timer;
        true
    }

    /// The next port of this pass; none outside an upcall.
    #[inline]
    pub(super) fn next<E>(&mut self, events: &mut E, vcpu: u16) -> Option<Port>
    where
        P: Pass<E>,
    {
        if self.stage == Stage::Outside {
            return None;
        }
        if self.stage == Stage::Timer {
            self.stage = Stage::Begin;
            if let Some(port) = self.timer
                && self.pass.comes_first(events, port, vcpu)
            {
                return self.timer;
            }
        }
        if self.stage == Stage::Begin {
            self.stage = Stage::Pass;
            self.pass.begin(events, vcpu);
        }
        self.pass.next(events, vcpu)
    }

    /// Ends a pass; true if another one begins. `due`: an upcall has become due meanwhile.
    #[inline]
    pub(super) fn end<E>(&mut self, due: bool) -> bool
    where
        P: Pass<E>,
    {
        if self.stage == Stage::Outside {
            return false;
        }
        if let Some(outer) = self.outer.take() {
            // What the outer one finds now has come since.
            self.pass = outer;
            self.stage = Stage::Pass;
            return false;
        }
        let nested = core::mem::take(&mut self.nested) > 0;
        let again = nested || due && self.pass.goes_on_when_due();
        self.stage = if again { Stage::Timer } else { Stage::Outside };
        again
    }
}
