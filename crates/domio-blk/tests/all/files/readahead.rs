//! How many pages a read takes in.

use domio_blk::fs::readahead::Readahead;

const MAX: u64 = 32;

#[test]
fn first_windows_grow_with_the_request() {
    for (wanted, size) in [
        (1, 4),
        (2, 4),
        (3, 8),
        (4, 8),
        (5, 16),
        (8, 16),
        (9, 32),
        (64, 32),
    ] {
        let mut opened = Readahead::OPENED;
        let window = opened.window(0, wanted, false, MAX);
        assert_eq!((window.first, window.pages), (0, size), "{wanted} pages");
    }
}

#[test]
fn windows_of_a_reader_in_order_double_at_each_marker() {
    let mut ra = Readahead::OPENED;
    let first = ra.window(0, 1, false, MAX);
    assert_eq!((first.pages, first.marker), (4, Some(1)));
    ra.has_read(0);
    let mut marker = 1;
    for (start, pages) in [(4, 8), (12, 16), (28, 32), (60, 32)] {
        let window = ra.window(marker, 1, true, MAX);
        assert_eq!((window.first, window.pages), (start, pages));
        assert_eq!(window.marker, Some(start));
        ra.has_read(marker);
        marker = start;
    }
}

#[test]
fn a_random_read_takes_what_was_asked_for() {
    let mut ra = Readahead::OPENED;
    let window = ra.window(700, 1, false, MAX);
    assert_eq!((window.first, window.pages, window.marker), (700, 1, None));
    ra.has_read(700);
    assert_eq!(ra.window(300, 3, false, MAX).pages, 3);
    assert_eq!(
        ra.window(701, 1, false, MAX).pages,
        4,
        "the next page is in order"
    );
}

#[test]
fn a_marker_without_a_window_starts_behind_the_marker() {
    let mut opened = Readahead::OPENED;
    let window = opened.window(10, 1, true, MAX);
    assert_eq!((window.first, window.pages), (11, 8));
}
