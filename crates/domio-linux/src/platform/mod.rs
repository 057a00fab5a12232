//! What a page of a browser lacks: C, which unpacks zstd, and temporary files.

#[cfg(target_family = "wasm")]
mod browser;
#[cfg(not(target_family = "wasm"))]
mod native;

#[cfg(target_family = "wasm")]
pub use browser::*;
#[cfg(not(target_family = "wasm"))]
pub use native::*;
