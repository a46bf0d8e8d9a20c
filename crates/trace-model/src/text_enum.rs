//! The macro behind every closed list of words.

/// Declares a closed list of words, each spelled once.
///
/// The macro gives `ALL`, `as_str`, `Display`, `FromStr` and serde from the one list. A text outside of the list is
/// [`ModelError::UnknownWord`](crate::ModelError::UnknownWord), which names the kind of word and the text.
macro_rules! text_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident as $kind:literal {
            $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        impl $name {
            /// Every word of the list, in the order of its declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the word as it stands in JSON, in stores and on the command line.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl core::str::FromStr for $name {
            type Err = $crate::ModelError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err($crate::ModelError::UnknownWord {
                        kind: $kind,
                        word: alloc::string::String::from(text),
                        schema_version: $crate::event::SCHEMA_VERSION,
                    }),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::text_enum::from_text(deserializer)
            }
        }
    };
}

pub(crate) use text_enum;

use alloc::borrow::Cow;
use core::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, de::Error};

/// Reads a value from its text form, which may be borrowed or owned by the input.
pub(crate) fn from_text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    let text = Cow::<str>::deserialize(deserializer)?;
    text.parse().map_err(D::Error::custom)
}

/// Gives a type with `Display` and `FromStr` its serde form: one string.
///
/// With the name of a method that returns the text, it is that text which is written. Nothing is formatted then: every
/// event holds a time and an id.
macro_rules! serde_as_text {
    ($name:ty) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        $crate::text_enum::serde_as_text!(@deserialize $name);
    };
    ($name:ty, $text:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.$text())
            }
        }

        $crate::text_enum::serde_as_text!(@deserialize $name);
    };
    (@deserialize $name:ty) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::text_enum::from_text(deserializer)
            }
        }
    };
}

pub(crate) use serde_as_text;

/// A text of exactly `N` bytes, made without allocating.
pub(crate) struct FixedText<const N: usize>([u8; N]);

impl<const N: usize> FixedText<N> {
    /// Returns the text of the bytes, all of which are ASCII.
    pub(crate) const fn of_ascii(bytes: [u8; N]) -> Self {
        debug_assert!(bytes.is_ascii());
        Self(bytes)
    }
}

impl<const N: usize> core::ops::Deref for FixedText<N> {
    type Target = str;

    fn deref(&self) -> &str {
        core::str::from_utf8(&self.0).expect("the bytes are ASCII")
    }
}
