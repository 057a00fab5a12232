//! What Zeng and others 2015 (XCollOpts, section IV) add to credit. Xen never had any of it; each
//! part is a parameter that is off by default, and the pages of credit itself call it at one place
//! each.
//!
//! | page | parameter | holds |
//! |---|---|---|
//! | `balance` | `boost_balance` | where a boosted vcpu queues that wakes (IV.A); sorted queues |
//! | `dispatch` | `dispatch_vector`, `dispatch_hold_us` | driver domains that stay (IV.B, IV.D) |
//!
//! With both, a vcpu that wakes where a driver domain continues is sent elsewhere as if a boosted
//! vcpu ran there (IV.C).

mod balance;
mod dispatch;

pub(super) use dispatch::Vector;
