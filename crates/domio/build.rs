//! Names the program, for the store of results, and the build, for `domio --version`.

fn main() -> std::io::Result<()> {
    domio_program::name("../..".as_ref())?;
    domio_program::build("../..".as_ref());
    Ok(())
}
