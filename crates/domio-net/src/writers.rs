//! Processes of a remote host that write to sockets, on its one processor.
//!
//! Each writes a piece at a time, and continues until its send buffer is full; then the next one
//! that was woken runs. A process whose buffer is full sleeps until a third of it is free
//! (`sk_stream_write_space` in Linux's `net/core/stream.c`), so that writes come in turns of many
//! packets and not one for each acknowledgement.
//!
//! Whoever owns it sets a timer for each answer, and calls [`Writers::wrote`] when it has fired and
//! the piece is in the buffer.

use alloc::collections::VecDeque;
use domio_core::Duration;

use crate::packet::FlowId;

/// What processes of a remote host take, in its processor's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriterCosts {
    /// From the packet that frees room to the process, on an idle processor.
    pub wake: Duration,
    /// From one process to another.
    pub switch: Duration,
    /// The call, whatever it writes.
    pub call: Duration,
    /// Copying a KiB and sending it.
    pub kib: Duration,
}

impl WriterCosts {
    /// No cost anywhere: everybody writes in the instant in which there is room.
    pub const FREE: WriterCosts = WriterCosts {
        wake: Duration::ZERO,
        switch: Duration::ZERO,
        call: Duration::ZERO,
        kib: Duration::ZERO,
    };

    /// What a process takes that waits for a message on an idle processor, from the packet on: to
    /// wake up, to receive the message and to send one of `bytes`.
    pub fn answer(&self, bytes: u16) -> Duration {
        self.wake + self.call + self.write(u32::from(bytes))
    }

    fn write(&self, bytes: u32) -> Duration {
        self.call + by_kib(self.kib, u64::from(bytes))
    }
}

/// What `bytes` cost at a price for each KiB.
#[inline]
pub(crate) fn by_kib(price: Duration, bytes: u64) -> Duration {
    Duration::from_nanos(price.as_nanos() * bytes / 1024)
}

/// Whose piece is written next, and after how long.
pub type Next = (FlowId, Duration);

/// Those that run or want to.
#[derive(Clone, Debug)]
pub struct Writers {
    costs: WriterCosts,
    /// Flow and bytes of a piece; the first one runs.
    queue: VecDeque<(FlowId, u32)>,
}

impl Writers {
    /// An idle processor.
    pub fn new(costs: WriterCosts) -> Self {
        Writers {
            costs,
            queue: VecDeque::new(),
        }
    }

    /// There is room in the send buffer of `flow`, whose process writes `bytes` at a time and
    /// slept. When its first piece is written, should it run immediately.
    #[must_use]
    pub fn wake(&mut self, flow: FlowId, bytes: u32) -> Option<Next> {
        self.queue.push_back((flow, bytes));
        (self.queue.len() == 1).then(|| (flow, self.costs.wake + self.costs.write(bytes)))
    }

    /// The process that runs has written its piece, and there is room for `more` or not. When the
    /// next piece is written, its own or another's.
    #[must_use]
    pub fn wrote(&mut self, more: bool) -> Option<Next> {
        if !more {
            self.queue.pop_front();
        }
        let (flow, bytes) = *self.queue.front()?;
        let switch = if more {
            Duration::ZERO
        } else {
            self.costs.switch
        };
        Some((flow, switch + self.costs.write(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_vmm::hardware::OPTERON_242;

    #[test]
    fn who_answers_wakes_up_receives_and_sends() {
        let quarter = WriterCosts::beside(&OPTERON_242).answer(256);
        assert_eq!(quarter, Duration::from_nanos(5_000 + 500 + 500 + 575));
        assert_eq!(WriterCosts::FREE.answer(56), Duration::ZERO);
    }

    #[test]
    fn one_after_the_other_until_its_buffer_is_full() {
        let ns = Duration::from_nanos;
        let mut writers = Writers::new(WriterCosts::beside(&OPTERON_242));
        let (a, b) = (FlowId(1), FlowId(2));
        assert_eq!(writers.wake(a, 8_192), Some((a, ns(5_000 + 18_900))));
        assert_eq!(writers.wake(b, 1_024), None, "a runs");
        assert_eq!(writers.wrote(true), Some((a, ns(18_900))));
        assert_eq!(writers.wrote(false), Some((b, ns(2_000 + 2_800))));
        assert_eq!(writers.wrote(false), None);
        assert_eq!(writers.wake(a, 8_192), Some((a, ns(23_900))), "idle again");
    }
}
