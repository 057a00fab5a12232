//! The discrete-event engine: event queue, random streams, run loop.
