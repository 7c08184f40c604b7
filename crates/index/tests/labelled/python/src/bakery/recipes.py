"""Recipes and where they come from."""
from __future__ import annotations

import os.path
from dataclasses import dataclass, field

from bakery import errors
from bakery.errors import check as check_limit


@dataclass
class Recipe:
    name: str
    parts: list[Part] = field(default_factory=list)

    def steps(self):
        return [part.describe() for part in self.parts]

    def add(self, part: Part) -> Recipe:
        part.weigh()
        self.parts.append(part)
        return self


@dataclass
class Part:
    name: str
    grams: int = 0

    def describe(self):
        return shorten(self.name)

    def weigh(self):
        check_limit(self.grams)
        return errors.hint(self.grams)


def load(path):
    name = os.path.basename(path)
    recipe = Recipe(name)
    with open(path) as lines:
        for line in lines:
            recipe.add(parse(line))
    return check(recipe)


def parse(line, parse_number=int):
    name, grams = line.split()
    return Part(name, parse_number(grams))


def check(recipe: Recipe):
    if not recipe.steps():
        raise errors.BakeryError("empty")
    return recipe


def shape(recipe: "Recipe"):
    return shorten(recipe.name).title()


def shorten(text):
    return text[:10].strip()
