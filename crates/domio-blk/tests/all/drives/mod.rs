//! Drives: figures of the sources, and what holds for every drive.

mod array;
mod cache;
mod every;
mod flash;
mod geometry;
mod loops;
mod mechanical;
mod seek;
mod writes;
