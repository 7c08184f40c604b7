"""Serves a model on 127.0.0.1 with llama.cpp, until its standard input ends.

    venv/bin/python serve.py MODEL.gguf [--port N] [--context N] [--threads N] [--at-once N]

The first line on stdout is the address. Requests that say nothing else are answered with
temperature 0 and seed 1, so that equal requests get equal answers.
"""

import argparse
import sys

import xllamacpp


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--context", type=int, default=8192)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=1)
    asked = parser.parse_args()
    params = xllamacpp.CommonParams()
    params.model.path = asked.model
    params.model_alias = {asked.model.rsplit("/", 1)[-1].removesuffix(".gguf")}
    params.hostnames = ["127.0.0.1"]
    params.port = asked.port
    # The context is that of all questions together; each has an equal part of it.
    params.n_ctx = asked.context * asked.at_once
    params.n_parallel = asked.at_once
    params.use_jinja = True
    params.cpuparams.n_threads = asked.threads
    params.cpuparams_batch.n_threads = asked.threads
    params.sampling.temp = 0.0
    params.sampling.seed = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
