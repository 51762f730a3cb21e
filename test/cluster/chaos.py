#!/usr/bin/python3
"""Four nodes start and end pods with addresses of a pool and of a range that an administrator declares and deletes.
Their lines to the API server cut, delay and deliver late. Calls are killed, nodes boot again or are registered again,
and the servers stop, die and are restored from a snapshot. No address may be in two pods, and nothing may be left.

    netns-harness/run.sh test/cluster/cluster.sh try test/cluster/chaos.py

Environment: RDMANET_BINARY; RDMANET_CHAOS_ROUNDS, in each of which everything happens; RDMANET_SEED, another course of
events, in which the kernel's scheduler has a part, too; RDMANET_CHAOS_LOG, a file for what happens.
"""
import contextlib
import ipaddress
import itertools
import json
import os
import pathlib
import queue
import random
import select
import shutil
import signal
import socket
import subprocess
import threading
import time

SEED = int(os.environ.get("RDMANET_SEED") or random.randrange(1 << 31))
ROUNDS = int(os.environ.get("RDMANET_CHAOS_ROUNDS") or 1)
RDMANET = os.environ.get("RDMANET_BINARY") or f"{pathlib.Path(__file__).parents[2]}/build/release/cmd/rdmanet/rdmanet"
CLUSTER = pathlib.Path(os.environ.get("RDMANET_CLUSTER") or "/nonexistent")
SPACE = "chaos"
NETWORKS = {"pool": "10.71.0.0/27", "range": "10.72.0.0/28"}
RESERVATIONS = "overlappingrangeipreservations"
RANGES, BLOCKS = (f"/apis/rdmanet.cni/v1alpha1/address{kind}" for kind in ("ranges", "blocks"))
CALLS = 16  # of the binary, as an event begins and when it has ended
PATIENCE = 300  # seconds for what an idle machine does in a few

# A node's mounts: its machine ID, its boot, its way to the server, its pods' network namespaces. Its /proc has only the
# process that holds these mounts, and is that of the initial PID namespace, whose inode number is fixed
# (PROC_PID_INIT_INO, include/linux/proc_ns.h). So a node sees its own pods, and no others.
MOUNTS = r"""
mount --make-rprivate / && mount -t tmpfs netns /run/netns && mount --bind conf /etc/cni/net.d/rdmanet.d &&
	mount --bind machine-id /etc/machine-id && mount --bind boot_id /proc/sys/kernel/random/boot_id &&
	mount --rbind /proc proc && mount -t tmpfs proc /proc && mkdir -p /proc/self/ns && ln -s $PWD/proc/$$ /proc/1 || exit
for one in proc/[a-z]* proc/self/* proc/self/ns/*; do
	[[ $one =~ ^proc/self(/ns(/pid)?)?$ ]] || ln -s $PWD/$one /$one
done
ln -s 'pid:[4026531836]' /proc/self/ns/pid
echo ready
exec sleep infinity
"""
SHOW_ADDRESSES = 'for pod in $(ls /run/netns); do ip -n $pod -o -4 addr show scope global | sed "s/^/$pod /"; done'

log_file = open(os.environ.get("RDMANET_CHAOS_LOG") or "/dev/null", "w")
todo = queue.Queue()  # an item for each call that the nodes are to make
results_mutex = threading.Lock()
given, faults = dict.fromkeys(NETWORKS, 0), []
threading.excepthook = lambda error: faults.append(repr(error.exc_value))

def log(*what):
    print(f"{time.monotonic():.3f}", *what, file=log_file, flush=True)

def run(*command, check=True):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if check and result.returncode:
        raise AssertionError(f"{command}: {result.returncode}: {result.stdout}{result.stderr}")
    return result.stdout

def administrate(command, *arguments, check=True):
    log(command, *arguments)
    return run(CLUSTER / command, *arguments, check=check)

def get(path):
    return json.loads(administrate("get", path))

def start(target, *arguments):
    threading.Thread(target=target, args=arguments, daemon=True).start()

def comes_true(condition):
    end = time.monotonic() + PATIENCE
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    return value

