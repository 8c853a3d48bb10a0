# Writing to a link replaces what it leads to, which need not exist yet; the link stays.
graph g '%x = arange() {stop=3} return %x as "y"' >g.tern
echo old >there.npy
ln -s there.npy link.npy
ln -s absent.npy dangling.npy
tern graph run g.tern -o y=link.npy
tern graph run g.tern -o y=dangling.npy
tern inspect there.npy | head -n 1
tern inspect absent.npy | head -n 1
readlink link.npy dangling.npy
ls
