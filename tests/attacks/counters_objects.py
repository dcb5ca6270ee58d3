"""Ways to count calls: objects, and what Python does with them unasked."""

from __future__ import annotations

import types

from .makers import LATE


def attribute_of_function():
    def count():
        count.calls += 1
        return count.calls

    count.calls = 0
    return count


def by_setattr():
    box = types.SimpleNamespace(calls=0)

    def count():
        setattr(box, "calls", box.calls + 1)  # noqa: B010
        return box.calls

    return count


def object_dict():
    class Box:
        calls = 0

    box = Box()

    def count():
        box.__dict__["calls"] = box.calls + 1
        return box.calls

    return count


def update_vars():
    box = types.SimpleNamespace(calls=0)

    def count():
        vars(box).update(calls=box.calls + 1)
        return box.calls

    return count


def a_property():
    class Box:
        calls = 0

        @property
        def count(self):
            type(self).calls += 1
            return self.calls

    box = Box()
    return lambda: box.count


def a_descriptor():
    class Count:
        calls = 0

        def __get__(self, instance, owner):
            self.calls += 1
            return self.calls

    class Options:
        calls = Count()

    return lambda: Options.calls


def on_getattr():
    class Options:
        def __getattr__(self, name):
            return len(self.__dict__.setdefault("seen", [])) + (self.__dict__["seen"].append(1) or 0)

    options = Options()
    return lambda: options.missing


def an_operator():
    class Number:
        calls = 0

        def __neg__(self):
            Number.calls += 1
            return Number.calls

    number = Number()
    return lambda: -number


def a_comparison():
    class Number:
        calls = 0

        def __lt__(self, other):
            self.calls += 1
            return self.calls < other

    number = Number()
    return lambda: 0 if number < LATE else LATE


def a_length():
    class Sized:
        calls = 0

        def __len__(self):
            self.calls += 1
            return self.calls

    sized = Sized()
    return lambda: len(sized)


def a_format():
    class Shown:
        calls = 0

        def __str__(self):
            self.calls += 1
            return str(self.calls)

    shown = Shown()
    return lambda: int(f"{shown}")


def a_hash():
    class Key:
        calls = 0

        def __hash__(self):
            self.calls += 1
            return self.calls

    key = Key()
    return lambda: hash(key)


def a_context_manager():
    class Scope:
        calls = 0

        def __enter__(self):
            self.calls += 1
            return self.calls

        def __exit__(self, *_):
            return False

    scope = Scope()

    def count():
        with scope as n:
            return n

    return count


def a_callable():
    class Count:
        def __init__(self):
            self.calls = 0

        def __call__(self):
            self.calls += 1
            return self.calls

    return Count()


def a_metaclass():
    class Meta(type):
        made = 0

        def __call__(cls):
            Meta.made += 1
            return Meta.made

    class Thing(metaclass=Meta):
        pass

    return lambda: Thing()


def subclasses():
    class Base:
        pass

    kept = []

    def count():
        kept.append(type("Child", (Base,), {}))
        return len(Base.__subclasses__())

    return count


def default_argument():
    def count(calls=[0]):  # noqa: B006
        calls[0] += 1
        return calls[0]

    return count


def dunder_defaults():
    def count(n=0):
        count.__defaults__ = (n + 1,)
        return n

    return count
