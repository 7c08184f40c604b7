"""Where orders are taken."""

import bakery.recipes
from bakery.oven import Oven, heated
from .model import *
from . import model as orders


class Desk:
    def __init__(self, oven: Oven):
        self.oven = oven
        self.queue = []
        self.book = orders.Order(0)

    def take(self, number):
        order = Order(number)
        self.queue.append(order)
        order.close()
        return order

    def serve(self):
        for order in self.queue:
            self.oven.bake(order.recipe)
        self.book.describe()
        self.stamp()

    def stamp(self):
        render = make_stamp()
        return render(self.book)


def make_stamp():
    return lambda order: wrap(order.label())


def take(number, path, load=None):
    recipe = bakery.recipes.load(path)
    if load:
        load(recipe)
    with heated(path) as oven:
        desk = Desk(oven)
        desk.take(number)
        desk.serve()
    return orders.wrap(recipe.name)
