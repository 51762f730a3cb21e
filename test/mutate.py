"""The program behind mutate.sh, which describes it and has built the copy of the tree."""
import collections
import json
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
WORK = TOP / "build/mutate"
TREE, BUILD, MUTANT = WORK / "tree", WORK / "build", WORK / "mutant"
E2E = TOP / "build/release/test/e2e/e2e_test"

# Tags of the native end-to-end cases that are likely to find a mutation below a path of src/, so they run first; the
# longest path that fits counts.
FIRST = {
    "attach": "[macvlan],[address],[del],[check],[gc],[again],[status],[state],[liveness],[container]",
    "attach/lookup": "[macvlan],[parent],[address],[status],[plan],[protocol]",
    "attach/preview": "[plan]",
    "attach/steps": "[macvlan],[address],[route],[del],[check],[delegate]",
    "attach/steps/delegate": "[delegate]",
    "base": "[protocol],[state]",
    "cni": "[protocol],[delegate]",
    "config": "[bad-input],[protocol]",
    "doctor": "[doctor]",
    "inventory": "[inventory],[doctor]",
    "ipam": "[ipam],[address],[ipam-plugin]",
    "json": "[protocol],[bad-input]",
    "kernel": "[macvlan],[address],[route],[liveness],[inventory]",
    "ops": "[state],[ipam],[inventory],[plan]",
    "podresources": "[doctor]",
    "state": "[state],[del],[gc]",
    "verify": "[verify]",
}
E2E_CASES = "~[.]~[cluster]~[static]~[memory-limit]~[readme]~[examples]"
UNIT_CASES = {"cluster_test": "~[.]"}
AIM = 30  # seconds

OTHERS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&"}
# A statement begins a line, or follows a condition. To remove a declaration or `return VALUE;` rarely compiles.
STATEMENT = (r"(?:^    |(?<=\) )|(?<=else ))[ ]*(?=\w|::|[*(])"
             r"(?!(?:if|else|for|while|case|throw|using|try|do|switch|default)\b)")
DECLARATION = r"return\s+\S|(?:const|auto|static|constexpr)\b|[\w:]+(?:<.*>)?[&*]* [&*]*\w+\s*(?:[=({,]|$)"
ARGUMENT = r"[*&]?[A-Za-z_][\w.:]*(?:->\w+)*(?:\(\))?"

Mutation = collections.namedtuple("Mutation", "path line kind start end new text")


def blank(text, start, end):
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]


def end_of(code, start, stops):
    """Where the first of `stops` follows outside of brackets, or None if a bracket closes before."""
    depth = 0
    for at in range(start, len(code)):
        if depth == 0 and code[at] in stops:
            return at
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if depth < 0:
            return None
    return None


def code_of(text):
    """The text with blanks for comments, literals, directives, and what only makes a text for people."""
    noise = r'//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|^#[^\n]*|\[\[\w+\]\]'
    code = re.sub(noise, lambda found: blank(found[0], 0, len(found[0])), text, flags=re.S | re.M)
    for call in re.finditer(r"\bfmt::format\(|\blog(?:\(\))?\.\w+\(|\bstatic_assert\(", code):
        end = end_of(code, call.end(), ")")
        code = blank(code, call.end(), end) if end else code
    return code


def mutations_of(path):
    text = (TREE / path).read_text()
    code = code_of(text)
    found = []

    def add(kind, start, end, new):
        line = code.count("\n", 0, start) + 1
        found.append(Mutation(path, line, kind, start, end, new + "\n" * text.count("\n", start, end), text))

    for at in re.finditer(r"(?<=[ \n])(==|!=|<=?|>=?|&&|\|\|)(?=[ \n])", code):
        add("comparison", *at.span(), OTHERS[at[0]])
    for at in re.finditer(r"(?<=[ (!])!(?=[\w(:])", code):
        add("comparison", *at.span(), "")
    for at in re.finditer(r"\bif \((?!!)", code):
        end = end_of(code, at.end(), ")")
        condition = text[at.end():end] if end else ";"
        if not re.search(r"[;\n]|\b(?:const|auto)\b", condition):
            add("comparison", at.end(), end, "!(" + condition + ")")
    for at in re.finditer(r"(?<![\w.'])(\d+)(?=U?L?L?\b(?!\.))|\b(?:true|false)\b", code):
        is_octal = re.match("0[0-7]+", at[0])
        number = at[1] and (f"0{int(at[0], 8) + 1:o}" if is_octal else str(int(at[0]) + 1))
        add("constant", *at.span(), number or {"true": "false", "false": "true"}[at[0]])
    for at in re.finditer(STATEMENT, code, re.M):
        end = end_of(code, at.end(), ";{")
        if end and code[end] == ";" and not re.match(DECLARATION, text[at.end():end]):
            add("statement", at.end(), end, "")
    for at in re.finditer(rf"(?=[(,{{]\s*({ARGUMENT}),\s+({ARGUMENT})[,)}}])", code):
        if at[1] != at[2] and not at[1].endswith("begin()"):
            add("argument", at.start(1), at.end(2), f"{at[2]}, {at[1]}")
    for at in re.finditer(r"\bthrow\b", code):
        end = end_of(code, at.end(), ";")
        if end:
            add("throw", at.start(), end, "")
    return found


