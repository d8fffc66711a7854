//! What is done to a session that is there: stopped, closed in another's stead, packed, removed, made to go on as another
//! version, harmed on purpose, told of; and what killed launches and removals left is cleared away.

pub(crate) mod collect;
pub(crate) mod drill;
pub(crate) mod leftover;
pub mod notify;
pub(crate) mod pack;
pub(crate) mod seal;
pub(crate) mod stop;
pub(crate) mod upgrade;
