# No line ends in a blank, whatever the width.
for columns in 80 100 200; do
    for kind in ops kernels passes dtypes devices metrics; do
        COLUMNS=$columns tern list $kind | grep -n ' $'
    done
done
echo none
