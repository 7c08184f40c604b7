#!/usr/bin/env python
"""A shelf of books.

    With an indented line.
"""
from __future__ import annotations

import os
import os.path as paths, json
from . import catalogue
from .catalogue import Entry as Card, index
from ..library import *
from shop.till import (
    pay,  # money
    refund as give_back,
)

CAPACITY: int = 10
_hidden = compute(CAPACITY)
store = Store("x")
double = lambda x: twice(x)
type Shelves = dict[str, Shelf]


class Kind(enum.Enum):
    """What it is made of."""
    HARD = 1
    SOFT = 2


class Readable(Protocol):
    def read(self) -> str: ...


@register("book")
@dataclass
class Book(Base[int], mixins.Printed, metaclass=Meta):
    """A book.

    With pages.
    """

    title: str
    cover: Cover | None = None
    LIMIT = 3

    def __init__(self, shelf: Shelf, desk: "Desk", pages: list[Page], other=None):
        super().__init__(shelf)
        self.shelf = shelf
        self.desk: library.Desk = desk
        self.index = index.Index(pages)

    @property
    def name(self) -> str:
        'Its name.'
        return self._clean(self.title.strip())

    @classmethod
    def open(cls, path: Optional[paths.Path] = None) -> "Book":
        made = cls(Shelf())
        made.shelf.put(path)
        return made

    @staticmethod
    def _clean(text):
        return ", ".join(text).lower()

    async def __turn(self, *args, **kwargs):
        self.shelf.measure()
        self.desk.ask()
        self.index.find(1)
        with Session() as session, open(self.title) as file:
            session.commit()
            file.read()
        try:
            await fetch(self)
        except (Fault, errors.Torn) as fault:
            raise Missing(fault) from fault
        for page in self.pages():
            page.flip()
        if (card := Card()):
            card.stamp()
        local = pay
        local(f"{render(self)!r}")
        return [fold(p) for p in args]


def outer(callback):
    def nested():
        return callback() or give_back()

    return nested()


def café(größe: Größe) -> Größe:
    return größe.messen()


class TestBook(unittest.TestCase):
    def setUp(self):
        self.book = Book.open()

    def testOpens(self):
        self.book.name()


def test_outer():
    assert outer(None) == json.loads("{}")


if __name__ == "__main__":
    outer(store.save)
