//! The engine, from outside.

mod oracle;
mod resume;