class Line:
    """Between a node and the API server. Some connections are cut, some are slow. Of some a request arrives when its
    client was hung up on seconds ago."""

    def __init__(self, port, seed):
        self.server_port, self.dice, self.is_calm, self.open = port, random.Random(seed), False, set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        start(self.accept)

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            self.open.add(client)
            start(self.serve, client, random.Random(self.dice.random()))

    def calm(self, is_calm):
        """By then, what is late has arrived."""
        self.is_calm = is_calm
        assert not is_calm or comes_true(lambda: not self.open), "connections don't end"

    def serve(self, client, dice):
        with contextlib.suppress(OSError), client, socket.create_connection(("127.0.0.1", self.server_port)) as server:
            fates = ["cuts a request", "cuts an answer", "is late", "is slow", "", "", "", ""]
            self.pass_on(client, server, "" if self.is_calm else dice.choice(fates), dice)
        self.open.discard(client)

    def pass_on(self, client, server, fate, dice):
        pieces_left = dice.randint(1, 6)  # of the client; the first two are of TLS
        while True:
            ready = select.select([client, server], [], [], PATIENCE)[0]
            piece = ready[0].recv(65536) if ready else b""
            is_request = ready[:1] == [client]
            pieces_left -= is_request
            if fate == "is slow":
                time.sleep(dice.uniform(0, 0.15))
            if not piece or (pieces_left <= 0 and fate == ("cuts a request" if is_request else "cuts an answer")):
                return
            if pieces_left <= 0 and is_request and fate == "is late":
                client.close()
                time.sleep(dice.uniform(0, 6))
                server.sendall(piece)
                select.select([server], [], [], PATIENCE)  # a server stops working for a client that hangs up
                return
            (server if is_request else client).sendall(piece)

class Pod:
    def __init__(self, node, slot):
        self.node, self.name, self.container, self.network = node, f"{node.name}-{slot}", "", ""
        self.address = ""  # from the success of an ADD to the next DEL

    def call(self, command, kill_after=None):
        config = {"cniVersion": "1.1.0", "name": self.network, "type": "rdmanet", "master": "par0", "ipam": {
            "type": "rdmanet", "cooldown": 0, "network_name": SPACE, "range": NETWORKS[self.network]}}
        pod = f"K8S_POD_NAMESPACE=shop;K8S_POD_NAME={self.name};K8S_POD_UID={self.container}"
        return self.node.rdmanet(kill_after=kill_after, input=json.dumps(config), environment={
            "CNI_COMMAND": command, "CNI_CONTAINERID": self.container, "CNI_NETNS": f"/run/netns/{self.container}",
            "CNI_IFNAME": "net1", "CNI_PATH": "/usr/lib/cni", "CNI_ARGS": f"IgnoreUnknown=1;{pod}"})

    def begin(self, dice, kill_after=None):
        self.network, self.container = dice.choice(list(NETWORKS)), f"{self.node.name}x{next(numbers)}"
        run(*self.node.enter, "ip", "netns", "add", self.container)
        result = self.call("ADD", kill_after)
        if result.returncode == 0:
            with results_mutex:
                address = json.loads(result.stdout)["ips"][0]["address"]
                others = [pod.container for pod in all_pods() if pod.address == address]
                faults.extend((address, self.container, other) for other in others)
                self.address = address
                given[self.network] += 1

    def end(self, kill_after=None):
        self.address = ""
        if self.call("DEL", kill_after).returncode == 0:
            self.vanish()

    def vanish(self):
        self.address = ""
        log(self.node.name, "loses", self.container)
        run(*self.node.enter, "ip", "netns", "del", self.container)
        self.container = ""

