tern list ops ternary_matmul
