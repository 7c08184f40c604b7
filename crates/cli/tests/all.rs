//! Whole-program tests, one file a command.
