//! Objects of which a few fields are wanted, read in one pass over their bytes.
//!
//! [`Json`] looks a field up by running over the text, once for each level. That is too slow for session files of
//! gigabytes. So a format that is read in bulk declares the fields that it needs, with [`parts!`](parts), and its rules
//! take each line as text in [`Records::line`](crate::interpreter::Records::line):
//!
//! ```text
//! parts! {
//!     /// A line.
//!     struct Line<'a> {
//!         kind: Option<Json<'a>> = "type",
//!         message: Message<'a> = "message",    // again declared with `parts!`
//!     }
//! }
//!
//! fn line(&mut self, text: &str, span: ByteSpan, out: &mut Vec<Observation>) -> Result<(), serde_json::Error> {
//!     let line: Line<'_> = typed::read(text)?;
//!     …
//! }
//!
//! fn record(&mut self, json: Json<'_>, span: ByteSpan, out: &mut Vec<Observation>) {
//!     let line = Line::of(Some(json));
//!     …
//! }
//! ```
//!
//! A field is a [`Json`], whose text is skipped and looked at only when it is needed; or again an object of declared
//! fields; or anything else that implements [`Part`]. What was said of [`Json`] holds here, too: a field of an
//! unexpected type is absent and spoils no other, null is absent, and the last one of a repeated name counts. The one
//! pass may give up on a text that is well-formed, such as a number that no `f64` holds where an object is expected;
//! it is then read the slow way, which finds the same.

use alloc::{borrow::Cow, string::String};
use core::{fmt, marker::PhantomData};

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::json::Json;

/// Reads a text that is one object and nothing else.
///
/// # Errors
///
/// The text is not JSON, or is a value of another kind.
pub(crate) fn read<'a, P: Part<'a>>(text: &'a str) -> Result<P, serde_json::Error> {
    if text.trim_ascii_start().starts_with('{') {
        let mut reader = serde_json::Deserializer::from_str(text);
        let mut part = P::default();
        if part.read(&mut reader).is_ok() && reader.end().is_ok() {
            return Ok(part);
        }
    }
    Json::object(text).map(|json| P::of(Some(json)))
}

/// A value that is read as a part of a larger one. The default is what it is where the value is absent.
pub(crate) trait Part<'a>: Default {
    /// Reads the value as it comes, into its place: a line has many fields, and to hand them on would copy them.
    fn read<D: Deserializer<'a>>(&mut self, source: D) -> Result<(), D::Error>;

    /// Reads a value that was found before: the slow way, which never fails.
    fn of(json: Option<Json<'a>>) -> Self;
}

impl<'a> Part<'a> for Option<Json<'a>> {
    fn read<D: Deserializer<'a>>(&mut self, source: D) -> Result<(), D::Error> {
        *self = Json::new(<&RawValue as serde::Deserialize>::deserialize(source)?);
        Ok(())
    }

    fn of(json: Option<Json<'a>>) -> Self {
        json
    }
}

/// An object of declared fields: see [`parts!`](parts).
pub(crate) trait Object<'a>: Default {
    /// Takes the value of a key, if it is one of the declared ones.
    fn take<A: MapAccess<'a>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;

    /// Looks the fields up.
    fn of_fields(json: Json<'a>) -> Self;
}

impl<'a, O: Object<'a>> Part<'a> for O {
    fn read<D: Deserializer<'a>>(&mut self, source: D) -> Result<(), D::Error> {
        *self = Self::default();
        source.deserialize_any(ObjectVisitor(self, PhantomData))
    }

    fn of(json: Option<Json<'a>>) -> Self {
        json.map(O::of_fields).unwrap_or_default()
    }
}

/// Reads the next value of a map into a part.
pub(crate) fn next_value<'a, P: Part<'a>, A: MapAccess<'a>>(part: &mut P, map: &mut A) -> Result<(), A::Error> {
    map.next_value_seed(PartSeed(part, PhantomData))
}

/// Reads the next element of a list into a part; tells whether there was one.
pub(crate) fn next_element<'a, P: Part<'a>, A: SeqAccess<'a>>(
    part: &mut P,
    elements: &mut A,
) -> Result<bool, A::Error> {
    Ok(elements.next_element_seed(PartSeed(part, PhantomData))?.is_some())
}

struct PartSeed<'p, 'a, P>(&'p mut P, PhantomData<&'a ()>);

