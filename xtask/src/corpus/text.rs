//! Texts that a person or a program could have written: random, and as repetitive as such texts are.
//!
//! All of them are made as they stand inside of a JSON string.

use std::fmt::Write as _;

use fastrand::Rng;

/// How many words there are; the first ones are used most, as in any language.
const WORDS: usize = 4000;

const SYLLABLES: [&str; 40] = [
    "ac", "al", "an", "ar", "be", "cor", "da", "de", "di", "do", "el", "en", "er", "fa", "ge", "gra", "in", "is", "ka",
    "la", "lo", "ma", "me", "mi", "na", "no", "or", "pa", "per", "po", "ra", "re", "ro", "se", "si", "ta", "te", "ti",
    "to", "ver",
];

/// Words that are no plain ASCII.
const FOREIGN: [&str; 6] = ["caf\u{e9}", "na\u{ef}ve", "\u{2014}", "\u{2192}", "\u{fc}ber", "\u{1f389}"];

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The words that all texts are made of.
#[derive(Debug)]
pub(super) struct Vocabulary(Vec<String>);

impl Vocabulary {
    pub(super) fn new(rng: &mut Rng) -> Self {
        let mut words: Vec<String> = (0..WORDS)
            .map(|_| (0..=rng.usize(0..4)).map(|_| *rng.choice(&SYLLABLES).expect("there are syllables")).collect())
            .collect();
        for (place, word) in FOREIGN.into_iter().enumerate() {
            word.clone_into(&mut words[200 + 50 * place]);
        }
        Self(words)
    }

    fn word(&self, rng: &mut Rng) -> &str {
        let bound = rng.usize(1..=self.0.len());
        let bound = rng.usize(1..=bound);
        &self.0[rng.usize(0..bound)]
    }

    /// Returns a name of plain letters.
    pub(super) fn name(&self, rng: &mut Rng) -> &str {
        let word = self.word(rng);
        if word.is_ascii() { word } else { &self.0[0] }
    }

    /// Writes sentences of about that many bytes.
    pub(super) fn prose(&self, out: &mut String, len: usize, rng: &mut Rng) {
        let end = out.len() + len;
        while out.len() < end {
            for place in 0..rng.usize(5..16) {
                if place > 0 {
                    out.push_str(if rng.usize(0..12) == 0 { ", " } else { " " });
                }
                out.push_str(self.word(rng));
            }
            out.push_str(if rng.usize(0..6) == 0 { ".\\n\\n" } else { ". " });
        }
    }

    /// Returns the lines of a source file.
    pub(super) fn source_file(&self, lines: usize, rng: &mut Rng) -> Vec<String> {
        let mut depth = 0;
        (0..lines)
            .map(|_| {
                let [a, b, c] = [(); 3].map(|()| self.name(rng));
                let number = rng.u64(0..1000);
                let shape = rng.usize(0..9);
                depth = if shape == 8 && depth > 0 { depth - 1 } else { depth };
                let indent = "    ".repeat(depth);
                depth = if shape < 2 && depth < 5 { depth + 1 } else { depth };
                match shape {
                    0 => format!("{indent}fn {a}_{b}({c}: &{b}) -> Option<u64> {{"),
                    1 => format!("{indent}if {a}.{b}() > {number} {{"),
                    2 | 3 => format!("{indent}let {a} = {b}.{c}(\\\"{a}\\\", {number});"),
                    4 => format!("{indent}// {a} {b} {c}: see {b}_{c}"),
                    5 => format!("{indent}self.{a}.{b}(&{c})?;"),
                    6 => String::new(),
                    7 => format!("{indent}assert_eq!({a}.{b}, [{number}, {}], \\\"{c}\\\");", number / 2),
                    _ => format!("{indent}}}"),
                }
            })
            .collect()
    }

    /// Writes what a tool answers that answers in JSON, of about that many bytes.
    pub(super) fn records(&self, out: &mut String, len: usize, rng: &mut Rng) {
        let end = out.len() + len;
        out.push('[');
        while out.len() < end {
            let [name, kind] = [(); 2].map(|()| self.name(rng));
            write!(
                out,
                r#"{{\"id\":{},\"name\":\"{name}\",\"kind\":\"{kind}\",\"ok\":{},\"ms\":{}.{}}},"#,
                rng.u32(1000..),
                rng.bool(),
                rng.u32(0..500),
                rng.u32(0..10),
            )
            .expect("a string takes all that is written");
        }
        out.push_str("{}]");
    }

    /// Writes what a build or a test run prints, of about that many bytes.
    pub(super) fn output(&self, out: &mut String, len: usize, rng: &mut Rng) {
        let end = out.len() + len;
        while out.len() < end {
            let [module, test] = [(); 2].map(|()| self.name(rng));
            let outcome = if rng.usize(0..20) == 0 { "FAILED" } else { "ok" };
            write!(out, "test {module}::{test}_{} ... {outcome}\\n", rng.u32(0..50))
                .expect("a string takes all that is written");
        }
    }
}

/// Writes what no compression makes smaller, such as a signature.
pub(super) fn noise(out: &mut String, len: usize, rng: &mut Rng) {
    out.extend((0..len).map(|_| char::from(BASE64[rng.usize(0..64)])));
}

/// Returns an id: the beginning, and random letters and digits up to 28 bytes.
pub(super) fn id(beginning: &str, rng: &mut Rng) -> String {
    let random = (beginning.len()..28).map(|_| rng.alphanumeric());
    beginning.chars().chain(random).collect()
}

/// Returns a random UUID.
pub(super) fn uuid(rng: &mut Rng) -> String {
    let hex = format!("{:032x}", rng.u128(..));
    let variant = ["8", "9", "a", "b"][rng.usize(0..4)];
    format!("{}-{}-4{}-{variant}{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
}
