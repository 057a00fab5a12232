//! What changes the name of a program, and what does not.

mod digest;
mod tokens;
