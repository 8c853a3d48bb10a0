TERN_CPU=baseline tern list kernels relu | sed 's/; passed over: .*//'
