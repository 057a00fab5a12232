//! Trace files: own format, xentrace, Perfetto and CSV.
