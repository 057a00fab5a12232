//! Shared rings of split drivers (xen-spec 6.1): requests one way and responses back through one
//! page, with as few notifications as the two ends can do with.
//!
//! ```text
//!            rsp_cons ≤ rsp_prod ≤ rsp_prod_pvt ≤ req_cons ≤ req_prod ≤ req_prod_pvt
//!  frontend: takes      backend:      writes        takes     frontend:     writes
//!            responses  has pushed    responses     requests  has pushed    requests
//! ```
//!
//! Indices run freely and wrap at 2^32; from first to last they span at most the size of the ring.
//! The frontend and the backend each keep a private producer and a consumer index; the shared
//! producers and the event indices are what the page holds.
//!
//! Each end asks to be notified when a producer passes an **event index**. Whoever pushes says
//! whether it passed. Whoever stops consuming first moves the event index on, and then looks again,
//! or what was pushed in between would lie there unnoticed: the **final check**.
//!
//! ```
//! use domio_vmm::ring::{NET_TX, Ring, RingError};
//!
//! let mut ring = Ring::new(NET_TX);
//! ring.put_request("packet")?;
//! assert!(ring.push_requests(), "the backend asked for the first one");
//! while let Some(packet) = ring.take_request() {
//!     ring.put_response(packet.len())?;
//! }
//! assert!(ring.push_responses(), "and so did the frontend");
//! assert!(!ring.final_check_for_requests(), "the backend may sleep");
//! assert_eq!(ring.take_response(), Some(6));
//! # Ok::<(), RingError>(())
//! ```

use alloc::boxed::Box;
use core::fmt;

/// Bytes of a ring's page.
const PAGE: u32 = 4096;
/// Bytes in front of the entries.
const HEADER: u32 = 64;

/// Entries of a one-page ring whose requests and responses take that many bytes: as many as fit,
/// rounded down to a power of two.
///
/// # Panics
///
/// If no entry fits, or both sizes are 0.
pub const fn entries(request: u32, response: u32) -> u32 {
    let entry = if request > response {
        request
    } else {
        response
    };
    let fit = (PAGE - HEADER) / entry;
    assert!(fit > 0, "an entry is larger than a page");
    1 << fit.ilog2()
}

/// Entries of a network ring from guest to backend: 256.
pub const NET_TX: u32 = entries(12, 4);
/// Entries of a network ring from backend to guest: 256.
pub const NET_RX: u32 = entries(8, 8);
/// Entries of a block ring: 32.
pub const BLOCK: u32 = entries(112, 16);

/// Whether a producer that goes from `old` to `new` passes `event`: the other end is to be told.
#[inline]
pub const fn passes(event: u32, old: u32, new: u32) -> bool {
    new.wrapping_sub(event) < new.wrapping_sub(old)
}

/// Where netfront puts `rsp_event` when it has taken the responses up to `prod` and `outstanding`
/// requests are unanswered (xen-spec 6.1): half of them are to be answered before it is told.
#[inline]
pub const fn halfway(prod: u32, outstanding: u32) -> u32 {
    prod.wrapping_add(outstanding / 2).wrapping_add(1)
}

/// What does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RingError {
    /// No free entry for a request: take responses first.
    Full,
    /// No request was taken that this response could answer: take requests first.
    NothingToAnswer,
}

impl fmt::Display for RingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RingError::Full => "the ring has no free entry; take responses first",
            RingError::NothingToAnswer => "every request taken is answered; take requests first",
        })
    }
}

impl core::error::Error for RingError {}

/// What an entry holds.
#[derive(Clone, Debug)]
enum Entry<Q, P> {
    Free,
    Request(Q),
    Response(P),
}

/// A ring of requests `Q` and responses `P`, both ends of it.
///
/// Methods of the frontend say request where they put and response where they take; the backend's
/// are the other way round. Nothing allocates after [`Ring::new`].
#[derive(Clone, Debug)]
pub struct Ring<Q, P> {
    entries: Box<[Entry<Q, P>]>,
    req_prod: u32,
    rsp_prod: u32,
    req_event: u32,
    rsp_event: u32,
    /// The frontend's own.
    req_prod_pvt: u32,
    rsp_cons: u32,
    /// The backend's own.
    rsp_prod_pvt: u32,
    req_cons: u32,
}

impl<Q, P> Ring<Q, P> {
    /// An empty ring of `size` entries, of which each end wants to hear of the first push.
    ///
    /// # Panics
    ///
    /// If `size` is not a power of two.
    pub fn new(size: u32) -> Ring<Q, P> {
        Ring::starting_at(size, 0)
    }

    /// An empty ring whose indices have got to `index`, as after that many requests.
    ///
    /// # Panics
    ///
    /// If `size` is not a power of two.
    pub fn starting_at(size: u32, index: u32) -> Ring<Q, P> {
        assert!(size.is_power_of_two(), "{size} entries: no power of two");
        Ring {
            entries: (0..size).map(|_| Entry::Free).collect(),
            req_prod: index,
            rsp_prod: index,
            req_event: index.wrapping_add(1),
            rsp_event: index.wrapping_add(1),
            req_prod_pvt: index,
            rsp_cons: index,
            rsp_prod_pvt: index,
            req_cons: index,
        }
    }

    /// Number of entries.
    #[inline]
    pub fn size(&self) -> u32 {
        self.entries.len() as u32
    }

    #[inline]
    fn entry(&mut self, index: u32) -> &mut Entry<Q, P> {
        let mask = self.size() - 1;
        &mut self.entries[(index & mask) as usize]
    }