class Node:
    def __init__(self, number, port):
        self.name, self.line = f"chaos{number}", Line(port, SEED + number)
        self.directory = pathlib.Path(f"/run/chaos/{number}")
        self.pods = [Pod(self, slot) for slot in range(6)]
        for one in "conf", "proc":
            (self.directory / one).mkdir(parents=True)
        self.machine_id = f"c0c0c0c0{number:024x}"
        (self.directory / "machine-id").write_text(self.machine_id)
        (self.directory / "conf/rdmanet.conf").write_text(json.dumps({"nodeName": self.name, "kubernetes": {
            "kubeconfig": "/etc/cni/net.d/rdmanet.d/kubeconfig",
            "connectTimeoutMs": 30000, "requestTimeoutMs": 60000, "addTimeoutMs": 90000}}))
        kubeconfig = (CLUSTER / "rdmanet.kubeconfig").read_text()
        its_port = self.line.listener.getsockname()[1]
        (self.directory / "conf/kubeconfig").write_text(kubeconfig.replace(f":{port}", f":{its_port}"))
        self.boot()
        mounts = subprocess.Popen(["unshare", "--mount", "bash", "-c", MOUNTS], cwd=self.directory, stdout=-1)
        assert mounts.stdout.readline() == b"ready\n", "no mounts"
        self.enter = ["nsenter", f"--mount=/proc/{mounts.pid}/ns/mnt"]
        self.report()

    def rdmanet(self, *arguments, kill_after=None, later=0, input="", environment={}):
        """`later`: as if so many seconds had passed."""
        clock = ["unshare", "--time", "--boottime", str(later), "--fork"] if later else []
        command = [*clock, *self.enter, RDMANET, *arguments]
        try:
            result = subprocess.run(command, capture_output=True, text=True, input=input, timeout=kill_after, env={
                "PATH": os.environ["PATH"], "RDMANET_STATE_DIR": f"{self.directory}/state", **environment})
        except subprocess.TimeoutExpired:
            result = subprocess.CompletedProcess(command, -signal.SIGKILL)
        log(self.name, environment, result)
        return result

    def boot(self):
        log(self.name, "boots")
        for pod in self.pods:
            if pod.container:
                pod.vanish()
        shutil.rmtree(self.directory / "state", ignore_errors=True)
        (self.directory / "state").mkdir()
        (self.directory / "boot_id").write_text(f"{self.name}-{next(numbers)}\n")

    def report(self):
        """As kubelet does."""
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name}}
        administrate("apply", json.dumps(node), "/api/v1/nodes", check=False)  # it may be there
        info = {"bootID": (self.directory / "boot_id").read_text().strip(), "machineID": self.machine_id}
        run("bash", "-c", f". {CLUSTER}/lib && api --fail-with-body -X PATCH -H 'Content-Type: "
            f"application/merge-patch+json' --data '{json.dumps({'status': {'nodeInfo': info}})}' "
            f"$url/api/v1/nodes/{self.name}/status")

    def work(self, pods, dice):
        """As a runtime and a timer."""
        while todo.get():
            pod, what = dice.choice(pods), dice.random()
            kill_after = dice.uniform(0, 0.15) if dice.random() < 0.15 else None
            if not pod.container:
                pod.begin(dice, kill_after)
            elif what < 0.5:
                pod.end(kill_after)
            elif what < 0.6:
                pod.vanish()
            elif what < 0.8:
                self.rdmanet("gc", kill_after=kill_after)
            todo.task_done()

    def state(self, what):
        return json.loads(self.rdmanet("state", "--json").stdout)[what]

def all_pods():
    return [pod for node in nodes for pod in node.pods]

def end_pods(which=bool):
    for pod in all_pods():
        if pod.container and which(pod):
            pod.end()

# (CONTAINER, ADDRESS/LENGTH) of all pods.
def in_kernel():
    lines = [line.split() for node in nodes for line in run(*node.enter, "bash", "-c", SHOW_ADDRESSES).splitlines()]
    return sorted((words[0], words[4]) for words in lines)

def in_journals():
    return sorted((one["containerID"], ip) for node in nodes for one in node.state("attachments") for ip in one["ips"])

def in_pools():
    pools = [pool["spec"] for pool in get("ippools")["items"]]
    records = [(ipaddress.ip_network(pool["range"]), *one) for pool in pools for one in pool["allocations"].items()]
    return [(record["id"], f"{subnet[int(key)]}/{subnet.prefixlen}") for subnet, key, record in records]

def in_stores():
    leases = [(one["containerID"], one["address"]) for node in nodes for one in node.state("leases")]
    return sorted(in_pools() + leases)

def names(path):
    return [one["metadata"]["name"] for one in get(path)["items"]]

def stale_addresses():
    """What came back with a snapshot, and `rdmanet ipam check` shows."""
    containers = [pod.container for pod in all_pods()]
    records = [(container, address.split("/")[0]) for container, address in in_pools()]
    seen = {name.removeprefix(f"{SPACE}-") for name in names(RESERVATIONS)} | {address for _, address in records}
    return seen - {address for container, address in records if container in containers}

def duplicates():
    pairs = in_kernel()
    return {(address, pod, other) for pod, address in pairs for other, its in pairs if address == its and pod < other}

def declare():
    spec = {"networkName": SPACE, "range": NETWORKS["range"], "blockSize": dice.choice([2, 2, 4])}
    declared = {"apiVersion": "rdmanet.cni/v1alpha1", "kind": "AddressRange", "metadata": {"name": SPACE}, "spec": spec}
    administrate("apply", json.dumps(declared), RANGES, check=False)

def undeclare():
    administrate("delete", f"{RANGES}/{SPACE}", check=False)

def signal_to(server, number):
    log(server, number)
    process = os.pidfd_open(int((CLUSTER / f"{server}.pid").read_text()))
    signal.pidfd_send_signal(process, number)
    if number == signal.SIGKILL:
        select.select([process], [], [])  # until its last thread has ended, and its port is free
    os.close(process)

@contextlib.contextmanager
def stopped(server):
    signal_to(server, signal.SIGSTOP)
    yield
    signal_to(server, signal.SIGCONT)

def stop_server():
    with stopped(dice.choice(["apiserver", "etcd"])):
        time.sleep(dice.uniform(0.5, 3))

