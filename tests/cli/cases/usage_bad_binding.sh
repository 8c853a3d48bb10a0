for binding in x =x.npy x= =; do
    status tern graph run x.tern --input "$binding"
done
status tern graph run x.tern --output y
