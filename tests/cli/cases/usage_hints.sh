# What people try first leads to what they mean.
status tern run mlp.tern
status tern tokenize hello
status tern tokenize "Hello, world."
status tern tokenize -m model.gguf hello
status tern tokenize model.gguf
status tern tokenize -p hello more
status tern mlp.tern
status tern graph mlp.tern
status tern graph help
status tern list matmul
status tern list ops norm
status tern graph run $GRAPHS/bitlinear.tern --device gpu
graph g '// a comment
%x = input "x" f32[2]
return %x' | status tern graph check -
graph g '%x = randn(shape=[2,3])
return %x' | status tern graph check -
graph g '%x = input "x" f32[2]
%y = add(%x, 1)
return %y' | status tern graph check -
# `tune` checks its inputs as `graph run` does.
npy '<f8' '(32, 64)' '' >x.npy
head -c 16384 /dev/zero >>x.npy
status tern tune $GRAPHS/mlp.tern -i x=x.npy
status tern graph run $GRAPHS/mlp.tern -i x=x.npy
# Options of the command that is profiled.
status tern profile run -n 10
status tern memory --top 3 graph run $GRAPHS/mlp.tern --made-up
status tern profile --colour
