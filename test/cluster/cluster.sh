#!/bin/bash
# A Kubernetes API server and its etcd on loopback, for tests and for people.
#
#   test/cluster/cluster.sh build            builds the API server and whereabouts, unless that was done before; a few
#                                            minutes, once
#   test/cluster/cluster.sh start DIR        starts both with their data in DIR, and says which kubeconfig files are there;
#                                            one that already runs is left alone
#   test/cluster/cluster.sh stop DIR         stops them; DIR keeps the data, and start goes on with it
#   test/cluster/cluster.sh run COMMAND...   starts both in a directory of their own, runs COMMAND with RDMANET_CLUSTER
#                                            set to it, and stops them
#   test/cluster/cluster.sh try COMMAND...   the same; where no server can be had, COMMAND runs without it and skips what needs it
#
# For a person, until the shell ends: test/cluster/cluster.sh run bash
#
# The API server and whereabouts are built from their own Go modules (servers/go.mod), with one set of libraries, so that
# whereabouts costs little. They are kept in RDMANET_CLUSTER_CACHE, by default ~/.cache/rdmanet, so that a clean build of
# rdmanet finds them again. Several processes may ask for a build at once: one builds, and the others wait. etcd is Debian's.
#
# Exit status 125, with a sentence that says why: this machine has no Go, or cannot fetch Go modules.
set -euo pipefail
shopt -s extglob

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
examples=$here/../../conf-examples
cache=${RDMANET_CLUSTER_CACHE:-${XDG_CACHE_HOME:-$(echo ~/.cache)}/rdmanet} # tests have no HOME

fail() {
	printf 'cluster: %s\n' "$*" >&2
	exit 125
}

# free_ports NUMBER: ports of 127.0.0.1 that nobody listens on, one a line.
free_ports() {
	local ports=() candidate
	while ((${#ports[@]} < $1)); do
		candidate=$((20000 + RANDOM % 12000))
		! (exec 3<>"/dev/tcp/127.0.0.1/$candidate") 2>/dev/null || continue
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

go_program() {
	local go
	for go in go /usr/local/go/bin/go /usr/lib/go-*/bin/go; do
		if type -P "$go" >/dev/null; then
			type -P "$go"
			return
		fi
	done
	fail "this machine has no Go: install Go $(sed -n 's/^go //p' "$here/servers/go.mod") or newer"
}

# Named by what they are built from: another version is another file.
path_of_program() { # NAME
	printf '%s/%s-%s' "$cache" "$1" "$(cat "$here"/servers/*.{mod,go} | sha256sum | cut -c1-16)"
}
server_path() { path_of_program kube-apiserver; }
whereabouts_path() { path_of_program whereabouts; }

# build_program NAME PACKAGE COST
build_program() {
	local program go log=$cache/$1.log
	program=$(path_of_program "$1")
	[[ ! -x $program ]] || return 0
	go=$(go_program)
	mkdir -p "$cache"
	exec {lock}>"$cache/$1.lock"
	if ! flock --nonblock "$lock"; then
		printf 'cluster: another process builds %s, which is waited for\n' "$1" >&2
		flock "$lock"
		[[ -x $program ]] || fail "another process could not build $1: see $log"
	fi
	if [[ ! -x $program ]]; then
		printf 'cluster: building %s, once: about %s\n' "$1" "$3" >&2
		# Nobody debugs these programs. Without symbols for that, they are built in less time.
		if ! (cd "$here/servers" && GOFLAGS="-modcacherw -buildvcs=false" GOTOOLCHAIN=local \
			"$go" build -trimpath -gcflags=all=-dwarf=false -ldflags='-s -w' -o "$program.new" "$2") >"$log" 2>&1; then
			tail -n 5 "$log" >&2
			fail "$1 could not be built; the last lines of $log are above. It needs a Go module proxy (\`go env GOPROXY\`)"
		fi
		mv "$program.new" "$program"
	fi
	exec {lock}>&-
}

build() { build_program kube-apiserver . "280 s on two idle processors, 2.5 GB of memory"; }

# For the cases that run it beside rdmanet. Without it they are skipped.
build_whereabouts() {
	build_program whereabouts github.com/k8snetworkplumbingwg/whereabouts/cmd "a few seconds after the API server"
}

make_keys() {
	mkdir -p pki
	authority pki/ca /CN=rdmanet-test-ca
	certificate pki/server /CN=kube-apiserver "subjectAltName=IP:127.0.0.1,IP:10.0.2.2,DNS:localhost"
	certificate pki/client /O=system:masters/CN=certified
	openssl ecparam -name prime256v1 -genkey -noout -out pki/sa.key
	openssl ec -in pki/sa.key -pubout -out pki/sa.pub 2>/dev/null
	cat >tokens.csv <<-T
		admin-token,admin,1,"system:masters"
		rdmanet-token,system:serviceaccount:kube-system:rdmanet,2,"system:serviceaccounts"
		limited-token,limited,3,""
		nobody-token,nobody,4,""
	T
}

# kubeconfig NAME USER: the file NAME.kubeconfig.
kubeconfig() {
	cat >"$1.kubeconfig" <<-K
		apiVersion: v1
		kind: Config
		clusters: [{name: test, cluster: {server: "https://127.0.0.1:$port", certificate-authority-data: $(base64 -w0 pki/ca.crt)}}]
		users: [{name: $1, user: $2}]
		contexts: [{name: test, context: {cluster: test, user: $1, namespace: kube-system}}]
		current-context: test
	K
}

api() {
	curl --silent --cacert pki/ca.crt -H "Authorization: Bearer admin-token" "$@"
}

# path_of_kind KIND NAMESPACE
path_of_kind() {
	case $1 in
	Namespace) echo api/v1/namespaces ;;
	CustomResourceDefinition) echo apis/apiextensions.k8s.io/v1/customresourcedefinitions ;;
	ServiceAccount) echo "api/v1/namespaces/$2/serviceaccounts" ;;
	Secret) echo "api/v1/namespaces/$2/secrets" ;;
	Role) echo "apis/rbac.authorization.k8s.io/v1/namespaces/$2/roles" ;;
	RoleBinding) echo "apis/rbac.authorization.k8s.io/v1/namespaces/$2/rolebindings" ;;
	ClusterRole) echo apis/rbac.authorization.k8s.io/v1/clusterroles ;;
	CronJob) echo "apis/batch/v1/namespaces/$2/cronjobs" ;;
	ClusterRoleBinding) echo apis/rbac.authorization.k8s.io/v1/clusterrolebindings ;;
	ValidatingAdmissionPolicy) echo apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies ;;
	ValidatingAdmissionPolicyBinding) echo apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings ;;
	AddressRange) echo apis/rdmanet.cni/v1alpha1/addressranges ;;
	*) fail "no path is known for kind $1" ;;
	esac
}

