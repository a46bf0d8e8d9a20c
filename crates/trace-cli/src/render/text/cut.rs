//! Text that has to fit.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// Returns as much of the text as fits into `room` columns, if that is limited; a mark at its end says that there is
/// more.
///
/// The text is safe for a terminal already.
pub(crate) fn cut(text: &str, room: Option<usize>) -> Cow<'_, str> {
    let Some(room) = room else { return Cow::Borrowed(text) };
    let mut columns = 0;
    // The end of what fits beside the mark.
    let mut end = 0;
    for (at, character) in text.char_indices() {
        if columns < room {
            end = at;
        }
        columns += character.width().unwrap_or(0);
        if columns > room {
            let mark = if room == 0 { "" } else { "…" };
            return Cow::Owned(format!("{}{mark}", &text[..end]));
        }
    }
    Cow::Borrowed(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn the_mark_of_a_cut_is_part_of_what_fits() {
        for (text, room, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
            ("", 0, ""),
        ] {
            assert_eq!(cut(text, Some(room)), expected, "{text} in {room}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_its_room(text in "[a-c 日本é\u{301}🦀]{0,40}", room in 0..50_usize) {
            let sum = |text: &str| text.chars().map(|character| character.width().unwrap_or(0)).sum::<usize>();
            let kept = cut(&text, Some(room));
            prop_assert!(sum(&kept) <= room);
            prop_assert!(kept.width() <= room);
            if sum(&text) <= room {
                prop_assert_eq!(&*kept, text.as_str());
            }
        }
    }
}
