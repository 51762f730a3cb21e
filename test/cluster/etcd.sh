#!/bin/bash
# Clusters of etcd on loopback, for tests and for people. etcd is Debian's.
#
#   test/cluster/etcd.sh start DIR        starts them with their data in DIR
#   test/cluster/etcd.sh stop DIR         stops them; DIR keeps the data, and start goes on with it
#   test/cluster/etcd.sh run COMMAND...   starts them in a directory of their own, runs COMMAND with RDMANET_ETCD set to it,
#                                         and stops them
#   test/cluster/etcd.sh try COMMAND...   the same; where no etcd is installed, COMMAND runs without it and skips what needs it
#   test/cluster/etcd.sh member DIR/CLUSTER NUMBER start
#                                         starts a member that was killed
#
# There are, each with its addresses in DIR/CLUSTER/endpoints, one a line, and its members' process IDs in DIR/CLUSTER/N.pid:
#   one     one member, without TLS and users
#   three   three members
#   secure  one member that wants client certificates, users and passwords. DIR/secure has:
#             ca.crt, other-ca.crt   who signed the server's certificate, and who did not
#             client.crt, named.crt  certificates of clients without and with a CommonName, each with its .key
#             USER.password          of the users rdmanet (all rights below /rdmanet), reader (which can only read there),
#                                    stranger (without a right) and root
#
# Exit status 125, with a sentence that says why: this machine has no etcd.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
me=$here/etcd.sh
name=etcd variable=RDMANET_ETCD
# shellcheck source=test/cluster/servers.sh
. "$here/servers.sh"

# An address of the loopback interface for each start: another run's member that was killed leaves its port free, and wants
# it back.
address() { printf '127.%d.%d.%d' $((64 + ($$ >> 16) % 64)) $((($$ >> 8) % 256)) $(($$ % 256)); }

# make_cluster DIR SCHEME MEMBERS: its addresses.
make_cluster() {
	local dir=$1 scheme=$2 members=$3 ports i
	[[ ! -e $dir/peers ]] || return 0
	mkdir -p "$dir"
	mapfile -t ports < <(free_ports $((2 * members)) "$(address)")
	for ((i = 0; i < members; i++)); do printf '%s://%s:%s\n' "$scheme" "$(address)" "${ports[i]}"; done >"$dir/endpoints"
	for ((i = members; i < 2 * members; i++)); do printf 'http://%s:%s\n' "$(address)" "${ports[i]}"; done >"$dir/peers"
}

# wait_until_free URL: a member that was killed keeps its ports until the kernel has ended it.
wait_until_free() {
	local i
	for ((i = 0; i < 1200; i++)); do
		[[ -n $(ss -Hltn src "${1#*://}") ]] || return 0
		sleep 0.1
	done
	fail "$1 is still in use"
}

