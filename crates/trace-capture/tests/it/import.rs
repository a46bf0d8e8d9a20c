//! What agents wrote themselves, brought in.

mod damage;
mod growth;
mod meanwhile;
mod parts;
mod recorded;
mod sessions;
mod world;
