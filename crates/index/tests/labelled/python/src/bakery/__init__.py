"""A bakery: recipes, orders, an oven."""

from .oven import Oven
from .orders import Order, take
from .recipes import load as load_recipe

__all__ = ["Oven", "Order", "take", "load_recipe"]
