#!/bin/sh
# Scripts of git's own tests, from the source of the installed git, by the installed git.
# shellcheck source=tests/soak/lib.sh
. "${0%/*}/lib.sh"
need git=git dpkg-source=dpkg-dev make=make gcc=gcc

src() {		# the source of the installed git, by a list of sources of its own
	mkdir -p "$CACHE/lists/partial" && cd "$CACHE" || return
	v=$(dpkg-query -W -f '${source:Version}' git) name=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	# shellcheck disable=SC2016
	url=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 'debian/$') || return
	printf 'deb-src %s %s main\n' "$url" "$name" "${url%/}-security" "$name-security" >list
	set -- -qq -o "Dir::Etc::SourceList=$PWD/list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$PWD/lists" \
		-o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache= -o APT::Sandbox::User=root
	apt-get "$@" update && apt-get "$@" source --download-only "git=$v" && rm -rf git && dpkg-source -x git_*.dsc git
}
built() {
	[ -x "$CACHE/git/t/helper/test-fake-ssh" ] && [ -d "$CACHE/git/templates/blt" ] && return
	src && make -C "$CACHE/git" -j2 CFLAGS=-O1 NO_OPENSSL=1 NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_TCLTK=1 NO_PYTHON=1 \
		GIT-BUILD-OPTIONS t/helper/test-tool t/helper/test-fake-ssh && make -C "$CACHE/git/templates"
}
(built) >"$OUT/build.log" 2>&1 || { echo "git: skipped: no source of git, or it does not build"; exit 77; }

t="t0021-conversion t1400-update-ref t5304-prune"
! wide || t="t0000-basic t0001-init t0021-conversion t0061-run-command t0301-credential-cache t1006-cat-file t1050-large
	t1300-config t1400-update-ref t1450-fsck t1600-index t2200-add-update t3200-branch t3700-add t5000-tar-tree
	t5300-pack-object t5302-pack-index t5304-prune t5310-pack-bitmaps t5500-fetch-pack t5570-git-daemon t5601-clone
	t6500-gc t7508-status t7700-repack"
[ "$SCALE" -lt 2 ] || t=$(cd "$CACHE/git/t" && ls t[0-7][0-9][0-9][0-9]-*.sh)
export CACHE
for script in $t; do
	script=${script%.sh}; export script
	pair "$script" <<'E'
r=$PWD; cd "$CACHE/git/t" || exit 1
GIT_TEST_INSTALLED=$(dirname "$(command -v git)") TEST_OUTPUT_DIRECTORY=$r GIT_TEST_GIT_DAEMON=true sh "./$script.sh" --root="$r/trash" >"$r/out"; s=$?
grep '^ok\|^not ok\|^1\.\.' "$r/out"
echo "= $(grep -c ^ok "$r/out") ok, $(grep -c '^not ok' "$r/out") not"
exit $s
E
done
exit $bad
