//! What the systems before this one promise or break, asked of our commands. Where another test asks it already, `docs/rivals.md`
//! names that one; it has a row for each behaviour.

mod collected;
mod ended;
mod executed;
mod launched;
mod recorded;
mod waited;
