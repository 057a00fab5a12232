//! Reports, from outside.

mod demo;
mod opening;
