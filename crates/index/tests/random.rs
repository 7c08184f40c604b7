//! What the fuzz target does, over seeded random texts and with a stable compiler.
//!
//! A few run each time; `SPORE_FUZZ_CASES=1000000` asks for more. The texts are made of pieces
//! that mean something in some language, because mere noise never gets past the first token.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
#![expect(clippy::unwrap_used, reason = "a test that cannot read its own files has failed")]

mod invariants;

use self::invariants::check_bytes;

const CASES: u64 = 300;

const PIECES: [&str; 64] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ";",
    ":",
    "::",
    ".",
    ",",
    "=",
    "=>",
    "->",
    "\"",
    "'",
    "`",
    "/*",
    "*/",
    "//",
    "///",
    "#",
    "@",
    "$",
    "\\",
    "\n",
    "\n    ",
    "\r\n",
    " ",
    "\t",
    "class ",
    "fn ",
    "def ",
    "func ",
    "function ",
    "struct ",
    "enum ",
    "interface ",
    "namespace ",
    "import ",
    "use ",
    "package ",
    "module ",
    "template <",
    "public ",
    "private:",
    "static const ",
    "end\n",
    "<?php ",
    "#include <a/b.h>\n",
    "#define A(x) x\n",
    "test \"a\" do ",
    "it('b') {",
    "Abc",
    "x",
    "größe",
    "1",
    "```\n",
    "====\n",
    "\0",
    "\u{feff}",
    "...",
];

/// A small generator (splitmix64): the same seed gives the same texts everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }
}

fn random_bytes(random: &mut Random) -> Vec<u8> {
    let mut bytes = vec![random.next().to_le_bytes()[0]];
    for _ in 0..random.below(200) {
        if random.below(40) == 0 {
            bytes.extend(random.next().to_le_bytes());
        } else {
            bytes.extend(PIECES[random.below(PIECES.len())].as_bytes());
        }
    }
    bytes
}

#[test]
fn random_texts_give_facts_about_themselves() {
    let asked = std::env::var("SPORE_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok());
    for seed in 0..asked.unwrap_or(CASES) {
        let bytes = random_bytes(&mut Random(seed));
        let outcome = std::panic::catch_unwind(|| check_bytes(&bytes));
        assert!(outcome.is_ok(), "seed {seed}: {:?}", String::from_utf8_lossy(&bytes));
    }
}
