"""Searches the same vectors with ours, faiss (IndexFlatIP) and sqlite-vec, taking turns.

    cargo build --release -p spore-embed --examples
    VENV/bin/pip install numpy faiss-cpu sqlite-vec pysqlite3-binary
    VENV/bin/python bench/vectors.py [--rows 100000 1000000] [--real VECTORS.bin] [--rounds 5]

VECTORS.bin is what embed_bench wrote. More rows than it has are made of it: two of its vectors
mixed, and a little noise, so that they lie as real ones do. Without it vectors are random.
One thread each. Times are processor milliseconds of a query, median over queries of the best
round (machines are shared, and the best round is the least disturbed). Recall is against
faiss, which is exact. sqlite-vec is left out above 100,000 rows, where it takes minutes to fill.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import faiss
import numpy
import pysqlite3 as sqlite3
import sqlite_vec

ROOT = Path(__file__).resolve().parent.parent
WIDTH, K = 384, 10


def unit(rows):
    return (rows / numpy.linalg.norm(rows, axis=1, keepdims=True)).astype(numpy.float32)


def random_rows(dice, count):
    return unit(dice.standard_normal((count, WIDTH), dtype=numpy.float32))


def real_rows(dice, count, real):
    made = numpy.empty((count, WIDTH), numpy.float32)
    for start in range(0, count, 100_000):
        some = min(100_000, count - start)
        one, other = (real[dice.integers(len(real), size=some)] for _ in range(2))
        share = dice.random((some, 1), dtype=numpy.float32)
        noise = dice.standard_normal((some, WIDTH), dtype=numpy.float32) * 0.01
        made[start : start + some] = unit(share * one + (1 - share) * other + noise)
    return made


class Ours:
    def __init__(self, rows, queries, directory):
        paths = []
        for name, numbers in [("rows", rows), ("queries", queries)]:
            paths.append(Path(directory) / name)
            numbers.tofile(paths[-1])
        program = ROOT / "target/release/examples/vectors_bench"
        self.process = subprocess.Popen(
            [program, *paths, "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.about = json.loads(self.process.stdout.readline())

    def round(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        answers = json.loads(self.process.stdout.readline())
        return [one["cpu"] for one in answers], [one["rows"] for one in answers]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class InProcess:
    def __init__(self, queries):
        self.queries = queries

    def round(self):
        times, found = [], []
        for query in self.queries:
            start = time.process_time()
            found.append(self.search(query))
            times.append((time.process_time() - start) * 1e3)
        return times, found

    def close(self):
        pass


class Faiss(InProcess):
    def __init__(self, rows, queries):
        super().__init__(queries)
        faiss.omp_set_num_threads(1)
        self.index = faiss.IndexFlatIP(WIDTH)
        self.index.add(rows)

    def search(self, query):
        return self.index.search(query[None], K)[1][0].tolist()


class SqliteVec(InProcess):
    def __init__(self, rows, queries):
        super().__init__(queries)
        self.db = sqlite3.connect(":memory:")
        self.db.enable_load_extension(True)
        sqlite_vec.load(self.db)
        self.db.execute(
            f"create virtual table v using vec0(e float[{WIDTH}] distance_metric=cosine)")
        with self.db:
            self.db.executemany(
                "insert into v(rowid, e) values (?, ?)",
                ((at + 1, row.tobytes()) for at, row in enumerate(rows)))

    def search(self, query):
        found = self.db.execute(
            "select rowid from v where e match ? and k = ?", (query.tobytes(), K))
        return [row - 1 for (row,) in found]


def contest(name, rows, queries, rounds):
    with tempfile.TemporaryDirectory() as directory:
        rivals = {"ours": Ours(rows, queries, directory), "faiss flat": Faiss(rows, queries)}
        if len(rows) <= 100_000:
            rivals["sqlite-vec"] = SqliteVec(rows, queries)
        medians = {rival: [] for rival in rivals}
        found = {}
        for _ in range(rounds):
            for rival, one in rivals.items():
                times, found[rival] = one.round()
                medians[rival].append(statistics.median(times))
        about = rivals["ours"].about
        print(f"\n{name}, {len(rows):,} rows, {len(queries)} queries, {rounds} rounds; our file: "
              f"{about['bytes'] / 1e6:.0f} MB, built in {about['built']:.1f} s, "
              f"opened in {about['opened'] * 1e3:.2f} ms")
        print(f"{'engine':12} {'best CPU ms':>12} {'median':>8} {'recall@10':>10}")
        for rival in rivals:
            hits = [len(set(a) & set(b)) for a, b in zip(found[rival], found["faiss flat"])]
            recall = sum(hits) / (K * len(queries))
            print(f"{rival:12} {min(medians[rival]):12.2f} "
                  f"{statistics.median(medians[rival]):8.2f} {recall:10.4f}")
            rivals[rival].close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--real", type=Path)
    args = parser.parse_args()
    for count in args.rows:
        dice = numpy.random.default_rng(11)
        if args.real:
            real = unit(numpy.fromfile(args.real, numpy.float32).reshape(-1, WIDTH))
            queries = real_rows(dice, args.queries, real)
            contest("like real ones", real_rows(dice, count, real), queries, args.rounds)
        queries = random_rows(dice, args.queries)
        contest("random", random_rows(dice, count), queries, args.rounds)


if __name__ == "__main__":
    main()
