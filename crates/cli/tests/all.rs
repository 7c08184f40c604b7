//! Whole-program tests: the real binary, real git, real processes, in a hermetic place.

mod bad_input;
mod bystander;
mod demo;
mod doctor;
mod help;
mod init;
mod kill_matrix;
mod orchestrate;
mod resume;
mod runs;
mod scenes;
