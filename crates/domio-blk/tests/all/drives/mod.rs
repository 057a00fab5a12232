//! Drives: figures of the sources, and what holds for every drive.

mod loops;
mod mechanical;
