//! Drives: figures of the sources, and what holds for every drive.

mod array;
mod every;
mod flash;
mod loops;
mod mechanical;
mod writes;