impl<'a, P: Part<'a>> DeserializeSeed<'a> for PartSeed<'_, 'a, P> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, source: D) -> Result<(), D::Error> {
        self.0.read(source)
    }
}

/// Passes over a value that is no object, or no list.
macro_rules! other_kinds_are_absent {
    () => {
        fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
            Ok(())
        }
        fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
            Ok(())
        }
        fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
            Ok(())
        }
        fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
            Ok(())
        }
        fn visit_unit<E: Error>(self) -> Result<(), E> {
            Ok(())
        }
    };
}
pub(crate) use other_kinds_are_absent;

struct ObjectVisitor<'o, 'a, O>(&'o mut O, PhantomData<&'a ()>);

impl<'a, O: Object<'a>> Visitor<'a> for ObjectVisitor<'_, 'a, O> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(KeySeed)? {
            self.0.take(&key, &mut map)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    other_kinds_are_absent!();
}

/// Reads a key without copying it, unless it has an escape.
struct KeySeed;

impl<'a> DeserializeSeed<'a> for KeySeed {
    type Value = Cow<'a, str>;

    fn deserialize<D: Deserializer<'a>>(self, source: D) -> Result<Cow<'a, str>, D::Error> {
        source.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for KeySeed {
    type Value = Cow<'a, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, key: &'a str) -> Result<Cow<'a, str>, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Cow<'a, str>, E> {
        Ok(Cow::Owned(String::from(key)))
    }
}

/// Declares an object by the fields that are wanted of it, each with its type and its key.
macro_rules! parts {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident<'a> {
            $($(#[$field_meta:meta])* $field_visibility:vis $field:ident: $type:ty = $key:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default)]
        $visibility struct $name<'a> {
            $($(#[$field_meta])* $field_visibility $field: $type,)*
        }

        impl<'a> $crate::typed::Object<'a> for $name<'a> {
            fn take<A: serde::de::MapAccess<'a>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
                match key {
                    $($key => $crate::typed::next_value(&mut self.$field, map)?,)*
                    _ => {
                        map.next_value::<serde::de::IgnoredAny>()?;
                    }
                }
                Ok(())
            }

            fn of_fields(json: $crate::json::Json<'a>) -> Self {
                let [$($field),*] = json.fields([$($key),*]);
                Self { $($field: $crate::typed::Part::of($field)),* }
            }
        }
    };
}
pub(crate) use parts;

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    parts! {
        struct Outer<'a> {
            kind: Option<Json<'a>> = "type",
            inner: Inner<'a> = "inner",
        }
    }

    parts! {
        struct Inner<'a> {
            number: Option<Json<'a>> = "number",
        }
    }

    /// Returns what was read: the kind, and the number inside.
    fn seen(outer: &Outer<'_>) -> [Option<String>; 2] {
        [outer.kind, outer.inner.number].map(|json| json.map(|json| json.source().to_string()))
    }

    #[test]
    fn the_one_pass_and_the_slow_way_find_the_same() {
        for (text, kind, number) in [
            (r#"{"type":"a","x":[{"inner":1}],"inner":{"y":{},"number":7}}"#, Some("\"a\""), Some("7")),
            (r#" { "type" : 7 , "inner" : { "number" : [1] } } "#, Some("7"), Some("[1]")),
            (r#"{"type":null,"inner":null}"#, None, None),
            (r#"{"type":1,"type":2,"inner":{"number":1},"inner":{}}"#, Some("2"), None),
            (r#"{"ty\u0070e":1}"#, Some("1"), None),
            (r#"{"type":1,"inner":"text"}"#, Some("1"), None),
            (r#"{"type":1,"inner":[{"number":1}]}"#, Some("1"), None),
            (r#"{"type":1,"inner":true}"#, Some("1"), None),
            (r#"{"type":1,"inner":-1.5}"#, Some("1"), None),
            (r#"{"type":1,"inner":1e999}"#, Some("1"), None),
            ("{}", None, None),
        ] {
            let expected = [kind, number].map(|text| text.map(str::to_string));
            assert_eq!(seen(&read(text).unwrap()), expected, "{text}");
            assert_eq!(seen(&Outer::of(Json::object(text).ok())), expected, "{text}");
        }
    }

    #[test]
    fn only_a_whole_object_is_read() {
        for text in ["", "[1]", "7", "{", "{} {}", r#"{"a":}"#, "{\"a\":1\u{0}}"] {
            assert!(read::<Outer<'_>>(text).is_err(), "{text}");
        }
    }
}
