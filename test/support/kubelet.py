#!/usr/bin/python3
"""kubelet.py SOCKET FILE: a gRPC server with the two methods of the kubelet's PodResources socket that rdmanet asks.

FILE is read at each call: {"allocatable": {RESOURCE: [ID...]}, "pods": [{"namespace", "name", "devices": {RESOURCE:
[ID...]}}]}. Without "allocatable", the method is not implemented, as in a kubelet before Kubernetes 1.23. With "silent",
no call gets an answer. Needs Debian's python3-grpcio. Messages are encoded by hand after api.proto, so that the client's
reader is tested against another implementation.
"""
import concurrent.futures
import json
import os
import sys
import time

import grpc


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def devices(resources):
    """A ContainerDevices for each device, with a topology, as the kubelet sends them."""
    topology = field(3, field(1, b"\x08\x01"))
    return [field(1, name) + field(2, each) + topology for name, ids in resources.items() for each in ids]


def pod(entry):
    container = field(1, "main") + b"".join(field(2, each) for each in devices(entry["devices"])) + b"\x18\x07"
    return field(1, entry["name"]) + field(2, entry["namespace"]) + field(3, container)


def answer(method, request, context):
    with open(sys.argv[2], encoding="utf-8") as file:
        state = json.load(file)
    if "silent" in state:
        time.sleep(600)
    if method == "List":
        return b"".join(field(1, pod(each)) for each in state["pods"])
    if method != "GetAllocatableResources" or "allocatable" not in state:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "unknown method " + method)
    return b"".join(field(1, each) for each in devices(state["allocatable"])) + field(2, b"\x00\x01")


class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        service, method = details.method.strip("/").split("/")
        if service != "v1.PodResourcesLister":
            return None
        return grpc.unary_unary_rpc_method_handler(lambda request, context: answer(method, request, context))


server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), handlers=[Handler()])
server.add_insecure_port("unix:" + sys.argv[1])
server.start()
os.write(1, b"listening\n")
sys.stdin.read()
os._exit(0)
