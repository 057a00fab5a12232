//! Project tasks: test, tidy, bench.
fn main() {}
