#!/usr/bin/env python3
"""Makes a tree of many files to investigate: the same each time.

usage: make.py DIR [FILES] [DIRECTORIES]
"""
import os, sys

WORDS = "account order price tax stock route parcel invoice ledger branch token session queue".split()
ENDINGS = ["rs", "py", "ts", "go", "md", "toml", "java", "c"]


def text(number, ending):
    word = WORDS[number % len(WORDS)]
    lines = 8 + (number * 7919) % 90
    mark = {"py": "#", "toml": "#", "md": ""}.get(ending, "//")
    body = "\n".join(f"{mark} {word} {line} of part {number}" if line % 5 == 0 else
                     f"{word}_{line} = {number * line}" for line in range(lines))
    return body + "\n"


def main():
    root = sys.argv[1]
    files, dirs = (int(word) for word in (sys.argv[2:4] + ["50000", "5000"][len(sys.argv) - 2:]))
    places = [""]
    for number in range(1, dirs):
        above = places[(number - 1) // 8]
        place = os.path.join(above, f"{WORDS[number % len(WORDS)]}{number}")
        os.makedirs(os.path.join(root, place), exist_ok=True)
        places.append(place)
    for number in range(files):
        ending = ENDINGS[(number * 31 + number // dirs) % len(ENDINGS)]
        place = places[number % dirs]
        with open(os.path.join(root, place, f"part{number}.{ending}"), "w") as out:
            out.write(text(number, ending))
    print(f"{files} files in {dirs} directories")


main()
