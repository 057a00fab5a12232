//! `none`: the numbers of arrival, and the smallest one is next.

use domio_blk::elevator::list::List;
use domio_blk::elevator::{
    Bio, Elevator, ElevatorCx, Jiffies, Layer, MergeIn, RequestId, Requests, Tuning,
};

pub fn make(_: &Tuning, _: Jiffies) -> Box<dyn Elevator> {
    Box::new(Twin::default())
}

#[derive(Default)]
struct Twin {
    waiting: Vec<(u64, RequestId)>,
    arrived: u64,
    /// For the layer's merging alone.
    list: List,
}

impl Elevator for Twin {
    fn layer(&self) -> Layer {
        Layer::Multi
    }

    fn tags(&self, depth: u32) -> u32 {
        depth
    }

    fn merge_in(&self, _bio: &Bio) -> MergeIn {
        MergeIn::List(self.list)
    }

    fn merged_requests(&mut self, _: &mut ElevatorCx<'_>, _: RequestId, _: RequestId) {
        unreachable!("requests are not merged with each other");
    }

    fn insert(&mut self, cx: &mut ElevatorCx<'_>, rq: RequestId) {
        self.arrived += 1;
        self.waiting.push((self.arrived, rq));
        self.list.push_back(&mut cx.requests().queue, rq);
    }

    fn dispatch(&mut self, cx: &mut ElevatorCx<'_>) -> usize {
        let Some((number, rq)) = self.waiting.iter().copied().min_by_key(|(n, _)| *n) else {
            return 0;
        };
        self.waiting.retain(|(n, _)| *n != number);
        self.list.remove(&mut cx.requests().queue, rq);
        cx.dispatch_last(rq);
        1
    }

    fn former(&self, _: &Requests, _: RequestId) -> Option<RequestId> {
        None
    }

    fn latter(&self, _: &Requests, _: RequestId) -> Option<RequestId> {
        None
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
