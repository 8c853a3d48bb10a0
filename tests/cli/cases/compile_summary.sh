tern graph compile $GRAPHS/mlp.tern --threads 1 | sed "s|$GRAPHS/||" | hide_compile_times | hide_memory
tern graph compile - --level none <$GRAPHS/batch.tern | hide_compile_times | hide_memory
