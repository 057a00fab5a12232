//! The conformance suite on the policies of the registry and on their releases: what takes longest
//! of the tests of this crate, with the library as it is optimised for simulations.

mod conformance;
mod driver_domain;
mod releases;
