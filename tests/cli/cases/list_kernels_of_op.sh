tern list kernels relu
