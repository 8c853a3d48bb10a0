#!/usr/bin/env bash
# cmake/commit.cmake: the commit is that of the sources, "unavailable" without one, and what stays the same is not written again.
. "$(dirname "$0")/harness.sh"

command -v cmake >/dev/null && command -v git >/dev/null || { skip "commits of builds" "needs cmake and git"; finish; }

# commit FOLDER: what a build of the folder would say.
commit()
{
    cmake "-DSOURCE=$1" "-DOUTPUT=$scratch/commit.c" -P "$root/cmake/commit.cmake" >/dev/null || return 1
    sed -nE 's/^const char .* = "(.*)";$/\1/p' "$scratch/commit.c"
}

# is EXPECTED NAME: what commit says of the folder `tree`.
is()
{
    local found
    found=$(commit "$scratch/tree")
    [ "$found" = "$1" ] && pass || fail "$2" "says '$found', not '$1'"
}

git()
{
    command git -c user.name=n -c user.email=e@example.org -C "$scratch/tree" "$@" >/dev/null
}

mkdir "$scratch/tree"
is "unavailable: built outside git" "a folder without git"
git init -q
is "unavailable: built outside git" "a repository without commits"
echo 1 >"$scratch/tree/a"
git add a && git commit -qm one
head=$(command git -C "$scratch/tree" rev-parse HEAD)
is "$head" "a commit"
touch -d '2001-01-01' "$scratch/commit.c"
is "$head" "the same again"
[ "$scratch/commit.c" -ot "$scratch/tree/a" ] && pass || fail "the same again" "was written again, so that all would be linked again"
echo 2 >"$scratch/tree/a"
is "$head with changes" "a change"
mkdir "$scratch/tree/inside"
mv "$scratch/tree" "$scratch/outer"
mkdir "$scratch/outer/tree" && ln -s outer/tree "$scratch/tree"
is "unavailable: built outside git" "sources unpacked in somebody else's work tree"
finish
