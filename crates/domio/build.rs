//! Names the program, for the store of results.

fn main() -> std::io::Result<()> {
    domio_program::name("../..".as_ref())
}
