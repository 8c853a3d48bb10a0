for verb in "graph run" "graph print" "graph check" inspect completion; do
    status tern $verb
done
