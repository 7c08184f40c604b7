import unittest

from bill import split_bill, with_tip


class SplitBill(unittest.TestCase):
    def test_an_even_bill_is_split_evenly(self):
        self.assertEqual(split_bill(900, 3), [300, 300, 300])

    def test_the_parts_add_up_to_the_whole(self):
        self.assertEqual(sum(split_bill(1000, 3)), 1000)


class WithTip(unittest.TestCase):
    def test_a_tip_is_added(self):
        self.assertEqual(with_tip(1000, 10), 1100)


if __name__ == "__main__":
    unittest.main()
