"""Prints a row for each record of calls: how many units it has, and how many moves between them."""

import collections
import re
import subprocess
import sys

program, most = sys.argv[1:]


def unit_of(path):
    """The same for a source and its header, such as attach/steps/move_rdma; None: not ours."""
    found = re.search(r"(?:^|/)(?:src|cmd|include/rdmanet)/(.+)\.[ch]pp$", path)
    return found.group(1) if found else None


def units_of(addresses):
    unique = sorted(set(addresses))
    said = subprocess.run(
        ["addr2line", "-e", program], input="\n".join(unique), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return dict(zip(unique, (unit_of(line.split(":")[0]) for line in said)))


def moves_between(units):
    return [(before, now) for before, now in zip(units, units[1:]) if before != now]


calls = collections.defaultdict(list)
for line in sys.stdin:
    words = line.split()
    if len(words) == 3 and words[1] in ("ADD", "DEL"):
        calls[" ".join(words[:2])].append(words[2])
    else:
        print(line, end="", file=sys.stderr)

print("| call | units | moves | within `attach` |\n| --- | --- | --- | --- |")
for name, addresses in calls.items():
    units = units_of(addresses)
    ran = [units[address] for address in addresses if units[address]]
    moves = moves_between(ran)
    own = {unit for unit in ran if unit.startswith("attach/")}
    within = [move for move in moves if own.issuperset(move)]
    print(f"| {name} | {len(set(ran))} | {len(moves)} | {len(own)} units, {len(within)} moves |")
    units_and_pairs = [unit for move in moves for unit in move], [" - ".join(sorted(move)) for move in moves]
    for names in units_and_pairs:
        for unit, count in collections.Counter(names).most_common(int(most)):
            print(f"    {count:6} {unit}")
