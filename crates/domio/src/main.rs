//! The domio command line.
fn main() {}
