#!/bin/bash
# RDMA between two nodes: two guests, each with a kernel of its own, a software NIC, and a pod. A cable connects them.
#
#   test/nodes/run.sh
#
# It prints a line for each claim and ends with "N passed, N failed, N skipped". The exit status is 0 if none failed.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
shared=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$shared"' EXIT

boot() { # node, its peer
	RDMANET_HARNESS_OUT=$shared RDMANET_HARNESS_CABLE="$shared/cable$1 $shared/cable$2" RDMANET_HARNESS_CPUS=1 \
		RDMANET_HARNESS_NIC="nics=3 vfs=1" "$top/netns-harness/run.sh" "$top/test/nodes/node.sh" "$1"
}

boot 1 0 >"$shared/log1" 2>&1 &
boot 0 1 | tee "$shared/log0"
statuses=${PIPESTATUS[0]}
wait "$!" || statuses+=" $?"
[[ $statuses == 0 ]] || { echo "--- the other node:" && cat "$shared/log1"; }
[[ $statuses == 0 ]] && tail -1 "$shared/log0" | grep -qE '^[0-9]+ passed, 0 failed, 0 skipped$' && exit 0
grep -qE '^[0-9]+ passed, [1-9][0-9]* failed' "$shared/log0" || echo "0 passed, 1 failed, 0 skipped"
exit 1