def describe(mutation):
    """The line, with [old -> new] in it."""
    text, start, end = mutation.text, mutation.start, mutation.end
    before = text[text.rfind("\n", 0, start) + 1:start].lstrip()
    after = text[end:(text + "\n").find("\n", end)]
    old = " ".join(text[start:end].split())
    line = f"{before}[{old[:90]} -> {mutation.new.strip() or 'nothing'}]{after}"
    return f"{mutation.path}:{mutation.line}: {line}"


def run(command, timeout=None, **options):
    """Exit status, output, seconds, seconds of processor time. The status of a hang is None."""
    before, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          start_new_session=True, errors="replace", **options) as process:
        try:
            output, status = process.communicate(timeout=timeout)[0], process.returncode
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            output, status = process.communicate()[0], None
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, output, time.monotonic() - before, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime


def ninja(*arguments):
    status, output, *_ = run(["ninja", "-C", str(BUILD), *arguments])
    if status != 0:
        sys.exit(f"mutate: ninja {' '.join(arguments)}:\n{output[-3000:]}")
    return output


class Program:
    """A program of the build: a module's unit tests, or rdmanet with its end-to-end cases."""

    def __init__(self, target):
        self.target = target
        ninja(target)
        self.link_command = ninja("-t", "commands", target).splitlines()[-1]
        self.built = BUILD / re.search(r" -o (\S+)", self.link_command)[1]
        self.names = self.tagged(E2E_CASES if target == "rdmanet" else UNIT_CASES.get(target, ""))
        self.milliseconds = {}  # of each case that has run without a mutation; None if it did not pass

    def run(self, binary, arguments, timeout=None):
        command = ["netns-harness/run.sh"]
        if self.target == "cluster_test":
            command += ["test/cluster/cluster.sh", "try"]
        environment = {"RDMANET_HARNESS_NEEDS": "netns veth macvlan", "RDMANET_BINARY": str(binary)}
        command += [str(self.tests(binary)), "-r", "progress", *arguments]
        return run(command, timeout, cwd=TOP, env={**os.environ, **environment})

    def tests(self, binary):
        return E2E if self.target == "rdmanet" else binary

    def tagged(self, tags):
        return set(run([str(self.tests(self.built)), "--list-test-names-only", tags])[1].splitlines())

    def choose(self, names):
        chosen = WORK / "cases"
        chosen.write_text("".join(name.replace(",", "\\,") + "\n" for name in sorted(names)))
        return ["-f", str(chosen)]

    def passing(self, names):
        """Those of `names` that pass without a mutation."""
        if new := names - set(self.milliseconds):
            status, output, *_ = self.run(self.built, self.choose(new))
            self.milliseconds.update(dict.fromkeys(new))
            for name, took in re.findall(r"^ok   (.*) \((\d+) ms\)$", output, re.M):
                self.milliseconds[name] = int(took)
            if status != 0:
                failed = re.findall(r"^FAIL .*", output, re.M) or [output[-2000:]]
                print(f"mutate: without a mutation {self.target} fails, so these do not count:", *failed, sep="\n")
        return {name for name in names if self.milliseconds[name] is not None}

    def link(self, mutant):
        """Of two definitions the linker takes the first, so the mutant's functions replace those of its library."""
        self.mutant = MUTANT / self.target
        command = re.sub(r" -o \S+", f" -o {shlex.quote(str(self.mutant))}", self.link_command)
        command = command.replace("clang++ ", f"clang++ -Wl,-z,muldefs {shlex.quote(str(mutant))} ", 1)
        status, output, *_ = run(["sh", "-c", command], cwd=BUILD)
        if status != 0:
            sys.exit(f"mutate: cannot link:\n{output[-3000:]}")

    def find_failure(self, names):
        """What failed, or None; the seconds of the tests, and of processor time."""
        names = self.passing(names)
        if not names:
            return None, 0, 0
        timeout = 3 * sum(self.milliseconds[name] for name in names) / 1000 + 2 * AIM / 3
        status, output, seconds, used = self.run(self.mutant, ["--abort", *self.choose(names)], timeout)
        if status == 0:
            return None, seconds, used
        failed = re.search(r"^FAIL (.*?)(?: \(\d+ ms\))?$", output, re.M)
        if failed and self.run(self.built, self.choose({failed[1]}))[0] != 0:
            print(f"mutate: {failed[1]}: fails without a mutation, too, so it does not count")
            self.milliseconds[failed[1]] = None
            return self.find_failure(names)
        reason = failed[1] if failed else "a hang" if status is None else f"exit status {status}"
        return f"{'end-to-end' if self.target == 'rdmanet' else self.target}: {reason}", seconds, used


