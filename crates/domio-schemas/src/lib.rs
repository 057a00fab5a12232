//! Nothing but tests: what commands print and read is as the published JSON schemas say. The
//! library that reads schemas takes as long to compile as half of the project, so that the night
//! alone does.