# create FILE: its objects, some of which may be there from an earlier start.
create() {
	local object kind space code
	rm -rf objects
	mkdir objects
	awk -v RS='\n---\n' '{ print > ("objects/" NR ".yaml") }' "$1"
	for object in objects/*; do
		kind=$(sed -n 's/^kind: //p' "$object")
		space=$(grep -o -m1 'namespace: [a-z-]*' "$object" || true)
		code=$(api -o answer -w '%{http_code}' -H 'Content-Type: application/yaml' --data-binary "@$object" \
			"https://127.0.0.1:$port/$(path_of_kind "$kind" "${space#* }")")
		[[ $code == 201 || $code == 409 ]] || fail "$kind of $1: HTTP $code: $(cat answer)"
	done
}

# wait_for WHAT LOG PID COMMAND...
wait_for() {
	local what=$1 log=$2 pid=$3 i
	shift 3
	for ((i = 0; i < 1200; i++)); do
		! "$@" || return 0
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	tail -n 5 "$log" >&2
	fail "$what did not start; the last lines of $log are above"
}

etcd_is_ready() { [[ $(curl --silent "http://127.0.0.1:$etcd_port/health") == *true* ]]; }
apiserver_is_ready() { [[ $(api "https://127.0.0.1:$port/readyz") == ok ]]; }
is_served() {
	local kind
	for kind in whereabouts.cni.cncf.io/v1alpha1/{ippools,overlappingrangeipreservations} \
		rdmanet.cni/v1alpha1/{addressranges,addressblocks}; do
		[[ $(api -o /dev/null -w '%{http_code}' "https://127.0.0.1:$port/apis/$kind") == 200 ]] || return 1
	done
}

# Commands for a person, and for tests: "./get PATH", "./get --url", "./apply JSON" and "./delete PATH". Objects of
# whereabouts are meant where a path does not begin with '/'. "./start" starts what was killed.
write_commands() {
	cat >lib <<-L
		url=https://127.0.0.1:$port
		of_whereabouts=/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system
		api() { curl --silent --cacert '$PWD/pki/ca.crt' -H 'Authorization: Bearer admin-token' "\$@"; }
		path() { case \$1 in /*) echo "\$1" ;; *) echo "\$of_whereabouts/\$1" ;; esac; }
	L
	printf '#!/bin/bash\n. %q\n[[ $1 != --url ]] || { printf %%s "$url"; exit; }\napi "$url$(path "$1")"\n' "$PWD/lib" >./get
	cat >./apply <<-A
		#!/bin/bash
		. $(printf %q "$PWD/lib")
		plural=\$(jq -r '.kind | ascii_downcase + "s"' <<<"\$1")
		api --fail-with-body -H 'Content-Type: application/json' --data-binary "\$1" "\$url\$(path "\${2-\$plural}")"
	A
	printf '#!/bin/bash\n. %q\napi --fail-with-body -X DELETE "$url$(path "$1")"\n' "$PWD/lib" >./delete
	printf '#!/bin/bash\nRDMANET_CLUSTER_CACHE=%q exec %q start %q\n' "$cache" "$here/cluster.sh" "$PWD" >./start
	chmod +x get apply delete start
}

start_etcd() { # PROGRAM PEER-PORT
	! is_running . etcd || return 0
	ETCD_UNSUPPORTED_ARCH='' "$1" --data-dir etcd --listen-client-urls "http://127.0.0.1:$etcd_port" \
		--advertise-client-urls "http://127.0.0.1:$etcd_port" --listen-peer-urls "http://127.0.0.1:$2" \
		--initial-advertise-peer-urls "http://127.0.0.1:$2" \
		--initial-cluster "default=http://127.0.0.1:$2" --unsafe-no-fsync >etcd.log 2>&1 </dev/null &
	echo $! >etcd.pid
	wait_for etcd etcd.log $! etcd_is_ready
}

start_apiserver() { # PROGRAM
	is_running . apiserver || run_apiserver "$1"
	wait_for kube-apiserver apiserver.log "$(cat apiserver.pid)" apiserver_is_ready # its etcd may have started anew
}

run_apiserver() { # PROGRAM
	# A larger heap is collected less often: tests wait for the server's processor time.
	GOGC=400 "$1" --etcd-servers="http://127.0.0.1:$etcd_port" --bind-address=127.0.0.1 --advertise-address=127.0.0.1 \
		--secure-port="$port" --tls-cert-file=pki/server.crt --tls-private-key-file=pki/server.key \
		--client-ca-file=pki/ca.crt --service-cluster-ip-range=10.0.0.0/24 --service-account-issuer=https://test \
		--service-account-key-file=pki/sa.pub --service-account-signing-key-file=pki/sa.key \
		--token-auth-file=tokens.csv --authorization-mode=RBAC --disable-admission-plugins=ServiceAccount \
		--endpoint-reconciler-type=none >apiserver.log 2>&1 </dev/null &
	echo $! >apiserver.pid
}

start() {
	local dir=$1 server etcd ports
	server=$(server_path)
	build
	etcd=$(type -P etcd) || fail "this machine has no etcd: install Debian's package etcd-server"
	mkdir -p "$dir/etcd"
	chmod 700 "$dir/etcd"
	cd "$dir"
	[[ -e pki/server.crt ]] || make_keys
	[[ -e ports ]] || free_ports 3 >ports
	mapfile -t ports <ports
	port=${ports[0]} etcd_port=${ports[1]}
	start_etcd "$etcd" "${ports[2]}"
	start_apiserver "$server"
	kubeconfig admin "{token: admin-token}"
	kubeconfig rdmanet "{token: rdmanet-token}"
	kubeconfig limited "{token: limited-token}"
	kubeconfig nobody "{token: nobody-token}"
	kubeconfig certified "{client-certificate: pki/client.crt, client-key: pki/client.key}"
	create "$examples/cluster-crds.yaml"
	create "$examples/cluster-rbac.yaml"
	create "$examples/cluster-blocks.yaml"
	create "$examples/cronjob-reconcile.yaml"
	create "$examples/cluster-operator.yaml"
	[[ ! -x $(whereabouts_path) ]] || ln -sf "$(whereabouts_path)" whereabouts
	wait_for "the API of the stores" apiserver.log "$(cat apiserver.pid)" is_served
	write_commands
	printf 'cluster: https://127.0.0.1:%s, etcd http://127.0.0.1:%s; kubeconfig files:\n' "$port" "$etcd_port"
	printf '  %s\n' "$PWD"/*.kubeconfig
}

stop() {
	local server
	for server in apiserver etcd; do end "$1" "$server"; done
}

# run COMMAND...: with servers of its own, which end with it.
run() {
	local dir status=0
	dir=$(mktemp -d)
	trap 'stop "$dir"; rm -rf "$dir"' EXIT
	(start "$dir") >&2 || exit $?
	env "RDMANET_CLUSTER=$dir" "$@" || status=$?
	exit "$status"
}

case ${1-}:$# in
build:1) build && build_whereabouts && server_path && echo && whereabouts_path && echo ;;
start:2) start "$2" ;;
stop:2) stop "$2" ;;
run:1 | try:1) fail "$1: expected a command" ;;
run:*) shift && run "$@" ;;
try:*) shift && if (build); then (build_whereabouts) || true; run "$@"; else exec "$@"; fi ;;
*) sed -n '/^# A /,/^# Exit/p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//' && exit 1 ;;
esac
