//! Conversations that are trees: each entry names the one before it, and what an agent goes on with is the branch of its
//! last leaf, not the order of the file.

use std::collections::HashMap;

/// Entries by their names.
#[derive(Debug)]
pub(crate) struct Tree<T> {
    nodes: HashMap<String, (Option<String>, T)>,
    leaf: Option<String>,
}

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Self { nodes: HashMap::new(), leaf: None }
    }
}

impl<T> Tree<T> {
    /// Adds an entry and makes it the leaf; one of the same name is replaced where it stands.
    pub(crate) fn add(&mut self, id: &str, parent: Option<&str>, node: T) {
        self.nodes.insert(id.to_owned(), (parent.map(str::to_owned), node));
        self.leaf = Some(id.to_owned());
    }

    /// The branch of the last leaf, from it up to its root.
    pub(crate) fn branch(&self) -> impl Iterator<Item = &T> {
        // A ring of names would have no root.
        let mut left = self.nodes.len();
        let mut at = self.leaf.as_deref();
        std::iter::from_fn(move || {
            let (parent, node) = self.nodes.get(at?)?;
            at = parent.as_deref().filter(|_| left > 1);
            left -= 1;
            Some(node)
        })
    }
}
