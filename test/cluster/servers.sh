# What test/cluster/cluster.sh and test/cluster/etcd.sh have in common. They set `name`, with which their sentences begin,
# and `variable`, which COMMAND gets, and have functions start DIR and stop DIR.
# shellcheck shell=bash disable=SC2154

fail() {
	printf '%s: %s\n' "$name" "$*" >&2
	exit 125
}

# free_ports NUMBER ADDRESS: ports of the address that nobody listens on, one a line.
free_ports() {
	local ports=() candidate
	while ((${#ports[@]} < $1)); do
		candidate=$((20000 + RANDOM % 12000))
		! (exec 3<>"/dev/tcp/$2/$candidate") 2>/dev/null || continue
		[[ " ${ports[*]} " == *" $candidate "* ]] || ports+=("$candidate")
	done
	printf '%s\n' "${ports[@]}"
}

# certificate FILE SUBJECT [EXTENSION]: FILE.key and FILE.crt, signed by ca.key of the same directory.
certificate() {
	local ca
	ca=$(dirname "$1")/ca
	openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"
	openssl req -new -key "$1.key" -subj "$2" |
		openssl x509 -req -CA "$ca.crt" -CAkey "$ca.key" -CAcreateserial -days 3650 -out "$1.crt" \
			-extfile <(echo "${3-}") 2>/dev/null
}

# authority FILE SUBJECT: FILE.key and FILE.crt, which sign others.
authority() {
	openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"
	openssl req -x509 -new -key "$1.key" -days 3650 -subj "$2" -out "$1.crt"
}

# is_running DIR NAME: a file that was left behind may name a process of somebody else. Ours work in DIR.
is_running() {
	local pid
	pid=$(cat "$1/$2.pid" 2>/dev/null) && [[ $pid == +([0-9]) && /proc/$pid/cwd -ef $1 ]]
}

# end DIR NAME: a process that is stopped (SIGSTOP) ends only when it goes on; one that does not end in time is killed.
end() {
	local pid i
	if is_running "$1" "$2"; then
		pid=$(cat "$1/$2.pid")
		kill "$pid" && kill -CONT "$pid" || true
		for ((i = 0; i < 300; i++)); do
			is_running "$1" "$2" || break
			sleep 0.1
		done
		! is_running "$1" "$2" || kill -KILL "$pid"
	fi
	rm -f "$1/$2.pid"
}

# run COMMAND...: with servers of its own, which end with it.
run() {
	local dir status=0
	dir=$(mktemp -d)
	trap 'stop "$dir"; rm -rf "$dir"' EXIT
	(start "$dir") >&2 || exit $?
	env "$variable=$dir" "$@" || status=$?
	exit "$status"
}
