//! The program `domio`: the laboratory with the parts that ship.

use std::process::ExitCode;

fn main() -> ExitCode {
    domio::Laboratory::new().main()
}
