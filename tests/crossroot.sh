#!/bin/sh
# crossroot.sh ARCH DIR PACKAGE...: unpack Debian packages of another architecture below DIR,
# with all that they depend on. Installed, many of them would displace this machine's own.
set -e
arch=$1 dir=$2; shift 2
want="$arch $*"
[ "$(cat "$dir/.packages" 2>/dev/null)" = "$want" ] && exit 0
command -v apt-get >/dev/null || { echo "this takes Debian's apt" >&2; exit 1; }
echo "unpacking for $arch: $*"
rm -rf "$dir"
mkdir -p "$dir/.apt/state/lists/partial" "$dir/.apt/cache/archives/partial"
apt=$(cd "$dir/.apt" && pwd)
touch "$apt/status"
get() {
	apt-get -qq -y --no-install-recommends -o APT::Architecture="$arch" \
		-o APT::Architectures="$arch" -o APT::Sandbox::User=root -o Dir::State="$apt/state" \
		-o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" "$@"
}
get update || :
get --download-only install "$@"
for deb in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$deb" "$dir"; done
rm -rf "$apt"
echo "$want" >"$dir/.packages"
