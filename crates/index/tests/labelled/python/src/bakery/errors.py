"""What can go wrong."""


class BakeryError(Exception):
    def describe(self):
        return str(self).upper()


class OvenError(BakeryError):
    def __init__(self, degrees):
        super().__init__(f"too hot: {hint(degrees)}")
        self.degrees = degrees

    def report(self):
        return self.describe()


def check(limit):
    if limit < 0:
        raise BakeryError(hint(limit))


def hint(number):
    return format(number)


def format(number):
    return "%d degrees" % number
