"""Races our forward pass against onnxruntime, f32, at equal threads, taking turns.

    cargo build --release -p spore-embed --examples
    VENV/bin/python bench/embed.py MODEL_DIR MODEL.onnx TEXTS.jsonl [--rounds 5] [--threads 1 2]

MODEL.onnx comes from embed_reference.py; TEXTS.jsonl holds one JSON string a line. Machines
are shared, so the figures are texts a second of processor time, in rounds that take turns,
and what counts is the median of the rounds' ratios. Tokenizing is in our time and not in
onnxruntime's. The graph is also run with the fused attention of onnxruntime's own optimizer,
where it can be made. It takes 4 texts at a time: with 32 it was slower on a busy machine,
where its intermediate results do not stay in the cache.
"""

import argparse
import json
import os
import statistics
import subprocess
import time
from pathlib import Path

import numpy
import onnxruntime
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parent.parent
QUERY = "where is the retry delay of a failed request computed"


class Onnx:
    def __init__(self, path, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Waiting threads would burn processor time that is not work.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"])
        self.names = {one.name for one in self.session.get_inputs()}

    def embed(self, batches):
        vectors = []
        for ids, mask in batches:
            inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0}
            inputs = {name: one for name, one in inputs.items() if name in self.names}
            states = self.session.run(None, inputs)[0]
            pooled = (states * mask[:, :, None]).sum(1) / mask.sum(1)[:, None]
            vectors.append(pooled / numpy.linalg.norm(pooled, axis=1, keepdims=True))
        return numpy.concatenate(vectors)


class Ours:
    def __init__(self, model, texts, threads, out):
        program = ROOT / "target/release/examples/embed_bench"
        self.process = subprocess.Popen(
            [program, texts, str(threads), out], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env={**os.environ, "SPORE_MODEL_DIR": model})
        self.load = json.loads(self.process.stdout.readline())

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def batches(tokenizer, texts, size):
    """Sorted by length, so that padding wastes little; `order` undoes the sorting."""
    ids = [one.ids for one in tokenizer.encode_batch(texts)]
    order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
    made = []
    for start in range(0, len(order), size):
        some = [ids[at] for at in order[start : start + size]]
        longest = max(map(len, some))
        padded = numpy.array([one + [0] * (longest - len(one)) for one in some], numpy.int64)
        mask = numpy.array([[1] * len(one) + [0] * (longest - len(one)) for one in some])
        made.append((padded, mask.astype(numpy.int64)))
    return made, order, sum(map(len, ids)) / len(ids)


def fused(path):
    try:
        from onnxruntime.transformers import optimizer

        made = optimizer.optimize_model(str(path), "bert", num_heads=12, hidden_size=384)
        out = path.with_suffix(".fused.onnx")
        made.save_model_to_file(str(out))
        return out if made.get_fused_operator_statistics().get("Attention") else None
    except Exception as error:
        print("no fused graph:", error)
        return None


def timed(act):
    wall, cpu = time.perf_counter(), time.process_time()
    result = act()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def race(args, threads, graphs, texts):
    tokenizer = Tokenizer.from_file(f"{args.model}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    work, order, mean = batches(tokenizer, texts, args.batch)
    query, _, _ = batches(tokenizer, [QUERY], 1)
    out = f"{args.onnx}.ours.bin"
    ours = Ours(args.model, args.texts, threads, out)
    rivals = {name: Onnx(path, threads) for name, path in graphs.items()}
    rates = {name: [] for name in ["ours", *rivals]}
    walls = {name: [] for name in rates}
    queries = {name: [] for name in rates}
    for number in range(args.rounds + 1):
        seen = ours.ask("documents")
        results = {"ours": (seen["wall"], seen["cpu"])}
        for name, rival in rivals.items():
            vectors, wall, cpu = timed(lambda: rival.embed(work))
            results[name] = (wall, cpu)
        for _ in range(10):
            queries["ours"].append(ours.ask("query")["cpu"])
            for name, rival in rivals.items():
                queries[name].append(timed(lambda: rival.embed(query))[2])
        if number == 0:
            continue  # warms caches up
        for name, (wall, cpu) in results.items():
            rates[name].append(len(texts) / cpu)
            walls[name].append(len(texts) / wall)
    mine = numpy.fromfile(out, numpy.float32).reshape(-1, 384)[order]
    cosines = (mine * vectors).sum(1)
    print(f"\n{threads} thread(s), {len(texts)} texts, {mean:.0f} tokens mean, {args.rounds} rounds; "
          f"load {ours.load['wall'] * 1e3:.0f} ms; cosine min {cosines.min():.6f}")
    print(f"{'engine':16} {'texts/CPU-s':>12} {'texts/s':>9} {'query CPU ms':>13} {'ours is':>9}")
    for name in rates:
        ratio = statistics.median(a / b for a, b in zip(rates["ours"], rates[name]))
        print(f"{name:16} {statistics.median(rates[name]):12.1f} {statistics.median(walls[name]):9.1f} "
              f"{statistics.median(queries[name]) * 1e3:13.2f} {ratio:8.2f}x")
    ours.process.stdin.close()
    ours.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("onnx", type=Path)
    parser.add_argument("texts")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=4, help="texts at a time, onnxruntime")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    texts = [json.loads(line) for line in open(args.texts)]
    graphs = {"onnxruntime": args.onnx}
    if better := fused(args.onnx):
        graphs["ort, fused"] = better
    for threads in args.threads:
        race(args, threads, graphs, texts)


if __name__ == "__main__":
    main()
