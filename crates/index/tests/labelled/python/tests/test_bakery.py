import unittest
from unittest import mock

import pytest

import bakery
from bakery import Oven, load_recipe
from bakery.orders import desk, Order
from bakery.recipes import Part, shorten as cut


@pytest.fixture
def oven(tmp_path):
    return Oven.cold(str(tmp_path))


def test_shorten():
    assert cut("bread and butter") == "bread and"


def test_bakes(oven):
    recipe = load_recipe("bread")
    oven.bake(recipe)
    part = Part("flour")
    assert part.describe() == "flour"
    bakery.take(1, "bread")


class TestDesk(unittest.TestCase):
    def setUp(self):
        self.desk = desk.Desk(mock.Mock())

    def test_take(self):
        order = self.desk.take(3)
        label = order.label()
        self.assertEqual(label, Order(3).label())
        self.check()

    def check(self):
        self.desk.serve()
        desk.take(4, "cake")
