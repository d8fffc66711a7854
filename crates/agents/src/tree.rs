//! Conversations that are trees: each entry names the one before it, and what an agent goes on with is the branch of its
//! last leaf, not the order of the file. An entry may be written before the one that it names.

use std::collections::{BTreeMap, HashMap, HashSet};

/// Entries by their names.
#[derive(Debug)]
pub(crate) struct Tree<T> {
    nodes: HashMap<String, Node<T>>,
    /// Whoever is named by another, also if it is not there yet.
    named: HashSet<String>,
    /// Those that nobody names, in the order in which they were added.
    leaves: BTreeMap<u64, String>,
    added: u64,
}

#[derive(Debug)]
struct Node<T> {
    parent: Option<String>,
    /// Which one it was to be added.
    number: u64,
    what: T,
}

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Self { nodes: HashMap::new(), named: HashSet::new(), leaves: BTreeMap::new(), added: 0 }
    }
}

impl<T> Tree<T> {
    /// Adds an entry: the last leaf, unless another is known to follow it. One of the same name is replaced.
    pub(crate) fn add(&mut self, id: &str, parent: Option<&str>, what: T) {
        self.added += 1;
        if let Some(parent) = parent.filter(|parent| *parent != id) {
            self.named.insert(parent.to_owned());
            let number = self.nodes.get(parent).map(|node| node.number);
            number.and_then(|number| self.leaves.remove(&number));
        }
        let node = Node { parent: parent.map(str::to_owned), number: self.added, what };
        if let Some(before) = self.nodes.insert(id.to_owned(), node) {
            self.leaves.remove(&before.number);
        }
        if !self.named.contains(id) {
            self.leaves.insert(self.added, id.to_owned());
        }
    }

    /// The branch of the last leaf, from it up to its root.
    pub(crate) fn branch(&self) -> impl Iterator<Item = &T> {
        // A ring of names would have no root.
        let mut left = self.nodes.len();
        let mut at = self.leaves.values().next_back().map(String::as_str);
        std::iter::from_fn(move || {
            let node = self.nodes.get(at?)?;
            at = node.parent.as_deref().filter(|_| left > 1);
            left -= 1;
            Some(&node.what)
        })
    }
}
