#!/bin/bash
# Installs the Debian packages that rdmanet's build and the harness need, and those named as arguments, unless they are
# installed already.
#
#   netns-harness/setup.sh [PACKAGE...]
#
# The exit status is 0 if all of them are installed then. Otherwise it is 125, and a message says why.
set -euo pipefail

# For building rdmanet, for booting and building the kernel module, and for tests in the guest that read and change
# the kernel.
packages=(
	g++ cmake ninja-build pkg-config libfmt-dev libnl-3-dev nlohmann-json3-dev libcli11-dev catch2
	libyaml-cpp-dev libssl-dev libboost-dev libibverbs-dev libnl-route-3-dev libnghttp2-dev
	qemu-system-x86 linux-image-amd64 linux-headers-amd64 gcc libc6-dev make cpio kmod xz-utils binutils
	iproute2 rdma-core ibverbs-providers ibverbs-utils perftest rdmacm-utils ethtool iputils-ping strace jq
	"$@"
)

fail() {
	printf 'setup: %s\n' "$*" >&2
	exit 125
}

installed() {
	[[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

type -P apt-get >/dev/null && type -P dpkg-query >/dev/null ||
	fail "this machine has no apt-get: install these packages by other means: ${packages[*]}"
[[ $(dpkg --print-architecture) == amd64 ]] || fail "the guest is an amd64 machine, this one is $(dpkg --print-architecture)"

missing=()
for package in "${packages[@]}"; do
	installed "$package" || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

[[ $EUID == 0 ]] || fail "only root can install packages: run this as root, or install ${missing[*]}"
printf 'setup: installing %s\n' "${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT

install() {
	apt-get -y -q -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 --no-install-recommends \
		install "${missing[@]}" >"$log" 2>&1
}

if ! install; then
	# A fresh machine has no package lists, and an old one has outdated lists.
	apt-get -q -o DPkg::Lock::Timeout=600 update >>"$log" 2>&1 && install || {
		tail -n 20 "$log" >&2
		fail "apt-get could not install ${missing[*]}; its last lines are above"
	}
fi
for package in "${missing[@]}"; do
	installed "$package" || fail "$package is not installed although apt-get said so"
done