    // The frontend.

    /// Requests that were put and whose responses were not taken.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.req_prod_pvt.wrapping_sub(self.rsp_cons)
    }

    /// Free entries for requests.
    #[inline]
    pub fn free(&self) -> u32 {
        self.size() - self.outstanding()
    }

    /// Puts a request; the backend sees it after [`Ring::push_requests`].
    ///
    /// # Errors
    ///
    /// If there is no free entry.
    #[inline]
    pub fn put_request(&mut self, request: Q) -> Result<(), RingError> {
        if self.free() == 0 {
            return Err(RingError::Full);
        }
        *self.entry(self.req_prod_pvt) = Entry::Request(request);
        self.req_prod_pvt = self.req_prod_pvt.wrapping_add(1);
        Ok(())
    }

    /// Shows the backend what was put; true if it is to be notified.
    #[inline]
    #[must_use = "the backend may wait for a notification"]
    pub fn push_requests(&mut self) -> bool {
        let old = core::mem::replace(&mut self.req_prod, self.req_prod_pvt);
        passes(self.req_event, old, self.req_prod)
    }

    /// Responses that the frontend can take.
    #[inline]
    pub fn responses(&self) -> u32 {
        self.rsp_prod.wrapping_sub(self.rsp_cons)
    }

    /// Requests that the backend has not answered, as the frontend sees it.
    #[inline]
    pub fn unfilled(&self) -> u32 {
        self.req_prod_pvt.wrapping_sub(self.rsp_prod)
    }

    /// Takes a response, in the order in which they were put.
    #[inline]
    pub fn take_response(&mut self) -> Option<P> {
        if self.responses() == 0 {
            return None;
        }
        let entry = core::mem::replace(self.entry(self.rsp_cons), Entry::Free);
        let Entry::Response(response) = entry else {
            unreachable!("a pushed response is in its entry until it is taken")
        };
        self.rsp_cons = self.rsp_cons.wrapping_add(1);
        Some(response)
    }

    /// Asks to be notified of the response after the last one taken. Look at [`Ring::responses`]
    /// again after it.
    #[inline]
    pub fn want_next_response(&mut self) {
        self.rsp_event = self.rsp_cons.wrapping_add(1);
    }

    /// Asks to be notified when half of the pushed requests that are unanswered now will be
    /// answered ([`halfway`]). Look at [`Ring::responses`] again after it.
    #[inline]
    pub fn want_half_of_responses(&mut self) {
        let unanswered = self.req_prod.wrapping_sub(self.rsp_prod);
        self.rsp_event = halfway(self.rsp_prod, unanswered);
    }

    /// The frontend's final check: whether there are responses; if not, the next push is told.
    #[inline]
    #[must_use = "responses that are there already are not notified"]
    pub fn final_check_for_responses(&mut self) -> bool {
        if self.responses() == 0 {
            self.want_next_response();
        }
        self.responses() > 0
    }

    // The backend.

    /// Requests that the backend can take.
    #[inline]
    pub fn requests(&self) -> u32 {
        self.req_prod.wrapping_sub(self.req_cons)
    }

    /// Requests that were taken and not answered.
    #[inline]
    pub fn unanswered(&self) -> u32 {
        self.req_cons.wrapping_sub(self.rsp_prod_pvt)
    }

    /// The request that is taken next, which stays.
    #[inline]
    pub fn peek_request(&self) -> Option<&Q> {
        if self.requests() == 0 {
            return None;
        }
        match &self.entries[(self.req_cons & (self.size() - 1)) as usize] {
            Entry::Request(request) => Some(request),
            _ => None,
        }
    }

    /// Takes a request, in the order in which they were put.
    #[inline]
    pub fn take_request(&mut self) -> Option<Q> {
        if self.requests() == 0 {
            return None;
        }
        let entry = core::mem::replace(self.entry(self.req_cons), Entry::Free);
        let Entry::Request(request) = entry else {
            unreachable!("a pushed request is in its entry until it is taken")
        };
        self.req_cons = self.req_cons.wrapping_add(1);
        Some(request)
    }

    /// Puts a response, to whichever request; the frontend sees it after [`Ring::push_responses`].
    ///
    /// # Errors
    ///
    /// If as many responses were put as requests were taken.
    #[inline]
    pub fn put_response(&mut self, response: P) -> Result<(), RingError> {
        if self.unanswered() == 0 {
            return Err(RingError::NothingToAnswer);
        }
        *self.entry(self.rsp_prod_pvt) = Entry::Response(response);
        self.rsp_prod_pvt = self.rsp_prod_pvt.wrapping_add(1);
        Ok(())
    }

    /// Shows the frontend what was put; true if it is to be notified.
    #[inline]
    #[must_use = "the frontend may wait for a notification"]
    pub fn push_responses(&mut self) -> bool {
        let old = core::mem::replace(&mut self.rsp_prod, self.rsp_prod_pvt);
        passes(self.rsp_event, old, self.rsp_prod)
    }

    /// Asks to be notified when `more` requests beyond those taken have been pushed: 1 for the next
    /// one. Look at [`Ring::requests`] again after it.
    #[inline]
    pub fn want_requests(&mut self, more: u32) {
        self.req_event = self.req_cons.wrapping_add(more);
    }

    /// The backend's final check: whether there are requests; if not, the next push is told.
    #[inline]
    #[must_use = "requests that are there already are not notified"]
    pub fn final_check_for_requests(&mut self) -> bool {
        if self.requests() == 0 {
            self.want_requests(1);
        }
        self.requests() > 0
    }
}
