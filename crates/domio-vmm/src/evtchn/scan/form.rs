//! The forms of scans that kernels have had, and what all passes have in common.

use crate::evtchn::port::Port;

/// How a kernel with the two-level ABI looks for ports, oldest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ScanForm {
    /// As [`Restart`](Self::Restart), and an upcall that comes while the softirqs of another run
    /// goes over the ports itself: Linux 2.6.16 for Xen 3.0, until December 2006 (3d17485a07). So
    /// handlers have run when the softirqs end, and the outer scan finds nothing: after ten rounds
    /// the thread of the softirqs takes over, and processes have their turns.
    Nesting,
    /// Lowest port first, from the begin of the word again after each handler (xen-spec 5.4): Linux
    /// 2.6.18 for Xen until the end of 2007, and the pvops trees of 2011. Ports that are sent to
    /// again soon starve the higher ones; Ongaro et al. 2008 found dom0 to starve guests by that.
    Restart,
    /// From the port after the last one that was served, in a circle (xen-spec 5.5): the first fix.
    /// Only the words that were selected when the pass began take part. A word that is selected
    /// later waits until all of these are empty together, so ports may still starve.
    RoundRobin,
    /// One look at each word, from the port after the last one that was served (xen-spec 5.6):
    /// openSUSE's kernels. Of the first word the second half comes first and the first half last.
    Resume,
    /// The same in mainline Linux, which looks at the whole of the first word again at the end, and
    /// continues immediately when an upcall has become due meanwhile.
    ResumeMainline,
}

impl ScanForm {
    /// Every form under which a nested upcall takes note alone.
    pub const ALL: [ScanForm; 4] = [
        ScanForm::Restart,
        ScanForm::RoundRobin,
        ScanForm::Resume,
        ScanForm::ResumeMainline,
    ];

    /// Whether a nested upcall goes over the ports itself.
    pub const fn nests(self) -> bool {
        matches!(self, ScanForm::Nesting)
    }

    /// Whether the timer's virq is served before all others.
    pub const fn timer_first(self) -> bool {
        matches!(self, ScanForm::Resume | ScanForm::ResumeMainline)
    }
}

/// How a kernel goes over the ports once, over what `Events` shares with Xen.
pub(in crate::evtchn) trait Pass<Events> {
    /// Whether `port` is served before all others, now that a pass begins.
    fn comes_first(&self, events: &Events, port: Port, vcpu: u16) -> bool;
    /// Begins a pass: reads and clears what says where to look.
    fn begin(&mut self, events: &mut Events, vcpu: u16);
    /// The next port of the pass, by what is pending now.
    fn next(&mut self, events: &mut Events, vcpu: u16) -> Option<Port>;
    /// Puts the pass under way aside for one of a nested upcall; none where those take note alone.
    fn set_aside(&mut self) -> Option<Self>
    where
        Self: Sized;
    /// Whether another pass follows when an upcall has become due, nested or not.
    fn goes_on_when_due(&self) -> bool;
}
