//! Rust sources as words, so that a rule about code is never fooled by a comment or a string.

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A source file as a flat list of words. Comments are gone, and a literal is an empty word.
#[derive(Debug)]
pub(crate) struct Source {
    words: Vec<Word>,
    /// Modules that are declared here, for tests only, and live in a file of their own.
    pub(crate) test_modules: Vec<String>,
}

#[derive(Debug)]
struct Word {
    text: String,
    line: usize,
    in_tests: bool,
}

impl Source {
    /// Reads `text`.
    ///
    /// # Errors
    ///
    /// If it is not a sequence of Rust tokens.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let tokens: TokenStream = text.parse().map_err(|error| anyhow!("does not read as Rust: {error}"))?;
        let mut source = Self { words: Vec::new(), test_modules: Vec::new() };
        source.read(tokens, false);
        Ok(source)
    }

    /// Returns the lines on which the words of `phrase` (separated by spaces) begin.
    pub(crate) fn lines_of(&self, phrase: &str) -> Vec<usize> {
        self.find(phrase).map(|word| word.line).collect()
    }

    /// Like [`Self::lines_of`], but looks past what is compiled for tests only.
    pub(crate) fn lines_of_outside_tests(&self, phrase: &str) -> Vec<usize> {
        self.find(phrase).filter(|word| !word.in_tests).map(|word| word.line).collect()
    }

    fn find(&self, phrase: &str) -> impl Iterator<Item = &Word> {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        let length = phrase.len();
        self.words
            .windows(length)
            .filter(move |words| words.iter().map(|word| word.text.as_str()).eq(phrase.iter().copied()))
            .filter_map(|words| words.first())
    }

    fn read(&mut self, tokens: TokenStream, in_tests: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest_in_tests = in_tests;
        // Whether we are between `#[cfg(test)]` and the end of the item that it belongs to.
        let mut item_in_tests = false;
        let mut position = 0;
        while let Some(token) = tokens.get(position) {
            let following = tokens.get(position + 1..).unwrap_or_default();
            if is_punct(token, '#') {
                match following {
                    [bang, attribute, ..] if is_punct(bang, '!') && is_cfg_test(attribute) => rest_in_tests = true,
                    [attribute, ..] if is_cfg_test(attribute) => item_in_tests = true,
                    _ => {}
                }
            }
            if item_in_tests
                && let [TokenTree::Ident(name), end, ..] = following
                && is_ident(token, "mod")
                && is_punct(end, ';')
            {
                self.test_modules.push(name.to_string());
            }
            self.push(token, rest_in_tests || item_in_tests);
            if ends_item(token) {
                item_in_tests = false;
            }
            position += 1;
        }
    }

    fn push(&mut self, token: &TokenTree, in_tests: bool) {
        let line = token.span().start().line;
        let text = match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                self.words.push(Word { text: open.to_owned(), line, in_tests });
                self.read(group.stream(), in_tests);
                close.to_owned()
            }
            TokenTree::Literal(_) => String::new(),
            TokenTree::Ident(ident) => ident.to_string(),
            TokenTree::Punct(punct) => punct.to_string(),
        };
        self.words.push(Word { text, line, in_tests });
    }
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn is_ident(token: &TokenTree, wanted: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == wanted)
}

fn is_cfg_test(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group)
        if group.delimiter() == Delimiter::Bracket && group.stream().to_string().replace(' ', "") == "cfg(test)")
}

fn ends_item(token: &TokenTree) -> bool {
    is_punct(token, ';') || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

#[cfg(test)]
mod tests {
    use super::Source;

    fn check(text: &str, everywhere: &[usize], outside_tests: &[usize]) {
        let source = Source::parse(text).unwrap();
        assert_eq!(source.lines_of("std : :"), everywhere, "{text}");
        assert_eq!(source.lines_of_outside_tests("std : :"), outside_tests, "{text}");
    }

    #[test]
    fn words_are_found_in_code_with_their_line() {
        check("use core::fmt;\nuse std::fs;\nfn f() { g(|| { std::mem::drop(1) }) }", &[2, 3], &[2, 3]);
    }

    #[test]
    fn comments_and_strings_are_not_code() {
        check("//! std::fs\n/// std::fs\nconst A: &str = \"std::fs\"; // std::fs\n/* std::fs */", &[], &[]);
    }

    #[test]
    fn what_is_for_tests_only_ends_with_its_item() {
        check("#[cfg(test)]\nuse std::fs;\nuse std::io;", &[2, 3], &[3]);
        check("#[cfg(test)]\nmod tests {\n fn f() { std::f() }\n}\nuse std::io;", &[3, 5], &[5]);
        check("#[cfg(not(test))]\nuse std::fs;", &[2], &[2]);
        check("#![cfg(test)]\nuse std::fs;\nuse std::io;", &[2, 3], &[]);
    }

    #[test]
    fn test_modules_in_their_own_file_are_named() {
        let source = Source::parse("mod a;\n#[cfg(test)]\nmod tests;\nmod b;\n#[cfg(test)]\nmod inline {}").unwrap();
        assert_eq!(source.test_modules, ["tests"]);
    }
}
