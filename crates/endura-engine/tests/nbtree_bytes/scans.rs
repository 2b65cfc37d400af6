//! Iterators beside changes of what they have noted ahead.

use crate::byte_world::ByteContents;
use crate::sessions::World;
use crate::world::{Small, Ties, Whole};

/// An iterator notes all entries of a leaf. What comes into it, is replaced, or removed, before its turn shows, for the call
/// that returns an entry begins after it.
fn is_up_to_date<C: ByteContents>() {
    for up in [true, false] {
        let world = World::<C>::new().with(["a", "b", "c", "d", "e", "f"]);
        let map = world.map();
        let mut entries = map.iter();
        let mut next = || {
            let entry = if up { entries.next() } else { entries.next_back() };
            entry.map(|entry| {
                let (key, value) = entry.unwrap();
                (String::from_utf8(key).unwrap(), String::from_utf8(value).unwrap())
            })
        };
        let named = |key: &str, value: &str| Some((key.to_owned(), value.to_owned()));
        // From here on the directions differ only in the names.
        let [first, between, second, third, fourth] =
            if up { ["a", "aa", "b", "c", "d"] } else { ["f", "ee", "e", "d", "c"] };
        assert_eq!(next(), named(first, first));
        map.insert(between, "new").unwrap();
        assert_eq!(next(), named(between, "new"), "a key that came in between");
        assert_eq!(next(), named(second, second));
        map.update(third, "other").unwrap();
        assert_eq!(next(), named(third, "other"), "a value that was replaced");
        map.remove(fourth).unwrap();
        assert_ne!(next().map(|entry| entry.0), Some(fourth.to_owned()), "a key that was removed");
    }
}

#[test]
fn an_iterator_returns_what_is_there_when_it_is_called() {
    is_up_to_date::<Whole>();
    is_up_to_date::<Small>();
    is_up_to_date::<Ties>();
}
