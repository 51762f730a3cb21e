#!/usr/bin/env python3
"""Fails if more than three units of a module include each other in a circle. A unit is a source with its header."""

import collections
import pathlib
import re
import sys

includes = collections.defaultdict(set)


def unit_of(path):
    return re.sub(r"^(src|include/rdmanet)/|\.[ch]pp$", "", str(path))


def reached_from(unit):
    reached, waiting = set(), [unit]
    while waiting:
        new = includes[waiting.pop()] - reached
        reached |= new
        waiting.extend(new)
    return reached


for path in [*pathlib.Path("src").rglob("*.[ch]pp"), *pathlib.Path("include").rglob("*.hpp")]:
    folders = path.parent, pathlib.Path(*path.parts[:2]), pathlib.Path("include")
    for name in re.findall(r'^#include ["<](.+\.hpp)[">]', path.read_text(), re.M):
        for header in [(folder / name).resolve() for folder in folders if (folder / name).exists()][:1]:
            includes[unit_of(path)].add(unit_of(header.relative_to(pathlib.Path.cwd())))

reached = {unit: reached_from(unit) for unit in list(includes)}
circles = {frozenset(other for other in reached[unit] if unit in reached.get(other, ())) for unit in reached}
wrong = [circle for circle in circles if len(circle) > 3]
for circle in wrong:
    print(f"{len(circle)} units include each other:", *sorted(circle))
sys.exit(bool(wrong))
