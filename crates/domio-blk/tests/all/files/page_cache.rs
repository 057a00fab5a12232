//! The page cache.

use domio_blk::fs::cache::{Cache, DIRTY};

#[test]
fn the_page_that_was_used_longest_ago_goes() {
    let mut cache = Cache::new(3);
    for block in [10, 20, 30] {
        cache.add(block, 1, 0);
    }
    let ten = cache.find(10).expect("cached");
    cache.touch(ten);
    cache.add(40, 1, 0);
    assert_eq!(cache.find(20), None);
    assert!([10, 30, 40].iter().all(|b| cache.find(*b).is_some()));
    assert_eq!(cache.len(), 3);
}

#[test]
fn dirty_pages_stay() {
    let mut cache = Cache::new(2);
    cache.add(10, 1, DIRTY);
    cache.add(20, 1, 0);
    cache.add(30, 1, 0);
    assert!(cache.find(10).is_some() && cache.find(20).is_none());
}

#[test]
fn chains_of_one_head_keep_the_others() {
    // A cache for one page has two heads. Dirty pages stay, so that chains grow.
    let mut cache = Cache::new(1);
    let slots: Vec<u32> = (0..4).map(|b| cache.add(b, 1, DIRTY)).collect();
    assert_eq!(cache.len(), 4);
    cache.remove(slots[1]);
    assert_eq!(cache.find(1), None);
    for block in [0, 2, 3] {
        assert_eq!(cache.find(block), Some(slots[block as usize]));
    }
}
