status tern list ops matmull
status tern list dtypes f33
status tern list passes xyzzy --json
# A kernel has a row for each operation that it computes, and one name.
status tern list kernels linear_i8 2>&1 | tr ' ,' '\n\n' | grep -c linear_i8__ref
