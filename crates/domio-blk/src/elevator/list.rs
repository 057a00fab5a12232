//! Lists that run through the slab of requests.

use super::request::RequestId;
use alloc::vec::Vec;

/// A list of requests. Its links are kept beside the requests, one [`Links`] for each sort of list.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct List {
    head: Option<RequestId>,
    tail: Option<RequestId>,
}

/// Links of all lists of one sort; a request is in one of them at most.
#[derive(Default)]
pub struct Links(Vec<Link>);

#[derive(Clone, Copy, Default)]
struct Link {
    linked: bool,
    prev: Option<RequestId>,
    next: Option<RequestId>,
}

impl Links {
    /// Makes room for one request more.
    pub(super) fn grow(&mut self) {
        self.0.push(Link::default());
    }

    /// Whether the request is in a list.
    pub fn is_linked(&self, id: RequestId) -> bool {
        self.0[id.index()].linked
    }

    /// The request before this one in its list.
    pub fn prev(&self, id: RequestId) -> Option<RequestId> {
        self.0[id.index()].prev
    }

    /// The request behind this one in its list.
    pub fn next(&self, id: RequestId) -> Option<RequestId> {
        self.0[id.index()].next
    }
}

impl List {
    /// The first request.
    pub fn first(&self) -> Option<RequestId> {
        self.head
    }

    /// The last request.
    pub fn last(&self) -> Option<RequestId> {
        self.tail
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// Puts `id` at the end.
    pub fn push_back(&mut self, links: &mut Links, id: RequestId) {
        self.insert_after(links, self.tail, id);
    }

    /// Puts `id` in front.
    pub fn push_front(&mut self, links: &mut Links, id: RequestId) {
        self.insert_after(links, None, id);
    }

    /// Puts `id` behind `place`, or in front without one.
    pub fn insert_after(&mut self, links: &mut Links, place: Option<RequestId>, id: RequestId) {
        assert!(!links.is_linked(id), "{id:?} is in two lists");
        let next = match place {
            Some(place) => links.0[place.index()].next.replace(id),
            None => self.head.replace(id),
        };
        match next {
            Some(next) => links.0[next.index()].prev = Some(id),
            None => self.tail = Some(id),
        }
        links.0[id.index()] = Link {
            linked: true,
            prev: place,
            next,
        };
    }

    /// Takes `id` out.
    pub fn remove(&mut self, links: &mut Links, id: RequestId) {
        let link = core::mem::take(&mut links.0[id.index()]);
        assert!(link.linked, "{id:?} is in no list");
        match link.prev {
            Some(prev) => links.0[prev.index()].next = link.next,
            None => self.head = link.next,
        }
        match link.next {
            Some(next) => links.0[next.index()].prev = link.prev,
            None => self.tail = link.prev,
        }
    }
}