class Build:
    def __init__(self):
        self.commands, self.programs = {}, {}
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            unity = pathlib.Path(entry["file"])
            names = re.findall(r'#include "(.*)"', unity.read_text()) if "Unity" in unity.parts else [str(unity)]
            for name in names:
                self.commands[name] = entry

    def compile(self, mutation):
        """The object, or None if the mutation does not compile."""
        path = TREE / mutation.path
        entry = self.commands[str(path)]
        source, result = MUTANT / path.name, MUTANT / "mutant.o"
        source.write_text(mutation.text[:mutation.start] + mutation.new + mutation.text[mutation.end:])
        command = [str(source) if word == entry["file"] else word for word in shlex.split(entry["command"])]
        command[command.index("-o") + 1] = str(result)
        command += ["-w", "-iquote", str(path.parent)]
        return result if run(command, cwd=entry["directory"])[0] == 0 else None

    def program(self, target):
        if target not in self.programs:
            self.programs[target] = Program(target)
        return self.programs[target]

    def find_failure(self, path, mutant):
        below = path.removeprefix("src/")
        unit, rdmanet = self.program(f"{below.split('/')[0]}_test"), self.program("rdmanet")
        fitting = [prefix for prefix in FIRST if below.startswith(prefix)]
        first = rdmanet.tagged(FIRST[max(fitting, key=len)]) & rdmanet.names if fitting else set()
        seconds = used = 0
        linked = None
        for program, names in (unit, unit.names), (rdmanet, first), (rdmanet, rdmanet.names - first):
            if program is not linked:
                program.link(mutant)
                linked = program
            reason, took, cost = program.find_failure(names)
            seconds, used = seconds + took, used + cost
            if reason:
                break
        return reason, seconds, used


def candidates(paths):
    wanted = [os.path.normpath(path) for path in paths]
    for path in sorted(str(file.relative_to(TREE)) for file in (TREE / "src").rglob("*.cpp")):
        around = [one for one in wanted if path == one or path.startswith(one + "/")]
        if wanted and not around:
            continue
        lines = collections.defaultdict(list)
        for mutation in mutations_of(path):
            lines[mutation.line].append(mutation)
        yield from lines.values()


def mutate(seed, count, paths):
    chance = random.Random(seed)
    lines = list(candidates(paths))
    chance.shuffle(lines)
    build = Build()
    MUTANT.mkdir(exist_ok=True)
    survivors, killed, soon = [], 0, 0
    print(f"mutate: seed {seed}, {len(lines)} lines that can be changed", flush=True)
    for line in lines:
        if killed + len(survivors) == count:
            break
        kind = chance.choice(sorted({mutation.kind for mutation in line}))
        mutation = chance.choice([one for one in line if one.kind == kind])
        mutant = build.compile(mutation)
        if not mutant:
            continue
        reason, seconds, used = build.find_failure(mutation.path, mutant)
        print(f"{'killed  ' if reason else 'SURVIVED'} {describe(mutation)}\n         "
              f"{reason or 'no test failed'}, after {seconds:.1f} s ({used:.1f} s of processor time)", flush=True)
        killed += bool(reason)
        soon += bool(reason) and seconds <= AIM
        if not reason:
            survivors.append(describe(mutation))
    print("", *[f"survived: {survivor}" for survivor in survivors], sep="\n")
    print(f"{soon} of the killed within {AIM} seconds")
    print(f"{killed + len(survivors)} mutations, {killed} killed, {len(survivors)} survived")


def copy(tree):
    names = [name for name in sys.stdin.read().split("\0") if (TOP / name).is_file()]
    for name in names:
        source, target = TOP / name, TOP / tree / name
        is_same = target.exists() and target.stat().st_mtime_ns == source.stat().st_mtime_ns
        if not is_same or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    for file in (TOP / tree).rglob("*"):
        if file.is_file() and str(file.relative_to(TOP / tree)) not in set(names):
            file.unlink()


if sys.argv[1] == "copy":
    copy(sys.argv[2])
else:
    mutate(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
