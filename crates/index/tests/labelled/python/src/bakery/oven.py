"""The oven and what stands in it."""

import json
import logging
from contextlib import contextmanager

from .errors import OvenError, check
from . import recipes

log = logging.getLogger(__name__)


class Heater:
    """What makes it warm."""

    def __init__(self, limit: int = 250):
        self.limit = limit

    def start(self):
        check(self.limit)
        return self

    def stop(self):
        log.info("cold")


class Oven:
    """An oven with one heater."""

    def __init__(self, heater: Heater, path: str):
        self.heater = heater
        self.shelf = Shelf(path)
        self.loaves = []

    @classmethod
    def cold(cls, path):
        oven = cls(Heater(), path)
        oven.preheat(0)
        return oven

    def preheat(self, degrees):
        self.heater.start()
        self._measure(degrees)

    def bake(self, recipe: recipes.Recipe):
        for step in recipe.steps():
            self.shelf.put(step)
        loaf = recipes.shape(recipe)
        self.loaves.append(loaf)
        return self._done(loaf)

    def _measure(self, degrees):
        if degrees > self.heater.limit:
            raise OvenError(degrees)
        print(degrees)

    def _done(self, loaf):
        self.heater.stop()
        return json.dumps(loaf)


class Shelf:
    def __init__(self, path):
        self.file = open(path)

    def put(self, thing):
        self.file.write(render(thing))

    def start(self):
        return self.file.read()


def render(thing):
    def quoted(text):
        return repr(text)

    return quoted(thing).strip()


@contextmanager
def heated(path):
    oven = Oven.cold(path)
    yield oven
    oven.heater.stop()
