#!/usr/bin/env bash
# The package installer, with stand-ins for dpkg-query, apt-get, id and sudo: it installs what is missing and
# nothing else, as root or with sudo, and says so clearly when it has neither.
. "$(dirname "$0")/harness.sh"

if [ "$(uname -s)" = Darwin ]; then
    skip install-deps.sh "the Debian half is tested on Linux"
    finish
fi

tools=$scratch/bin
mkdir -p "$tools"
for tool in bash env awk cut tr printf uname cat; do
    ln -s "$(command -v "$tool")" "$tools/$tool"
done

stand_in()
{
    printf '#!/usr/bin/env bash\n%s\n' "$2" >"$tools/$1"
    chmod +x "$tools/$1"
}

# run MISSING UID SET...: the log of apt-get goes to $scratch/apt.
run()
{
    stand_in dpkg-query "case ' $1 ' in *\" \${!#} \"*) exit 1 ;; *) printf installed ;; esac"
    stand_in apt-get "echo \"\${AS_SUDO:-root} \$*\" >>'$scratch/apt'"
    stand_in id "echo $2"
    shift 2
    : >"$scratch/apt"
    said=$(PATH=$tools "$root/scripts/install-deps.sh" "$@" 2>&1)
    status=$?
    installed=$(grep ' install ' "$scratch/apt")
}

run "" 0 core test check bench
if [ $status -eq 0 ] && [ -z "$said" ] && [ ! -s "$scratch/apt" ]; then pass; else
    fail "nothing is missing" "status $status, said '$said', apt: $(cat "$scratch/apt")"
fi

run "cmake qemu-user" 0 core
if [ $status -eq 0 ] && [[ $installed == "root "*" --no-install-recommends cmake" ]] && [[ $said == *cmake*configures* ]]; then
    pass
else
    fail "one core package is missing" "status $status, said '$said', apt: $(cat "$scratch/apt")"
fi

run "cmake" 1000 core
if [ $status -ne 0 ] && [[ $said == "install-deps: not root and no sudo"*"apt-get install cmake"* ]] && [ ! -s "$scratch/apt" ]; then
    pass
else
    fail "neither root nor sudo" "status $status, said '$said'"
fi
[ "$(printf '%s\n' "$said" | wc -l)" -eq 1 ] && pass || fail "neither root nor sudo" "more than one line: $said"

stand_in sudo 'AS_SUDO=sudo "$@"'
run "ninja-build cmake" 1000 core
if [ $status -eq 0 ] && [[ $installed == "sudo "*" cmake ninja-build" ]]; then pass; else
    fail "with sudo" "status $status, said '$said', apt: $(cat "$scratch/apt")"
fi

run "" 0 nonsense
if [ $status -ne 0 ] && [[ $said == *"unknown set 'nonsense'"* ]]; then pass; else
    fail "unknown set" "status $status, said '$said'"
fi

finish
