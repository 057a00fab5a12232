//! Policies, from outside: the conformance suite, twins, histories.

mod beside;
mod bvt_twin;
mod classes;
mod conformance;
mod credit_first;
mod driver_domain;
mod linux_twin;
mod releases;
mod sedf_twin;
mod twin_bvt;
mod twin_linux;
mod twin_sedf;
