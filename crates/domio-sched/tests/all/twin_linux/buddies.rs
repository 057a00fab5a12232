//! Sections 2.2, 2.9 and 3.7: who is to run next, who ran last, and who is skipped.

use super::{Rq, TwinLinux};

impl TwinLinux {
    pub(super) fn set_next_buddy(&mut self, e: usize) {
        for x in self.chain(e) {
            if !self.se[x].on || self.se[x].idle {
                return;
            }
            let q = self.q(x);
            self.rq[q].next = Some(x);
        }
    }

    pub(super) fn set_last_buddy(&mut self, e: usize) {
        for x in self.chain(e) {
            if !self.se[x].on || self.se[x].idle {
                return;
            }
            let q = self.q(x);
            self.rq[q].last = Some(x);
        }
    }

    pub(super) fn clear_buddies(&mut self, e: usize) {
        if self.flat() {
            if self.rq[0].next == Some(e) {
                self.rq[0].next = None;
            }
            return;
        }
        let buddies: [fn(&mut Rq) -> &mut Option<usize>; 3] =
            [|r| &mut r.next, |r| &mut r.last, |r| &mut r.skip];
        for buddy in buddies {
            for x in self.chain(e) {
                let q = self.q(x);
                let buddy = buddy(&mut self.rq[q]);
                if *buddy != Some(x) {
                    break;
                }
                *buddy = None;
            }
        }
    }
}