def kill_apiserver():
    signal_to("apiserver", signal.SIGKILL)
    administrate("start")

def take_snapshot():
    with stopped("etcd"):
        shutil.rmtree(CLUSTER / "snapshot", ignore_errors=True)
        shutil.copytree(CLUSTER / "etcd", CLUSTER / "snapshot")

def restore():
    """By the runbook of docs/addresses.md, "A restored backup of etcd"."""
    wait_for_calls()
    for server in "apiserver", "etcd":
        signal_to(server, signal.SIGKILL)
    shutil.rmtree(CLUSTER / "etcd")
    shutil.copytree(CLUSTER / "snapshot", CLUSTER / "etcd")
    administrate("start")
    declare()
    for node in nodes:
        node.line.calm(True)
        node.report()
    assert comes_true(gc_leaves_nothing), "gc after a restore"
    for node in nodes:
        checked = json.loads(node.rdmanet("check", "-o", "json").stdout)["attachments"]
        differing = str([one["attachment"] for one in checked if one["verdict"] == "differs"])
        end_pods(lambda pod: f'"{pod.container}"' in differing)
    as_admin = ["--yes", "--kubeconfig", f"{CLUSTER}/admin.kubeconfig"]
    for address, node in itertools.product(stale_addresses(), nodes):  # its own node releases it
        node.rdmanet("ipam", "release", *as_admin, "--address", address)
    for node in nodes:
        node.line.calm(False)

def boot():
    node = dice.choice(nodes)
    wait_for_calls()
    node.boot()
    time.sleep(dice.uniform(0, 1.5))  # until kubelet is up
    node.report()

def register_again():
    node = dice.choice(nodes)
    administrate("delete", f"/api/v1/nodes/{node.name}")
    time.sleep(dice.uniform(0, 1))
    node.report()

def settle(later):
    """What a runtime and a timer do, until nothing changes; when the server has done what nobody waits for."""
    seen = []
    def is_settled():
        end_pods(lambda pod: not pod.address)
        is_done = gc_leaves_nothing(later)
        seen.append(is_done and (in_journals(), in_stores(), names(RESERVATIONS), names(BLOCKS)))
        return is_done and seen[-2:-1] == seen[-1:]
    assert comes_true(is_settled), "gc does not end"

def gc_leaves_nothing(later=0):
    ends = [node.rdmanet("gc", later=later) for node in nodes]
    return all(end.returncode == 0 and not end.stderr for end in ends)

def let_nodes_work():
    for _ in range(CALLS):
        todo.put(True)

def wait_for_calls():
    assert comes_true(lambda: faults or not todo.unfinished_tasks), "calls do not end"

def run_chaos():
    for node in nodes:
        for half in 0, 1:
            start(node.work, node.pods[half::2], random.Random(f"{SEED} {node.name} {half}"))
    declare()
    take_snapshot()
    events = [undeclare, declare, stop_server, stop_server, kill_apiserver, take_snapshot, boot, register_again]
    for event in [event for _ in range(ROUNDS) for event in [*dice.sample(events, len(events)), restore]]:
        let_nodes_work()
        event()
        let_nodes_work()
        wait_for_calls()
        faults.extend(duplicates() & duplicates())  # a pod may end during a look
        assert not faults, faults
    for node in nodes:
        node.line.calm(True)
    declare()
    for pod in all_pods():
        if not pod.container:
            pod.begin(dice)
    settle(100)
    print(f"chaos: addresses given: {given}")
    assert all(given.values()) and not faults, faults
    results = sorted((pod.container, pod.address) for pod in all_pods() if pod.address)
    for what, seen in ("kernel", in_kernel()), ("journals", in_journals()), ("stores", in_stores()):
        assert seen == results, f"{what}: {sorted(set(seen) ^ set(results))}"
    end_pods()
    undeclare()
    settle(200)
    left = in_kernel() + in_journals() + in_stores() + names(RESERVATIONS) + names(BLOCKS)
    assert not left, f"left: {left}"

if not CLUSTER.exists():
    print("skip chaos: this machine lacks a Kubernetes API server\n0 passed, 0 failed, 1 skipped")
    raise SystemExit
print(f"chaos: RDMANET_SEED={SEED}, {ROUNDS} rounds", flush=True)
dice, numbers = random.Random(SEED), itertools.count(1)
pathlib.Path("/etc/cni/net.d/rdmanet.d").mkdir(parents=True)
run("ip", "link", "add", "par0", "up", "type", "veth", "peer", "name", "par1")
port = int(administrate("get", "--url").rsplit(":")[-1])
nodes = [Node(number, port) for number in range(1, 5)]
run_chaos()
print("1 passed, 0 failed, 0 skipped")
