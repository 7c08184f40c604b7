"""What an order is."""

from enum import Enum

from ..errors import BakeryError as Trouble
from ..recipes import Recipe, load


class State(Enum):
    OPEN = 1
    DONE = 2

    def next(self):
        return State(self.value + 1)


class Base:
    def __init__(self, number):
        self.number = number
        self.state = State.OPEN

    def describe(self):
        return self.label().lower()

    def label(self):
        raise NotImplementedError()


class Order(Base):
    def __init__(self, number, recipe: Recipe = None):
        super().__init__(number)
        self.recipe = recipe or load("default")

    def label(self):
        return "order %d" % self.number

    def close(self):
        if self.state is State.DONE:
            raise Trouble(self.describe())
        self.state = self.state.next()
        self.recipe.steps()


class Gift(Order):
    def label(self):
        first = super().label()
        return first.replace("order", wrap("gift"))


def wrap(text):
    return text.join("**")
