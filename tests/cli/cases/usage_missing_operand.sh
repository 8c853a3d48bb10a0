for verb in "graph run" "graph print" "graph check" completion; do
    status tern $verb
done
