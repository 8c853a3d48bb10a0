TERN_CPU=baseline tern list kernels relu
