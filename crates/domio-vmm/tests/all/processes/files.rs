//! Directories and sizes of the files of processes.

use domio_vmm::process::{Directories, FileSizes, WeightedSizes};

#[test]
fn sizes_come_as_often_as_their_weights_say() {
    let mix = WeightedSizes::read("4K/3:1M/0:64k/1").unwrap();
    assert!(mix.sizes().eq([4096, 65_536]));
    let drawn: Vec<u64> = (0..8).map(|i| FileSizes::Weighted(mix).drawn(i)).collect();
    assert_eq!(drawn, [4096, 4096, 4096, 65_536, 4096, 4096, 4096, 65_536]);
}

#[test]
fn other_texts_are_refused() {
    for text in [
        "",
        "4K",
        "4K/x",
        "0/1",
        "4K/0",
        "4Q/1",
        "4K/1:",
        "2K/1",
        "2G/1",
        "5K/1",
        "4K/256",
        "4K/1:4K/2",
        "99999999999G/1",
    ] {
        assert!(WeightedSizes::read(text).is_err(), "{text}");
    }
}

#[test]
fn directories_of_all_kinds_have_numbers_of_their_own() {
    let kinds = [
        Directories::Root,
        Directories::InRoot(3),
        Directories::Inside(3),
    ];
    let all = kinds.map(|kind| {
        (0..kind.count())
            .map(|n| kind.number(n))
            .collect::<Vec<_>>()
    });
    assert_eq!(all, [vec![0], vec![1, 3, 5], vec![2, 4, 6]]);
}
