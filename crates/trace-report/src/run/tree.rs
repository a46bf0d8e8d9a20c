//! The shape of a tree whose nodes say who their parents are, and need not speak the truth.
//!
//! Nodes are places in a list, and nothing here calls itself: a chain of any length is walked in constant stack.

use alloc::{collections::BTreeSet, vec, vec::Vec};
use core::iter;

/// A node in the order of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) place: usize,
    /// The number of nodes above it.
    pub(crate) depth: usize,
}

/// Takes the parent from the first node of each circle, and returns those nodes. What is left are trees.
pub(crate) fn cut_circles(parents: &mut [Option<usize>]) -> BTreeSet<usize> {
    let mut cuts = BTreeSet::new();
    // From where each node was first walked over, on the way up.
    let mut walks = vec![None; parents.len()];
    for start in 0..parents.len() {
        let mut next = Some(start);
        while let Some(place) = next.filter(|place| walks[*place].is_none()) {
            walks[place] = Some(start);
            next = parents[place];
        }
        // A walk that meets itself went around a circle; one that meets an earlier walk knows where that leads.
        if let Some(met) = next.filter(|place| walks[*place] == Some(start)) {
            let circle = iter::successors(Some(met), |place| parents[*place].filter(|next| *next != met));
            let first = circle.min().unwrap_or(met);
            parents[first] = None;
            cuts.insert(first);
        }
    }
    cuts
}

/// Returns the nodes of trees: each before its children, and those who have one parent in the order of the list.
pub(crate) fn preorder(parents: &[Option<usize>]) -> Vec<Step> {
    let mut children = vec![Vec::new(); parents.len()];
    let mut roots = Vec::new();
    for (place, parent) in parents.iter().enumerate() {
        parent.map_or(&mut roots, |parent| &mut children[parent]).push(place);
    }
    let steps = |places: &[usize], depth| places.iter().rev().map(move |&place| Step { place, depth }).collect();
    let mut stack: Vec<Step> = steps(&roots, 0);
    let mut order = Vec::with_capacity(parents.len());
    while let Some(step) = stack.pop() {
        order.push(step);
        let below: Vec<Step> = steps(&children[step.place], step.depth + 1);
        stack.extend(below);
    }
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any parents, which may be missing, later in the list, or the node itself.
    fn parents() -> impl Strategy<Value = Vec<Option<usize>>> {
        (1..40_usize).prop_flat_map(|len| prop::collection::vec(prop::option::weighted(0.9, 0..len), len))
    }

    proptest! {
        #[test]
        fn every_node_has_its_place_beneath_its_parent(parents in parents()) {
            let mut cut = parents.clone();
            let cuts = cut_circles(&mut cut);
            for (place, (before, after)) in parents.iter().zip(&cut).enumerate() {
                prop_assert_eq!(*after, before.filter(|_| !cuts.contains(&place)));
            }
            let order = preorder(&cut);
            let mut places: Vec<usize> = order.iter().map(|step| step.place).collect();
            let mut path: Vec<usize> = Vec::new();
            for step in &order {
                prop_assert!(step.depth <= path.len());
                path.truncate(step.depth);
                prop_assert_eq!(path.last().copied(), cut[step.place]);
                path.push(step.place);
            }
            places.sort_unstable();
            prop_assert!(places.into_iter().eq(0..parents.len()), "a node is lost or twice there");
        }

        #[test]
        fn only_the_first_node_of_a_circle_loses_its_parent(parents in parents()) {
            let cuts = cut_circles(&mut parents.clone());
            for place in cuts {
                let circle = iter::successors(parents[place], |next| parents[*next].filter(|_| *next != place));
                let circle: Vec<usize> = circle.take(parents.len()).collect();
                prop_assert_eq!(circle.last(), Some(&place), "it is its own ancestor");
                prop_assert!(circle.iter().all(|other| place <= *other));
            }
        }
    }

    #[test]
    fn trees_come_one_after_the_other() {
        let order = preorder(&[None, Some(0), None, Some(0), Some(1)]);
        let order: Vec<_> = order.into_iter().map(|step| (step.place, step.depth)).collect();
        assert_eq!(order, [(0, 0), (1, 1), (4, 2), (3, 1), (2, 0)]);
    }

    #[test]
    fn what_hangs_on_a_circle_stays_where_it_hangs() {
        // 0 hangs on the circle of 1, 2 and 3; 4 is its own parent.
        let mut parents = [Some(2), Some(3), Some(1), Some(2), Some(4)];
        assert_eq!(cut_circles(&mut parents), [1, 4].into());
        assert_eq!(parents, [Some(2), None, Some(1), Some(2), None]);
    }

    #[test]
    fn a_chain_of_any_length_is_walked() {
        let mut parents: Vec<Option<usize>> = (0..1_000_000_usize).map(|place| place.checked_sub(1)).collect();
        assert!(cut_circles(&mut parents).is_empty());
        assert_eq!(preorder(&parents).last(), Some(&Step { place: 999_999, depth: 999_999 }));
    }
}
