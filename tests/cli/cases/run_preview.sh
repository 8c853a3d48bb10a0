graph g '%x = arange() {stop=40} %m = reshape(%x) {shape=[8,5]} %i = argmax(%m) %s = sum(%m)
         %c = gt(%x, %s) %e = full() {shape=[0,4]} return %m as "m", %i as "i", %s as "s", %c as "c", %e' | tern graph run -
