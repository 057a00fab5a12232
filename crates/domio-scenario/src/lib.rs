//! TOML scenarios: parse, validate, build.
