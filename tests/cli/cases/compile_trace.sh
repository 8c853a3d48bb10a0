# The graph after every pass, each of which reads back.
graph "" '%x = input "x" f32[4,8]
%a = neg(%x)
%b = relu(%a)
return %b' >g.tern
tern graph compile g.tern --trace-passes passes --level medium >/dev/null
ls passes | grep -E -e '-(recorded|fold|fuse|memory)' | sed -E 's/^0*([1-9][0-9]*)-/N-/'
cat passes/00-recorded.tern passes/*-fuse.tern
for file in passes/*; do tern graph check $file >/dev/null || echo "$file does not read back"; done
tern graph compile g.tern --trace-passes passes >/dev/null && echo "a directory that is there will do"
