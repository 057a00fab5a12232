//! Start states that a recorded host may have had.
//!
//! A trace shows who runs, who waits and who sleeps when it begins, but not all of the policy's own
//! state, which decides what comes next. An ensemble is a number of simulations of one recording.
//! Each of them begins in another state, drawn from a random stream of its own: how is the policy's
//! affair ([`PolicyState::draw`]). What all of them have in common follows from the model and from
//! what the guests asked for. Where they differ, the start decides.

use crate::policy::PolicyState;
use crate::simulated::SimulatedHost;
use domio_sim::RandomStream;

/// Simulations of an ensemble. Of so many equally likely figures one more lies outside of all the
/// others with a probability of 2 in 41.
pub const TWINS: u32 = 40;

/// The start states of an ensemble of `simulation`.
pub fn ensemble<P: PolicyState>(host: &SimulatedHost<P>) -> Vec<P::Hidden> {
    (0..TWINS).map(|number| P::draw(host, number)).collect()
}

/// The stream of random numbers for state `number`. Under another name it would draw other states,
/// and all recorded judgements with them.
pub(crate) fn stream(number: u32) -> RandomStream {
    RandomStream::new(0, number, "twin/start")
}

/// The numbers below `count` in a random order.
pub(crate) fn shuffled(count: usize, random: &mut RandomStream) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for i in (1..count).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
    order
}
