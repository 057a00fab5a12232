//! Reports, from outside.

mod demo;
mod opening;
mod text_tables;