# start_member DIR NUMBER
start_member() {
	local dir number=$2 etcd peers url peer cluster='' i options=()
	dir=$(cd "$1" && pwd)
	etcd=$(type -P etcd) || fail "this machine has no etcd: install Debian's package etcd-server"
	mapfile -t peers <"$dir/peers"
	for i in "${!peers[@]}"; do cluster+=${cluster:+,}m$((i + 1))=${peers[i]}; done
	url=$(sed -n "${number}p" "$dir/endpoints") peer=${peers[number - 1]}
	[[ $url != https:* ]] || options=(--cert-file "$dir/server.crt" --key-file "$dir/server.key" --client-cert-auth
		--trusted-ca-file "$dir/ca.crt")
	wait_until_free "$url" && wait_until_free "$peer"
	mkdir -p "$dir/$number"
	chmod 700 "$dir/$number"
	# Short enough that a new leader is there soon, long enough for a machine with too much to do.
	(cd "$dir" && ETCD_UNSUPPORTED_ARCH='' exec setsid "$etcd" --name "m$number" --data-dir "$dir/$number" \
		--listen-client-urls "$url" --advertise-client-urls "$url" --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" \
		--initial-cluster "$cluster" --initial-cluster-token "$dir" --heartbeat-interval 100 --election-timeout 1500 \
		--unsafe-no-fsync "${options[@]}" >"$dir/$number.log" 2>&1 </dev/null) &
	echo $! >"$dir/$number.pid"
}

ask() { # ask DIR PATH BODY [CURL OPTION...]: on the first member
	local dir=$1 path=$2 body=$3 url tls=()
	shift 3
	url=$(head -n 1 "$dir/endpoints")
	[[ $url != https:* ]] || tls=(--cacert "$dir/ca.crt" --cert "$dir/client.crt" --key "$dir/client.key")
	curl --silent "${tls[@]}" "$@" "$url/v3/$path" --data "$body"
}

wait_for() {
	local dir=$1 i
	for ((i = 0; i < 1200; i++)); do
		[[ $(ask "$dir" kv/range '{"key":"AA=="}') != *header* ]] || return 0
		[[ $(ask "$dir" kv/range '{"key":"AA=="}') != *"user name is empty"* ]] || return 0
		sleep 0.1
	done
	tail -n 5 "$dir"/*.log >&2
	fail "$dir did not start; the last lines of its logs are above"
}

make_keys() {
	cd "$1"
	authority ca /CN=rdmanet-test-ca
	certificate server /CN=etcd "subjectAltName=IP:$(address),DNS:localhost"
	# With users, the JSON gateway refuses certificates that have a CommonName (etcd, embed/serve.go).
	certificate client /O=rdmanet
	certificate named /CN=somebody
	authority other-ca /CN=other-ca
}

base64_of() { printf %s "$1" | base64 -w0; }

# make_role DIR NAME TYPE: a role and a user of that name with the right TYPE below /rdmanet.
make_role() {
	ask "$1" auth/role/add "{\"name\":\"$2\"}"
	ask "$1" auth/role/grant "{\"name\":\"$2\",\"perm\":{\"permType\":\"$3\",\"key\":\"$(base64_of /rdmanet/)\",\"range_end\":\"$(base64_of /rdmanet0)\"}}"
}

make_users() {
	local dir=$1 user
	for user in root rdmanet reader stranger; do
		echo "secret of $user" >"$dir/$user.password"
		ask "$dir" auth/user/add "{\"name\":\"$user\",\"password\":\"secret of $user\"}"
	done
	ask "$dir" auth/role/add '{"name":"root"}'
	make_role "$dir" rdmanet READWRITE
	make_role "$dir" reader READ
	for user in root rdmanet reader; do ask "$dir" auth/user/grant "{\"user\":\"$user\",\"role\":\"$user\"}"; done
	ask "$dir" auth/enable '{}'
}

start() {
	local dir cluster number
	mkdir -p "$1"
	dir=$(cd "$1" && pwd)
	make_cluster "$dir/one" http 1
	make_cluster "$dir/three" http 3
	make_cluster "$dir/secure" https 1
	[[ -e $dir/secure/server.crt ]] || (make_keys "$dir/secure")
	for cluster in one three secure; do
		for ((number = 1; number <= $(wc -l <"$dir/$cluster/peers"); number++)); do start_member "$dir/$cluster" $number; done
	done
	for cluster in one three secure; do wait_for "$dir/$cluster"; done
	[[ -e $dir/secure/root.password ]] || make_users "$dir/secure" >"$dir/secure/users.log"
	printf '#!/bin/sh\nexec %q member "$@"\n' "$me" >"$dir/member"
	chmod +x "$dir/member"
	for cluster in one three secure; do printf 'etcd: %s: %s\n' "$cluster" "$(tr '\n' ' ' <"$dir/$cluster/endpoints")"; done
}

stop() {
	local file
	for file in "$1"/*/*.pid; do
		[[ ! -e $file ]] || end "$(dirname "$file")" "$(basename "$file" .pid)"
	done
}

case ${1-}:$# in
start:2) start "$2" ;;
stop:2) stop "$2" ;;
member:4) start_member "$2" "$3" && wait_for "$2" ;;
run:1 | try:1) fail "$1: expected a command" ;;
run:*) shift && run "$@" ;;
try:*) shift && if type -P etcd >/dev/null; then run "$@"; else exec "$@"; fi ;;
*) sed -n '/^# Clusters/,/^# Exit/p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//' && exit 1 ;;
esac
