#!/bin/sh
# deps.sh SUDO PACKAGE...: install what is missing, where apt is; elsewhere say what.
sudo=$1; shift
missing=
for p; do
	dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -z "$missing" ] && exit 0
command -v apt-get >/dev/null || { echo "please install what Debian calls:$missing" >&2; exit 1; }
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
$sudo apt-get install -y -qq $missing >/dev/null 2>&1 ||
	{ $sudo apt-get update -qq && $sudo apt-get install -y -qq $missing >/dev/null; }
