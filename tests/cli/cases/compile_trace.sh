# The graph after every pass, each of which reads back.
graph "" '%x = input "x" f32[4,8]
%a = neg(%x)
%b = relu(%a)
return %b' >g.tern
tern graph compile g.tern --trace-passes passes --level medium >/dev/null
ls passes
cat passes/00-recorded.tern passes/07-fuse.tern
for file in passes/*; do tern graph check $file >/dev/null || echo "$file does not read back"; done
tern graph compile g.tern --trace-passes passes >/dev/null && echo "a directory that is there will do"
