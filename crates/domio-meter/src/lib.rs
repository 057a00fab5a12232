//! Per-domain accounts and latency statistics, computed from a trace alone.
