//! Papers that ship, from outside.

mod explained;
mod ongaro_robust;
mod papers;
