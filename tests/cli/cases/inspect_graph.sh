(cd "$GRAPHS" && tern inspect mlp.tern && tern inspect attention.tern --json)
graph g '%x = input "x" f32[2] return %x' | tern inspect -
