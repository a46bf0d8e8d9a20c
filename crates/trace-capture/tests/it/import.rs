//! What agents wrote themselves, brought in.

mod damage;
mod growth;
mod recorded;
mod sessions;
mod world;
